/*
 * batch_first.c: the graph in which values [M tokens, N images, ..] are [N, M, ..].
 *
 * A value is `moved` if its leading elements count tokens before images: its shape begins with
 * [M, N], [1, M N] or [M N]. It has up to two forms in the new graph, as it was and with the batch
 * first; each is made where the first node reads it.
 */
#include "compiler/passes/batch_first.h"

#include <string.h>

typedef enum lead {
    LEAD_NONE,
    LEAD_FLAT, /* [M N, ..] */
    LEAD_ROWS, /* [1, M N, ..]; with the batch first [N, M, ..] */
    LEAD_BOTH  /* [M, N, ..] */
} lead;

typedef struct form {
    uint32_t plain, first; /* values of the new graph, or MTS_NONE */
    int64_t tokens, batch; /* of a moved value; 0: it is none */
} form;

typedef struct mover {
    const mts_graph *from;
    mts_graph *to;
    mts_arena *arena;
    form *forms; /* per value of `from` */
    mts_error *error;
} mover;

static lead lead_of(const mts_shape *shape, int64_t tokens, int64_t batch)
{
    if (shape->rank >= 2 && shape->dims[0] == tokens && shape->dims[1] == batch) {
        return LEAD_BOTH;
    }
    if (shape->rank >= 2 && shape->dims[0] == 1 && shape->dims[1] == tokens * batch) {
        return LEAD_ROWS;
    }
    return shape->rank >= 1 && shape->rank < MTS_TENSOR_RANK_MAX && shape->dims[0] == tokens * batch
               ? LEAD_FLAT
               : LEAD_NONE;
}

/* Dimensions that count tokens and images. */
static uint32_t width_of(lead l)
{
    return l == LEAD_FLAT ? 1 : 2;
}

static mts_shape first_shape(const mts_shape *shape, int64_t tokens, int64_t batch)
{
    mts_shape out = *shape;
    if (lead_of(shape, tokens, batch) != LEAD_FLAT) {
        out.dims[0] = batch;
        out.dims[1] = tokens;
    }
    return out;
}

static bool is_constant(const mts_graph *graph, uint32_t value)
{
    return value != MTS_NONE && graph->values[value].kind == MTS_VALUE_CONST;
}

static bool is_moved(const mover *m, uint32_t value)
{
    return value != MTS_NONE && m->forms[value].tokens > 0;
}

/* Whether a constant is the same for all tokens and images of values of `rank` dimensions. */
static bool is_common(const mts_shape *constant, uint32_t rank, lead l)
{
    bool common = constant->rank <= rank;
    for (uint32_t i = 0; common && i < width_of(l); i++) {
        common = i + constant->rank < rank || constant->dims[i + constant->rank - rank] == 1;
    }
    return common;
}

/* ---- which nodes compute with the batch first ---- */

/* A TRANSPOSE that orders the dimensions of a moved value [M, N, ..]. */
static bool is_turned_back(const mover *m, const mts_node *node)
{
    const form *in = node->op == MTS_OP_TRANSPOSE ? &m->forms[node->inputs[0]] : NULL;
    return in && in->tokens > 0 &&
           lead_of(&m->from->values[node->inputs[0]].shape, in->tokens, in->batch) == LEAD_BOTH;
}

/* A TRANSPOSE that puts the batch behind the tokens; what moves it to the front again is none. */
static bool begins(const mover *m, const mts_node *node)
{
    const mts_shape *shape = &m->from->values[node->output].shape;
    return node->op == MTS_OP_TRANSPOSE && shape->rank >= 2 && node->attrs.transpose.perm[1] == 0 &&
           shape->dims[0] > 1 && shape->dims[1] > 1 && !is_turned_back(m, node);
}

static bool suits_operands(const mover *m, const mts_node *node, lead l)
{
    const mts_shape *out = &m->from->values[node->output].shape;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] != MTS_NONE) {
            const mts_shape *shape = &m->from->values[node->inputs[i]].shape;
            const bool fits = is_constant(m->from, node->inputs[i]) ? is_common(shape, out->rank, l)
                                                                    : mts_shape_equal(shape, out);
            if (!fits) {
                return false;
            }
        }
    }
    return true;
}

