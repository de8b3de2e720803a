/*
 * attention.c: the operator ATTENTION: scaled dot product attention of several heads.
 */
#include "graph/ops/common.h"

#include <math.h>

#ifndef MTS_SMALL /* which has no kernel of it */

static mts_status check_image(const mts_infer_call *call, uint32_t index, const char *what)
{
    const mts_shape *shape = call->inputs[index], *q = call->inputs[0];
    const int64_t heads = (int64_t)call->attrs->attention.heads;
    char text[96];
    if (shape->dims[0] != q->dims[0] || shape->dims[2] != 1 || shape->dims[3] < 1 || shape->dims[1] < heads ||
        shape->dims[1] % heads != 0 || shape->dims[1] / heads > (int64_t)MTS_ATTENTION_DEPTH) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED,
                        "%s of shape %s is not %lld images of one row with 1 to %u channels for each of %lld "
                        "heads",
                        what, mts_shape_text(shape, text, sizeof text), (long long)q->dims[0],
                        MTS_ATTENTION_DEPTH, (long long)heads);
    }
    return MTS_STATUS_OK;
}

static mts_status check_mask(const mts_infer_call *call)
{
    const mts_shape *mask = mts_infer_input(call, 3);
    const mts_shape scores = {.rank = 4,
                              .dims = {call->inputs[0]->dims[0], (int64_t)call->attrs->attention.heads,
                                       call->inputs[0]->dims[3], call->inputs[1]->dims[3]}};
    mts_shape both;
    char a[96], b[96];
    if (mask && (!mts_shape_broadcast(mask, &scores, &both) || !mts_shape_equal(&both, &scores))) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "a mask of shape %s does not broadcast to %s",
                        mts_shape_text(mask, a, sizeof a), mts_shape_text(&scores, b, sizeof b));
    }
    return MTS_STATUS_OK;
}

static mts_status attention_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_attention *attention = &call->attrs->attention;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; i < 3; i++) {
        MTS_TRY(status, mts_infer_rank(call, i, 4, 4));
    }
    if (status == MTS_STATUS_OK && (attention->heads == 0 || !isfinite(attention->scale))) {
        status = mts_fail(call->error, MTS_STATUS_MALFORMED, "%u heads or scale %g are out of range",
                          attention->heads, (double)attention->scale);
    }
    MTS_TRY(status, check_image(call, 0, "q"));
    MTS_TRY(status, check_image(call, 1, "k"));
    MTS_TRY(status, check_image(call, 2, "v"));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const mts_shape *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2];
    if (q->dims[1] != k->dims[1] || k->dims[3] != v->dims[3]) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED,
                        "%lld and %lld channels of q and k, or %lld and %lld tokens of k and v differ",
                        (long long)q->dims[1], (long long)k->dims[1], (long long)k->dims[3],
                        (long long)v->dims[3]);
    }
    *out = (mts_shape){.rank = 4, .dims = {q->dims[0], v->dims[1], 1, q->dims[3]}};
    return check_mask(call);
}

/* Both products: queries x keys x channels of q and of v. */
static uint64_t attention_mul_adds(const mts_graph *graph, const mts_node *node)
{
    const uint64_t keys = (uint64_t)graph->values[node->inputs[1]].shape.dims[3];
    return (mts_cost_input(graph, node) + mts_cost_output(graph, node)) * keys;
}

#else

static mts_status attention_infer(const mts_infer_call *call, mts_shape *out)
{
    (void)out;
    return mts_fail(call->error, MTS_STATUS_UNSUPPORTED, "a library built with MTS_SMALL has no attention");
}

static uint64_t attention_mul_adds(const mts_graph *graph, const mts_node *node)
{
    (void)graph;
    (void)node;
    return 0;
}

#endif

static mts_propagation attention_channels(const mts_graph *graph, const mts_node *node)
{
    (void)graph;
    (void)node;
    return mts_channels_fixed("attention, whose channels are those of heads");
}

static const mts_op_field attention_fields[] = {MTS_OP_WORD(attention, heads, true),
                                                MTS_OP_FLOAT(attention, scale, true)};

const mts_op_row mts_op_attention = MTS_OP_ROW(
    "attention", 3, 4, MTS_NONE, attention_fields, attention_infer, NULL, attention_mul_adds, NULL,
    attention_channels, MTS_OP_INPUT_DATA, MTS_OP_INPUT_DATA, MTS_OP_INPUT_DATA, MTS_OP_INPUT_VALUE);
