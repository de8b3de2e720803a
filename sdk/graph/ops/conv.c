/*
 * conv.c: the operators CONV (convolution with a fused epilogue) and DECONV (transposed
 * convolution).
 */
#include "graph/ops/common.h"

static int64_t window_extent(uint32_t kernel, uint32_t dilation)
{
    return (int64_t)(kernel - 1) * dilation + 1;
}

/* A vector of a convolution's epilogue: [O], or [N,O] where every image has its own. */
static mts_status check_rows_vector(const mts_infer_call *call, uint32_t index, int64_t images,
                                    int64_t channels, const char *what)
{
    const mts_shape *shape = mts_infer_input(call, index);
    const bool by_image = shape && shape->rank == 2 && shape->dims[0] == images && shape->dims[1] == channels;
    return by_image ? MTS_STATUS_OK : mts_infer_vector(call, index, channels, what);
}

static mts_status check_conv_operands(const mts_infer_call *call, int64_t images, int64_t channels)
{
    static const uint32_t at[3] = {2, 3, 5};
    static const char *const names[3] = {"scale", "bias", "slope"};
    if (call->op != MTS_OP_CONV) {
        return mts_infer_vector(call, 2, channels, "bias");
    }
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < 3; i++) {
        status = check_rows_vector(call, at[i], images, channels, names[i]);
    }
    return status;
}

static mts_status check_kernel_shape(const mts_infer_call *call)
{
    const mts_shape *weight = call->inputs[1];
    const mts_attrs_conv *conv = &call->attrs->conv;
    if (weight->dims[2] != (int64_t)conv->kernel[0] || weight->dims[3] != (int64_t)conv->kernel[1]) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "kernel %ux%u differs from the weight's %lldx%lld",
                        conv->kernel[0], conv->kernel[1], (long long)weight->dims[2],
                        (long long)weight->dims[3]);
    }
    return MTS_STATUS_OK;
}

static mts_status conv_shape(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_conv *conv = &call->attrs->conv;
    const mts_shape *x = call->inputs[0], *weight = call->inputs[1];
    if (x->dims[1] != weight->dims[1] * (int64_t)conv->group || weight->dims[0] % (int64_t)conv->group != 0) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED,
                        "%lld input channels do not fit a weight of %lldx%lld channels in %u groups",
                        (long long)x->dims[1], (long long)weight->dims[0], (long long)weight->dims[1],
                        conv->group);
    }
    if (conv->output_pad[0] != 0 || conv->output_pad[1] != 0) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "output padding is for deconv only");
    }
    *out = (mts_shape){.rank = 4, .dims = {x->dims[0], weight->dims[0]}};
    for (int i = 0; i < 2; i++) {
        int64_t room = x->dims[i + 2] + conv->pad[i] + conv->pad[i + 2] -
                       window_extent(conv->kernel[i], conv->dilation[i]);
        if (room < 0) {
            return mts_fail(call->error, MTS_STATUS_MALFORMED, "the kernel is larger than the padded input");
        }
        out->dims[i + 2] = room / (int64_t)conv->stride[i] + 1;
    }
    const mts_shape *residual = mts_infer_input(call, 4);
    if (residual && !mts_shape_equal(residual, out)) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "the residual has another shape than the output");
    }
    return MTS_STATUS_OK;
}

static mts_status deconv_shape(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_conv *conv = &call->attrs->conv;
    const mts_shape *x = call->inputs[0], *weight = call->inputs[1];
    if (x->dims[1] != weight->dims[0] || weight->dims[0] % (int64_t)conv->group != 0) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED,
                        "%lld input channels do not fit %lld weight rows in %u groups", (long long)x->dims[1],
                        (long long)weight->dims[0], conv->group);
    }
    *out = (mts_shape){.rank = 4, .dims = {x->dims[0], weight->dims[1] * (int64_t)conv->group}};
    for (int i = 0; i < 2; i++) {
        if (conv->output_pad[i] > MTS_GRAPH_WINDOW_MAX) {
            return mts_fail(call->error, MTS_STATUS_MALFORMED, "output padding %u is out of range",
                            conv->output_pad[i]);
        }
        out->dims[i + 2] = (int64_t)conv->stride[i] * (x->dims[i + 2] - 1) + conv->output_pad[i] +
                           window_extent(conv->kernel[i], conv->dilation[i]) - conv->pad[i] -
                           conv->pad[i + 2];
    }
    return MTS_STATUS_OK;
}

