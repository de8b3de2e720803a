/*
 * dense_build.c: nodes over stitched channels. Not responsible for where channels go
 * (dense_space.c, dense_sets.c, dense.c), for constants (dense_constants.c) nor for outputs.
 */
#include "strategy/dense_builder.h"

#include <string.h>

#define CLEARED (-6e4f) /* added before a softmax: such a channel gets probability 0; float16 holds it */

/* A node's dense input; MTS_NONE where it has none, or where it fails, which b->status says. */
static uint32_t read_input(mts_dense_builder *b, uint32_t n, uint32_t input)
{
    const uint32_t entry = mts_channel_map_input(b->request->map, b->request->first, n, input);
    uint32_t value = MTS_NONE;
    if (entry != MTS_NONE) {
#ifdef MTS_SMALL
        value = b->value_of[entry];
#else
        MTS_TRY(b->status, mts_dense_joined(b, entry, &value));
#endif
    }
    return value;
}

/* A task's own value; in a graph of one task that is the only one. */
static uint32_t read_alone(mts_dense_builder *b, uint32_t entry, uint32_t task)
{
    uint32_t value = b->value_of[entry];
#ifndef MTS_SMALL
    if (b->request->count > 1) {
        MTS_TRY(b->status, mts_dense_alone(b, entry, task, &value));
    }
#else
    (void)task;
#endif
    return value;
}

/* ---- convolutions ---- */

static mts_status build_conv(mts_dense_builder *b, uint32_t n, uint32_t *value)
{
    const mts_channel_map *map = b->request->map;
    const uint32_t entry = mts_dense_out(b, n);
    const mts_node *node = mts_dense_node(b, b->request->first, n);
    const mts_shape vector = mts_dense_vector_shape(b, entry);
    uint32_t inputs[6] = {MTS_NONE, MTS_NONE, MTS_NONE, MTS_NONE, MTS_NONE, MTS_NONE};
    const mts_dense_fill fill[6] = {[2] = {.live = 1.0f}};
    inputs[0] = read_input(b, n, 0);
    inputs[4] = read_input(b, n, 4);
    mts_status status = mts_dense_add_weight(b, n, &inputs[1]);
    for (uint32_t i = 2; status == MTS_STATUS_OK && i < 6; i++) {
        const bool clears = i == 2 && b->request->count > 1 && mts_dense_has_redundant(b, entry);
        if (i != 4 && (clears || mts_dense_any_has(b, n, i))) {
            status = mts_dense_add_vector(b, n, i, fill[i], &vector, &inputs[i]);
        }
    }
    mts_attrs attrs = node->attrs;
    if (map->traits[n].pass == MTS_CHANNELS_KEPT) {
        attrs.conv.group = b->request->places[entry].total;
    } else if (mts_propagation_grouped(&map->traits[n])) {
        attrs.conv.group = b->request->places[mts_channel_map_input(map, 0, n, 0)].total /
                           (uint32_t)b->graph->values[inputs[1]].shape.dims[1];
    }
    return status == MTS_STATUS_OK ? mts_dense_add_node(b, node->op, node->name, inputs, 6, &attrs, value)
                                   : status;
}

/* ---- element by element ---- */

/* What keeps a channel of zeros zero as the right or left side of a binary operator. */
static float neutral(uint32_t kind)
{
    return kind == MTS_BIN_DIV || kind == MTS_BIN_POW ? 1.0f : 0.0f;
}

static mts_status build_binary(mts_dense_builder *b, uint32_t n, uint32_t *value)
{
    const mts_node *node = mts_dense_node(b, b->request->first, n);
    const float fill = neutral(node->attrs.binary.kind);
    uint32_t inputs[2] = {MTS_NONE, MTS_NONE};
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < 2; i++) {
        inputs[i] = read_input(b, n, i);
        if (inputs[i] == MTS_NONE && b->status == MTS_STATUS_OK) {
            status = mts_dense_add_operand(b, n, i, fill, &inputs[i]);
        }
    }
    return status == MTS_STATUS_OK
               ? mts_dense_add_node(b, node->op, node->name, inputs, 2, &node->attrs, value)
               : status;
}

static mts_status combine(mts_dense_builder *b, const mts_node *like, uint32_t kind, const mts_act *act,
                          uint32_t constant, uint32_t *value)
{
    mts_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    attrs.binary.kind = kind;
    if (act) {
        attrs.binary.act = *act;
    }
    const uint32_t inputs[2] = {*value, constant};
    return mts_dense_add_node(b, MTS_OP_BINARY, like->name, inputs, 2, &attrs, value);
}

