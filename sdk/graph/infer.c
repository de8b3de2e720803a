/*
 * infer.c: entry of shape inference: arity, input shapes, dispatch to the operator's function, result limits.
 *
 * The rules of each operator family are in infer_window.c, infer_element.c and infer_move.c.
 */
#include "graph/infer.h"

#include <math.h>

static const mts_infer_function functions[MTS_OP_COUNT] = {
    [MTS_OP_CONV] = mts_infer_conv,
    [MTS_OP_DECONV] = mts_infer_deconv,
    [MTS_OP_MATMUL] = mts_infer_matmul,
    [MTS_OP_SCALE] = mts_infer_scale,
    [MTS_OP_UNARY] = mts_infer_unary,
    [MTS_OP_BINARY] = mts_infer_binary,
    [MTS_OP_POOL] = mts_infer_pool,
    [MTS_OP_REDUCE] = mts_infer_reduce,
    [MTS_OP_SOFTMAX] = mts_infer_softmax,
    [MTS_OP_LRN] = mts_infer_lrn,
    [MTS_OP_CONCAT] = mts_infer_concat,
    [MTS_OP_SLICE] = mts_infer_slice,
    [MTS_OP_PAD] = mts_infer_pad,
    [MTS_OP_GATHER] = mts_infer_gather,
    [MTS_OP_TRANSPOSE] = mts_infer_transpose,
    [MTS_OP_RESHAPE] = mts_infer_reshape,
    [MTS_OP_EXPAND] = mts_infer_expand,
    [MTS_OP_RESIZE] = mts_infer_resize,
};

mts_status mts_graph_check_shape(const mts_shape *shape, mts_error *error)
{
    if (shape->rank > MTS_TENSOR_RANK_MAX) {
        return mts_fail(error, MTS_STATUS_LIMIT, "rank %u is above %d", shape->rank, MTS_TENSOR_RANK_MAX);
    }
    int64_t count = 1;
    for (uint32_t i = 0; i < shape->rank; i++) {
        int64_t dim = shape->dims[i];
        if (dim <= 0) {
            return mts_fail(error, MTS_STATUS_MALFORMED, "dimension %u is %lld, not positive", i,
                            (long long)dim);
        }
        if (dim >= MTS_GRAPH_COUNT_MAX || count * dim >= MTS_GRAPH_COUNT_MAX) {
            return mts_fail(error, MTS_STATUS_LIMIT, "a tensor has 2^31 elements or more");
        }
        count *= dim;
    }
    return MTS_STATUS_OK;
}

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
                        mts_shape_text(shape, text, sizeof(text)), (long long)count);
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

mts_status mts_infer_act(const mts_infer_call *call, const mts_act *act, bool has_slope)
{
    if (act->fn >= MTS_FN_COUNT) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "element function %u does not exist", act->fn);
    }
    if (isnan(act->a) || isnan(act->b)) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED,
                        "a parameter of the element function is not a number");
    }
    if ((act->fn == MTS_FN_PRELU) != has_slope) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "a slope vector is %s",
                        has_slope ? "given but not used" : "missing");
    }
    return MTS_STATUS_OK;
}

static mts_status check_inputs(const mts_infer_call *call)
{
    uint32_t least = 0, most = 0;
    mts_op_arity(call->op, &least, &most);
    if (call->input_count < least || call->input_count > most) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "%u inputs, wanted %u to %u", call->input_count,
                        least, most);
    }
    uint32_t required = call->op == MTS_OP_CONCAT ? call->input_count : least;
    for (uint32_t i = 0; i < call->input_count; i++) {
        if (!call->inputs[i]) {
            if (i < required) {
                return mts_fail(call->error, MTS_STATUS_MALFORMED, "input %u is missing", i);
            }
            continue;
        }
        mts_status code = mts_graph_check_shape(call->inputs[i], call->error);
        if (code != MTS_STATUS_OK) {
            return mts_fail_prefix(call->error, code, "input %u", i);
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_node_infer(mts_op op, const mts_attrs *attrs, const mts_shape *const *inputs,
                          uint32_t input_count, mts_shape *out, mts_error *error)
{
    if ((unsigned)op >= MTS_OP_COUNT) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "operator %u does not exist", (unsigned)op);
    }
    mts_infer_call call = {
        .op = op, .attrs = attrs, .inputs = inputs, .input_count = input_count, .error = error};
    mts_shape shape = {0};
    mts_status code = check_inputs(&call);
    MTS_TRY(code, functions[op](&call, &shape));
    MTS_TRY(code, mts_graph_check_shape(&shape, error));
    if (code != MTS_STATUS_OK) {
        return mts_fail_prefix(error, code, "%s", mts_op_name(op));
    }
    *out = shape;
    return MTS_STATUS_OK;
}
