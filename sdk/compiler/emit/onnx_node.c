/*
 * onnx_node.c: what ONNX nodes compute a node of the graph.
 */
#include "compiler/emit/onnx_build.h"

#include <math.h>
#include <string.h>

static const char *input(mts_onnx *onnx, const mts_node *node, uint32_t index)
{
    return mts_onnx_value(onnx, index < node->input_count ? node->inputs[index] : MTS_NONE);
}

static bool has(const mts_node *node, uint32_t index)
{
    return index < node->input_count && node->inputs[index] != MTS_NONE;
}

static const mts_shape *shape_of(const mts_onnx *onnx, uint32_t value)
{
    return &onnx->graph->values[value].shape;
}

/* Where a node's result goes before its activation. */
static const char *before_act(mts_onnx *onnx, const mts_act *act, const char *output)
{
    return act->fn == MTS_FN_NONE ? output : mts_onnx_temporary(onnx);
}

static void end_act(mts_onnx *onnx, const mts_act *act, const char *slope, const char *x, const char *output)
{
    if (act->fn != MTS_FN_NONE) {
        mts_onnx_function(onnx, act, slope, x, output);
    }
}

/* A vector [C] as [C,1,..] for an image of the given rank. */
static const char *slope_name(mts_onnx *onnx, const mts_node *node, uint32_t index, uint32_t rank)
{
    if (!has(node, index)) {
        return "";
    }
    mts_shape shape = {.rank = rank - 1, .dims = {1, 1, 1, 1, 1, 1}};
    shape.dims[0] = shape_of(onnx, node->inputs[index])->dims[0];
    if (onnx->shared) {
        return mts_onnx_shaped(onnx, "Reshape", input(onnx, node, index), shape.dims, shape.rank, NULL);
    }
    return mts_onnx_floats_const(onnx, NULL, &shape, mts_onnx_dense(onnx, node->inputs[index]));
}

/* ---- convolutions ---- */

/* scale x + bias, each a vector or "" for ones and zeros. */
static void add_norm(mts_onnx *onnx, const char *x, const char *scale, const char *bias, int64_t channels,
                     const char *output)
{
    const char *inputs[5] = {x, scale, bias, mts_onnx_vector_const(onnx, channels, 0.0f),
                             mts_onnx_vector_const(onnx, channels, 1.0f)};
    inputs[1] = scale && *scale ? scale : mts_onnx_vector_const(onnx, channels, 1.0f);
    inputs[2] = bias && *bias ? bias : mts_onnx_vector_const(onnx, channels, 0.0f);
    mts_onnx_float(onnx, mts_onnx_node(onnx, "BatchNormalization", inputs, 5, output), "epsilon", 0.0f);
}

/* The same by a node, so that the rows are stored as other tasks have them. */
static const char *gather_rows(mts_onnx *onnx, const mts_node *node)
{
    const size_t count = (size_t)shape_of(onnx, node->inputs[1])->dims[0];
    int64_t *rows = mts_onnx_alloc(onnx, count, sizeof *rows);
    for (size_t i = 0; rows && i < count; i++) {
        rows[node->scatter[i]] = (int64_t)i;
    }
    const char *weights = input(onnx, node, 1);
    return rows
               ? mts_onnx_two(onnx, "Gather", weights, mts_onnx_ints_const(onnx, rows, (uint32_t)count), NULL)
               : NULL;
}

/* Weight rows in the order of the output channels. */
static const char *weight_name(mts_onnx *onnx, const mts_node *node)
{
    if (!node->scatter) {
        return input(onnx, node, 1);
    }
    if (onnx->shared) {
        return gather_rows(onnx, node);
    }
    const mts_shape *shape = shape_of(onnx, node->inputs[1]);
    float *rows = mts_onnx_dense(onnx, node->inputs[1]);
    float *ordered = mts_onnx_alloc(onnx, mts_shape_count(shape), sizeof(*ordered));
    if (!rows || !ordered) {
        return NULL;
    }
    size_t length = mts_shape_count(shape) / (size_t)shape->dims[0];
    for (size_t i = 0; i < (size_t)shape->dims[0]; i++) {
        memcpy(ordered + node->scatter[i] * length, rows + i * length, length * sizeof(*rows));
    }
    return mts_onnx_floats_const(onnx, NULL, shape, ordered);
}

