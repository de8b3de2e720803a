/*
 * coded.c: quantised constants: integers ("codes") that stand for scale * (code - zero).
 * A constant that was dequantised keeps its codes, so that a convolution can store them
 * instead of float32 numbers. Not responsible for values of the run time (quantize.c).
 */
#include "compiler/import/lower.h"

#include <math.h>

#include "base/half.h"

#define HALF_WHOLE 2048 /* every integer up to this is a float16 */

double mts_host_quantize(float x, float scale, double low, double high)
{
    const double code = (double)rintf(x / scale);
    return code < low ? low : code > high ? high : isnan(code) ? 0.0 : code;
}

bool mts_import_code_range(mts_type dtype, double *low, double *high)
{
    static const double ranges[MTS_TYPE_COUNT][2] = {[MTS_TYPE_UINT8] = {0, 255},
                                                     [MTS_TYPE_INT8] = {-128, 127},
                                                     [MTS_TYPE_UINT16] = {0, 65535},
                                                     [MTS_TYPE_INT16] = {-32768, 32767}};
    *low = ranges[dtype][0];
    *high = ranges[dtype][1];
    return *high > 0;
}

/* ---- parameters ---- */

/* Elements for each number: how far the dimension's index stays the same. */
static size_t run_of(const mts_shape *shape, const mts_import_parameters *p)
{
    size_t run = 1;
    for (uint32_t i = p->count > 1 ? p->axis + 1 : 0; i < shape->rank; i++) {
        run *= (size_t)shape->dims[i];
    }
    return run ? run : 1;
}

bool mts_import_parameters_fit(mts_import *import, const mts_shape *shape, const mts_import_value *scale,
                               const mts_import_value *zero, uint32_t axis)
{
    const size_t count = mts_shape_count(&scale->shape);
    const bool fits = count == 1 || (scale->shape.rank == 1 && axis < shape->rank &&
                                     scale->shape.dims[0] == shape->dims[axis]);
    if (scale->shape.rank > 1 && count != 1) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED,
                        "a scale of rank %u: quantisation in blocks is not supported", scale->shape.rank);
    } else if (!fits || (zero && mts_shape_count(&zero->shape) != count)) {
        mts_import_fail(import, MTS_STATUS_MALFORMED,
                        "%zu scales and %zu zero points do not fit dimension %u", count,
                        zero ? mts_shape_count(&zero->shape) : 0, axis);
    }
    return mts_import_ok(import);
}

/* Constant parameters as arrays. */
bool mts_import_parameters_read(mts_import *import, const mts_shape *shape, const mts_import_value *scale,
                                const mts_import_value *zero, uint32_t axis, mts_import_parameters *out)
{
    const size_t count = mts_shape_count(&scale->shape);
    *out = (mts_import_parameters){.count = (uint32_t)count, .axis = axis};
    out->scale = mts_import_read_f32(import, scale, "the scale");
    int32_t *zeros = mts_arena_zero(&import->scratch, count, sizeof(*zeros));
    if (!zeros) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for zero points");
    }
    if (!mts_import_ok(import) || !mts_import_parameters_fit(import, shape, scale, zero, axis)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const int64_t number = zero ? mts_host_load_int(zero->dtype, zero->data, i) : 0;
        if (!(out->scale[i] >= 0.0f) || !isfinite(out->scale[i]) || number < -65536 || number > 65536) {
            mts_import_fail(import, MTS_STATUS_MALFORMED,
                            "scale %g or zero point %lld of channel %zu is out of range",
                            (double)out->scale[i], (long long)number, i);
            return false;
        }
        zeros[i] = (int32_t)number;
    }
    out->zero = zeros;
    return true;
}

/* ---- constants ---- */

mts_import_value *mts_import_dequantize_constant(mts_import *import, mts_import_value *x,
                                                 const mts_import_value *scale, const mts_import_value *zero,
                                                 uint32_t axis)
{
    mts_import_parameters p;
    bool lasting = false;
    float *out = mts_import_parameters_read(import, &x->shape, scale, zero, axis, &p)
                     ? mts_import_alloc(import, MTS_TYPE_FLOAT32, &x->shape, &lasting)
                     : NULL;
    mts_import_codes *codes = mts_arena_zero(&import->scratch, 1, sizeof(*codes));
    if (!out || !codes) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a constant");
        return NULL;
    }
    const size_t count = mts_shape_count(&x->shape), run = run_of(&x->shape, &p);
    for (size_t i = 0; i < count; i++) {
        const size_t c = i / run % p.count;
        out[i] = (float)((double)mts_host_load_int(x->dtype, x->data, i) - (double)p.zero[c]) * p.scale[c];
    }
    mts_import_value *y = mts_import_constant(import, MTS_TYPE_FLOAT32, &x->shape, out, lasting);
    if (y && mts_type_size(x->dtype) == 1) {
        *codes = (mts_import_codes){
            .codes = x, .scale = p.scale, .zero = p.zero, .count = p.count, .axis = p.count > 1 ? axis : 0};
        y->codes = codes;
    }
    return y;
}

