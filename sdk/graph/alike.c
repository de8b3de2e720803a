/*
 * alike.c: whether two nodes do the same kind of work.
 *
 * Channel counts, picture sizes and constants may differ between alike nodes; everything that selects another
 * kernel (operator, attributes, fused operands, ranks) may not. Being alike is an equivalence: align.c relies
 * on that.
 */
#include "graph/align.h"

static const mts_value *input_value(const mts_graph *graph, const mts_node *node, uint32_t index)
{
    if (index >= node->input_count || node->inputs[index] == MTS_NONE) {
        return NULL;
    }
    return &graph->values[node->inputs[index]];
}

static bool same_float(float a, float b)
{
    return !(a < b) && !(a > b);
}

static bool same_act(const mts_act *a, const mts_act *b)
{
    return a->fn == b->fn && same_float(a->a, b->a) && same_float(a->b, b->b);
}

static bool same_pair(const uint32_t a[2], const uint32_t b[2])
{
    return a[0] == b[0] && a[1] == b[1];
}

static bool same_pads(const int32_t a[4], const int32_t b[4])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

/* 0: dense, 1: one filter an input channel (their number may differ), else the number of groups. */
static uint32_t group_kind(const mts_graph *graph, const mts_node *node)
{
    const mts_value *x = input_value(graph, node, 0);
    if (node->attrs.conv.group == 1) {
        return 0;
    }
    return x && x->shape.rank > 1 && x->shape.dims[1] == (int64_t)node->attrs.conv.group
               ? 1
               : node->attrs.conv.group;
}

static bool same_conv(const mts_graph *a, const mts_node *x, const mts_graph *b, const mts_node *y)
{
    const mts_attrs_conv *p = &x->attrs.conv, *q = &y->attrs.conv;
    return same_pair(p->kernel, q->kernel) && same_pair(p->stride, q->stride) &&
           same_pair(p->dilation, q->dilation) && same_pads(p->pad, q->pad) &&
           same_pair(p->output_pad, q->output_pad) && same_act(&p->act, &q->act) &&
           group_kind(a, x) == group_kind(b, y);
}

static bool same_pool(const mts_attrs_pool *p, const mts_attrs_pool *q)
{
    return p->kind == q->kind && same_pair(p->kernel, q->kernel) && same_pair(p->stride, q->stride) &&
           same_pair(p->dilation, q->dilation) && same_pads(p->pad, q->pad) && p->ceil == q->ceil &&
           p->include_pad == q->include_pad;
}

static bool same_slice(const mts_attrs_slice *p, const mts_attrs_slice *q)
{
    for (uint32_t i = 0; i < MTS_TENSOR_RANK_MAX; i++) {
        if (p->step[i] != q->step[i]) {
            return false;
        }
    }
    return true;
}

static bool same_transpose(const mts_attrs_transpose *p, const mts_attrs_transpose *q, uint32_t rank)
{
    for (uint32_t i = 0; i < rank && i < MTS_TENSOR_RANK_MAX; i++) {
        if (p->perm[i] != q->perm[i]) {
            return false;
        }
    }
    return true;
}

static bool same_resize(const mts_attrs_resize *p, const mts_attrs_resize *q)
{
    return p->mode == q->mode && p->coord == q->coord && p->round == q->round &&
           p->exclude_outside == q->exclude_outside && same_float(p->cubic_a, q->cubic_a) &&
           same_float(p->extrapolation, q->extrapolation);
}

static bool same_attrs(const mts_graph *a, const mts_node *x, const mts_graph *b, const mts_node *y)
{
    const mts_attrs *p = &x->attrs, *q = &y->attrs;
    switch (x->op) {
    case MTS_OP_CONV:
    case MTS_OP_DECONV:
        return same_conv(a, x, b, y);
    case MTS_OP_MATMUL:
        return same_float(p->matmul.alpha, q->matmul.alpha) && same_float(p->matmul.beta, q->matmul.beta);
    case MTS_OP_SCALE:
    case MTS_OP_UNARY:
        return same_act(&p->unary.act, &q->unary.act);
    case MTS_OP_BINARY:
        return p->binary.kind == q->binary.kind && same_act(&p->binary.act, &q->binary.act);
    case MTS_OP_POOL:
        return same_pool(&p->pool, &q->pool);
    case MTS_OP_REDUCE:
        return p->reduce.kind == q->reduce.kind && p->reduce.axes == q->reduce.axes &&
               p->reduce.keep == q->reduce.keep;
    case MTS_OP_SOFTMAX:
        return p->softmax.axis == q->softmax.axis && p->softmax.log == q->softmax.log;
    case MTS_OP_LRN:
        return p->lrn.size == q->lrn.size && same_float(p->lrn.alpha, q->lrn.alpha) &&
               same_float(p->lrn.beta, q->lrn.beta) && same_float(p->lrn.bias, q->lrn.bias);
    case MTS_OP_CONCAT:
        return p->concat.axis == q->concat.axis;
    case MTS_OP_SLICE:
        return same_slice(&p->slice, &q->slice);
    case MTS_OP_PAD:
        return p->pad.mode == q->pad.mode && same_float(p->pad.value, q->pad.value);
    case MTS_OP_GATHER:
        return p->gather.axis == q->gather.axis;
    case MTS_OP_TRANSPOSE:
        return same_transpose(&p->transpose, &q->transpose, a->values[x->output].shape.rank);
    case MTS_OP_RESIZE:
        return same_resize(&p->resize, &q->resize);
    case MTS_OP_RESHAPE:
    case MTS_OP_EXPAND:
        return true;
    case MTS_OP_COUNT:
        break;
    }
    return false;
}

/* A missing scale is a vector of ones and a missing bias one of zeros, so their presence does not matter. */
static bool is_affine(mts_op op, uint32_t input)
{
    return (op == MTS_OP_CONV && (input == 2 || input == 3)) || (op == MTS_OP_SCALE && input == 2);
}

/* Operands that a kernel must know of: present or absent, constant or computed, and of what rank. */
static bool same_operands(const mts_graph *a, const mts_node *x, const mts_graph *b, const mts_node *y)
{
    if (a->values[x->output].shape.rank != b->values[y->output].shape.rank) {
        return false;
    }
    if (x->op != MTS_OP_CONV && x->op != MTS_OP_SCALE && x->input_count != y->input_count) {
        return false;
    }
    uint32_t count = x->input_count > y->input_count ? x->input_count : y->input_count;
    for (uint32_t i = 0; i < count; i++) {
        if (is_affine(x->op, i)) {
            continue;
        }
        const mts_value *v = input_value(a, x, i), *w = input_value(b, y, i);
        if (!v != !w || (v && (v->shape.rank != w->shape.rank ||
                               (v->kind == MTS_VALUE_CONST) != (w->kind == MTS_VALUE_CONST)))) {
            return false;
        }
    }
    return true;
}

bool mts_node_alike(const mts_graph *a, const mts_node *x, const mts_graph *b, const mts_node *y)
{
    return x->op == y->op && same_operands(a, x, b, y) && same_attrs(a, x, b, y);
}