/* scale x + bias and its activation; scale and bias per image are binary operators. */
static mts_status build_scale(mts_dense_builder *b, uint32_t n, uint32_t *value)
{
    const mts_node *node = mts_dense_node(b, b->request->first, n);
    const mts_shape shape = mts_dense_spread_shape(b, mts_dense_out(b, n));
    const bool prelu = node->attrs.unary.act.fn == MTS_FN_PRELU;
    uint32_t constant = MTS_NONE;
    *value = read_input(b, n, 0);
    mts_status status = mts_dense_add_vector(b, n, 1, (mts_dense_fill){.live = 1.0f}, &shape, &constant);
    MTS_TRY(status, combine(b, node, MTS_BIN_MUL, NULL, constant, value));
    MTS_TRY(status, mts_dense_add_vector(b, n, 2, (mts_dense_fill){0}, &shape, &constant));
    status = status != MTS_STATUS_OK
                 ? status
                 : combine(b, node, MTS_BIN_ADD, prelu ? NULL : &node->attrs.unary.act, constant, value);
    if (status == MTS_STATUS_OK && prelu) {
        status = mts_dense_add_vector(b, n, 3, (mts_dense_fill){0}, &shape, &constant);
        MTS_TRY(status, combine(b, node, MTS_BIN_PRELU, NULL, constant, value));
    }
    return status;
}

/* Adds, or multiplies by, a constant for channels that an image's task has and for the others. */
static mts_status apply_mask(mts_dense_builder *b, uint32_t n, uint32_t kind, mts_dense_fill fill,
                             uint32_t *value)
{
    const mts_shape shape = mts_dense_spread_shape(b, mts_dense_out(b, n));
    uint32_t constant = MTS_NONE;
    const mts_status status = mts_dense_add_vector(b, n, MTS_NONE, fill, &shape, &constant);
    return status == MTS_STATUS_OK
               ? combine(b, mts_dense_node(b, b->request->first, n), kind, NULL, constant, value)
               : status;
}

/* ---- sets of channels side by side ---- */

#ifndef MTS_SMALL

/* How often a task's channels fit into the stitched ones. */
static uint32_t times_of(const mts_dense_builder *b, uint32_t entry)
{
    return b->request->places[entry].total /
           mts_channel_map_channels(b->request->map, b->request->first, entry);
}

/* Groups of channels of all tasks. Other tasks' are zeros, which a normalisation leaves zeros; scale
   and bias of an image are zero there. */
static mts_status build_norm(mts_dense_builder *b, uint32_t n, uint32_t *value)
{
    const mts_node *node = mts_dense_node(b, b->request->first, n);
    uint32_t inputs[3] = {MTS_NONE, MTS_NONE, MTS_NONE};
    mts_attrs attrs = node->attrs;
    mts_status status = MTS_STATUS_OK;
    inputs[0] = read_input(b, n, 0);
    for (uint32_t i = 1; status == MTS_STATUS_OK && i < 3; i++) {
        if (mts_dense_any_has(b, n, i)) {
            status = mts_dense_add_operand(b, n, i, 0.0f, &inputs[i]);
        }
    }
    if (attrs.norm.axes & 2u) {
        attrs.norm.groups *= times_of(b, mts_dense_out(b, n));
    }
    return status == MTS_STATUS_OK
               ? mts_dense_add_node(b, node->op, node->name, inputs, node->input_count, &attrs, value)
               : status;
}

/* The tasks' masks: of one row for all heads, or beside the rows of other tasks' heads. */
static mts_status stack_masks(mts_dense_builder *b, uint32_t n, uint32_t *value)
{
    const mts_channel_map *map = b->request->map;
    const uint32_t mask = mts_channel_map_input(map, b->request->first, n, 3);
    const uint32_t q = mts_channel_map_input(map, b->request->first, n, 0);
    const uint32_t rows = mts_channel_map_channels(map, b->request->first, mask);
    const uint32_t channels = mts_channel_map_channels(map, b->request->first, q);
    const uint32_t times = rows > 1 ? times_of(b, q) : 1;
    uint32_t *offsets = mts_arena_zero(b->arena, b->request->count, sizeof *offsets);
    if (!offsets) {
        return mts_dense_no_memory(b);
    }
    for (uint32_t i = 0; times > 1 && i < b->request->count; i++) {
        offsets[i] = mts_dense_stitched(b, q, b->request->first + i, 0) / channels * rows;
    }
    return mts_dense_stack(b, mask, offsets, rows * times, value);
}