mts_import_value *mts_import_quantize_constant(mts_import *import, mts_import_value *x,
                                               const mts_import_value *scale, const mts_import_value *zero,
                                               mts_type dtype, uint32_t axis)
{
    mts_import_parameters p;
    double low = 0, high = 0;
    bool lasting = false;
    (void)mts_import_code_range(dtype, &low, &high);
    void *out = mts_import_parameters_read(import, &x->shape, scale, zero, axis, &p)
                    ? mts_import_alloc(import, dtype, &x->shape, &lasting)
                    : NULL;
    const size_t count = mts_shape_count(&x->shape), run = run_of(&x->shape, &p);
    for (size_t i = 0; out && i < count; i++) {
        const size_t c = i / run % p.count;
        const double shift = p.zero[c];
        mts_host_store_int(dtype, out, i,
                           (int64_t)(mts_host_quantize((float)mts_host_load(x->dtype, x->data, i), p.scale[c],
                                                       low - shift, high - shift) +
                                     shift));
    }
    return out ? mts_import_constant(import, dtype, &x->shape, out, lasting) : NULL;
}

/* code - zero of each element; false if one is beyond what float16 holds. *small: int8
   holds them all. */
static bool differences(const mts_import_codes *codes, int32_t *out, bool *small)
{
    const mts_import_value *x = codes->codes;
    const mts_import_parameters p = {.count = codes->count, .axis = codes->axis};
    const size_t count = mts_shape_count(&x->shape), run = run_of(&x->shape, &p);
    *small = true;
    for (size_t i = 0; i < count; i++) {
        const int64_t d = mts_host_load_int(x->dtype, x->data, i) -
                          codes->zero[codes->count > 1 ? i / run % codes->count : 0];
        if (d < -HALF_WHOLE || d > HALF_WHOLE) {
            return false;
        }
        out[i] = (int32_t)d;
        *small = *small && d >= -128 && d <= 127;
    }
    return true;
}

/* One number for each row: that of the fixed-point step and of the caller go into it. */
static mts_import_value *row_scales(mts_import *import, const mts_import_codes *codes, int64_t rows,
                                    float factor)
{
    const mts_shape shape = {.rank = 1, .dims = {rows}};
    bool lasting = false;
    float *out = mts_import_alloc(import, MTS_TYPE_FLOAT32, &shape, &lasting);
    for (int64_t i = 0; out && i < rows; i++) {
        out[i] = codes->scale[codes->count > 1 ? i : 0] / MTS_INT8_STEP * factor;
    }
    return out ? mts_import_constant(import, MTS_TYPE_FLOAT32, &shape, out, lasting) : NULL;
}

mts_import_value *mts_import_fixed(mts_import *import, mts_import_value *weight, float factor,
                                   mts_import_value **scale)
{
    const mts_import_codes *codes = weight ? weight->codes : NULL;
    bool small = false, lasting = false;
    *scale = NULL;
    if (!codes || weight->shape.rank < 2 || (codes->count > 1 && codes->axis != 0)) {
        return weight;
    }
    int32_t *numbers = mts_import_alloc(import, MTS_TYPE_INT32, &weight->shape, &lasting);
    if (!numbers || !differences(codes, numbers, &small)) {
        return weight;
    }
    const mts_type dtype = small ? MTS_TYPE_INT8 : MTS_TYPE_FLOAT16;
    void *out = mts_import_alloc(import, dtype, &weight->shape, &lasting);
    const size_t count = mts_shape_count(&weight->shape);
    for (size_t i = 0; out && i < count; i++) {
        if (small) {
            ((int8_t *)out)[i] = (int8_t)numbers[i];
        } else {
            ((uint16_t *)out)[i] = mts_half_from_float((float)numbers[i] * MTS_INT8_STEP);
        }
    }
    mts_import_value *fixed = out ? mts_import_constant(import, dtype, &weight->shape, out, lasting) : NULL;
    if (fixed) {
        fixed->fixed = true;
        *scale = row_scales(import, codes, weight->shape.dims[0], factor);
    }
    return fixed;
}

void mts_import_keep_codes(mts_import *import, const mts_import_value *from, mts_import_value *codes,
                           uint32_t axis, mts_import_value *to)
{
    mts_import_codes *kept = mts_arena_zero(&import->scratch, 1, sizeof(*kept));
    if (!kept || !codes || !to) {
        return; /* without codes the numbers themselves are stored */
    }
    *kept = *from->codes;
    kept->codes = codes;
    kept->axis = axis;
    to->codes = kept;
}
