/*
 * sample.c: the operator SAMPLE.
 */
#include "graph/ops/common.h"

/* Of an image: the kernel keeps positions inside of this range. */
#define SIDE_MOST (1 << 20)

static mts_status sample_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_sample *sample = &call->attrs->sample;
    const mts_shape *x = call->inputs[0], *grid = call->inputs[1];
    mts_status status = mts_infer_rank(call, 0, 4, 4);
    MTS_TRY(status, mts_infer_rank(call, 1, 4, 4));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (sample->mode > MTS_RESIZE_CUBIC || sample->padding > MTS_SAMPLE_REFLECT || sample->align > 1) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "a mode is out of range");
    }
    if (x->dims[2] > SIDE_MOST || x->dims[3] > SIDE_MOST) {
        return mts_fail(call->error, MTS_STATUS_LIMIT, "an image of %lld x %lld; at most %d rows and columns",
                        (long long)x->dims[2], (long long)x->dims[3], SIDE_MOST);
    }
    if (grid->dims[0] != x->dims[0] || grid->dims[3] != 2) {
        char a[96], b[96];
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "a grid of shape %s does not fit images of %s",
                        mts_shape_text(grid, a, sizeof a), mts_shape_text(x, b, sizeof b));
    }
    *out = mts_shape_make(4, (const int64_t[]){x->dims[0], x->dims[1], grid->dims[1], grid->dims[2]});
    return MTS_STATUS_OK;
}

static uint64_t sample_mul_adds(const mts_graph *graph, const mts_node *node)
{
    static const uint64_t taps[] = {
        [MTS_RESIZE_NEAREST] = 0, [MTS_RESIZE_LINEAR] = 4, [MTS_RESIZE_CUBIC] = 16};
    return mts_cost_output(graph, node) * taps[node->attrs.sample.mode];
}

static const mts_op_field sample_fields[] = {
    MTS_OP_WORD(sample, mode, true), MTS_OP_WORD(sample, padding, true), MTS_OP_WORD(sample, align, true)};

const mts_op_row mts_op_sample =
    MTS_OP_ROW("sample", 2, 2, MTS_NONE, sample_fields, sample_infer, NULL, sample_mul_adds, NULL,
               mts_channels_unstitched, MTS_OP_INPUT_VALUE);