static void window_attrs(mts_onnx *onnx, Onnx__NodeProto *node, const uint32_t *kernel,
                         const uint32_t *stride, const uint32_t *dilation, const int32_t *pad)
{
    const int64_t kernels[2] = {kernel[0], kernel[1]}, strides[2] = {stride[0], stride[1]};
    const int64_t dilations[2] = {dilation[0], dilation[1]}, pads[4] = {pad[0], pad[1], pad[2], pad[3]};
    mts_onnx_ints(onnx, node, "kernel_shape", kernels, 2);
    mts_onnx_ints(onnx, node, "strides", strides, 2);
    if (dilation[0] != 1 || dilation[1] != 1) {
        mts_onnx_ints(onnx, node, "dilations", dilations, 2);
    }
    mts_onnx_ints(onnx, node, "pads", pads, 4);
}

static Onnx__NodeProto *conv_node(mts_onnx *onnx, const mts_node *node, const char *op,
                                  const char *const *inputs, uint32_t count, const char *output)
{
    const mts_attrs_conv *conv = &node->attrs.conv;
    Onnx__NodeProto *made = mts_onnx_node(onnx, op, inputs, count, output);
    window_attrs(onnx, made, conv->kernel, conv->stride, conv->dilation, conv->pad);
    mts_onnx_int(onnx, made, "group", conv->group);
    return made;
}

static void add_conv(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const mts_attrs_conv *conv = &node->attrs.conv;
    int64_t channels = shape_of(onnx, node->output)->dims[1];
    bool scaled = has(node, 2), residual = has(node, 4);
    const char *last = before_act(onnx, &conv->act, output),
               *sum = residual ? mts_onnx_temporary(onnx) : last;
    const char *inputs[3] = {input(onnx, node, 0), weight_name(onnx, node),
                             scaled ? "" : input(onnx, node, 3)};
    if (scaled) {
        const char *plain = mts_onnx_temporary(onnx), *scale = input(onnx, node, 2);
        (void)conv_node(onnx, node, "Conv", inputs, 2, plain);
        add_norm(onnx, plain, scale, input(onnx, node, 3), channels, sum);
    } else {
        (void)conv_node(onnx, node, "Conv", inputs, has(node, 3) ? 3 : 2, sum);
    }
    if (residual) {
        (void)mts_onnx_two(onnx, "Add", sum, input(onnx, node, 4), last);
    }
    end_act(onnx, &conv->act, slope_name(onnx, node, 5, 4), last, output);
}

static void add_deconv(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const mts_attrs_conv *conv = &node->attrs.conv;
    const char *inputs[3] = {input(onnx, node, 0), input(onnx, node, 1), input(onnx, node, 2)};
    const char *last = before_act(onnx, &conv->act, output);
    const int64_t extra[2] = {conv->output_pad[0], conv->output_pad[1]};
    Onnx__NodeProto *made = conv_node(onnx, node, "ConvTranspose", inputs, has(node, 2) ? 3 : 2, last);
    if (extra[0] || extra[1]) {
        mts_onnx_ints(onnx, made, "output_padding", extra, 2);
    }
    end_act(onnx, &conv->act, "", last, output);
}

/* ---- the rest ---- */

static const char *times(mts_onnx *onnx, const char *x, float factor, const char *output)
{
    return mts_onnx_two(onnx, "Mul", x, mts_onnx_float_const(onnx, factor), output);
}

static bool is_one(float number)
{
    return !(number < 1.0f) && !(number > 1.0f);
}

