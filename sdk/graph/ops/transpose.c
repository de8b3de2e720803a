/*
 * transpose.c: the operator TRANSPOSE.
 */
#include "graph/ops/common.h"

static mts_status transpose_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_shape *x = call->inputs[0];
    uint32_t seen = 0;
    out->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t from = call->attrs->transpose.perm[i];
        if (from >= x->rank || (seen >> from & 1u)) {
            return mts_fail(call->error, MTS_STATUS_MALFORMED, "perm is not a permutation of %u dimensions",
                            x->rank);
        }
        seen |= 1u << from;
        out->dims[i] = x->dims[from];
    }
    return MTS_STATUS_OK;
}

static bool transpose_alike(const mts_graph *a, const mts_node *x, const mts_graph *b, const mts_node *y)
{
    (void)b;
    const uint32_t rank = a->values[x->output].shape.rank;
    for (uint32_t i = 0; i < rank; i++) {
        if (x->attrs.transpose.perm[i] != y->attrs.transpose.perm[i]) {
            return false;
        }
    }
    return true;
}

static mts_propagation transpose_channels(const mts_graph *graph, const mts_node *node)
{
    (void)graph;
    const uint32_t *perm = node->attrs.transpose.perm;
    return (mts_propagation){.pass = perm[0] == 0 && perm[1] == 1 ? MTS_CHANNELS_KEPT : MTS_CHANNELS_FIXED,
                             .reason = MTS_REASON_UNSTITCHED};
}

static const mts_op_field transpose_fields[] = {MTS_OP_WORD(transpose, perm, false)};

const mts_op_row mts_op_transpose =
    MTS_OP_ROW("transpose", 1, 1, MTS_NONE, transpose_fields, transpose_infer, NULL, mts_cost_none,
               transpose_alike, transpose_channels, MTS_OP_INPUT_DATA);