/* Heads of all tasks. Values of other tasks' heads are zeros, and so are their sums. */
static mts_status build_attention(mts_dense_builder *b, uint32_t n, uint32_t *value)
{
    const mts_channel_map *map = b->request->map;
    const mts_node *node = mts_dense_node(b, b->request->first, n);
    uint32_t inputs[4] = {MTS_NONE, MTS_NONE, MTS_NONE, MTS_NONE};
    mts_attrs attrs = node->attrs;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; i < 3; i++) {
        inputs[i] = read_input(b, n, i);
    }
    if (status == MTS_STATUS_OK && mts_channel_map_input(map, b->request->first, n, 3) != MTS_NONE) {
        status = stack_masks(b, n, &inputs[3]);
    }
    attrs.attention.heads *= times_of(b, mts_channel_map_input(map, b->request->first, n, 0));
    return status == MTS_STATUS_OK
               ? mts_dense_add_node(b, node->op, node->name, inputs, node->input_count, &attrs, value)
               : status;
}

#endif

/* ---- the rest: attributes follow the stitched shape ---- */

static mts_attrs widened(const mts_dense_builder *b, uint32_t n)
{
    const mts_node *node = mts_dense_node(b, b->request->first, n);
    const int64_t dims[2] = {mts_dense_all_images(b, mts_dense_out(b, n)),
                             b->request->places[mts_dense_out(b, n)].total};
    mts_attrs attrs = node->attrs;
    for (uint32_t i = 0; i < 2; i++) {
        if (node->op == MTS_OP_RESHAPE) {
            attrs.reshape.shape.dims[i] = dims[i];
        } else if (node->op == MTS_OP_SLICE) {
            attrs.slice.size[i] = dims[i];
        }
    }
    return attrs;
}

static mts_status build_other(mts_dense_builder *b, uint32_t n, uint32_t *value)
{
    const mts_node *node = mts_dense_node(b, b->request->first, n);
    uint32_t *inputs = mts_arena_zero(b->arena, node->input_count, sizeof *inputs);
    mts_status status = inputs ? MTS_STATUS_OK : mts_dense_no_memory(b);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < node->input_count; i++) {
        inputs[i] = read_input(b, n, i);
    }
    if (status == MTS_STATUS_OK && b->request->map->traits[n].across &&
        mts_dense_has_redundant(b, mts_dense_out(b, n))) {
        *value = inputs[0];
        status = apply_mask(b, n, MTS_BIN_ADD, (mts_dense_fill){.dead = CLEARED}, value);
        inputs[0] = *value;
    }
    const mts_attrs attrs = widened(b, n);
    return status == MTS_STATUS_OK
               ? mts_dense_add_node(b, node->op, node->name, inputs, node->input_count, &attrs, value)
               : status;
}

/* Whether a single task's node has no padding on any side. */
static bool is_unchanged(const mts_dense_builder *b, uint32_t n)
{
    const mts_channel_map *map = b->request->map;
    const uint32_t task = b->request->first;
    bool same = b->request->count == 1 && !mts_dense_has_redundant(b, mts_dense_out(b, n));
    for (uint32_t i = 0; same && i < mts_dense_node(b, task, n)->input_count; i++) {
        const uint32_t entry = mts_channel_map_input(map, task, n, i);
        same = entry == MTS_NONE || !mts_dense_has_redundant(b, entry);
    }
    return same;
}

/* A task's node as it is, over values of the task alone. */
static mts_status copy_node(mts_dense_builder *b, uint32_t n, uint32_t task, uint32_t *value)
{
    const mts_channel_map *map = b->request->map;
    const mts_node *node = mts_dense_node(b, task, n);
    uint32_t *inputs = mts_arena_zero(b->arena, node->input_count, sizeof *inputs);
    mts_status status = inputs ? MTS_STATUS_OK : mts_dense_no_memory(b);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < node->input_count; i++) {
        const mts_value *constant = mts_channel_map_constant(map, task, n, i);
        const uint32_t entry = mts_channel_map_input(map, task, n, i);
        inputs[i] = MTS_NONE;
        if (constant) {
            inputs[i] = mts_dense_reference(b->graph, constant);
            status = inputs[i] != MTS_NONE ? MTS_STATUS_OK : mts_dense_no_memory(b);
        } else if (entry != MTS_NONE) {
            inputs[i] = read_alone(b, entry, task);
        }
    }
    MTS_TRY(status,
            mts_dense_add_node(b, node->op, node->name, inputs, node->input_count, &node->attrs, value));
    if (status == MTS_STATUS_OK) {
        b->graph->nodes[b->graph->node_count - 1].scatter = node->scatter;
    }
    return status;
}

#ifndef MTS_SMALL