static void add_matmul(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const mts_attrs_matmul *matmul = &node->attrs.matmul;
    const char *c = has(node, 2) ? input(onnx, node, 2) : NULL;
    const char *a = input(onnx, node, 0), *b = input(onnx, node, 1);
    const char *y = mts_onnx_two(onnx, "MatMul", a, b, c || !is_one(matmul->alpha) ? NULL : output);
    if (!is_one(matmul->alpha)) {
        y = times(onnx, y, matmul->alpha, c ? NULL : output);
    }
    if (c) {
        (void)mts_onnx_two(onnx, "Add", y, is_one(matmul->beta) ? c : times(onnx, c, matmul->beta, NULL),
                           output);
    }
}

static void add_scale(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const mts_act *act = &node->attrs.unary.act;
    const mts_shape *shape = shape_of(onnx, node->output);
    const char *last = before_act(onnx, act, output);
    const char *x = input(onnx, node, 0), *scale = input(onnx, node, 1), *bias = input(onnx, node, 2);
    add_norm(onnx, x, scale, bias, shape->dims[1], last);
    end_act(onnx, act, slope_name(onnx, node, 3, shape->rank), last, output);
}

/* Comparisons give a bool; Mod gives a number, and of floats only by its fmod. */
static void add_comparison(mts_onnx *onnx, uint32_t kind, const char *a, const char *b, const char *output)
{
    static const char *const names[] = {"Equal", "Greater", "GreaterOrEqual"};
    (void)mts_onnx_cast(onnx, mts_onnx_two(onnx, names[kind - MTS_BIN_EQUAL], a, b, NULL), MTS_TYPE_FLOAT32,
                        output);
}

static const char *add_fmod(mts_onnx *onnx, const char *a, const char *b, const char *output)
{
    const char *both[2] = {a, b};
    output = output ? output : mts_onnx_temporary(onnx);
    mts_onnx_int(onnx, mts_onnx_node(onnx, "Mod", both, 2, output), "fmod", 1);
    return output;
}

static void add_kind(mts_onnx *onnx, uint32_t kind, const char *a, const char *b, const char *output)
{
    static const char *const names[MTS_BIN_ALONE] = {"Add",   "Sub", "Mul", "Div",
                                                     "PRelu", "Max", "Min", "Pow"};
    switch (kind) {
    case MTS_BIN_EQUAL:
    case MTS_BIN_GREATER:
    case MTS_BIN_GREATER_EQUAL:
        add_comparison(onnx, kind, a, b, output);
        break;
    case MTS_BIN_FMOD:
        (void)add_fmod(onnx, a, b, output);
        break;
    case MTS_BIN_MOD: /* fmod(fmod(a, b) + b, b) */
        (void)add_fmod(onnx, mts_onnx_two(onnx, "Add", add_fmod(onnx, a, b, NULL), b, NULL), b, output);
        break;
    default:
        (void)mts_onnx_two(onnx, names[kind], a, b, output);
    }
}

static void add_select(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const char *inputs[3] = {mts_onnx_temporary(onnx), input(onnx, node, 1), input(onnx, node, 2)};
    (void)mts_onnx_cast(onnx, input(onnx, node, 0), MTS_TYPE_BOOL, inputs[0]);
    (void)mts_onnx_node(onnx, "Where", inputs, 3, output);
}

static void add_binary(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const mts_attrs_binary *binary = &node->attrs.binary;
    const char *last = before_act(onnx, &binary->act, output);
    const char *a = input(onnx, node, 0), *b = input(onnx, node, 1);
    add_kind(onnx, binary->kind, a, b, last);
    end_act(onnx, &binary->act, "", last, output);
}

static mts_status add_pool(mts_onnx *onnx, const mts_node *node, const char *output, mts_error *error)
{
    const mts_attrs_pool *pool = &node->attrs.pool;
    bool average = pool->kind == MTS_POOL_AVG;
    if (average && (pool->dilation[0] != 1 || pool->dilation[1] != 1)) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "ONNX opset 13 has no dilated average pooling");
    }
    const char *x = input(onnx, node, 0);
    Onnx__NodeProto *made = mts_onnx_node(onnx, average ? "AveragePool" : "MaxPool", &x, 1, output);
    window_attrs(onnx, made, pool->kernel, pool->stride, pool->dilation, pool->pad);
    mts_onnx_int(onnx, made, "ceil_mode", pool->ceil);
    if (average) {
        mts_onnx_int(onnx, made, "count_include_pad", pool->include_pad);
    }
    return MTS_STATUS_OK;
}