/* Of both operators. */
static mts_status conv_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_conv *conv = &call->attrs->conv;
    const bool is_conv = call->op == MTS_OP_CONV;
    mts_status status = mts_infer_rank(call, 0, 4, 4);
    MTS_TRY(status, mts_infer_rank(call, 1, 4, 4));
    MTS_TRY(status, mts_infer_window(call, conv->kernel, conv->stride, conv->dilation, conv->pad));
    MTS_TRY(status, check_kernel_shape(call));
    if (status == MTS_STATUS_OK && conv->group == 0) {
        status = mts_fail(call->error, MTS_STATUS_MALFORMED, "group is 0");
    }
    MTS_TRY(status, is_conv ? conv_shape(call, out) : deconv_shape(call, out));
    MTS_TRY(status, check_conv_operands(call, out->dims[0], out->dims[1]));
    MTS_TRY(status, mts_infer_act(call, &conv->act, is_conv && mts_infer_input(call, 5)));
    return status;
}

/* Products of one result: the weight without its output (conv) or input (deconv)
   channels. */
static uint64_t window_of(const mts_graph *graph, const mts_node *node)
{
    const mts_shape *shape = &graph->values[node->inputs[1]].shape;
    return (uint64_t)(shape->dims[1] * shape->dims[2] * shape->dims[3]);
}

static uint64_t conv_mul_adds(const mts_graph *graph, const mts_node *node)
{
    return mts_cost_output(graph, node) * window_of(graph, node);
}

static uint64_t deconv_mul_adds(const mts_graph *graph, const mts_node *node)
{
    return mts_cost_input(graph, node) * window_of(graph, node);
}

/* 0: dense, 1: one filter an input channel (their number may differ), else the number of
   groups. */
static uint32_t group_kind(const mts_graph *graph, const mts_node *node)
{
    const mts_shape *x = &graph->values[node->inputs[0]].shape;
    if (node->attrs.conv.group == 1) {
        return 0;
    }
    return x->rank > 1 && x->dims[1] == (int64_t)node->attrs.conv.group ? 1 : node->attrs.conv.group;
}

static bool conv_alike(const mts_graph *a, const mts_node *x, const mts_graph *b, const mts_node *y)
{
    return group_kind(a, x) == group_kind(b, y);
}

static mts_propagation conv_channels(const mts_graph *graph, const mts_node *node)
{
    const mts_attrs_conv *conv = &node->attrs.conv;
    const int64_t in = graph->values[node->inputs[0]].shape.dims[1];
    const int64_t out = graph->values[node->output].shape.dims[1];
    const uint32_t residual = node->input_count > 4 ? node->inputs[4] : MTS_NONE;
    mts_propagation rule = mts_channels_kept_after(&conv->act);
    if (residual != MTS_NONE && graph->values[residual].kind == MTS_VALUE_CONST) {
        return mts_channels_fixed("a constant residual");
    }
    if (conv->group != 1 && (in != out || in != (int64_t)conv->group)) {
#ifdef MTS_SMALL
        return mts_channels_fixed("a grouped convolution that is not depthwise");
#else
        rule.pass = MTS_CHANNELS_GROUPED;
        return node->scatter ? mts_channels_fixed("a grouped convolution whose channels are permuted") : rule;
#endif
    }
    rule.pass = conv->group == 1 ? MTS_CHANNELS_MIXED : MTS_CHANNELS_KEPT;
    return rule;
}

static const mts_op_field conv_fields[] = {MTS_OP_WORD(conv, kernel, true),
                                           MTS_OP_WORD(conv, stride, true),
                                           MTS_OP_WORD(conv, dilation, true),
                                           MTS_OP_WORD(conv, pad, true),
                                           MTS_OP_WORD(conv, group, false),
                                           MTS_OP_WORD(conv, output_pad, true),
                                           MTS_OP_ACT(conv, act)};

const mts_op_row mts_op_conv =
    MTS_OP_ROW("conv", 2, 6, 0, conv_fields, conv_infer, NULL, conv_mul_adds, conv_alike, conv_channels,
               MTS_OP_INPUT_DATA, MTS_OP_INPUT_BLOCKS, MTS_OP_INPUT_AFFINE, MTS_OP_INPUT_AFFINE,
               MTS_OP_INPUT_DATA, MTS_OP_INPUT_VECTOR);

const mts_op_row mts_op_deconv =
    MTS_OP_ROW("deconv", 2, 3, 1, conv_fields, conv_infer, NULL, deconv_mul_adds, conv_alike,
               mts_channels_unstitched, MTS_OP_INPUT_DATA, MTS_OP_INPUT_WEIGHT, MTS_OP_INPUT_VECTOR);
