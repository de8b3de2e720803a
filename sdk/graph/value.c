/*
 * value.c: the readers of values; constants as weight matrices, and gathered from their blocks into dense
 * arrays.
 */
#include "graph/graph.h"

#include <string.h>

#include "base/check.h"
#include "base/half.h"

void mts_value_read_run(const mts_value *value, const void *data, size_t first, size_t count, float *out)
{
    if (value->dtype == MTS_TYPE_FLOAT16) {
        mts_half_array_to_float((const uint16_t *)data + first, out, count);
    } else if (value->dtype == MTS_TYPE_INT8) {
        for (size_t i = 0; i < count; i++) {
            out[i] = (float)((const int8_t *)data)[first + i] * MTS_INT8_STEP;
        }
    } else if (value->dtype == MTS_TYPE_INT32) {
        for (size_t i = 0; i < count; i++) {
            out[i] = (float)((const int32_t *)data)[first + i];
        }
    } else {
        memcpy(out, (const float *)data + first, count * sizeof(*out));
    }
}

void mts_value_matrix(const mts_value *value, uint32_t *out, uint32_t *in, uint32_t *inner)
{
    size_t count = mts_shape_count(&value->shape);
    if (value->shape.rank < 2) {
        *out = (uint32_t)count;
        *in = *inner = 1;
        return;
    }
    *out = (uint32_t)value->shape.dims[0];
    *in = (uint32_t)value->shape.dims[1];
    size_t cells = (size_t)*out * *in;
    *inner = cells ? (uint32_t)(count / cells) : 0;
}

void mts_value_read_f32(const mts_value *value, float *out)
{
    uint32_t rows = 0, columns = 0, inner = 0;
    mts_value_matrix(value, &rows, &columns, &inner);
    MTS_CHECK(value->kind == MTS_VALUE_CONST);
    for (uint32_t b = 0; b < value->block_count; b++) {
        const mts_block_ref *block = &value->blocks[b];
        MTS_CHECK(block->out_first + block->out_count <= rows &&
                  block->in_first + block->in_count <= columns);
        size_t length = (size_t)block->in_count * inner;
        for (uint32_t r = 0; r < block->out_count; r++) {
            size_t to = ((size_t)(block->out_first + r) * columns + block->in_first) * inner;
            mts_value_read_run(value, block->data, r * length, length, out + to);
        }
    }
}

void mts_graph_count_uses(const mts_graph *graph, uint32_t *counts)
{
    memset(counts, 0, graph->value_count * sizeof(*counts));
    for (uint32_t i = 0; i < graph->node_count; i++) {
        for (uint32_t j = 0; j < graph->nodes[i].input_count; j++) {
            if (graph->nodes[i].inputs[j] != MTS_NONE) {
                MTS_CHECK(graph->nodes[i].inputs[j] < graph->value_count);
                counts[graph->nodes[i].inputs[j]]++;
            }
        }
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        counts[graph->outputs[i].value]++;
    }
}