static void add_normalisation(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const mts_act *act = &node->attrs.norm.act;
    const char *last = before_act(onnx, act, output);
    mts_onnx_add_norm(onnx, node, last);
    end_act(onnx, act, "", last, output);
}

static void add_lrn(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const mts_attrs_lrn *lrn = &node->attrs.lrn;
    const char *x = input(onnx, node, 0);
    Onnx__NodeProto *made = mts_onnx_node(onnx, "LRN", &x, 1, output);
    mts_onnx_int(onnx, made, "size", lrn->size);
    mts_onnx_float(onnx, made, "alpha", lrn->alpha);
    mts_onnx_float(onnx, made, "beta", lrn->beta);
    mts_onnx_float(onnx, made, "bias", lrn->bias);
}

static void add_concat(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const char **names = mts_onnx_alloc(onnx, node->input_count, sizeof(*names));
    for (uint32_t i = 0; names && i < node->input_count; i++) {
        names[i] = input(onnx, node, i);
    }
    if (names) {
        mts_onnx_int(onnx, mts_onnx_node(onnx, "Concat", names, node->input_count, output), "axis",
                     node->attrs.concat.axis);
    }
}

static void add_slice(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const mts_attrs_slice *slice = &node->attrs.slice;
    const mts_shape *x = shape_of(onnx, node->inputs[0]);
    int64_t ends[MTS_TENSOR_RANK_MAX], axes[MTS_TENSOR_RANK_MAX];
    for (uint32_t i = 0; i < x->rank; i++) {
        axes[i] = i;
        ends[i] = slice->start[i] + slice->size[i] * slice->step[i];
        /* before the first element: -1 would mean the last */
        ends[i] = ends[i] < 0 ? -x->dims[i] - 1 : ends[i];
    }
    const char *inputs[5] = {input(onnx, node, 0), mts_onnx_ints_const(onnx, slice->start, x->rank),
                             mts_onnx_ints_const(onnx, ends, x->rank),
                             mts_onnx_ints_const(onnx, axes, x->rank),
                             mts_onnx_ints_const(onnx, slice->step, x->rank)};
    (void)mts_onnx_node(onnx, "Slice", inputs, 5, output);
}

static void add_pad(mts_onnx *onnx, const mts_node *node, const char *output)
{
    static const char *const modes[] = {"constant", "edge", "reflect"};
    const mts_attrs_pad *pad = &node->attrs.pad;
    uint32_t rank = shape_of(onnx, node->inputs[0])->rank;
    int64_t pads[MTS_TENSOR_RANK_MAX * 2];
    for (uint32_t i = 0; i < rank; i++) {
        pads[i] = pad->before[i];
        pads[i + rank] = pad->after[i];
    }
    const char *inputs[3] = {input(onnx, node, 0), mts_onnx_ints_const(onnx, pads, rank * 2),
                             mts_onnx_float_const(onnx, pad->value)};
    mts_onnx_text(onnx, mts_onnx_node(onnx, "Pad", inputs, 3, output), "mode", modes[pad->mode]);
}

static void add_gather(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const mts_value *index = &onnx->graph->values[node->inputs[1]];
    const int32_t *numbers = index->blocks[0].data;
    size_t count = mts_shape_count(&index->shape);
    int64_t *wide = mts_onnx_alloc(onnx, count, sizeof(*wide));
    for (size_t i = 0; wide && i < count; i++) {
        wide[i] = numbers[i];
    }
    /* the list becomes an initialiser of the index's shape by a Reshape, which every
       run-time folds */
    const char *flat = wide ? mts_onnx_ints_const(onnx, wide, (uint32_t)count) : NULL;
    const char *shaped = flat;
    if (index->shape.rank != 1) {
        shaped = mts_onnx_shaped(onnx, "Reshape", flat, index->shape.dims, index->shape.rank, NULL);
    }
    const char *inputs[2] = {input(onnx, node, 0), shaped};
    mts_onnx_int(onnx, mts_onnx_node(onnx, "Gather", inputs, 2, output), "axis", node->attrs.gather.axis);
}

