/*
 * alike.c: whether two nodes do the same kind of work.
 *
 * Channel counts, image sizes and constants may differ between alike nodes; everything
 * that selects another kernel (operator, attributes, fused operands, ranks) may not.
 * Being alike is an equivalence: align.c relies on that.
 */
#include "graph/align.h"

#include <string.h>

#include "base/check.h"
#include "graph/op.h"

static const mts_value *input_value(const mts_graph *graph, const mts_node *node, uint32_t index)
{
    if (index >= node->input_count || node->inputs[index] == MTS_NONE) {
        return NULL;
    }
    return &graph->values[node->inputs[index]];
}

static bool same_floats(const float *a, const float *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (a[i] < b[i] || a[i] > b[i]) {
            return false;
        }
    }
    return true;
}

static bool same_field(const mts_op_field *field, const mts_attrs *a, const mts_attrs *b)
{
    const void *p = (const char *)a + field->offset, *q = (const char *)b + field->offset;
    switch (field->kind) {
    case MTS_OP_FIELD_WORD:
        return memcmp(p, q, field->count * sizeof(uint32_t)) == 0;
    case MTS_OP_FIELD_LONG:
        return memcmp(p, q, field->count * sizeof(int64_t)) == 0;
    case MTS_OP_FIELD_FLOAT:
        return same_floats(p, q, field->count);
    case MTS_OP_FIELD_ACT:
        break;
    }
    const mts_act *x = p, *y = q;
    return x->fn == y->fn && same_floats(&x->a, &y->a, 1) && same_floats(&x->b, &y->b, 1);
}

static bool same_attrs(const mts_op_row *row, const mts_node *x, const mts_node *y)
{
    for (uint32_t i = 0; i < row->field_count; i++) {
        if (row->fields[i].alike && !same_field(&row->fields[i], &x->attrs, &y->attrs)) {
            return false;
        }
    }
    return true;
}

static bool has_affine(const mts_op_row *row)
{
    bool any = false;
    for (size_t i = 0; i < sizeof row->inputs / sizeof row->inputs[0]; i++) {
        any = any || row->inputs[i] == MTS_OP_INPUT_AFFINE;
    }
    return any;
}

/* Operands that a kernel must know of: present or absent, constant or computed, and of
   what rank. */
static bool same_operands(const mts_op_row *row, const mts_graph *a, const mts_node *x, const mts_graph *b,
                          const mts_node *y)
{
    if (a->values[x->output].shape.rank != b->values[y->output].shape.rank) {
        return false;
    }
    if (!has_affine(row) && x->input_count != y->input_count) {
        return false;
    }
    uint32_t count = x->input_count > y->input_count ? x->input_count : y->input_count;
    for (uint32_t i = 0; i < count; i++) {
        if (mts_op_input_kind(x->op, i) == MTS_OP_INPUT_AFFINE) {
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
    const mts_op_row *row = mts_op_find(x->op);
    MTS_CHECK(row); /* verified graphs have no other operators */
    return x->op == y->op && same_operands(row, a, x, b, y) && same_attrs(row, x, y) &&
           (!row->alike || row->alike(a, x, b, y));
}