static bool suits_product(const mover *m, const mts_node *node, lead l)
{
    const mts_shape *out = &m->from->values[node->output].shape;
    const uint32_t added = node->input_count > 2 ? node->inputs[2] : MTS_NONE;
    const mts_shape *matrix = &m->from->values[node->inputs[1]].shape;
    bool fits = is_moved(m, node->inputs[0]) && is_constant(m->from, node->inputs[1]) &&
                out->rank > width_of(l) && matrix->rank <= out->rank;
    for (uint32_t i = 0; fits && i + 2 < matrix->rank; i++) {
        fits = matrix->dims[i] == 1;
    }
    return fits && (added == MTS_NONE ||
                    (is_constant(m->from, added) && is_common(&m->from->values[added].shape, out->rank, l)));
}

/* The lookup of a row for each token: [1, words, width] by [1, M N, 1]. */
static bool suits_lookup(const mover *m, const mts_node *node, lead l)
{
    return l == LEAD_ROWS && is_constant(m->from, node->inputs[0]) && is_moved(m, node->inputs[1]) &&
           m->from->values[node->inputs[1]].shape.dims[2] == 1;
}

static bool suits_norm(const mover *m, const mts_node *node, lead l)
{
    return node->attrs.norm.groups == 1 && (node->attrs.norm.axes & ((1u << width_of(l)) - 1)) == 0 &&
           suits_operands(m, node, l);
}

static bool suits(const mover *m, const mts_node *node, lead l)
{
    switch (node->op) {
    case MTS_OP_RESHAPE:
        return true;
    case MTS_OP_UNARY:
    case MTS_OP_BINARY:
        return suits_operands(m, node, l);
    case MTS_OP_NORM:
        return suits_norm(m, node, l);
    case MTS_OP_SOFTMAX:
        return node->attrs.softmax.axis >= width_of(l);
    case MTS_OP_MATMUL:
        return suits_product(m, node, l);
    case MTS_OP_TAKE:
        return suits_lookup(m, node, l);
    default:
        return false;
    }
}

static void find_moved(mover *m, bool *any)
{
    for (uint32_t n = 0; n < m->from->node_count; n++) {
        const mts_node *node = &m->from->nodes[n];
        const mts_shape *out = &m->from->values[node->output].shape;
        form *made = &m->forms[node->output];
        if (begins(m, node)) {
            made->tokens = out->dims[0];
            made->batch = out->dims[1];
            continue;
        }
        for (uint32_t i = 0; i < node->input_count && made->tokens == 0; i++) {
            if (is_moved(m, node->inputs[i])) {
                const form *in = &m->forms[node->inputs[i]];
                const lead l = lead_of(out, in->tokens, in->batch);
                if (l != LEAD_NONE && suits(m, node, l)) {
                    made->tokens = in->tokens;
                    made->batch = in->batch;
                }
            }
        }
        *any = *any || (made->tokens > 0 && node->op == MTS_OP_MATMUL);
    }
}

/* ---- the forms of a value ---- */

static mts_status short_of_memory(const mover *m)
{
    return mts_fail_memory(m->error);
}

static mts_status reshape(mover *m, const mts_shape *shape, uint32_t *value)
{
    const mts_attrs attrs = {.reshape = {.shape = *shape}};
    const uint32_t x = *value;
    return mts_shape_equal(&m->to->values[x].shape, shape)
               ? MTS_STATUS_OK
               : mts_graph_add_node(m->to, MTS_OP_RESHAPE, NULL, &x, 1, &attrs, value, m->error);
}

static mts_status transpose(mover *m, const char *name, const uint32_t *perm, uint32_t x, uint32_t *value)
{
    const uint32_t rank = m->to->values[x].shape.rank;
    mts_attrs attrs = {.transpose = {.perm = {0}}};
    bool same = true;
    for (uint32_t i = 0; i < rank; i++) {
        attrs.transpose.perm[i] = perm[i];
        same = same && perm[i] == i;
    }
    *value = x;
    return same ? MTS_STATUS_OK
                : mts_graph_add_node(m->to, MTS_OP_TRANSPOSE, name, &x, 1, &attrs, value, m->error);
}

