/*
 * common.c: see common.h.
 */
#include "graph/ops/common.h"

#include <math.h>

/* ---- shapes and attributes ---- */

const mts_shape *mts_infer_input(const mts_infer_call *call, uint32_t index)
{
    return index < call->input_count ? call->inputs[index] : NULL;
}

mts_status mts_infer_vector(const mts_infer_call *call, uint32_t index, int64_t count, const char *what)
{
    const mts_shape *shape = mts_infer_input(call, index);
    if (shape && (shape->rank != 1 || shape->dims[0] != count)) {
        char text[96];
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "%s has shape %s instead of %lld", what,
                        mts_shape_text(shape, text, sizeof text), (long long)count);
    }
    return MTS_STATUS_OK;
}

mts_status mts_infer_rank(const mts_infer_call *call, uint32_t index, uint32_t least, uint32_t most)
{
    const mts_shape *shape = call->inputs[index];
    if (shape->rank < least || shape->rank > most) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "input %u has rank %u, wanted %u to %u", index,
                        shape->rank, least, most);
    }
    return MTS_STATUS_OK;
}

static bool is_quantisation(const mts_act *act)
{
    return act->fn == MTS_FN_QUANT8 || act->fn == MTS_FN_QUANT16;
}

/* A step, and a least integer, so that 0 is one of the numbers. */
static bool quantisation_fits(const mts_act *act)
{
    const float width = act->fn == MTS_FN_QUANT8 ? 255.0f : 65535.0f;
    return act->a > 0.0f && isfinite(act->a) && act->b >= -width && act->b <= 0.0f &&
           !(act->b < floorf(act->b) || act->b > floorf(act->b));
}

mts_status mts_infer_act(const mts_infer_call *call, const mts_act *act, bool has_slope)
{
    if (act->fn >= MTS_FN_COUNT) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "element function %u does not exist", act->fn);
    }
    if (!mts_op_applies(call->op, act->fn)) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "%s cannot end with element function %u",
                        mts_op_name(call->op), act->fn);
    }
    if (isnan(act->a) || isnan(act->b)) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED,
                        "a parameter of the element function is not a number");
    }
    if (is_quantisation(act) && !quantisation_fits(act)) {
        return mts_fail(
            call->error, MTS_STATUS_MALFORMED,
            "quantisation with step %g and least integer %g: the step must be positive, the integer "
            "whole, and 0 within the range",
            (double)act->a, (double)act->b);
    }
    if ((act->fn == MTS_FN_PRELU) != has_slope) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "a slope vector is %s",
                        has_slope ? "given but not used" : "missing");
    }
    return MTS_STATUS_OK;
}

mts_status mts_infer_window(const mts_infer_call *call, const uint32_t *kernel, const uint32_t *stride,
                            const uint32_t *dilation, const int32_t *pad)
{
    for (int i = 0; i < 2; i++) {
        const uint32_t sizes[3] = {kernel[i], stride[i], dilation[i]};
        for (int j = 0; j < 3; j++) {
            if (sizes[j] == 0 || sizes[j] > MTS_GRAPH_WINDOW_MAX) {
                return mts_fail(call->error, MTS_STATUS_MALFORMED,
                                "kernel, stride or dilation %u is out of range", sizes[j]);
            }
        }
        if (pad[i] < 0 || pad[i + 2] < 0 || pad[i] > (int32_t)MTS_GRAPH_WINDOW_MAX ||
            pad[i + 2] > (int32_t)MTS_GRAPH_WINDOW_MAX) {
            return mts_fail(call->error, MTS_STATUS_MALFORMED, "padding %d, %d is out of range", pad[i],
                            pad[i + 2]);
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_infer_positions(const mts_infer_call *call, int64_t count)
{
    if (count > MTS_GRAPH_INDEX_MAX) {
        return mts_fail(call->error, MTS_STATUS_LIMIT,
                        "positions in a dimension of %lld are above %lld, up to which float32 holds every "
                        "whole number",
                        (long long)count, (long long)MTS_GRAPH_INDEX_MAX);
    }
    return MTS_STATUS_OK;
}

/* ---- costs ---- */

uint64_t mts_cost_none(const mts_graph *graph, const mts_node *node)
{
    (void)graph, (void)node;
    return 0;
}

uint64_t mts_cost_input(const mts_graph *graph, const mts_node *node)
{
    return (uint64_t)mts_shape_count(&graph->values[node->inputs[0]].shape);
}

uint64_t mts_cost_output(const mts_graph *graph, const mts_node *node)
{
    return (uint64_t)mts_shape_count(&graph->values[node->output].shape);
}

/* ---- channels ---- */

mts_propagation mts_channels_fixed(const char *reason)
{
    return (mts_propagation){.pass = MTS_CHANNELS_FIXED, .reason = reason};
}

mts_propagation mts_channels_unstitched(const mts_graph *graph, const mts_node *node)
{
    (void)graph;
    (void)node;
    return mts_channels_fixed(MTS_REASON_UNSTITCHED);
}

/* What an activation makes of zero (kernels/abi/functions.h); not finite also where an
   infinite parameter makes it undefined. */
static float act_of_zero(const mts_act *act)
{
    const float line = act->a * 0.0f;
    switch (act->fn) {
    case MTS_FN_LEAKY:
        return line;
    case MTS_FN_LEAKY_BOUND:
        return act->b > line ? act->b : line;
    case MTS_FN_HARD_SWISH_LINE:
        return line + act->b;
    case MTS_FN_CLIP:
        return fminf(fmaxf(0.0f, act->a), act->b);
    case MTS_FN_SIGMOID:
        return 0.5f;
    case MTS_FN_HARD_SIGMOID:
        return isnan(line) ? line : fminf(fmaxf(act->b, 0.0f), 1.0f);
    case MTS_FN_ELU:
        return act->b * line;
    case MTS_FN_IS_INF:
        return line + act->b * 0.0f;
    case MTS_FN_EXP:
    case MTS_FN_COS:
    case MTS_FN_COSH:
    case MTS_FN_IS_ZERO:
        return 1.0f;
    case MTS_FN_ACOS:
        return 1.5707964f;
    case MTS_FN_SOFTPLUS:
        return 0.6931472f;
    case MTS_FN_LOG:
    case MTS_FN_RECIPROCAL:
    case MTS_FN_ACOSH: /* not a number */
        return INFINITY;
    default:
        return 0.0f;
    }
}

mts_propagation mts_channels_kept_after(const mts_act *act)
{
    const float zero = act_of_zero(act);
    return (mts_propagation){.pass = MTS_CHANNELS_KEPT,
                             .dirty = !(zero >= 0.0f && zero <= 0.0f),
                             .reason = !isfinite(zero) ? "an element function that has no finite value at 0"
                                                       : NULL};
}
