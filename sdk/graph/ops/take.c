/*
 * take.c: the operator TAKE.
 */
#include "graph/ops/common.h"

static mts_status take_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_shape *x = call->inputs[0], *index = call->inputs[1];
    mts_status status = mts_infer_rank(call, 0, 3, 3);
    MTS_TRY(status, mts_infer_rank(call, 1, 3, 3));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if ((index->dims[0] != x->dims[0] && index->dims[0] != 1) ||
        (index->dims[2] != x->dims[2] && index->dims[2] != 1)) {
        char a[96], b[96];
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "indices of shape %s do not fit %s",
                        mts_shape_text(index, a, sizeof a), mts_shape_text(x, b, sizeof b));
    }
    *out = *x;
    out->dims[1] = index->dims[1];
    return mts_infer_positions(call, x->dims[1]);
}

const mts_op_row mts_op_take = MTS_OP_ROW_BARE("take", 2, 2, MTS_NONE, take_infer, NULL, mts_cost_none, NULL,
                                               mts_channels_unstitched, MTS_OP_INPUT_VALUE);
