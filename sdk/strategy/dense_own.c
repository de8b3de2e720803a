/*
 * dense_own.c: a graph whose constants are its own, in one piece each.
 */
#include <string.h>

#include "strategy/dense.h"

static bool join_blocks(mts_value *value, mts_arena *arena)
{
    float *data = mts_arena_zero(arena, mts_shape_count(&value->shape), sizeof *data);
    mts_block_ref *block = mts_arena_zero(arena, 1, sizeof *block);
    uint32_t inner = 0;
    if (!data || !block) {
        return false;
    }
    mts_value_read_f32(value, data);
    block->block = MTS_NONE;
    block->data = data;
    mts_value_matrix(value, &block->out_count, &block->in_count, &inner);
    value->dtype = MTS_TYPE_FLOAT32;
    value->blocks = block;
    value->block_count = 1;
    return true;
}

mts_status mts_dense_own(const mts_graph *graph, mts_arena *arena, const mts_graph **out, mts_error *error)
{
    uint32_t cut = 0;
    for (uint32_t v = 0; v < graph->value_count; v++) {
        cut += graph->values[v].block_count > 1 ? 1 : 0;
    }
    *out = graph;
    if (cut == 0) {
        return MTS_STATUS_OK;
    }
    mts_graph *own = mts_arena_zero(arena, 1, sizeof *own);
    mts_value *values = mts_arena_zero(arena, graph->value_count, sizeof *values);
    if (!own || !values) {
        return mts_fail_memory(error);
    }
    *own = *graph;
    memcpy(values, graph->values, graph->value_count * sizeof *values);
    own->values = values;
    own->names = NULL;
    own->value_capacity = graph->value_count;
    own->input_capacity = own->output_capacity = 0; /* these arrays are the other graph's */
    for (uint32_t v = 0; v < graph->value_count; v++) {
        if (values[v].block_count > 1 && !join_blocks(&values[v], arena)) {
            return mts_fail_memory(error);
        }
    }
    *out = own;
    return MTS_STATUS_OK;
}