/* The first two dimensions, [a, b, ..] of what a value of shape `shape` is, change places. */
static mts_status exchange(mover *m, const mts_shape *shape, lead l, int64_t a, int64_t b, uint32_t *value)
{
    const uint32_t perm[MTS_TENSOR_RANK_MAX] = {1, 0, 2, 3, 4, 5};
    mts_shape apart = *shape;
    if (l == LEAD_FLAT) {
        memmove(apart.dims + 2, shape->dims + 1, (shape->rank - 1) * sizeof *shape->dims);
        apart.rank++;
    }
    apart.dims[0] = a;
    apart.dims[1] = b;
    mts_status status = reshape(m, &apart, value);
    MTS_TRY(status, transpose(m, NULL, perm, *value, value));
    return status;
}

static mts_status read_plain(mover *m, uint32_t value, uint32_t *out)
{
    const mts_value *v = &m->from->values[value];
    form *f = &m->forms[value];
    mts_status status = MTS_STATUS_OK;
    if (f->plain == MTS_NONE && v->kind == MTS_VALUE_CONST) {
        f->plain = mts_graph_add_const(m->to, v->name, v->dtype, &v->shape, v->blocks[0].data);
        if (f->plain == MTS_NONE) {
            return short_of_memory(m);
        }
        m->to->values[f->plain].blocks = v->blocks;
        m->to->values[f->plain].block_count = v->block_count;
    } else if (f->plain == MTS_NONE && begins(m, &m->from->nodes[v->producer])) {
        const mts_node *node = &m->from->nodes[v->producer];
        status =
            transpose(m, node->name, node->attrs.transpose.perm, m->forms[node->inputs[0]].plain, &f->plain);
    } else if (f->plain == MTS_NONE) {
        f->plain = f->first;
        status =
            exchange(m, &v->shape, lead_of(&v->shape, f->tokens, f->batch), f->batch, f->tokens, &f->plain);
        MTS_TRY(status, reshape(m, &v->shape, &f->plain));
    }
    *out = f->plain;
    return status;
}

/* With the batch first, of a value that may not be moved itself. */
static mts_status read_first(mover *m, uint32_t value, const form *as, uint32_t *out)
{
    const mts_shape *shape = &m->from->values[value].shape;
    form *f = &m->forms[value];
    if (f->first != MTS_NONE && f->tokens == as->tokens && f->batch == as->batch) {
        *out = f->first;
        return MTS_STATUS_OK;
    }
    const mts_shape first = first_shape(shape, as->tokens, as->batch);
    mts_status status = read_plain(m, value, out);
    MTS_TRY(status, exchange(m, shape, lead_of(shape, as->tokens, as->batch), as->tokens, as->batch, out));
    MTS_TRY(status, reshape(m, &first, out));
    return status;
}

/* ---- building ---- */

static mts_status emit_beginning(mover *m, const mts_node *node, form *made)
{
    uint32_t perm[MTS_TENSOR_RANK_MAX], x = MTS_NONE;
    memcpy(perm, node->attrs.transpose.perm, sizeof perm);
    perm[1] = perm[0];
    perm[0] = 0;
    mts_status status = read_plain(m, node->inputs[0], &x);
    MTS_TRY(status, transpose(m, node->name, perm, x, &made->first));
    return status;
}

/* A TRANSPOSE of a moved value [M, N, ..] is one of [N, M, ..] in another order. */
static mts_status emit_end(mover *m, const mts_node *node, form *made)
{
    const form *in = &m->forms[node->inputs[0]];
    uint32_t perm[MTS_TENSOR_RANK_MAX], x = MTS_NONE;
    for (uint32_t i = 0; i < MTS_TENSOR_RANK_MAX; i++) {
        const uint32_t from = node->attrs.transpose.perm[i];
        perm[i] = from < 2 ? 1 - from : from;
    }
    mts_status status = read_first(m, node->inputs[0], in, &x);
    MTS_TRY(status, transpose(m, node->name, perm, x, &made->plain));
    return status;
}

static mts_status add_node(mover *m, const mts_node *node, const uint32_t *inputs, const mts_attrs *attrs,
                           uint32_t *out)
{
    mts_status status =
        mts_graph_add_node(m->to, node->op, node->name, inputs, node->input_count, attrs, out, m->error);
    if (status == MTS_STATUS_OK && m->to->values[*out].kind == MTS_VALUE_NODE) {
        m->to->nodes[m->to->values[*out].producer].scatter = node->scatter;
    }
    return status;
}

