/*
 * lrn.c: the operator LRN (local response normalisation).
 */
#include "graph/ops/common.h"

#include <math.h>

static mts_status lrn_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_lrn *lrn = &call->attrs->lrn;
    mts_status status = mts_infer_rank(call, 0, 4, 4);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (lrn->size == 0 || lrn->size > MTS_GRAPH_WINDOW_MAX || !isfinite(lrn->alpha) || !isfinite(lrn->beta) ||
        !isfinite(lrn->bias)) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "an attribute is out of range");
    }
    *out = *call->inputs[0];
    return MTS_STATUS_OK;
}

static uint64_t lrn_mul_adds(const mts_graph *graph, const mts_node *node)
{
    return mts_cost_output(graph, node) * node->attrs.lrn.size;
}

static const mts_op_field lrn_fields[] = {MTS_OP_WORD(lrn, size, true), MTS_OP_FLOAT(lrn, alpha, true),
                                          MTS_OP_FLOAT(lrn, beta, true), MTS_OP_FLOAT(lrn, bias, true)};

const mts_op_row mts_op_lrn = MTS_OP_ROW("lrn", 1, 1, MTS_NONE, lrn_fields, lrn_infer, NULL, lrn_mul_adds,
                                         NULL, mts_channels_unstitched, MTS_OP_INPUT_DATA);
