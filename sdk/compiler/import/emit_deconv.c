/*
 * emit_deconv.c: transposed convolutions. One whose weights are quantised becomes a
 * convolution of the same integers, so that they are stored and multiplied as such: its
 * channels are the s x s positions that an input pixel's neighbourhood has results at,
 * and a transposed convolution whose weights are 0 and 1 puts them side by side. Not
 * responsible for reading operands and attributes (lower_window.c of ONNX and TFLite).
 *
 * Along one dimension, result s m + f is the sum over inputs m + d of x[m + d] w[f + top
 * - s d]. Position f of all results is therefore a convolution of stride 1, whose kernel
 * reaches from the least d of any f to the largest.
 */
#include "compiler/import/lower.h"

/* WASTE_MOST: the convolution's kernels of all phases have fewer than this many numbers
 * for each weight of the model. Those without a weight are 0 and are multiplied all the
 * same. STRIDE_MOST: the largest stride. */
enum { WASTE_MOST = 2, STRIDE_MOST = 4 };

/* Along rows, along columns. */
typedef struct phases {
    /* Of the weights; the padding is what is cut off before the first result. */
    int64_t stride[2], kernel[2], pad[2];
    int64_t first[2], size[2]; /* least d, and number of them */
    int64_t in, out;           /* channels */
} phases;

static int64_t floor_div(int64_t n, int64_t d)
{
    return n >= 0 ? n / d : -((d - 1 - n) / d);
}

/* A position without a weight has the zero point as its code: the type has to hold it. */
static bool zeros_are_codes(const mts_import_codes *codes)
{
    double low, high;
    bool fits = mts_import_code_range(codes->codes->dtype, &low, &high);
    for (uint32_t i = 0; fits && i < codes->count; i++) {
        fits = codes->zero[i] >= low && codes->zero[i] <= high;
    }
    return fits;
}

/* Whether these weights are worth it, and the convolution that computes all positions
 * at once. */