static void add_transpose(mts_onnx *onnx, const mts_node *node, const char *output)
{
    uint32_t rank = shape_of(onnx, node->output)->rank;
    const char *x = input(onnx, node, 0);
    int64_t perm[MTS_TENSOR_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) {
        perm[i] = node->attrs.transpose.perm[i];
    }
    mts_onnx_ints(onnx, mts_onnx_node(onnx, "Transpose", &x, 1, output), "perm", perm, rank);
}

static void add_shaped(mts_onnx *onnx, const mts_node *node, const char *op, const char *output)
{
    const mts_shape *shape = &node->attrs.reshape.shape;
    (void)mts_onnx_shaped(onnx, op, input(onnx, node, 0), shape->dims, shape->rank, output);
}

/* Whether the scales give the output sizes by ONNX's rule, so that they may be written
 * instead of the sizes.
 */
static bool scales_fit(const mts_onnx *onnx, const mts_node *node)
{
    const mts_attrs_resize *resize = &node->attrs.resize;
    const mts_shape *x = shape_of(onnx, node->inputs[0]);
    for (int i = 0; i < 2; i++) {
        float region = resize->coord == MTS_COORD_TF_CROP ? resize->roi_end[i] - resize->roi_start[i] : 1.0f;
        float size = floorf((float)x->dims[i + 2] * region * resize->scale[i]);
        if (size < (float)resize->out[i] || size > (float)resize->out[i]) {
            return false;
        }
    }
    return true;
}

static mts_status resize_modes(const mts_attrs_resize *resize, const char **coord, const char **round,
                               mts_error *error)
{
    static const char *const coords[] = {"half_pixel", "pytorch_half_pixel", "align_corners",
                                         "asymmetric", "half_pixel",         "tf_crop_and_resize"};
    static const char *const rounds[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    *coord = coords[resize->coord];
    *round = rounds[resize->round];
    if (resize->coord == MTS_COORD_TF_HALF_PIXEL) {
        /* floor((x + 0.5) / s) is (x + 0.5) / s - 0.5 rounded with halves up; opset 13
           has only the latter */
        if (resize->mode != MTS_RESIZE_NEAREST || resize->round != MTS_ROUND_FLOOR) {
            return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                            "opset 13 has no coordinate mode tf_half_pixel_for_nn");
        }
        *round = "round_prefer_ceil";
    }
    return MTS_STATUS_OK;
}

static mts_status add_resize(mts_onnx *onnx, const mts_node *node, const char *output, mts_error *error)
{
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const mts_shape four = {.rank = 1, .dims = {4}}, eight = {.rank = 1, .dims = {8}};
    const mts_attrs_resize *resize = &node->attrs.resize;
    const mts_shape *x = shape_of(onnx, node->inputs[0]);
    const char *coord = NULL, *round = NULL;
    mts_status status = resize_modes(resize, &coord, &round, error);
    float *scales = mts_onnx_alloc(onnx, 4, sizeof(*scales)), *roi = mts_onnx_alloc(onnx, 8, sizeof(*roi));
    if (status != MTS_STATUS_OK || !scales || !roi) {
        return status;
    }
    const float numbers[4] = {1.0f, 1.0f, resize->scale[0], resize->scale[1]};
    const float regions[8] = {0.0f, 0.0f, resize->roi_start[0], resize->roi_start[1],
                              1.0f, 1.0f, resize->roi_end[0],   resize->roi_end[1]};
    const int64_t sizes[4] = {x->dims[0], x->dims[1], resize->out[0], resize->out[1]};
    memcpy(scales, numbers, sizeof(numbers));
    memcpy(roi, regions, sizeof(regions));
    bool crop = resize->coord == MTS_COORD_TF_CROP, fit = scales_fit(onnx, node);
    const char *inputs[4] = {input(onnx, node, 0), crop ? mts_onnx_floats_const(onnx, NULL, &eight, roi) : "",
                             fit ? mts_onnx_floats_const(onnx, NULL, &four, scales) : "",
                             fit ? "" : mts_onnx_ints_const(onnx, sizes, 4)};
    Onnx__NodeProto *made = mts_onnx_node(onnx, "Resize", inputs, fit ? 3 : 4, output);
    mts_onnx_text(onnx, made, "mode", modes[resize->mode]);
    mts_onnx_text(onnx, made, "coordinate_transformation_mode", coord);
    mts_onnx_text(onnx, made, "nearest_mode", round);
    mts_onnx_int(onnx, made, "exclude_outside", resize->exclude_outside);
    mts_onnx_float(onnx, made, "cubic_coeff_a", resize->cubic_a);
    mts_onnx_float(onnx, made, "extrapolation_value", resize->extrapolation);
    return status;
}

