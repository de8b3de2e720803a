/*
 * norm.c: the operator NORM: layer, instance, group and root mean square normalisation,
 * and division by a norm.
 */
#include "graph/ops/common.h"

#include <math.h>

/* A scale or bias whose dimensions, counted from the last one, are those of x or 1. */
static mts_status check_factor(const mts_infer_call *call, uint32_t index, const char *what)
{
    const mts_shape *x = call->inputs[0], *factor = mts_infer_input(call, index);
    mts_shape both;
    if (!factor || (mts_shape_broadcast(x, factor, &both) && mts_shape_equal(&both, x))) {
        return MTS_STATUS_OK;
    }
    char a[96], b[96];
    return mts_fail(call->error, MTS_STATUS_MALFORMED, "%s of shape %s does not broadcast to %s", what,
                    mts_shape_text(factor, a, sizeof a), mts_shape_text(x, b, sizeof b));
}

static mts_status check_groups(const mts_infer_call *call)
{
    const mts_attrs_norm *norm = &call->attrs->norm;
    const mts_shape *x = call->inputs[0];
    if (norm->groups == 1) {
        return MTS_STATUS_OK;
    }
    if (norm->groups == 0 || !(norm->axes & 2u) || x->rank < 3 || x->dims[1] % (int64_t)norm->groups != 0) {
        return mts_fail(
            call->error, MTS_STATUS_MALFORMED,
            "%u groups: they must divide dimension 1 of at least three, and the axes 0x%x must have it",
            norm->groups, norm->axes);
    }
    /* Groups are one dimension more, unless all behind them is one. */
    if (x->rank == MTS_TENSOR_RANK_MAX && (norm->axes | 1u) != (1u << x->rank) - 1u) {
        return mts_fail(call->error, MTS_STATUS_UNSUPPORTED,
                        "groups of channels of %u dimensions, of which the axes 0x%x lack some", x->rank,
                        norm->axes);
    }
    return MTS_STATUS_OK;
}

static mts_status norm_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_norm *norm = &call->attrs->norm;
    const mts_shape *x = call->inputs[0];
    *out = *x;
    if (norm->kind >= MTS_NORM_COUNT || !(norm->epsilon >= 0.0f) || isinf(norm->epsilon)) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "kind %u or epsilon %g is out of range",
                        norm->kind, (double)norm->epsilon);
    }
    if (norm->axes == 0 || norm->axes >= 1u << x->rank) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "axes 0x%x do not fit rank %u", norm->axes,
                        x->rank);
    }
    mts_status status = check_groups(call);
    MTS_TRY(status, check_factor(call, 1, "a scale"));
    MTS_TRY(status, check_factor(call, 2, "a bias"));
    MTS_TRY(status, mts_infer_act(call, &norm->act, false));
    return status;
}

/* Sums, and the product with what they give. */
static uint64_t norm_mul_adds(const mts_graph *graph, const mts_node *node)
{
    return 3 * mts_cost_output(graph, node);
}

static const mts_op_field norm_fields[] = {MTS_OP_WORD(norm, kind, true), MTS_OP_WORD(norm, axes, true),
                                           MTS_OP_WORD(norm, groups, true), MTS_OP_FLOAT(norm, epsilon, true),
                                           MTS_OP_ACT(norm, act)};

const mts_op_row mts_op_norm =
    MTS_OP_ROW("norm", 1, 3, MTS_NONE, norm_fields, norm_infer, NULL, norm_mul_adds, NULL,
               mts_channels_unstitched, MTS_OP_INPUT_DATA, MTS_OP_INPUT_AFFINE);
