/*
 * recur.c: the operator RECUR: what a recurrent layer does step by step.
 */
#include "graph/ops/common.h"

/* Gates of a kind, and vectors of the state that its result holds side by side. */
static uint32_t gates_of(uint32_t kind)
{
    return kind == MTS_RECUR_LSTM ? 4 : kind == MTS_RECUR_PLAIN ? 1 : 3;
}

static uint32_t vectors_of(uint32_t kind)
{
    return kind == MTS_RECUR_LSTM ? 2 : kind == MTS_RECUR_GRU ? 3 : 1;
}

static mts_status check_state(const mts_infer_call *call, uint32_t index, int64_t rows, int64_t hidden)
{
    const mts_shape *state = mts_infer_input(call, index);
    if (state && (state->rank != 2 || state->dims[0] != rows || state->dims[1] != hidden)) {
        char text[96];
        return mts_fail(call->error, MTS_STATUS_MALFORMED,
                        "a state of shape %s does not fit %lld rows of %lld",
                        mts_shape_text(state, text, sizeof text), (long long)rows, (long long)hidden);
    }
    return MTS_STATUS_OK;
}

static mts_status recur_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_recur *recur = &call->attrs->recur;
    mts_status status = mts_infer_rank(call, 0, 3, 3);
    MTS_TRY(status, mts_infer_rank(call, 1, 2, 2));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (recur->kind >= MTS_RECUR_COUNT || recur->reverse > 1) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "a mode is out of range");
    }
    const mts_shape *x = call->inputs[0], *weight = call->inputs[1];
    const int64_t hidden = weight->dims[0], wide = hidden * (int64_t)gates_of(recur->kind);
    if (weight->dims[1] != wide || x->dims[2] != wide) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED,
                        "a weight of %lldx%lld and rows of %lld do not fit %u gates", (long long)hidden,
                        (long long)weight->dims[1], (long long)x->dims[2], gates_of(recur->kind));
    }
    MTS_TRY(status, check_state(call, 2, x->dims[1], hidden));
    MTS_TRY(status, check_state(call, 3, x->dims[1], hidden));
    MTS_TRY(status, mts_infer_vector(call, 4, hidden, "bias"));
    if (status == MTS_STATUS_OK && ((mts_infer_input(call, 3) && recur->kind != MTS_RECUR_LSTM) ||
                                    (mts_infer_input(call, 4) && recur->kind != MTS_RECUR_GRU_AFTER))) {
        status = mts_fail(call->error, MTS_STATUS_MALFORMED, "a state or bias is given that is not used");
    }
    *out = mts_shape_make(
        3, (const int64_t[]){x->dims[0], x->dims[1], hidden * (int64_t)vectors_of(recur->kind)});
    return status;
}

static uint64_t recur_mul_adds(const mts_graph *graph, const mts_node *node)
{
    const int64_t *x = graph->values[node->inputs[0]].shape.dims;
    return (uint64_t)x[0] * (uint64_t)x[1] * mts_shape_count(&graph->values[node->inputs[1]].shape);
}

static const mts_op_field recur_fields[] = {
    MTS_OP_WORD(recur, kind, true),
    MTS_OP_WORD(recur, reverse, true),
};

const mts_op_row mts_op_recur = MTS_OP_ROW(
    "recur", 2, 5, MTS_NONE, recur_fields, recur_infer, NULL, recur_mul_adds, NULL, mts_channels_unstitched,
    MTS_OP_INPUT_DATA, MTS_OP_INPUT_WEIGHT, MTS_OP_INPUT_VALUE, MTS_OP_INPUT_VALUE, MTS_OP_INPUT_VECTOR);