static void add_unary(mts_onnx *onnx, const mts_node *node, const char *output)
{
    mts_onnx_function(onnx, &node->attrs.unary.act, "", input(onnx, node, 0), output);
}

static void add_softmax(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const char *x = input(onnx, node, 0);
    const char *name = node->attrs.softmax.log ? "LogSoftmax" : "Softmax";
    mts_onnx_int(onnx, mts_onnx_node(onnx, name, &x, 1, output), "axis", node->attrs.softmax.axis);
}

static void add_reshape(mts_onnx *onnx, const mts_node *node, const char *output)
{
    add_shaped(onnx, node, "Reshape", output);
}

static void add_expand(mts_onnx *onnx, const mts_node *node, const char *output)
{
    add_shaped(onnx, node, "Expand", output);
}

typedef void add_function(mts_onnx *onnx, const mts_node *node, const char *output);

/* Operators that always have an ONNX form; pools and resizes may have none. */
static add_function *const add_functions[MTS_OP_COUNT] = {
    [MTS_OP_CONV] = add_conv,
    [MTS_OP_DECONV] = add_deconv,
    [MTS_OP_MATMUL] = add_matmul,
    [MTS_OP_SCALE] = add_scale,
    [MTS_OP_UNARY] = add_unary,
    [MTS_OP_BINARY] = add_binary,
    [MTS_OP_SELECT] = add_select,
    [MTS_OP_REDUCE] = mts_onnx_add_reduce,
    [MTS_OP_NORM] = add_normalisation,
    [MTS_OP_SOFTMAX] = add_softmax,
    [MTS_OP_LRN] = add_lrn,
    [MTS_OP_CONCAT] = add_concat,
    [MTS_OP_SLICE] = add_slice,
    [MTS_OP_PAD] = add_pad,
    [MTS_OP_GATHER] = add_gather,
    [MTS_OP_TRANSPOSE] = add_transpose,
    [MTS_OP_RESHAPE] = add_reshape,
    [MTS_OP_EXPAND] = add_expand,
    [MTS_OP_TAKE] = mts_onnx_add_take,
    [MTS_OP_ORDER] = mts_onnx_add_order,
    [MTS_OP_SCAN] = mts_onnx_add_scan,
    [MTS_OP_ATTENTION] = mts_onnx_add_attention,
};

mts_status mts_onnx_add(mts_onnx *onnx, const mts_node *node, mts_error *error)
{
    const char *output = onnx->names[node->output];
    if (node->op == MTS_OP_POOL) {
        return add_pool(onnx, node, output, error);
    }
    if (node->op == MTS_OP_RESIZE) {
        return add_resize(onnx, node, output, error);
    }
    const bool product = node->op == MTS_OP_SCAN && node->attrs.scan.kind != MTS_SCAN_SUM;
    if ((unsigned)node->op >= MTS_OP_COUNT || !add_functions[node->op] || product) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                        "operator '%s' has no form in the ONNX opset that is written", mts_op_name(node->op));
    }
    add_functions[node->op](onnx, node, output);
    return MTS_STATUS_OK;
}
