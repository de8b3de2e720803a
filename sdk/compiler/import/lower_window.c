/*
 * lower_window.c: Conv, ConvTranspose and the pools, one- and two-dimensional.
 *
 * One spatial dimension is lowered as two with a height of 1; three are refused.
 */
#include "compiler/import/lower.h"

#include <string.h>

typedef struct window_attrs {
    uint32_t spatial; /* 1 or 2 */
    mts_import_window size;
    mts_shape in; /* input with two spatial dimensions */
} window_attrs;

static void read_pair(mts_import *import, const char *name, uint32_t spatial, int64_t *out)
{
    int64_t numbers[2];
    uint32_t count = mts_attr_ints(import, name, numbers, 2);
    if (count == 0) {
        return;
    }
    if (count != spatial) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "attribute '%s' has %u numbers for %u dimensions", name,
                        count, spatial);
        return;
    }
    out[1] = numbers[count - 1];
    out[0] = count == 2 ? numbers[0] : out[0];
}

static void read_pads(mts_import *import, window_attrs *window)
{
    int64_t numbers[4];
    uint32_t count = mts_attr_ints(import, "pads", numbers, 4);
    if (count == 0) {
        return;
    }
    if (count != window->spatial * 2) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "attribute 'pads' has %u numbers for %u dimensions",
                        count, window->spatial);
        return;
    }
    if (count == 2) {
        window->size.pad[1] = numbers[0];
        window->size.pad[3] = numbers[1];
        return;
    }
    memcpy(window->size.pad, numbers, sizeof(numbers));
}

static void auto_pad(mts_import *import, window_attrs *window, const char *mode)
{
    const bool lower = strcmp(mode, "SAME_LOWER") == 0;
    memset(window->size.pad, 0, sizeof window->size.pad);
    if (lower || strcmp(mode, "SAME_UPPER") == 0) {
        mts_import_window_pad(&window->size, &window->in, lower);
    } else if (strcmp(mode, "VALID") != 0) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "auto_pad '%s' is not supported", mode);
    }
}

/* The input as [N,C,H,W] and everything but the kernel's size. */
static mts_import_value *begin_window(mts_import *import, mts_import_value *x, window_attrs *window)
{
    uint32_t rank = x->shape.rank;
    if (rank != 3 && rank != 4) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED,
                        "an input of rank %u is not supported (one or two spatial dimensions are)", rank);
        return NULL;
    }
    *window =
        (window_attrs){.spatial = rank - 2, .size = {.stride = {1, 1}, .dilation = {1, 1}, .kernel = {1, 1}}};
    window->in = x->shape;
    if (rank == 3) {
        window->in =
            (mts_shape){.rank = 4, .dims = {x->shape.dims[0], x->shape.dims[1], 1, x->shape.dims[2]}};
    }
    read_pair(import, "strides", window->spatial, window->size.stride);
    read_pair(import, "dilations", window->spatial, window->size.dilation);
    read_pads(import, window);
    return mts_import_emit_reshape(import, x, &window->in);
}

static void end_padding(mts_import *import, window_attrs *window)
{
    const char *mode = mts_attr_string(import, "auto_pad", "NOTSET");
    if (mts_import_window_fits(import, &window->size) && strcmp(mode, "NOTSET") != 0 && *mode) {
        auto_pad(import, window, mode);
    }
    (void)mts_import_window_fits(import, &window->size);
}

static mts_import_value *end_window(mts_import *import, const window_attrs *window, mts_import_value *y)
{
    if (!y || window->spatial == 2) {
        return y;
    }
    mts_shape flat = {.rank = 3, .dims = {y->shape.dims[0], y->shape.dims[1], y->shape.dims[3]}};
    return mts_import_emit_reshape(import, y, &flat);
}

/* The weight as [.,.,kh,kw]; its sizes are the kernel's, which an attribute may
   repeat. */
static mts_import_value *begin_weight(mts_import *import, mts_import_value *weight, window_attrs *window)
{
    if (!mts_import_ok(import)) {
        return NULL;
    }
    if (!mts_import_is_const(weight)) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "the weight must be a constant");
        return NULL;
    }
    if (weight->shape.rank != window->spatial + 2) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "the weight has rank %u for an input of rank %u",
                        weight->shape.rank, window->spatial + 2);
        return NULL;
    }
    mts_shape shape = weight->shape;
    if (window->spatial == 1) {
        shape = (mts_shape){.rank = 4, .dims = {shape.dims[0], shape.dims[1], 1, shape.dims[2]}};
    }
    window->size.kernel[0] = shape.dims[2];
    window->size.kernel[1] = shape.dims[3];
    int64_t stated[2] = {shape.dims[2], shape.dims[3]};
    read_pair(import, "kernel_shape", window->spatial, stated);
    if (stated[0] != shape.dims[2] || stated[1] != shape.dims[3]) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "kernel_shape differs from the weight's shape");
        return NULL;
    }
    return mts_import_emit_reshape(import, weight, &shape);
}

static int64_t read_group(mts_import *import)
{
    int64_t group = mts_attr_int(import, "group", 1);
    if (group < 1 || group > INT32_MAX) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "group is %lld", (long long)group);
        return 1;
    }
    return group;
}

mts_import_value *mts_import_conv(mts_import *import, mts_import_value *x, mts_import_value *weight,
                                  mts_import_value *bias)
{
    window_attrs window = {0};
    if (!x || !weight) {
        return NULL;
    }
    x = begin_window(import, x, &window);
    weight = begin_weight(import, weight, &window);
    int64_t group = read_group(import);
    end_padding(import, &window);
    if (!mts_import_ok(import)) {
        return NULL;
    }
    mts_attrs attrs = {.conv = mts_import_window_conv(&window.size, group)};
    mts_import_value *y = mts_import_emit_conv(import, MTS_OP_CONV, &attrs, x, weight, bias);
    return end_window(import, &window, y);
}

