/*
 * infer_window.c: shapes of operators that slide a window or multiply matrices: conv, deconv, pool, matmul.
 */
#include "graph/infer.h"

#include <math.h>

static mts_status check_window(const mts_infer_call *call, const uint32_t *kernel, const uint32_t *stride,
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

static int64_t window_extent(uint32_t kernel, uint32_t dilation)
{
    return (int64_t)(kernel - 1) * dilation + 1;
}

/* A vector of a convolution's epilogue: [O], or [N,O] where every image has its own. */
static mts_status check_rows_vector(const mts_infer_call *call, uint32_t index, int64_t images,
                                    int64_t channels, const char *what)
{
    const mts_shape *shape = mts_infer_input(call, index);
    const bool by_image = shape && shape->rank == 2 && shape->dims[0] == images && shape->dims[1] == channels;
    return by_image ? MTS_STATUS_OK : mts_infer_vector(call, index, channels, what);
}

static mts_status check_conv_operands(const mts_infer_call *call, int64_t images, int64_t channels)
{
    static const uint32_t at[3] = {2, 3, 5};
    static const char *const names[3] = {"scale", "bias", "slope"};
    if (call->op != MTS_OP_CONV) {
        return mts_infer_vector(call, 2, channels, "bias");
    }
    mts_status code = MTS_STATUS_OK;
    for (uint32_t i = 0; code == MTS_STATUS_OK && i < 3; i++) {
        code = check_rows_vector(call, at[i], images, channels, names[i]);
    }
    return code;
}

static mts_status check_kernel_shape(const mts_infer_call *call)
{
    const mts_shape *weight = call->inputs[1];
    const mts_attrs_conv *conv = &call->attrs->conv;
    if (weight->dims[2] != (int64_t)conv->kernel[0] || weight->dims[3] != (int64_t)conv->kernel[1]) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "kernel %ux%u differs from the weight's %lldx%lld",
                        conv->kernel[0], conv->kernel[1], (long long)weight->dims[2],
                        (long long)weight->dims[3]);
    }
    return MTS_STATUS_OK;
}

static mts_status begin_conv(const mts_infer_call *call)
{
    const mts_attrs_conv *conv = &call->attrs->conv;
    mts_status code = mts_infer_rank(call, 0, 4, 4);
    MTS_TRY(code, mts_infer_rank(call, 1, 4, 4));
    MTS_TRY(code, check_window(call, conv->kernel, conv->stride, conv->dilation, conv->pad));
    MTS_TRY(code, check_kernel_shape(call));
    if (code == MTS_STATUS_OK && conv->group == 0) {
        code = mts_fail(call->error, MTS_STATUS_MALFORMED, "group is 0");
    }
    return code;
}

mts_status mts_infer_conv(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_conv *conv = &call->attrs->conv;
    mts_status code = begin_conv(call);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    const mts_shape *x = call->inputs[0], *weight = call->inputs[1];
    if (x->dims[1] != weight->dims[1] * (int64_t)conv->group || weight->dims[0] % (int64_t)conv->group != 0) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED,
                        "%lld input channels do not fit a weight of %lldx%lld channels in %u groups",
                        (long long)x->dims[1], (long long)weight->dims[0], (long long)weight->dims[1],
                        conv->group);
    }
    if (conv->output_pad[0] != 0 || conv->output_pad[1] != 0) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "output padding is for deconv only");
    }
    out->rank = 4;
    out->dims[0] = x->dims[0];
    out->dims[1] = weight->dims[0];
    for (int i = 0; i < 2; i++) {
        int64_t room = x->dims[i + 2] + conv->pad[i] + conv->pad[i + 2] -
                       window_extent(conv->kernel[i], conv->dilation[i]);
        if (room < 0) {
            return mts_fail(call->error, MTS_STATUS_MALFORMED, "the kernel is larger than the padded input");
        }
        out->dims[i + 2] = room / (int64_t)conv->stride[i] + 1;
    }
    const mts_shape *residual = mts_infer_input(call, 4);
    if (residual && !mts_shape_equal(residual, out)) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "the residual has another shape than the output");
    }
    code = check_conv_operands(call, out->dims[0], out->dims[1]);
    return code == MTS_STATUS_OK ? mts_infer_act(call, &conv->act, mts_infer_input(call, 5)) : code;
}

