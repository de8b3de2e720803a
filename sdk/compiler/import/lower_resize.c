/*
 * lower_resize.c: Resize and Upsample, of the last two dimensions.
 */
#include "compiler/import/lower.h"

#include <math.h>
#include <string.h>

typedef struct resize_sizes {
    float scale[MTS_TENSOR_RANK_MAX];
    int64_t out[MTS_TENSOR_RANK_MAX]; /* 0: from the scale */
    float roi[MTS_TENSOR_RANK_MAX * 2];
    uint32_t axes; /* a bit per dimension that may be resized */
} resize_sizes;

static uint32_t pick(mts_import *import, const char *name, const char *fallback, const char *const *names,
                     uint32_t count)
{
    const char *text = mts_attr_string(import, name, fallback);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], text) == 0) {
            return i;
        }
    }
    mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "%s '%s' is not supported", name, text);
    return 0;
}

static bool output_size(mts_import *import, const resize_sizes *sizes, uint32_t axis, int64_t dim, bool crop,
                        uint32_t rank, int64_t *out)
{
    float scale = sizes->scale[axis];
    if (sizes->out[axis] > 0) {
        *out = sizes->out[axis];
        return true;
    }
    float region = crop ? sizes->roi[axis + rank] - sizes->roi[axis] : 1.0f;
    float size = floorf((float)dim * region * scale);
    if (!(scale > 0.0f) || !(size >= 1.0f) || !(size < 2147483648.0f)) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "scale %g of dimension %u is out of range",
                        (double)scale, axis);
        return false;
    }
    *out = (int64_t)size;
    return true;
}

/* Seen as [a, b, rows, columns]; all dimensions before the last two must stay. */
static void emit_resize(mts_import *import, mts_attrs *attrs, const resize_sizes *sizes)
{
    mts_import_value *x = mts_import_in(import, 0);
    uint32_t rank = x->shape.rank;
    bool crop = attrs->resize.coord == MTS_COORD_TF_CROP;
    mts_shape four = {.rank = 4, .dims = {1, 1, 1, 1}}, out = x->shape;
    if (rank < 1 || rank > 4) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "an input of rank %u is not supported", rank);
        return;
    }
    for (uint32_t i = 0; i < 2; i++) {
        attrs->resize.out[i] = 1;
        attrs->resize.scale[i] = 1.0f;
        attrs->resize.roi_end[i] = 1.0f;
    }
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t at = i + 4 - rank;
        four.dims[at] = x->shape.dims[i];
        if (!output_size(import, sizes, i, x->shape.dims[i], crop, rank, &out.dims[i])) {
            return;
        }
        if (at >= 2) {
            attrs->resize.out[at - 2] = (uint32_t)out.dims[i];
            attrs->resize.scale[at - 2] =
                sizes->out[i] > 0 ? (float)((double)out.dims[i] / (double)x->shape.dims[i]) : sizes->scale[i];
            attrs->resize.roi_start[at - 2] = crop ? sizes->roi[i] : 0.0f;
            attrs->resize.roi_end[at - 2] = crop ? sizes->roi[i + rank] : 1.0f;
        } else if (out.dims[i] != x->shape.dims[i]) {
            mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "only the last two dimensions can be resized");
            return;
        }
    }
    if (mts_shape_equal(&out, &x->shape) && !crop) {
        mts_import_out(import, 0, x);
        return;
    }
    mts_import_value *wide = mts_import_emit_reshape(import, x, &four);
    mts_import_value *y = mts_import_emit(import, MTS_OP_RESIZE, attrs, &wide, 1);
    mts_import_out(import, 0, mts_import_emit_reshape(import, y, &out));
}

static const char *const modes[] = {"nearest", "linear", "cubic"};

/* Opset 18: sizes, scales and roi of some axes, as those of all. False: they do not
   fit. */
