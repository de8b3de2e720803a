/*
 * gather.c: the operator GATHER.
 */
#include "graph/ops/common.h"

bool mts_gathered_shape(const mts_shape *x, uint32_t axis, const mts_shape *index, mts_shape *out)
{
    *out = (mts_shape){0};
    if (x->rank - 1 + index->rank > MTS_TENSOR_RANK_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < axis; i++) {
        out->dims[out->rank++] = x->dims[i];
    }
    for (uint32_t i = 0; i < index->rank; i++) {
        out->dims[out->rank++] = index->dims[i];
    }
    for (uint32_t i = axis + 1; i < x->rank; i++) {
        out->dims[out->rank++] = x->dims[i];
    }
    return true;
}

static mts_status gather_infer(const mts_infer_call *call, mts_shape *out)
{
    uint32_t axis = call->attrs->gather.axis;
    const mts_shape *x = call->inputs[0], *index = call->inputs[1];
    if (axis >= x->rank || !mts_gathered_shape(x, axis, index, out)) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "axis %u or index rank %u does not fit rank %u",
                        axis, index->rank, x->rank);
    }
    return MTS_STATUS_OK;
}

static mts_status gather_check(const mts_graph *graph, const mts_node *node, mts_error *error)
{
    const mts_value *index = &graph->values[node->inputs[1]];
    const int32_t *numbers = index->blocks[0].data;
    int64_t dim = graph->values[node->inputs[0]].shape.dims[node->attrs.gather.axis];
    size_t count = mts_shape_count(&index->shape);
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] < 0 || numbers[i] >= dim) {
            return mts_fail(error, MTS_STATUS_MALFORMED, "gather: index %d is outside 0..%lld", numbers[i],
                            (long long)dim - 1);
        }
    }
    return MTS_STATUS_OK;
}

static const mts_op_field gather_fields[] = {MTS_OP_WORD(axis, axis, true)};

const mts_op_row mts_op_gather =
    MTS_OP_ROW("gather", 2, 2, MTS_NONE, gather_fields, gather_infer, gather_check, mts_cost_none, NULL,
               mts_channels_unstitched, MTS_OP_INPUT_DATA, MTS_OP_INPUT_INDEX);
