/*
 * infer_element.c: shapes of operators that work element by element or along axes: scale, unary, binary,
 * reduce, softmax, lrn.
 */
#include "graph/infer.h"

#include <math.h>

mts_status mts_infer_scale(const mts_infer_call *call, mts_shape *out)
{
    mts_status code = mts_infer_rank(call, 0, 2, MTS_TENSOR_RANK_MAX);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    *out = *call->inputs[0];
    static const char *const names[3] = {"scale", "bias", "slope"};
    for (uint32_t i = 0; i < 3 && code == MTS_STATUS_OK; i++) {
        code = mts_infer_vector(call, i + 1, out->dims[1], names[i]);
    }
    if (code != MTS_STATUS_OK) {
        return code;
    }
    return mts_infer_act(call, &call->attrs->unary.act, mts_infer_input(call, 3));
}

mts_status mts_infer_unary(const mts_infer_call *call, mts_shape *out)
{
    *out = *call->inputs[0];
    return mts_infer_act(call, &call->attrs->unary.act, false);
}

mts_status mts_infer_binary(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_binary *binary = &call->attrs->binary;
    if (binary->kind >= MTS_BIN_COUNT) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "binary function %u does not exist", binary->kind);
    }
    if (!mts_shape_broadcast(call->inputs[0], call->inputs[1], out)) {
        char a[96], b[96];
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "shapes %s and %s do not broadcast",
                        mts_shape_text(call->inputs[0], a, sizeof(a)),
                        mts_shape_text(call->inputs[1], b, sizeof(b)));
    }
    return mts_infer_act(call, &binary->act, false);
}

mts_status mts_infer_reduce(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_reduce *reduce = &call->attrs->reduce;
    const mts_shape *x = call->inputs[0];
    if (reduce->kind > MTS_REDUCE_MIN || reduce->keep > 1) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "a mode is out of range");
    }
    if (reduce->axes == 0 || reduce->axes >= 1u << x->rank) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "axes 0x%x do not fit rank %u", reduce->axes,
                        x->rank);
    }
    out->rank = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (!(reduce->axes >> i & 1u)) {
            out->dims[out->rank++] = x->dims[i];
        } else if (reduce->keep) {
            out->dims[out->rank++] = 1;
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_infer_softmax(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_softmax *softmax = &call->attrs->softmax;
    *out = *call->inputs[0];
    if (softmax->axis >= out->rank || softmax->log > 1) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "axis %u does not fit rank %u", softmax->axis,
                        out->rank);
    }
    return MTS_STATUS_OK;
}

mts_status mts_infer_lrn(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_lrn *lrn = &call->attrs->lrn;
    mts_status code = mts_infer_rank(call, 0, 4, 4);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    if (lrn->size == 0 || lrn->size > MTS_GRAPH_WINDOW_MAX || !isfinite(lrn->alpha) || !isfinite(lrn->beta) ||
        !isfinite(lrn->bias)) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "an attribute is out of range");
    }
    *out = *call->inputs[0];
    return MTS_STATUS_OK;
}
