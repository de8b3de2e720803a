/*
 * lower_window.c: convolutions, pools and resizing: operators that always work on planar
 * images.
 */
#include "compiler/import/tflite/lower.h"

#include <string.h>

#define SAME 0
#define VALID 1
#define SIZE_MOST 65536

typedef struct window {
    int64_t padding; /* SAME or VALID */
    mts_import_window size;
} window;

/* Two numbers of the options, columns first in the file. */
static void option_pair(mts_tflite *model, uint32_t field, int64_t fallback, int64_t *out)
{
    out[0] = mts_tflite_option(model, field + 1, MTS_FLAT_I32, fallback);
    out[1] = mts_tflite_option(model, field, MTS_FLAT_I32, fallback);
}

/* Padding and strides, which all operators have at the beginning of their options. */
static window begin_window(mts_tflite *model)
{
    window w = {.padding = mts_tflite_option(model, 0, MTS_FLAT_I8, SAME), .size = {.dilation = {1, 1}}};
    option_pair(model, 1, 0, w.size.stride);
    return w;
}

/* An unknown kind of padding fails like a number that is out of range. */
static bool in_range(mts_tflite *model, const window *w)
{
    mts_import_window size = w->size;
    size.pad[0] = w->padding == SAME || w->padding == VALID ? 0 : -1;
    return mts_import_window_fits(model->import, &size);
}

static void pad_same(window *w, const mts_shape *planar)
{
    if (w->padding == SAME) {
        mts_import_window_pad(&w->size, planar, false);
    }
}

/* A constant of rank 4 in the order that the graph wants; its own type stays. */
static mts_import_value *weight_of(mts_tflite *model, uint32_t index, const uint32_t *perm)
{
    mts_import_value *weight = mts_tflite_weight(model, mts_tflite_in(model, index));
    if (weight && (!mts_import_is_const(weight) || weight->shape.rank != 4)) {
        mts_import_fail(model->import, MTS_STATUS_UNSUPPORTED, "the weight must be a constant of rank 4");
        return NULL;
    }
    return weight ? mts_import_emit_transpose(model->import, weight, perm) : NULL;
}

/* A convolution, its bias and its activation; all of them are images. */
static void out_conv(mts_tflite *model, mts_op op, const mts_attrs *attrs, mts_import_value *x,
                     mts_import_value *weight, mts_tflite_tensor *bias, int64_t activation)
{
    mts_import_value *vector = bias ? mts_tflite_native(model, bias) : NULL;
    mts_import_value *y = op == MTS_OP_DECONV
                              ? mts_import_emit_deconv(model->import, attrs, x, weight, vector)
                              : mts_import_emit_conv(model->import, op, attrs, x, weight, vector);
    mts_tflite_out(model, 0, mts_tflite_activate(model, y, activation), true);
}

static void lower_conv(mts_tflite *model, window *w, const uint32_t *perm, bool depthwise, int64_t activation)
{
    mts_import_value *x = mts_tflite_planar(model, mts_tflite_in(model, 0));
    mts_import_value *weight = weight_of(model, 1, perm);
    if (!x || !weight) {
        return;
    }
    const int64_t channels = x->shape.dims[1], cells = weight->shape.dims[1];
    const int64_t group = depthwise ? channels : cells > 0 ? channels / cells : 0;
    w->size.kernel[0] = weight->shape.dims[2];
    w->size.kernel[1] = weight->shape.dims[3];
    if (!in_range(model, w)) {
        return;
    }
    if (group < 1 || group > INT32_MAX || cells * group != channels || weight->shape.dims[0] % group != 0) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "the weight does not fit %lld channels",
                        (long long)channels);
        return;
    }
    pad_same(w, &x->shape);
    const mts_attrs attrs = {.conv = mts_import_window_conv(&w->size, group)};
    out_conv(model, MTS_OP_CONV, &attrs, x, weight, mts_tflite_in(model, 2), activation);
}