mts_status mts_infer_deconv(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_conv *conv = &call->attrs->conv;
    mts_status code = begin_conv(call);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    const mts_shape *x = call->inputs[0], *weight = call->inputs[1];
    if (x->dims[1] != weight->dims[0] || weight->dims[0] % (int64_t)conv->group != 0) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED,
                        "%lld input channels do not fit %lld weight rows in %u groups", (long long)x->dims[1],
                        (long long)weight->dims[0], conv->group);
    }
    out->rank = 4;
    out->dims[0] = x->dims[0];
    out->dims[1] = weight->dims[1] * (int64_t)conv->group;
    for (int i = 0; i < 2; i++) {
        if (conv->output_pad[i] > MTS_GRAPH_WINDOW_MAX) {
            return mts_fail(call->error, MTS_STATUS_MALFORMED, "output padding %u is out of range",
                            conv->output_pad[i]);
        }
        out->dims[i + 2] = (int64_t)conv->stride[i] * (x->dims[i + 2] - 1) + conv->output_pad[i] +
                           window_extent(conv->kernel[i], conv->dilation[i]) - conv->pad[i] -
                           conv->pad[i + 2];
    }
    code = check_conv_operands(call, out->dims[0], out->dims[1]);
    return code == MTS_STATUS_OK ? mts_infer_act(call, &conv->act, false) : code;
}

/* A window that starts beyond the input and its leading padding is left out, as in ONNX from opset 19 and
 * PyTorch. */
static int64_t pool_size(int64_t in, int64_t before, int64_t after, int64_t extent, int64_t stride, bool ceil)
{
    int64_t room = in + before + after - extent;
    int64_t size = (ceil ? room + stride - 1 : room) / stride + 1;
    return ceil && (size - 1) * stride >= in + before ? size - 1 : size;
}

mts_status mts_infer_pool(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_pool *pool = &call->attrs->pool;
    mts_status code = mts_infer_rank(call, 0, 4, 4);
    MTS_TRY(code, check_window(call, pool->kernel, pool->stride, pool->dilation, pool->pad));
    if (code != MTS_STATUS_OK) {
        return code;
    }
    if (pool->kind > MTS_POOL_AVG || pool->ceil > 1 || pool->include_pad > 1) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "a mode is out of range");
    }
    *out = *call->inputs[0];
    for (int i = 0; i < 2; i++) {
        int64_t extent = window_extent(pool->kernel[i], pool->dilation[i]);
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

mts_status mts_infer_matmul(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_matmul *matmul = &call->attrs->matmul;
    mts_status code = mts_infer_rank(call, 0, 2, MTS_TENSOR_RANK_MAX);
    MTS_TRY(code, mts_infer_rank(call, 1, 2, MTS_TENSOR_RANK_MAX));
    if (code != MTS_STATUS_OK) {
        return code;
    }
    mts_shape a = *call->inputs[0], b = *call->inputs[1];
    int64_t rows = a.dims[a.rank - 2], inner = a.dims[a.rank - 1], columns = b.dims[b.rank - 1];
    if (inner != b.dims[b.rank - 2]) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "inner dimensions %lld and %lld differ",
                        (long long)inner, (long long)b.dims[b.rank - 2]);
    }
    a.rank -= 2;
    b.rank -= 2;
    if (!mts_shape_broadcast(&a, &b, out)) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "batch dimensions do not broadcast");
    }
    out->dims[out->rank++] = rows;
    out->dims[out->rank++] = columns;
    const mts_shape *c = mts_infer_input(call, 2);
    mts_shape both;
    if (c && (!mts_shape_broadcast(c, out, &both) || !mts_shape_equal(&both, out))) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED,
                        "the third operand does not broadcast to the output");
    }
    if (!isfinite(matmul->alpha) || !isfinite(matmul->beta)) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "alpha or beta is not finite");
    }
    return MTS_STATUS_OK;
}