/* The node once for each task. */
static mts_status build_apart(mts_dense_builder *b, uint32_t n)
{
    const uint32_t count = b->request->count;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < count; i++) {
        status =
            copy_node(b, n, b->request->first + i, &b->alone_of[(size_t)mts_dense_out(b, n) * count + i]);
    }
    return status;
}

#endif

static mts_status build_dense(mts_dense_builder *b, uint32_t n, uint32_t *value)
{
    switch (mts_dense_node(b, 0, n)->op) {
    case MTS_OP_CONV:
        return build_conv(b, n, value);
    case MTS_OP_BINARY:
        return build_binary(b, n, value);
    case MTS_OP_SCALE:
        return build_scale(b, n, value);
#ifndef MTS_SMALL
    case MTS_OP_NORM:
        return build_norm(b, n, value);
    case MTS_OP_ATTENTION:
        return build_attention(b, n, value);
#endif
    default:
        return build_other(b, n, value);
    }
}

static mts_status build_node(mts_dense_builder *b, uint32_t n)
{
    const uint32_t entry = mts_dense_out(b, n);
    uint32_t *value = &b->value_of[entry];
    if (is_unchanged(b, n)) {
        return copy_node(b, n, b->request->first, value);
    }
#ifndef MTS_SMALL
    if (b->request->apart && b->request->apart[entry]) {
        return build_apart(b, n);
    }
#endif
    mts_status status = build_dense(b, n, value);
    if (status == MTS_STATUS_OK && b->request->map->traits[n].dirty && b->request->clean &&
        mts_dense_has_redundant(b, entry)) {
        status = apply_mask(b, n, MTS_BIN_MUL, (mts_dense_fill){.live = 1.0f}, value);
    }
    return status;
}

/* Images are what inputs of several tasks are put together along. The smallest library wants them to
   be the same in all values, as it runs no node apart. */
static mts_status check_images(const mts_dense_builder *b)
{
    const mts_channel_map *map = b->request->map;
#ifdef MTS_SMALL
    const uint32_t entries = map->entry_count, least = 2;
#else
    const uint32_t entries = map->input_count, least = 1;
#endif
    for (uint32_t t = b->request->first; b->request->count > 1 && t < map->task_count; t++) {
        for (uint32_t w = 0; w < entries; w++) {
            const mts_shape *shape = mts_channel_map_shape(map, t, w);
            if (shape->rank < least || (least > 1 && shape->dims[0] != mts_dense_images(b, 0, t))) {
                return mts_fail(b->error, MTS_STATUS_UNSUPPORTED,
                                "task %s: a tensor whose first dimension is not the batch",
                                map->graphs[t]->name);
            }
        }
    }
    return MTS_STATUS_OK;
}

static mts_status add_inputs(mts_dense_builder *b)
{
    const mts_graph *first = b->request->map->graphs[b->request->first];
    for (uint32_t i = 0; i < first->input_count; i++) {
        mts_shape shape = first->inputs[i].shape;
        shape.dims[0] = mts_dense_all_images(b, i);
        b->value_of[i] = mts_graph_add_input(b->graph, first->inputs[i].name, first->inputs[i].dtype, &shape);
        if (b->value_of[i] == MTS_NONE) {
            return mts_dense_no_memory(b);
        }
    }
    return MTS_STATUS_OK;
}

static bool open_values(mts_dense_builder *b)
{
    const size_t entries = b->request->map->entry_count;
    b->value_of = mts_arena_zero(b->arena, entries, sizeof *b->value_of);
#ifdef MTS_SMALL
    return b->value_of;
#else
    b->alone_of = mts_arena_zero(b->arena, entries * b->request->count, sizeof *b->alone_of);
    if (!b->value_of || !b->alone_of) {
        return false;
    }
    memset(b->value_of, 0xff, entries * sizeof *b->value_of);
    memset(b->alone_of, 0xff, entries * b->request->count * sizeof *b->alone_of);
    return true;
#endif
}

mts_status mts_dense_build(mts_dense_builder *b)
{
    const mts_graph *first = b->request->map->graphs[b->request->first];
    if (b->request->map->input_count == 0) {
        return mts_fail(b->error, MTS_STATUS_UNSUPPORTED, "task %s has no input", first->name);
    }
    b->graph = mts_graph_create(b->arena, first->name);
    mts_status status = b->graph && open_values(b) ? check_images(b) : mts_dense_no_memory(b);
    MTS_TRY(status, add_inputs(b));
    for (uint32_t n = 0; status == MTS_STATUS_OK && n < first->node_count; n++) {
        status = build_node(b, n);
    }
    return status;
}
