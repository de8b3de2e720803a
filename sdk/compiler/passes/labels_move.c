/*
 * labels_move.c: labels of channels that nodes move to another dimension and back (family.h):
 * channels of tokens are the last dimension before a transposition, and those of patches a
 * dimension in the middle.
 */
#include "compiler/passes/family.h"

static mts_moved_labels labels_at(const mts_family *family, uint32_t task, uint32_t value)
{
    uint32_t *labels = family->value_labels[task][value];
    return labels ? (mts_moved_labels){labels, 1} : family->moved[task][value];
}

/* The dimension that a reshape leaves whole, by the elements in front of it; MTS_NONE. */
static uint32_t axis_of_reshape(const mts_shape *from, uint32_t axis, const mts_shape *to)
{
    int64_t before = 1, seen = 1;
    for (uint32_t i = 0; i < axis; i++) {
        before *= from->dims[i];
    }
    for (uint32_t i = 0; i < to->rank; i++) {
        if (seen == before && to->dims[i] == from->dims[axis]) {
            return i;
        }
        seen *= to->dims[i];
    }
    return MTS_NONE;
}

static uint32_t axis_of_transpose(const mts_node *node, uint32_t rank, uint32_t axis)
{
    for (uint32_t i = 0; i < rank; i++) {
        if (node->attrs.transpose.perm[i] == axis) {
            return i;
        }
    }
    return MTS_NONE;
}

/* The only operand that is no constant, where it has the shape of the result. */
static uint32_t passed_on(const mts_graph *graph, const mts_node *node)
{
    uint32_t found = MTS_NONE;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] != MTS_NONE && graph->values[node->inputs[i]].kind != MTS_VALUE_CONST) {
            if (found != MTS_NONE) {
                return MTS_NONE;
            }
            found = node->inputs[i];
        }
    }
    return found != MTS_NONE &&
                   mts_shape_equal(&graph->values[found].shape, &graph->values[node->output].shape)
               ? found
               : MTS_NONE;
}

void mts_family_move_labels(mts_family *family, uint32_t task, const mts_node *node)
{
    const mts_graph *graph = family->graphs[task];
    const mts_shape *out = &graph->values[node->output].shape;
    if (family->value_labels[task][node->output]) {
        return;
    }
    mts_moved_labels found = {NULL, MTS_NONE};
    if (node->op == MTS_OP_RESHAPE || node->op == MTS_OP_TRANSPOSE) {
        found = labels_at(family, task, node->inputs[0]);
        const mts_shape *in = &graph->values[node->inputs[0]].shape;
        if (found.labels) {
            found.axis = node->op == MTS_OP_RESHAPE ? axis_of_reshape(in, found.axis, out)
                                                    : axis_of_transpose(node, out->rank, found.axis);
        }
    } else if (node->op == MTS_OP_UNARY || node->op == MTS_OP_BINARY || node->op == MTS_OP_NORM) {
        const uint32_t value = passed_on(graph, node);
        found = value != MTS_NONE ? family->moved[task][value] : found;
    }
    if (!found.labels || found.axis == MTS_NONE) {
        return;
    }
    if (found.axis == 1) {
        family->value_labels[task][node->output] = found.labels;
    } else {
        family->moved[task][node->output] = found;
    }
}
