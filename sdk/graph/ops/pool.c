/*
 * pool.c: the operator POOL.
 */
#include "graph/ops/common.h"

/* A window that starts beyond the input and its leading padding is left out, as in ONNX
 * from opset 19 and PyTorch. */
static int64_t pool_size(int64_t in, int64_t before, int64_t after, int64_t extent, int64_t stride, bool ceil)
{
    int64_t room = in + before + after - extent;
    int64_t size = (ceil ? room + stride - 1 : room) / stride + 1;
    return ceil && (size - 1) * stride >= in + before ? size - 1 : size;
}

static mts_status pool_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_pool *pool = &call->attrs->pool;
    mts_status status = mts_infer_rank(call, 0, 4, 4);
    MTS_TRY(status, mts_infer_window(call, pool->kernel, pool->stride, pool->dilation, pool->pad));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (pool->kind > MTS_POOL_AVG || pool->ceil > 1 || pool->include_pad > 1) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "a mode is out of range");
    }
    *out = *call->inputs[0];
    for (int i = 0; i < 2; i++) {
        int64_t extent = (int64_t)(pool->kernel[i] - 1) * pool->dilation[i] + 1;
        if (pool->pad[i] >= extent || pool->pad[i + 2] >= extent) {
            return mts_fail(call->error, MTS_STATUS_MALFORMED, "padding is not smaller than the window");
        }
        if (out->dims[i + 2] + pool->pad[i] + pool->pad[i + 2] < extent) {
            return mts_fail(call->error, MTS_STATUS_MALFORMED, "the window is larger than the padded input");
        }
        out->dims[i + 2] = pool_size(out->dims[i + 2], pool->pad[i], pool->pad[i + 2], extent,
                                     pool->stride[i], pool->ceil != 0);
    }
    return MTS_STATUS_OK;
}

static uint64_t pool_mul_adds(const mts_graph *graph, const mts_node *node)
{
    return mts_cost_output(graph, node) * node->attrs.pool.kernel[0] * node->attrs.pool.kernel[1];
}

static mts_propagation pool_channels(const mts_graph *graph, const mts_node *node)
{
    (void)graph;
    (void)node;
    return (mts_propagation){.pass = MTS_CHANNELS_KEPT};
}

static const mts_op_field pool_fields[] = {
    MTS_OP_WORD(pool, kind, true),       MTS_OP_WORD(pool, kernel, true), MTS_OP_WORD(pool, stride, true),
    MTS_OP_WORD(pool, dilation, true),   MTS_OP_WORD(pool, pad, true),    MTS_OP_WORD(pool, ceil, true),
    MTS_OP_WORD(pool, include_pad, true)};

const mts_op_row mts_op_pool = MTS_OP_ROW("pool", 1, 1, MTS_NONE, pool_fields, pool_infer, NULL,
                                          pool_mul_adds, NULL, pool_channels, MTS_OP_INPUT_DATA);