void mts_lower_conv(mts_import *import)
{
    mts_import_out(import, 0,
                   mts_import_conv(import, mts_import_in(import, 0), mts_import_in(import, 1),
                                   mts_import_in(import, 2)));
}

/* Pads of ConvTranspose from output_shape or auto_pad, as ONNX defines them. */
static void deconv_pads(mts_import *import, window_attrs *window, int64_t *output_pad)
{
    const char *mode = mts_attr_string(import, "auto_pad", "NOTSET");
    int64_t output[2] = {1, 1};
    bool given = mts_attr_has(import, "output_shape");
    bool same = strcmp(mode, "SAME_UPPER") == 0 || strcmp(mode, "SAME_LOWER") == 0;
    read_pair(import, "output_shape", window->spatial, output);
    if (!mts_import_window_fits(import, &window->size) || (!given && !same)) {
        if (strcmp(mode, "VALID") == 0) {
            memset(window->size.pad, 0, sizeof(window->size.pad));
        }
        return;
    }
    for (int i = 0; i < 2; i++) {
        int64_t wanted = given ? output[i] : window->in.dims[i + 2] * window->size.stride[i];
        int64_t total = window->size.stride[i] * (window->in.dims[i + 2] - 1) + output_pad[i] +
                        (window->size.kernel[i] - 1) * window->size.dilation[i] + 1 - wanted;
        if (wanted < 1 || wanted > INT32_MAX || total < -65536 || total > 131072) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "output_shape %lld is out of range",
                            (long long)wanted);
            return;
        }
        if (total < 0) { /* wanted is larger than what the input reaches: the rest is bias */
            output_pad[i] -= total;
            total = 0;
        }
        /* ONNX puts the odd element at the end for SAME_UPPER, else at the beginning */
        window->size.pad[i] = strcmp(mode, "SAME_UPPER") == 0 ? total / 2 : total - total / 2;
        window->size.pad[i + 2] = total - window->size.pad[i];
    }
}

void mts_lower_conv_transpose(mts_import *import)
{
    window_attrs window = {0};
    int64_t output_pad[2] = {0, 0};
    mts_import_value *x = begin_window(import, mts_import_in(import, 0), &window);
    mts_import_value *weight = begin_weight(import, mts_import_in(import, 1), &window);
    mts_import_value *bias = mts_import_in(import, 2);
    int64_t group = read_group(import);
    read_pair(import, "output_padding", window.spatial, output_pad);
    if (!mts_import_ok(import)) {
        return;
    }
    if (output_pad[0] < 0 || output_pad[1] < 0 || output_pad[0] > 65536 || output_pad[1] > 65536) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "output_padding is out of range");
        return;
    }
    deconv_pads(import, &window, output_pad);
    if (!mts_import_window_fits(import, &window.size)) {
        return;
    }
    mts_attrs attrs = {.conv = mts_import_window_conv(&window.size, group)};
    if (output_pad[0] > 65536 || output_pad[1] > 65536) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "output_padding is out of range");
        return;
    }
    attrs.conv.output_pad[0] = (uint32_t)output_pad[0];
    attrs.conv.output_pad[1] = (uint32_t)output_pad[1];
    mts_import_value *y = mts_import_emit_deconv(import, &attrs, x, weight, bias);
    mts_import_out(import, 0, end_window(import, &window, y));
}

static void lower_pool(mts_import *import, uint32_t kind)
{
    window_attrs window = {0};
    mts_import_value *x = begin_window(import, mts_import_in(import, 0), &window);
    if (!mts_import_ok(import)) {
        return;
    }
    if (!mts_attr_has(import, "kernel_shape")) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "attribute 'kernel_shape' is missing");
    }
    read_pair(import, "kernel_shape", window.spatial, window.size.kernel);
    end_padding(import, &window);
    int64_t ceil = mts_attr_int(import, "ceil_mode", 0),
            include = mts_attr_int(import, "count_include_pad", 0);
    if (!mts_import_ok(import)) {
        return;
    }
    mts_attrs attrs = {.pool = mts_import_window_pool(&window.size, kind)};
    attrs.pool.ceil = ceil != 0;
    attrs.pool.include_pad = include != 0;
    mts_import_value *y = mts_import_emit(import, MTS_OP_POOL, &attrs, &x, 1);
    mts_import_out(import, 0, end_window(import, &window, y));
}

void mts_lower_max_pool(mts_import *import)
{
    lower_pool(import, MTS_POOL_MAX);
    mts_import_out_refuse(import, 1, "the indices of MaxPool are not supported");
}

void mts_lower_average_pool(mts_import *import)
{
    lower_pool(import, MTS_POOL_AVG);
}

void mts_lower_global_pool(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0);
    bool average = mts_import_is_op(import, "GlobalAveragePool");
    if (x->shape.rank < 3) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "an input of rank %u has nothing to pool",
                        x->shape.rank);
        return;
    }
    mts_attrs attrs = {.reduce = {.kind = average ? MTS_REDUCE_MEAN : MTS_REDUCE_MAX,
                                  .axes = (1u << x->shape.rank) - 4u,
                                  .keep = 1}};
    mts_import_out(import, 0, mts_import_emit(import, MTS_OP_REDUCE, &attrs, &x, 1));
}
