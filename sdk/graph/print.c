/*
 * print.c: a listing of a graph for people, one node a line.
 */
#include "graph/graph.h"

static const char *const fn_names[MTS_FN_COUNT] = {
    "none",       "relu",  "leaky", "clip", "prelu",      "sigmoid",  "hard_sigmoid",
    "hard_swish", "tanh",  "exp",   "sqrt", "silu",       "trunc",    "abs",
    "neg",        "floor", "ceil",  "log",  "reciprocal", "not_zero",
};
static const char *const binary_names[MTS_BIN_COUNT] = {"add",   "sub", "mul", "div",
                                                        "prelu", "max", "min", "pow"};
static const char *const reduce_names[] = {"mean", "sum", "max", "min"};
static const char *const resize_names[] = {"nearest", "linear", "cubic"};
static const char *const pad_names[] = {"constant", "edge", "reflect"};

static void print_act(const mts_act *act, mts_text *text)
{
    if (act->fn == MTS_FN_NONE) {
        return;
    }
    mts_text_add(text, " %s", fn_names[act->fn]);
    if (act->fn == MTS_FN_LEAKY) {
        mts_text_add(text, "(%g)", (double)act->a);
    } else if (act->fn == MTS_FN_CLIP || act->fn == MTS_FN_HARD_SIGMOID) {
        mts_text_add(text, "(%g,%g)", (double)act->a, (double)act->b);
    }
}

static void print_window(const uint32_t *kernel, const uint32_t *stride, const uint32_t *dilation,
                         const int32_t *pad, mts_text *text)
{
    mts_text_add(text, " kernel %ux%u", kernel[0], kernel[1]);
    if (stride[0] != 1 || stride[1] != 1) {
        mts_text_add(text, " stride %ux%u", stride[0], stride[1]);
    }
    if (dilation[0] != 1 || dilation[1] != 1) {
        mts_text_add(text, " dilation %ux%u", dilation[0], dilation[1]);
    }
    if (pad[0] || pad[1] || pad[2] || pad[3]) {
        mts_text_add(text, " pad %d,%d,%d,%d", pad[0], pad[1], pad[2], pad[3]);
    }
}

static void print_conv(const mts_node *node, mts_text *text)
{
    const mts_attrs_conv *conv = &node->attrs.conv;
    print_window(conv->kernel, conv->stride, conv->dilation, conv->pad, text);
    if (conv->group != 1) {
        mts_text_add(text, " group %u", conv->group);
    }
    print_act(&conv->act, text);
    mts_text_add(text, "%s", node->scatter ? " scatter" : "");
}

static void print_slice(const mts_attrs_slice *slice, uint32_t rank, mts_text *text)
{
    for (uint32_t i = 0; i < rank; i++) {
        mts_text_add(text, "%s%lld:%lld:%lld", i ? "," : " ", (long long)slice->start[i],
                     (long long)slice->size[i], (long long)slice->step[i]);
    }
}

static void print_pad(const mts_attrs_pad *pad, uint32_t rank, mts_text *text)
{
    mts_text_add(text, " %s", pad_names[pad->mode]);
    for (uint32_t i = 0; i < rank; i++) {
        mts_text_add(text, "%s%lld:%lld", i ? "," : " ", (long long)pad->before[i], (long long)pad->after[i]);
    }
}

static void print_attrs(const mts_node *node, uint32_t rank, mts_text *text)
{
    const mts_attrs *attrs = &node->attrs;
    switch (node->op) {
    case MTS_OP_CONV:
    case MTS_OP_DECONV:
        print_conv(node, text);
        break;
    case MTS_OP_SCALE:
    case MTS_OP_UNARY:
        print_act(&attrs->unary.act, text);
        break;
    case MTS_OP_BINARY:
        mts_text_add(text, " %s", binary_names[attrs->binary.kind]);
        print_act(&attrs->binary.act, text);
        break;
    case MTS_OP_POOL:
        mts_text_add(text, " %s", attrs->pool.kind == MTS_POOL_MAX ? "max" : "average");
        print_window(attrs->pool.kernel, attrs->pool.stride, attrs->pool.dilation, attrs->pool.pad, text);
        break;
    case MTS_OP_REDUCE:
        mts_text_add(text, " %s axes 0x%x", reduce_names[attrs->reduce.kind], attrs->reduce.axes);
        break;
    case MTS_OP_SOFTMAX:
        mts_text_add(text, " axis %u%s", attrs->softmax.axis, attrs->softmax.log ? " log" : "");
        break;
    case MTS_OP_CONCAT:
        mts_text_add(text, " axis %u", attrs->concat.axis);
        break;
    case MTS_OP_GATHER:
        mts_text_add(text, " axis %u", attrs->gather.axis);
        break;
    case MTS_OP_SLICE:
        print_slice(&attrs->slice, rank, text);
        break;
    case MTS_OP_PAD:
        print_pad(&attrs->pad, rank, text);
        break;
    case MTS_OP_TRANSPOSE:
        for (uint32_t i = 0; i < rank; i++) {
            mts_text_add(text, "%s%u", i ? "," : " ", attrs->transpose.perm[i]);
        }
        break;
    case MTS_OP_RESIZE:
        mts_text_add(text, " %s", resize_names[attrs->resize.mode]);
        break;
    default:
        break;
    }
}

static void print_node(const mts_graph *graph, uint32_t index, mts_text *text)
{
    const mts_node *node = &graph->nodes[index];
    char shape[96];
    mts_text_add(text, "%4u %-9s %s(", index, mts_op_name(node->op), node->name);
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t input = node->inputs[i];
        mts_text_add(text, "%s%s", i ? ", " : "", input == MTS_NONE ? "-" : graph->values[input].name);
    }
    const mts_value *out = &graph->values[node->output];
    mts_text_add(text, ") -> %s %s", out->name, mts_shape_text(&out->shape, shape, sizeof(shape)));
    print_attrs(node, out->shape.rank, text);
    mts_text_add(text, "\n");
}

static void print_port(const char *what, const mts_graph *graph, const mts_port *port, mts_text *text)
{
    char shape[96];
    mts_text_add(text, "%s %s (%s) %s %s\n", what, port->name, graph->values[port->value].name,
                 mts_type_name(port->dtype), mts_shape_text(&port->shape, shape, sizeof(shape)));
}

const char *mts_node_title(const mts_graph *graph, const mts_node *node)
{
    if (node->name && node->name[0] != '\0') {
        return node->name;
    }
    const char *output = graph->values[node->output].name;
    return output ? output : "";
}

void mts_graph_print(const mts_graph *graph, mts_text *text)
{
    mts_text_add(text, "graph %s: %u nodes\n", graph->name, graph->node_count);
    for (uint32_t i = 0; i < graph->input_count; i++) {
        print_port("input", graph, &graph->inputs[i], text);
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        print_node(graph, i, text);
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        print_port("output", graph, &graph->outputs[i], text);
    }
}