static bool phases_of(const mts_attrs_conv *deconv, const mts_import_value *x, const mts_import_value *weight,
                      phases *p, mts_attrs *attrs)
{
    const mts_import_codes *codes = weight->codes;
    int64_t made = 1, given = 1;
    if (!codes || (codes->count > 1 && codes->axis != 1) || weight->shape.rank != 4 || x->shape.rank != 4 ||
        mts_import_is_const(x) || deconv->group != 1 || !zeros_are_codes(codes)) {
        return false;
    }
    *p = (phases){.in = weight->shape.dims[0], .out = weight->shape.dims[1]};
    *attrs = (mts_attrs){.conv = {.stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    for (int i = 0; i < 2; i++) {
        const int64_t s = deconv->stride[i], k = deconv->kernel[i], top = deconv->pad[i];
        const int64_t in = x->shape.dims[i + 2];
        const int64_t out = (in - 1) * s + k - top - deconv->pad[i + 2] + deconv->output_pad[i];
        p->stride[i] = s;
        p->kernel[i] = k;
        p->pad[i] = top;
        p->first[i] = -floor_div(k - 1 - top, s);
        p->size[i] = floor_div(s - 1 + top, s) - p->first[i] + 1;
        const int64_t after = out / s + p->first[i] + p->size[i] - 1 - in;
        if (s < 2 || s > STRIDE_MOST || deconv->dilation[i] != 1 || top < 0 || top >= k || out < 1 ||
            out % s != 0 || after < 0 || after > k) {
            return false;
        }
        attrs->conv.kernel[i] = (uint32_t)p->size[i];
        attrs->conv.pad[i] = (int32_t)-p->first[i];
        attrs->conv.pad[i + 2] = (int32_t)after;
        made *= s * p->size[i];
        given *= k;
    }
    return made < WASTE_MOST * given;
}

/* Weight of kernel position (y, x), counted from the least d on, of phase (fy, fx);
 * -1: no weight, which counts as 0. */
static int64_t position_of(const phases *p, const int64_t *phase, const int64_t *at)
{
    int64_t index = 0;
    for (int i = 0; i < 2; i++) {
        const int64_t k = phase[i] + p->pad[i] - p->stride[i] * (p->first[i] + at[i]);
        if (k < 0 || k >= p->kernel[i]) {
            return -1;
        }
        index = index * p->kernel[i] + k;
    }
    return index;
}

/* Row o s s + f of the convolution has the weights of output channel o at phase f. */
static void fill_row(const phases *p, const mts_import_codes *codes, int64_t row, void *to)
{
    const int64_t count = p->stride[0] * p->stride[1], o = row / count, f = row % count;
    const int64_t phase[2] = {f / p->stride[1], f % p->stride[1]}, cells = p->size[0] * p->size[1];
    const int64_t zero = codes->zero[codes->count > 1 ? o : 0];
    const mts_type dtype = codes->codes->dtype;
    for (int64_t c = 0; c < p->in; c++) {
        for (int64_t i = 0; i < cells; i++) {
            const int64_t at[2] = {i / p->size[1], i % p->size[1]}, from = position_of(p, phase, at);
            const int64_t first = (c * p->out + o) * p->kernel[0] * p->kernel[1];
            const int64_t code =
                from < 0 ? zero : mts_host_load_int(dtype, codes->codes->data, (size_t)(first + from));
            mts_host_store_int(dtype, to, (size_t)((row * p->in + c) * cells + i), code);
        }
    }
}

/* A number for each output channel, once for each of its phases. */
static mts_import_value *by_phase(mts_import *import, const phases *p, const float *numbers, bool one)
{
    const int64_t each = p->stride[0] * p->stride[1];
    const mts_shape shape = {.rank = 1, .dims = {p->out * each}};
    bool lasting = false;
    float *out = numbers ? mts_import_alloc(import, MTS_TYPE_FLOAT32, &shape, &lasting) : NULL;
    for (int64_t i = 0; out && i < shape.dims[0]; i++) {
        out[i] = numbers[one ? 0 : i / each];
    }
    return out ? mts_import_constant(import, MTS_TYPE_FLOAT32, &shape, out, lasting) : NULL;
}

static mts_import_value *zeros_of(mts_import *import, const phases *p, const mts_import_codes *codes)
{
    const int64_t each = p->stride[0] * p->stride[1];
    const mts_shape shape = {.rank = 1, .dims = {p->out * each}};
    bool lasting = false;
    int32_t *out = mts_import_alloc(import, MTS_TYPE_INT32, &shape, &lasting);
    for (int64_t i = 0; out && i < shape.dims[0]; i++) {
        out[i] = codes->zero[codes->count > 1 ? i / each : 0];
    }
    return out ? mts_import_constant(import, MTS_TYPE_INT32, &shape, out, lasting) : NULL;
}

static mts_import_value *weight_of(mts_import *import, const phases *p, const mts_import_codes *codes)
{
    const int64_t rows = p->out * p->stride[0] * p->stride[1];
    const mts_shape shape = {.rank = 4, .dims = {rows, p->in, p->size[0], p->size[1]}};
    bool lasting = false;
    void *out = mts_import_alloc(import, codes->codes->dtype, &shape, &lasting);
    for (int64_t row = 0; out && row < rows; row++) {
        fill_row(p, codes, row, out);
    }
    mts_import_value *numbers =
        out ? mts_import_constant(import, codes->codes->dtype, &shape, out, lasting) : NULL;
    mts_import_value *scale = by_phase(import, p, codes->scale, codes->count == 1);
    mts_import_value *zero = zeros_of(import, p, codes);
    return numbers && scale && zero ? mts_import_dequantize_constant(import, numbers, scale, zero, 0) : NULL;
}

/* Channel o s s + f of x becomes position f of s x s neighbours of channel o
 * (mts_deconv_is_shuffle). */
static mts_import_value *emit_shuffle(mts_import *import, const phases *p, mts_import_value *x)
{
    const int64_t each = p->stride[0] * p->stride[1];
    const mts_shape shape = {.rank = 4, .dims = {p->out * each, 1, p->stride[0], p->stride[1]}};
    bool lasting = false;
    float *ones = x ? mts_import_alloc(import, MTS_TYPE_FLOAT32, &shape, &lasting) : NULL;
    mts_attrs attrs = {.conv = {.dilation = {1, 1}, .group = (uint32_t)p->out}};
    for (int i = 0; i < 2; i++) {
        attrs.conv.kernel[i] = attrs.conv.stride[i] = (uint32_t)p->stride[i];
    }
    for (int64_t c = 0; ones && c < p->out * each; c++) {
        ones[c * each + c % each] = 1.0f;
    }
    mts_import_value *weight =
        ones ? mts_import_constant(import, MTS_TYPE_FLOAT32, &shape, ones, lasting) : NULL;
    return weight ? mts_import_emit_conv(import, MTS_OP_DECONV, &attrs, x, weight, NULL) : NULL;
}

mts_import_value *mts_import_emit_deconv(mts_import *import, const mts_attrs *attrs, mts_import_value *x,
                                         mts_import_value *weight, mts_import_value *bias)
{
    phases p;
    mts_attrs conv;
    if (!x || !weight || !mts_import_ok(import)) {
        return NULL;
    }
    if ((bias && !mts_import_is_const(bias)) || !phases_of(&attrs->conv, x, weight, &p, &conv)) {
        return mts_import_emit_conv(import, MTS_OP_DECONV, attrs, x, weight, bias);
    }
    mts_import_value *rows = NULL;
    if (bias) {
        const float *numbers = mts_import_read_f32(import, bias, "the bias");
        /* The operator itself refuses another count. An infinite number would become NaN
         * where results are put side by side, which multiplies it by 0. */
        if (numbers &&
            (mts_shape_count(&bias->shape) != (size_t)p.out || !mts_all_finite(numbers, (size_t)p.out))) {
            return mts_import_emit_conv(import, MTS_OP_DECONV, attrs, x, weight, bias);
        }
        rows = by_phase(import, &p, numbers, false);
    }
    weight = weight_of(import, &p, weight->codes);
    return weight && (rows || !bias)
               ? emit_shuffle(import, &p, mts_import_emit_conv(import, MTS_OP_CONV, &conv, x, weight, rows))
               : NULL;
}