void mts_tflite_lower_conv(mts_tflite *model)
{
    static const uint32_t perm[4] = {0, 3, 1, 2};
    window w = begin_window(model);
    option_pair(model, 4, 1, w.size.dilation);
    lower_conv(model, &w, perm, false, mts_tflite_option(model, 3, MTS_FLAT_I8, 0));
}

/* The weight is [1,kh,kw,channels * multiplier]. */
void mts_tflite_lower_depthwise(mts_tflite *model)
{
    static const uint32_t perm[4] = {3, 0, 1, 2};
    window w = begin_window(model);
    option_pair(model, 5, 1, w.size.dilation);
    lower_conv(model, &w, perm, true, mts_tflite_option(model, 4, MTS_FLAT_I8, 0));
}

/* Padding at the start, and what is cut from the end or appended to it, so that `out`
   results come out. */
static bool fit_output(mts_tflite *model, window *w, const mts_shape *planar, const int64_t *out,
                       mts_attrs_conv *conv)
{
    for (int i = 0; i < 2; i++) {
        const int64_t reach = (planar->dims[i + 2] - 1) * w->size.stride[i] + w->size.kernel[i];
        const int64_t cut = reach - out[i];
        if (out[i] < 1 || cut > SIZE_MOST || cut < -SIZE_MOST) {
            mts_import_fail(model->import, MTS_STATUS_MALFORMED,
                            "an output of %lld rows or columns does not fit", (long long)out[i]);
            return false;
        }
        w->size.pad[i] = cut > 0 && w->padding == SAME ? cut / 2 : 0;
        w->size.pad[i + 2] = cut > 0 ? cut - w->size.pad[i] : 0;
        conv->output_pad[i] = cut < 0 ? (uint32_t)-cut : 0;
    }
    const mts_attrs_conv padded = mts_import_window_conv(&w->size, 1);
    memcpy(conv->pad, padded.pad, sizeof padded.pad);
    return true;
}

static void lower_deconv(mts_tflite *model, window *w, mts_import_value *x, mts_import_value *weight,
                         const int64_t *out, mts_tflite_tensor *bias, int64_t activation)
{
    if (!x || !weight || !in_range(model, w)) {
        return;
    }
    mts_attrs attrs = {.conv = mts_import_window_conv(&w->size, 1)};
    if (!fit_output(model, w, &x->shape, out, &attrs.conv)) {
        return;
    }
    out_conv(model, MTS_OP_DECONV, &attrs, x, weight, bias, activation);
}

static const uint32_t deconv_perm[4] = {3, 0, 1, 2}; /* [O,kh,kw,I] becomes [I,O,kh,kw] */

void mts_tflite_lower_transpose_conv(mts_tflite *model)
{
    int64_t out[4] = {0};
    window w = begin_window(model);
    mts_import_value *weight = weight_of(model, 1, deconv_perm);
    mts_import_value *x = mts_tflite_planar(model, mts_tflite_in(model, 2));
    if (mts_tflite_ints(model, 0, "the output's shape", out, 4) != 4 || !weight) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "the output's shape has no 4 dimensions");
        return;
    }
    w.size.kernel[0] = weight->shape.dims[2];
    w.size.kernel[1] = weight->shape.dims[3];
    lower_deconv(model, &w, x, weight, out + 1, mts_tflite_in(model, 3),
                 mts_tflite_option(model, 3, MTS_FLAT_I8, 0));
}

/* MediaPipe's Convolution2DTransposeBias: image, weight, bias; its options are three
 * numbers: padding (1 is SAME, 2 is VALID), stride by column, stride by row. */