static mts_status emit_moved(mover *m, const mts_node *node, form *made)
{
    const mts_shape *shape = &m->from->values[node->output].shape;
    const mts_shape first = first_shape(shape, made->tokens, made->batch);
    const mts_shape rows = {.rank = 3, .dims = {1, made->tokens * made->batch, 1}};
    mts_attrs attrs = node->attrs;
    uint32_t inputs[3] = {MTS_NONE, MTS_NONE, MTS_NONE};
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < node->input_count; i++) {
        if (node->inputs[i] != MTS_NONE) {
            status = is_constant(m->from, node->inputs[i]) ? read_plain(m, node->inputs[i], &inputs[i])
                                                           : read_first(m, node->inputs[i], made, &inputs[i]);
        }
    }
    if (node->op == MTS_OP_RESHAPE) {
        made->first = inputs[0];
        return status == MTS_STATUS_OK ? reshape(m, &first, &made->first) : status;
    }
    if (node->op == MTS_OP_TAKE) {
        MTS_TRY(status, reshape(m, &rows, &inputs[1]));
    }
    MTS_TRY(status, add_node(m, node, inputs, &attrs, &made->first));
    MTS_TRY(status, reshape(m, &first, &made->first));
    return status;
}

static mts_status emit_plain(mover *m, const mts_node *node, form *made)
{
    uint32_t *inputs = mts_arena_zero(m->arena, node->input_count, sizeof *inputs);
    mts_status status = inputs ? MTS_STATUS_OK : short_of_memory(m);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < node->input_count; i++) {
        inputs[i] = MTS_NONE;
        if (node->inputs[i] != MTS_NONE) {
            status = read_plain(m, node->inputs[i], &inputs[i]);
        }
    }
    MTS_TRY(status, add_node(m, node, inputs, &node->attrs, &made->plain));
    return status;
}

static mts_status emit(mover *m, const mts_node *node)
{
    form *made = &m->forms[node->output];
    const mts_status status = is_turned_back(m, node) ? emit_end(m, node, made)
                              : made->tokens == 0     ? emit_plain(m, node, made)
                              : begins(m, node)       ? emit_beginning(m, node, made)
                                                      : emit_moved(m, node, made);
    if (status != MTS_STATUS_OK) {
        return mts_fail_prefix(m->error, status, "node '%s'", mts_node_title(m->from, node));
    }
    const uint32_t value = made->first != MTS_NONE ? made->first : made->plain;
    return m->to->values[value].kind != MTS_VALUE_NODE ||
                   mts_graph_name_value(m->to, value, m->from->values[node->output].name)
               ? status
               : short_of_memory(m);
}

static mts_status build(mover *m)
{
    const mts_graph *graph = m->from;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < graph->input_count; i++) {
        const mts_port *port = &graph->inputs[i];
        const uint32_t value = mts_graph_add_input(m->to, port->name, port->dtype, &port->shape);
        m->forms[port->value].plain = value;
        status = value == MTS_NONE ? short_of_memory(m) : status;
    }
    for (uint32_t n = 0; status == MTS_STATUS_OK && n < graph->node_count; n++) {
        status = emit(m, &graph->nodes[n]);
    }
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < graph->output_count; i++) {
        const mts_port *port = &graph->outputs[i];
        uint32_t value = MTS_NONE;
        status = read_plain(m, port->value, &value);
        MTS_TRY(status, mts_graph_add_output(m->to, port->name, value, port->dtype, &port->shape, m->error));
    }
    return status;
}

mts_status mts_batch_first(const mts_graph *graph, mts_arena *arena, mts_graph **out, mts_error *error)
{
    mover m = {.from = graph, .arena = arena, .error = error};
    bool any = false;
    *out = NULL;
    m.forms = mts_arena_zero(arena, graph->value_count, sizeof *m.forms);
    if (!m.forms) {
        return short_of_memory(&m);
    }
    for (uint32_t v = 0; v < graph->value_count; v++) {
        m.forms[v].plain = m.forms[v].first = MTS_NONE;
    }
    find_moved(&m, &any);
    if (!any) {
        *out = (mts_graph *)graph;
        return MTS_STATUS_OK;
    }
    m.to = mts_graph_create(arena, graph->name);
    const mts_status status = m.to ? build(&m) : short_of_memory(&m);
    *out = status == MTS_STATUS_OK ? m.to : NULL;
    return status;
}