static bool spread_axes(mts_import *import, resize_sizes *sizes, uint32_t rank, uint32_t *given,
                        uint32_t *scales, uint32_t *roi)
{
    int64_t axes[MTS_TENSOR_RANK_MAX];
    const resize_sizes some = *sizes;
    const int64_t *dims = mts_import_in(import, 0)->shape.dims;
    const uint32_t count = mts_attr_ints(import, "axes", axes, MTS_TENSOR_RANK_MAX);
    sizes->axes = count ? 0 : (1u << rank) - 1;
    if (count == 0) {
        return true;
    }
    if ((*given && *given != count) || (*scales && *scales != count) || (*roi && *roi != 2 * count)) {
        return false;
    }
    for (uint32_t i = 0; i < rank; i++) {
        sizes->out[i] = *given ? dims[i] : 0;
        sizes->scale[i] = 1.0f;
        sizes->roi[i] = 0.0f;
        sizes->roi[i + rank] = 1.0f;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t axis = mts_import_axis(import, axes[i], rank);
        sizes->axes |= 1u << axis;
        sizes->out[axis] = some.out[i];
        sizes->scale[axis] = *scales ? some.scale[i] : 1.0f;
        sizes->roi[axis] = *roi ? some.roi[i] : 0.0f;
        sizes->roi[axis + rank] = *roi ? some.roi[i + count] : 1.0f;
    }
    *given = *given ? rank : 0;
    *scales = *scales ? rank : 0;
    *roi = *roi ? 2 * rank : 0;
    return true;
}

/* Opset 18: one scale for all axes that are resized, so that none becomes larger (or
   smaller) than asked. */
static void keep_aspect_ratio(mts_import *import, resize_sizes *sizes, uint32_t rank)
{
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller"};
    const uint32_t policy = pick(import, "keep_aspect_ratio_policy", "stretch", policies, 3);
    const int64_t *dims = mts_import_in(import, 0)->shape.dims;
    double scale = 0.0;
    for (uint32_t i = 0; i < rank; i++) {
        const double own = (double)sizes->out[i] / (double)dims[i];
        const bool is_resized = (sizes->axes >> i & 1u) != 0;
        if (is_resized && (!(scale > 0.0) || (policy == 1 ? own < scale : own > scale))) {
            scale = own;
        }
    }
    for (uint32_t i = 0; policy > 0 && scale > 0.0 && i < rank; i++) {
        if ((sizes->axes >> i & 1u) != 0) {
            sizes->out[i] = (int64_t)floor(scale * (double)dims[i] + 0.5);
        }
    }
}

/* What opset 18 and 19 added, as far as it changes nothing that is computed. */
static void check_sampling(mts_import *import, const resize_sizes *sizes, uint32_t rank, bool symmetric)
{
    const int64_t *dims = mts_import_in(import, 0)->shape.dims;
    const bool antialias = mts_attr_int(import, "antialias", 0) != 0;
    for (uint32_t i = 0; i < rank; i++) {
        const double wanted = (double)dims[i] * (double)sizes->scale[i];
        const bool is_smaller = sizes->out[i] > 0 ? sizes->out[i] < dims[i] : sizes->scale[i] < 1.0f;
        if (antialias && is_smaller) {
            mts_import_fail(import, MTS_STATUS_UNSUPPORTED,
                            "antialias is not supported where dimension %u shrinks", i);
        } else if (symmetric && sizes->out[i] == 0 && fabs(wanted - floor(wanted)) > 0.0) {
            mts_import_fail(
                import, MTS_STATUS_UNSUPPORTED,
                "half_pixel_symmetric is not supported where dimension %u does not become a whole number", i);
        }
    }
}

