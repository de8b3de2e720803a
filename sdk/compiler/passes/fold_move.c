/*
 * fold_move.c: rules for operators that move elements: what moves nothing is removed, chains become
 * one, padding moves into the window that reads it.
 */
#include "compiler/passes/fold_work.h"

#include <string.h>

static bool slice_is_whole(const mts_node *node, const mts_shape *in)
{
    for (uint32_t i = 0; i < in->rank; i++) {
        if (node->attrs.slice.size[i] != in->dims[i] || node->attrs.slice.step[i] < 0) {
            return false;
        }
    }
    return true;
}

static bool perm_is_identity(const mts_node *node, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++) {
        if (node->attrs.transpose.perm[i] != i) {
            return false;
        }
    }
    return true;
}

static bool pad_is_none(const mts_node *node, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++) {
        if (node->attrs.pad.before[i] != 0 || node->attrs.pad.after[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Whether a node gives what it reads. */
static bool does_nothing(const mts_node *node, const mts_shape *in, const mts_shape *out)
{
    const mts_op op = node->op;
    return op == MTS_OP_UNARY                            ? node->attrs.unary.act.fn == MTS_FN_NONE
           : op == MTS_OP_RESHAPE || op == MTS_OP_EXPAND ? mts_shape_equal(in, out)
           : op == MTS_OP_TRANSPOSE                      ? perm_is_identity(node, in->rank)
           : op == MTS_OP_SLICE                          ? slice_is_whole(node, in)
           : op == MTS_OP_PAD                            ? pad_is_none(node, in->rank)
                                                         : op == MTS_OP_CONCAT && node->input_count == 1;
}

bool mts_fold_drop(mts_fold_work *work, mts_node *node)
{
    uint32_t input = mts_fold_input(work, node, 0);
    const mts_shape *in = &mts_fold_value(work, input)->shape,
                    *out = &mts_fold_value(work, node->output)->shape;
    /* a constant may only stand for a value where constants may stand at all: at few operands */
    if (!does_nothing(node, in, out) || mts_fold_value(work, input)->kind == MTS_VALUE_CONST) {
        return false;
    }
    mts_fold_replace(work, node, input);
    return true;
}

/* `node` reads past its first operand's producer. */
static void read_past(mts_fold_work *work, mts_node *node, mts_node *producer)
{
    uint32_t from = mts_fold_input(work, producer, 0);
    work->uses[from]++;
    node->inputs[0] = from;
    mts_fold_release(work, producer);
}

static bool merge_reshapes(mts_fold_work *work, mts_node *node)
{
    mts_node *producer = mts_fold_producer(work, node, 0);
    if (!producer || producer->op != MTS_OP_RESHAPE) {
        return false;
    }
    read_past(work, node, producer);
    return true;
}

static bool merge_transposes(mts_fold_work *work, mts_node *node)
{
    mts_node *producer = mts_fold_producer(work, node, 0);
    if (!producer || producer->op != MTS_OP_TRANSPOSE) {
        return false;
    }
    uint32_t rank = mts_fold_value(work, node->output)->shape.rank, perm[MTS_TENSOR_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) {
        perm[i] = producer->attrs.transpose.perm[node->attrs.transpose.perm[i]];
    }
    memcpy(node->attrs.transpose.perm, perm, rank * sizeof(*perm));
    read_past(work, node, producer);
    return true;
}

/* A transpose that only moves dimensions of 1 is a reshape. */
static bool transpose_is_reshape(mts_fold_work *work, mts_node *node)
{
    const mts_shape *in = &mts_fold_value(work, mts_fold_input(work, node, 0))->shape;
    uint32_t last = 0;
    for (uint32_t i = 0; i < in->rank; i++) {
        uint32_t from = node->attrs.transpose.perm[i];
        if (in->dims[from] == 1) {
            continue;
        }
        if (from < last) {
            return false;
        }
        last = from;
    }
    mts_attrs attrs = {.reshape = {.shape = mts_fold_value(work, node->output)->shape}};
    node->op = MTS_OP_RESHAPE;
    node->attrs = attrs;
    return true;
}

static bool ends_with(const mts_shape *shape, int64_t rows, int64_t columns)
{
    return shape->rank >= 2 && shape->dims[shape->rank - 2] == rows &&
           shape->dims[shape->rank - 1] == columns;
}

static void split_last(mts_shape *shape, int64_t rows, int64_t columns)
{
    shape->dims[shape->rank - 1] = rows;
    shape->dims[shape->rank++] = columns;
}

/*
 * Channel shuffles of [C, H W]: a RESHAPE joins rows and columns, a TRANSPOSE leaves them
 * last, and the RESHAPE `node` parts them again. They stay apart here, so that whole planes
 * are moved and both RESHAPEs are in place.
 */
static bool keep_rows(mts_fold_work *work, const mts_node *node)
{
    mts_node *turn = mts_fold_producer(work, node, 0);
    mts_node *join = turn && turn->op == MTS_OP_TRANSPOSE ? mts_fold_producer(work, turn, 0) : NULL;
    if (!join || join->op != MTS_OP_RESHAPE || !mts_fold_single_use(work, turn) ||
        !mts_fold_single_use(work, join)) {
        return false;
    }
    const mts_shape *from = &mts_fold_value(work, mts_fold_input(work, join, 0))->shape;
    mts_shape *joined = &work->graph->values[join->output].shape;
    uint32_t *perm = turn->attrs.transpose.perm;
    const uint32_t rank = joined->rank;
    if (from->rank < 2 || rank == 0 || rank == MTS_TENSOR_RANK_MAX || perm[rank - 1] != rank - 1) {
        return false;
    }
    const int64_t rows = from->dims[from->rank - 2], columns = from->dims[from->rank - 1];
    if (rows == 1 || joined->dims[rank - 1] != rows * columns ||
        !ends_with(&mts_fold_value(work, node->output)->shape, rows, columns)) {
        return false;
    }
    perm[rank] = rank;
    split_last(joined, rows, columns);
    split_last(&work->graph->values[turn->output].shape, rows, columns);
    join->attrs.reshape.shape = *joined;
    return true;
}

/* Zeros around the image only, that grow it. */
static bool pads_image(const mts_node *pad, const mts_shape *in)
{
    const mts_attrs_pad *attrs = &pad->attrs.pad;
    if (attrs->mode != MTS_PAD_CONSTANT || attrs->value < 0.0f || attrs->value > 0.0f || in->rank != 4) {
        return false;
    }
    for (uint32_t i = 0; i < 4; i++) {
        int64_t most = i < 2 ? 0 : 32768;
        if (attrs->before[i] < 0 || attrs->after[i] < 0 || attrs->before[i] > most ||
            attrs->after[i] > most) {
            return false;
        }
    }
    return true;
}

/* No element of the value is negative, so a zero never wins over one in a maximum. */
static bool never_negative(const mts_fold_work *work, const mts_node *pad)
{
    mts_node *producer = mts_fold_producer(work, pad, 0);
    if (!producer) {
        return false;
    }
    mts_act act = producer->op == MTS_OP_CONV || producer->op == MTS_OP_DECONV   ? producer->attrs.conv.act
                  : producer->op == MTS_OP_SCALE || producer->op == MTS_OP_UNARY ? producer->attrs.unary.act
                  : producer->op == MTS_OP_BINARY                                ? producer->attrs.binary.act
                                                                                 : (mts_act){0};
    return act.fn == MTS_FN_RELU || act.fn == MTS_FN_SIGMOID || (act.fn == MTS_FN_CLIP && act.a >= 0.0f);
}

static bool pool_may_pad(const mts_fold_work *work, const mts_node *node, const mts_node *pad)
{
    const mts_attrs_pool *pool = &node->attrs.pool;
    bool own = pool->pad[0] || pool->pad[1] || pool->pad[2] || pool->pad[3];
    for (int i = 0; i < 2; i++) {
        int64_t extent = (int64_t)(pool->kernel[i] - 1) * pool->dilation[i] + 1;
        if (pool->pad[i] + pad->attrs.pad.before[i + 2] >= extent ||
            pool->pad[i + 2] + pad->attrs.pad.after[i + 2] >= extent) {
            return false;
        }
    }
    return !pool->ceil && (pool->kind == MTS_POOL_AVG ? !own : never_negative(work, pad));
}

/* Several convolutions may read one padding: each takes it. */
static bool take_padding(mts_fold_work *work, mts_node *node)
{
    mts_node *pad = mts_fold_producer(work, node, 0);
    bool conv = node->op == MTS_OP_CONV;
    if (!pad || pad->op != MTS_OP_PAD || (!conv && !mts_fold_single_use(work, pad)) ||
        !pads_image(pad, &mts_fold_value(work, mts_fold_input(work, pad, 0))->shape) ||
        (!conv && !pool_may_pad(work, node, pad))) {
        return false;
    }
    int32_t *own = conv ? node->attrs.conv.pad : node->attrs.pool.pad;
    for (int i = 0; i < 2; i++) {
        if (own[i] > 32768 || own[i + 2] > 32768) {
            return false;
        }
    }
    for (int i = 0; i < 2; i++) {
        own[i] += (int32_t)pad->attrs.pad.before[i + 2];
        own[i + 2] += (int32_t)pad->attrs.pad.after[i + 2];
    }
    if (!conv && node->attrs.pool.kind == MTS_POOL_AVG) {
        node->attrs.pool.include_pad = 1;
    }
    read_past(work, node, pad);
    return true;
}

bool mts_fold_move(mts_fold_work *work, mts_node *node)
{
    switch (node->op) {
    case MTS_OP_RESHAPE:
        return merge_reshapes(work, node) || keep_rows(work, node);
    case MTS_OP_TRANSPOSE:
        return merge_transposes(work, node) || transpose_is_reshape(work, node);
    case MTS_OP_CONV:
    case MTS_OP_POOL:
        return take_padding(work, node);
    default:
        return false;
    }
}
