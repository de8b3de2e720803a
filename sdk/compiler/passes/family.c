/*
 * family.c: the nodes and weights in the rows of a family.
 */
#include "compiler/passes/family.h"

const mts_node *mts_family_node(const mts_family *family, uint32_t row, uint32_t task)
{
    const uint32_t node = family->rows.nodes[(size_t)row * family->count + task];
    return node == MTS_NONE ? NULL : &family->graphs[task]->nodes[node];
}

mts_value *mts_family_weight(const mts_family *family, uint32_t row, uint32_t task)
{
    const mts_node *node = mts_family_node(family, row, task);
    if (!node || node->op != MTS_OP_CONV || node->attrs.conv.group != 1 || node->scatter) {
        return NULL;
    }
    mts_value *weight = &family->graphs[task]->values[node->inputs[1]];
    return weight->block_count == 1 ? weight : NULL;
}

mts_value *mts_family_grouped_weight(const mts_family *family, uint32_t row, uint32_t task)
{
    const mts_node *node = mts_family_node(family, row, task);
    if (!node || node->op != MTS_OP_CONV || node->attrs.conv.group == 1 || node->scatter) {
        return NULL;
    }
    mts_value *weight = &family->graphs[task]->values[node->inputs[1]];
    return weight->block_count == 1 && weight->shape.dims[1] > 1 ? weight : NULL;
}