void mts_lower_resize(mts_import *import)
{
    static const char *const coords[] = {"half_pixel",          "pytorch_half_pixel",   "align_corners",
                                         "asymmetric",          "tf_half_pixel_for_nn", "tf_crop_and_resize",
                                         "half_pixel_symmetric"};
    static const char *const rounds[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    mts_import_value *x = mts_import_in(import, 0);
    resize_sizes sizes = {0};
    mts_attrs attrs = {
        .resize = {.mode = pick(import, "mode", "nearest", modes, 3),
                   .coord = pick(import, "coordinate_transformation_mode", "half_pixel", coords, 7),
                   .round = pick(import, "nearest_mode", "round_prefer_floor", rounds, 4),
                   .exclude_outside = mts_attr_int(import, "exclude_outside", 0) != 0,
                   .cubic_a = mts_attr_float(import, "cubic_coeff_a", -0.75f),
                   .extrapolation = mts_attr_float(import, "extrapolation_value", 0.0f)}};
    /* the same as half_pixel where scales give whole sizes, which is checked below */
    const bool symmetric = attrs.resize.coord == 6;
    attrs.resize.coord = symmetric ? MTS_COORD_HALF_PIXEL : attrs.resize.coord;
    uint32_t rank = x->shape.rank;
    uint32_t given =
        mts_import_ints(import, mts_import_in(import, 3), "the sizes", sizes.out, MTS_TENSOR_RANK_MAX);
    uint32_t scales =
        mts_import_floats(import, mts_import_in(import, 2), "the scales", sizes.scale, MTS_TENSOR_RANK_MAX);
    uint32_t roi =
        attrs.resize.coord == MTS_COORD_TF_CROP
            ? mts_import_floats(import, mts_import_in(import, 1), "roi", sizes.roi, MTS_TENSOR_RANK_MAX * 2)
            : 0;
    if (!mts_import_ok(import) || !spread_axes(import, &sizes, rank, &given, &scales, &roi)) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "sizes, scales or roi do not fit its axes");
        return;
    }
    roi = attrs.resize.coord == MTS_COORD_TF_CROP ? roi : rank * 2;
    if (!mts_import_ok(import) || (given ? given != rank : scales != rank) || roi != rank * 2) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "sizes, scales or roi do not fit rank %u", rank);
        return;
    }
    for (uint32_t i = 0; i < given; i++) {
        if (sizes.out[i] < 1 || sizes.out[i] > INT32_MAX) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "size %lld is out of range",
                            (long long)sizes.out[i]);
            return;
        }
    }
    if (given) {
        keep_aspect_ratio(import, &sizes, rank);
    }
    check_sampling(import, &sizes, rank, symmetric);
    if (mts_import_ok(import)) {
        emit_resize(import, &attrs, &sizes);
    }
}

/* Up to opset 10 there is one rule: output / scale, rounded down for nearest. */
static mts_attrs old_attrs(mts_import *import)
{
    const char *mode = mts_attr_string(import, "mode", "nearest");
    mts_attrs attrs = {
        .resize = {.coord = MTS_COORD_ASYMMETRIC, .round = MTS_ROUND_FLOOR, .cubic_a = -0.75f}};
    attrs.resize.mode =
        strcmp(mode, "bilinear") == 0 ? MTS_RESIZE_LINEAR : pick(import, "mode", "nearest", modes, 2);
    return attrs;
}

void mts_lower_resize_10(mts_import *import)
{
    mts_attrs attrs = old_attrs(import);
    resize_sizes sizes = {0};
    uint32_t rank = mts_import_in(import, 0)->shape.rank;
    if (mts_import_floats(import, mts_import_in(import, 1), "the scales", sizes.scale, MTS_TENSOR_RANK_MAX) !=
        rank) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "the scales do not fit rank %u", rank);
        return;
    }
    emit_resize(import, &attrs, &sizes);
}

void mts_lower_upsample_7(mts_import *import)
{
    mts_attrs attrs = old_attrs(import);
    resize_sizes sizes = {0};
    uint32_t rank = mts_import_in(import, 0)->shape.rank;
    if (mts_attr_floats(import, "scales", sizes.scale, MTS_TENSOR_RANK_MAX) != rank) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "the scales do not fit rank %u", rank);
        return;
    }
    emit_resize(import, &attrs, &sizes);
}
