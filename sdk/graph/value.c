/*
 * value.c: the readers of values; constants as weight matrices, and gathered from their
 * blocks into dense arrays.
 */
#include "graph/graph.h"

#include <math.h>
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

/* Row c of the weight has a 1 at position c % s, and zeros elsewhere. */
static bool is_one_of_each(const mts_value *weight, uint32_t positions)
{
    const float *numbers = weight->blocks[0].data;
    const size_t count = (size_t)weight->shape.dims[0] * positions;
    bool is = true;
    for (size_t i = 0; is && i < count; i++) {
        const float wanted = i % positions == i / positions % positions ? 1.0f : 0.0f;
        is = numbers[i] >= wanted && numbers[i] <= wanted; /* no NaN */
    }
    return is;
}

bool mts_deconv_is_shuffle(const mts_node *node, const mts_value *weight)
{
    const mts_attrs_conv *conv = &node->attrs.conv;
    bool is = node->op == MTS_OP_DECONV && node->input_count == 2 && conv->act.fn == MTS_FN_NONE &&
              weight->dtype == MTS_TYPE_FLOAT32 && weight->kind == MTS_VALUE_CONST &&
              weight->block_count == 1 && weight->shape.dims[1] == 1 &&
              weight->shape.dims[0] == (int64_t)conv->group * conv->kernel[0] * conv->kernel[1];
    for (int i = 0; is && i < 2; i++) {
        is = conv->kernel[i] == conv->stride[i] && conv->dilation[i] == 1 && conv->pad[i] == 0 &&
             conv->pad[i + 2] == 0 && conv->output_pad[i] == 0;
    }
    return is && is_one_of_each(weight, conv->kernel[0] * conv->kernel[1]);
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

bool mts_all_finite(const float *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(numbers[i])) {
            return false;
        }
    }
    return true;
}