void mts_tflite_lower_transpose_bias(mts_tflite *model)
{
    const mts_flat_vector *options = &model->node->custom_options;
    if (options->count < 12) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED,
                        "its options have %u bytes, at least 12 are needed", options->count);
        return;
    }
    window w = {.padding = mts_flat_at(&model->flat, options, MTS_FLAT_I32, 0) - 1,
                .size = {.stride = {mts_flat_at(&model->flat, options, MTS_FLAT_I32, 2),
                                    mts_flat_at(&model->flat, options, MTS_FLAT_I32, 1)},
                         .dilation = {1, 1}}};
    mts_import_value *x = mts_tflite_planar(model, mts_tflite_in(model, 0));
    mts_import_value *weight = weight_of(model, 1, deconv_perm);
    if (!x || !weight) {
        return;
    }
    w.size.kernel[0] = weight->shape.dims[2];
    w.size.kernel[1] = weight->shape.dims[3];
    if (!in_range(model, &w)) {
        return;
    }
    int64_t out[2];
    for (int i = 0; i < 2; i++) {
        const int64_t in = x->shape.dims[i + 2];
        out[i] = w.padding == SAME ? in * w.size.stride[i] : (in - 1) * w.size.stride[i] + w.size.kernel[i];
    }
    lower_deconv(model, &w, x, weight, out, mts_tflite_in(model, 2), 0);
}

static void lower_pool(mts_tflite *model, uint32_t kind)
{
    window w = begin_window(model);
    option_pair(model, 3, 0, w.size.kernel);
    mts_import_value *x = mts_tflite_planar(model, mts_tflite_in(model, 0));
    if (!x || !in_range(model, &w)) {
        return;
    }
    pad_same(&w, &x->shape);
    const mts_attrs attrs = {.pool = mts_import_window_pool(&w.size, kind)};
    mts_import_value *y = mts_import_emit(model->import, MTS_OP_POOL, &attrs, &x, 1);
    y = mts_tflite_activate(model, y, mts_tflite_option(model, 5, MTS_FLAT_I8, 0));
    mts_tflite_out(model, 0, y, true);
}

void mts_tflite_lower_max_pool(mts_tflite *model)
{
    lower_pool(model, MTS_POOL_MAX);
}

void mts_tflite_lower_average_pool(mts_tflite *model)
{
    lower_pool(model, MTS_POOL_AVG);
}

/* Two flags from `field` on: corners aligned, else centres. The nearest position is
 * rounded with aligned corners and cut off otherwise. */
static void lower_resize(mts_tflite *model, uint32_t mode, uint32_t field)
{
    const bool nearest = mode == MTS_RESIZE_NEAREST;
    const bool corners = mts_tflite_option(model, field, MTS_FLAT_U8, 0) != 0;
    const bool centers = mts_tflite_option(model, field + 1, MTS_FLAT_U8, 0) != 0;
    const uint32_t centered = nearest ? MTS_COORD_TF_HALF_PIXEL : MTS_COORD_HALF_PIXEL;
    mts_attrs attrs = {.resize = {.mode = mode,
                                  .coord = corners   ? MTS_COORD_ALIGN_CORNERS
                                           : centers ? centered
                                                     : MTS_COORD_ASYMMETRIC,
                                  .round = nearest && corners ? MTS_ROUND_PREFER_CEIL
                                           : nearest          ? MTS_ROUND_FLOOR
                                                              : 0,
                                  .cubic_a = -0.75f}};
    int64_t size[2] = {0, 0};
    mts_import_value *x = mts_tflite_planar(model, mts_tflite_in(model, 0));
    const uint32_t count = mts_tflite_ints(model, 1, "the size", size, 2);
    if (!x || count != 2 || size[0] < 1 || size[1] < 1) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "the size is no 2 numbers from 1 up");
        return;
    }
    for (int i = 0; i < 2; i++) {
        attrs.resize.out[i] = (uint32_t)(size[i] < INT32_MAX ? size[i] : INT32_MAX);
        attrs.resize.scale[i] = (float)((double)size[i] / (double)x->shape.dims[i + 2]);
        attrs.resize.roi_end[i] = 1.0f;
    }
    if (size[0] != x->shape.dims[2] || size[1] != x->shape.dims[3]) {
        x = mts_import_emit(model->import, MTS_OP_RESIZE, &attrs, &x, 1);
    }
    mts_tflite_out(model, 0, x, true);
}

void mts_tflite_lower_resize_bilinear(mts_tflite *model)
{
    lower_resize(model, MTS_RESIZE_LINEAR, 2);
}

void mts_tflite_lower_resize_nearest(mts_tflite *model)
{
    lower_resize(model, MTS_RESIZE_NEAREST, 0);
}
