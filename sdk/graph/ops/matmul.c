/*
 * matmul.c: the operator MATMUL.
 */
#include "graph/ops/common.h"

#include <math.h>

static mts_status matmul_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_matmul *matmul = &call->attrs->matmul;
    mts_status status = mts_infer_rank(call, 0, 2, MTS_TENSOR_RANK_MAX);
    MTS_TRY(status, mts_infer_rank(call, 1, 2, MTS_TENSOR_RANK_MAX));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_shape a = *call->inputs[0], b = *call->inputs[1];
    int64_t rows = a.dims[a.rank - 2], inner = a.dims[a.rank - 1], columns = b.dims[b.rank - 1];
    if (inner != b.dims[b.rank - 2]) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "inner dimensions %lld and %lld differ",
                        (long long)inner, (long long)b.dims[b.rank - 2]);
    }
    a.rank -= 2;
    b.rank -= 2;
    if (!mts_shape_broadcast(&a, &b, out)) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "batch dimensions do not broadcast");
    }
    out->dims[out->rank++] = rows;
    out->dims[out->rank++] = columns;
    const mts_shape *c = mts_infer_input(call, 2);
    mts_shape both;
    if (c && (!mts_shape_broadcast(c, out, &both) || !mts_shape_equal(&both, out))) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED,
                        "the third operand does not broadcast to the output");
    }
    if (!isfinite(matmul->alpha) || !isfinite(matmul->beta)) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "alpha or beta is not finite");
    }
    return MTS_STATUS_OK;
}

static uint64_t matmul_mul_adds(const mts_graph *graph, const mts_node *node)
{
    const mts_shape *x = &graph->values[node->inputs[0]].shape;
    return mts_cost_output(graph, node) * (uint64_t)x->dims[x->rank - 1];
}

static const mts_op_field matmul_fields[] = {MTS_OP_FLOAT(matmul, alpha, true),
                                             MTS_OP_FLOAT(matmul, beta, true)};

const mts_op_row mts_op_matmul =
    MTS_OP_ROW("matmul", 2, 3, 1, matmul_fields, matmul_infer, NULL, matmul_mul_adds, NULL,
               mts_channels_unstitched, MTS_OP_INPUT_VALUE);
