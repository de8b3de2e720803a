/*
 * thin.c: see thin.h. A clone whose constants, attributes and shapes lose the channels;
 * every shape is inferred anew and the whole graph verified. Not responsible for which
 * channels go (choose.h).
 */
#include "compress/prune/thin.h"

#include <string.h>

#include "compiler/passes/clone.h"

typedef struct thinner {
    const mts_graph *graph;
    const mts_channels *channels;
    const mts_thin_kept *kept; /* [group] */
    mts_graph *out;
} thinner;

/* ---- which channels of each group stay ---- */

static const char *group_name(const mts_graph *graph, const mts_channels *channels, uint32_t group)
{
    for (uint32_t v = 0; v < graph->value_count; v++) {
        if (channels->group_of[v] == group) {
            return graph->values[v].name;
        }
    }
    return "";
}

static mts_status select_own(const mts_graph *graph, const mts_channels *channels, uint32_t g,
                             const bool *keep, mts_arena *arena, mts_thin_kept *out, mts_error *error)
{
    const mts_channel_group *group = &channels->groups[g];
    uint32_t *list = mts_arena_zero(arena, group->channels, sizeof(*list));
    if (!list) {
        return mts_fail_memory(error);
    }
    uint32_t count = 0;
    for (uint32_t c = 0; c < group->channels; c++) {
        if (!keep || keep[c]) {
            list[count++] = c;
        }
    }
    *out = (mts_thin_kept){count, list, count == group->channels};
    if (!out->all && group->kind != MTS_CHANNEL_FREE) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "the channels of '%s' cannot be removed: something else reads them as they are",
                        group_name(graph, channels, g));
    }
    if (!out->all && count == 0) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "'%s' would lose all its channels",
                        group_name(graph, channels, g));
    }
    return MTS_STATUS_OK;
}

static bool parts_known(const mts_channels *channels, const mts_channel_group *group,
                        const mts_thin_kept *kept)
{
    for (uint32_t p = 0; p < group->part_count; p++) {
        if (!kept[channels->parts[group->part_first + p].group].channels) {
            return false;
        }
    }
    return true;
}

static bool select_parts(const mts_channels *channels, const mts_channel_group *group, mts_arena *arena,
                         const mts_thin_kept *kept, mts_thin_kept *out)
{
    uint32_t *list = mts_arena_zero(arena, group->channels, sizeof(*list));
    uint32_t first = 0, count = 0;
    for (uint32_t p = 0; list && p < group->part_count; p++) {
        const mts_channel_part *part = &channels->parts[group->part_first + p];
        const mts_thin_kept *from = &kept[part->group];
        for (uint32_t i = 0; i < from->count; i++) {
            for (uint32_t f = 0; f < part->factor; f++) {
                list[count++] = first + from->channels[i] * part->factor + f;
            }
        }
        first += channels->groups[part->group].channels * part->factor;
    }
    *out = (mts_thin_kept){count, list, count == group->channels};
    return list;
}

/* Parts have fewer channels than their whole, so every round settles some. */
static mts_status select_round(const mts_graph *graph, const mts_channels *channels, mts_arena *arena,
                               mts_thin_kept *kept, uint32_t *left, mts_error *error)
{
    uint32_t settled = 0, waiting = 0, last = 0;
    for (uint32_t g = 0; g < channels->group_count; g++) {
        const mts_channel_group *group = &channels->groups[g];
        if (kept[g].channels) {
            continue;
        }
        if (!parts_known(channels, group, kept)) {
            waiting++;
            last = g;
            continue;
        }
        if (!select_parts(channels, group, arena, kept, &kept[g])) {
            return mts_fail_memory(error);
        }
        settled++;
    }
    *left = waiting;
    return waiting == 0 || settled > 0
               ? MTS_STATUS_OK
               : mts_fail(error, MTS_STATUS_MALFORMED, "the channels of '%s' follow from themselves",
                          group_name(graph, channels, last));
}

mts_status mts_thin_select(const mts_graph *graph, const mts_channels *channels, const bool *const *keep,
                           mts_arena *arena, mts_thin_kept **out, mts_error *error)
{
    mts_thin_kept *kept = mts_arena_zero(arena, channels->group_count, sizeof(*kept));
    mts_status status = kept ? MTS_STATUS_OK : mts_fail_memory(error);
    for (uint32_t g = 0; g < channels->group_count && status == MTS_STATUS_OK; g++) {
        if (channels->groups[g].kind != MTS_CHANNEL_PARTS || keep[g]) {
            status = select_own(graph, channels, g, keep[g], arena, &kept[g], error);
        }
        if (channels->groups[g].kind == MTS_CHANNEL_PARTS) {
            kept[g] = (mts_thin_kept){0};
        }
    }
    uint32_t left = 1;
    while (status == MTS_STATUS_OK && left != 0) {
        status = select_round(graph, channels, arena, kept, &left, error);
    }
    *out = status == MTS_STATUS_OK ? kept : NULL;
    return status;
}

/* ---- constants ---- */

/* NULL: nothing of the value's channels is lost. */
static const mts_thin_kept *kept_of(const thinner *t, uint32_t value)
{
    const uint32_t group = t->channels->group_of[value];
    return group == MTS_NONE || t->kept[group].all ? NULL : &t->kept[group];
}

/*
 * The constant, seen as [outer][dims[axis]][inner], keeps `rows` of outer and `columns`
 * of the middle; NULL: all. Rows are those of dims[0], axis is 1 then. mts_channels_find
 * sees to it that no other node reads it and that it has one block.
 */
static bool cut_const(mts_graph *graph, uint32_t id, uint32_t axis, const mts_thin_kept *rows,
                      const mts_thin_kept *columns)
{
    mts_value *value = &graph->values[id];
    const uint32_t count = (uint32_t)value->shape.dims[axis];
    size_t outer = 1, inner = mts_type_size(value->dtype), wide = 0;
    for (uint32_t d = 0; d < value->shape.rank; d++) {
        *(d < axis ? &outer : d > axis ? &inner : &wide) *= (size_t)value->shape.dims[d];
    }
    if (!rows && !columns) {
        return true;
    }
    const size_t row_count = rows ? rows->count : outer, column_count = columns ? columns->count : count;
    const unsigned char *from = value->blocks[0].data;
    unsigned char *data = mts_arena_zero(graph->arena, row_count * column_count, inner);
    if (!data) {
        return false;
    }
    for (size_t r = 0; r < row_count; r++) {
        const unsigned char *row = from + (rows ? rows->channels[r] : r) * count * inner;
        unsigned char *to = data + r * column_count * inner;
        for (size_t c = 0; columns && c < column_count; c++) {
            memcpy(to + c * inner, row + columns->channels[c] * inner, inner);
        }
        if (!columns) {
            memcpy(to, row, count * inner);
        }
    }
    value->shape.dims[0] = rows ? rows->count : value->shape.dims[0];
    value->shape.dims[axis] = (int64_t)column_count;
    uint32_t in_one = 0;
    value->blocks[0] = (mts_block_ref){.block = MTS_NONE, .data = data};
    mts_value_matrix(value, &value->blocks[0].out_count, &value->blocks[0].in_count, &in_one);
    return true;
}

/* A vector of one number a channel, or one row of them for each image. */
static bool cut_vector(mts_graph *graph, const mts_node *node, uint32_t index, const mts_thin_kept *columns)
{
    if (index >= node->input_count || node->inputs[index] == MTS_NONE) {
        return true;
    }
    const uint32_t rank = graph->values[node->inputs[index]].shape.rank;
    return cut_const(graph, node->inputs[index], rank - 1, NULL, columns);
}

/* ---- nodes ---- */

static bool cut_conv(const thinner *t, mts_node *node)
{
    const bool depthwise = mts_channels_depthwise(t->graph, node);
    const mts_thin_kept *in = kept_of(t, node->inputs[0]), *out = kept_of(t, node->output);
    if (depthwise && out) {
        node->attrs.conv.group = out->count;
    }
    return cut_const(t->out, node->inputs[1], 1, out, depthwise ? NULL : in) &&
           cut_vector(t->out, node, 2, out) && cut_vector(t->out, node, 3, out) &&
           cut_vector(t->out, node, 5, out);
}

static bool cut_binary(const thinner *t, const mts_node *node)
{
    bool done = true;
    for (uint32_t i = 0; i < 2 && done; i++) {
        /* the original graph's shapes: those of the copy are not settled yet */
        const uint32_t axis = mts_channels_axis(t->graph, node, i);
        if (t->graph->values[node->inputs[i]].kind == MTS_VALUE_CONST && axis != MTS_NONE) {
            done = cut_const(t->out, node->inputs[i], axis, NULL, kept_of(t, node->output));
        }
    }
    return done;
}

static bool cut_node(const thinner *t, mts_node *node)
{
    const mts_thin_kept *out = kept_of(t, node->output);
    switch (node->op) {
    case MTS_OP_CONV:
        return cut_conv(t, node);
    case MTS_OP_BINARY:
        return cut_binary(t, node);
    case MTS_OP_SCALE:
        return cut_vector(t->out, node, 1, out) && cut_vector(t->out, node, 2, out) &&
               cut_vector(t->out, node, 3, out);
    case MTS_OP_SLICE:
        node->attrs.slice.size[1] = out ? out->count : node->attrs.slice.size[1];
        return true;
    case MTS_OP_RESHAPE:
    case MTS_OP_EXPAND:
        node->attrs.reshape.shape.dims[1] = out ? out->count : node->attrs.reshape.shape.dims[1];
        return true;
    default:
        return true;
    }
}

static mts_status infer(const thinner *t, const mts_node *node, const mts_shape **shapes, mts_error *error)
{
    mts_value *value = &t->out->values[node->output];
    for (uint32_t i = 0; i < node->input_count; i++) {
        shapes[i] = node->inputs[i] == MTS_NONE ? NULL : &t->out->values[node->inputs[i]].shape;
    }
    mts_shape shape = {0};
    const mts_status status =
        mts_node_infer(node->op, &node->attrs, shapes, node->input_count, &shape, error);
    value->shape = status == MTS_STATUS_OK ? shape : value->shape;
    return status == MTS_STATUS_OK
               ? status
               : mts_fail_prefix(error, status, "node '%s' without channels", mts_node_title(t->graph, node));
}

/* Constants and attributes first: shapes follow from them. */
static mts_status cut_nodes(const thinner *t, mts_error *error)
{
    uint32_t most = 1;
    for (uint32_t n = 0; n < t->out->node_count; n++) {
        if (!cut_node(t, &t->out->nodes[n])) {
            return mts_fail_memory(error);
        }
        most = t->out->nodes[n].input_count > most ? t->out->nodes[n].input_count : most;
    }
    const mts_shape **shapes = mts_arena_zero(t->out->arena, most, sizeof(*shapes));
    mts_status status = shapes ? MTS_STATUS_OK : mts_fail_memory(error);
    for (uint32_t n = 0; n < t->out->node_count && status == MTS_STATUS_OK; n++) {
        status = infer(t, &t->out->nodes[n], shapes, error);
    }
    return status == MTS_STATUS_OK ? mts_graph_verify(t->out, error) : status;
}

static uint32_t *same_numbers(mts_arena *arena, uint32_t count)
{
    uint32_t *numbers = mts_arena_zero(arena, count, sizeof(*numbers));
    for (uint32_t i = 0; numbers && i < count; i++) {
        numbers[i] = i;
    }
    return numbers;
}

/* False: a softmax over channels mixes them though it keeps their order. */
static bool keeps_channels_apart(const mts_node *node)
{
    return node->op != MTS_OP_SOFTMAX || node->attrs.softmax.axis != 1;
}

static void bar_parts(const mts_channels *channels, bool *barred)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t g = 0; g < channels->group_count; g++) {
            const mts_channel_group *group = &channels->groups[g];
            for (uint32_t p = 0; barred[g] && p < group->part_count; p++) {
                bool *part = &barred[channels->parts[group->part_first + p].group];
                changed = changed || !*part;
                *part = true;
            }
        }
    }
}

bool *mts_thin_removable(const mts_graph *graph, const mts_channels *channels, mts_arena *arena)
{
    bool *removable = mts_arena_zero(arena, channels->group_count, sizeof(*removable));
    bool *barred = mts_arena_zero(arena, channels->group_count, sizeof(*barred));
    if (!removable || !barred) {
        return NULL;
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const mts_node *node = &graph->nodes[n];
        const uint32_t g = channels->group_of[node->output];
        if (g != MTS_NONE) {
            barred[g] = barred[g] || !keeps_channels_apart(node);
            removable[g] = removable[g] || (node->op == MTS_OP_CONV && node->attrs.conv.group == 1);
        }
    }
    bar_parts(channels, barred);
    for (uint32_t g = 0; g < channels->group_count; g++) {
        removable[g] = removable[g] && !barred[g] && channels->groups[g].kind == MTS_CHANNEL_FREE &&
                       channels->groups[g].channels > 1;
    }
    return removable;
}

mts_status mts_thin(const mts_graph *graph, const mts_channels *channels, const bool *const *keep,
                    mts_arena *arena, mts_graph **out, uint32_t **nodes, mts_error *error)
{
    mts_thin_kept *kept = NULL;
    *out = NULL;
    mts_status status = mts_thin_select(graph, channels, keep, arena, &kept, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    thinner t = {.graph = graph, .channels = channels, .kept = kept};
    uint32_t *numbers = nodes ? same_numbers(arena, graph->node_count) : NULL;
    t.out = mts_graph_clone(graph, arena);
    if (!t.out || (nodes && !numbers)) {
        return mts_fail_memory(error);
    }
    status = cut_nodes(&t, error);
    if (status == MTS_STATUS_OK) {
        *out = t.out;
        if (nodes) {
            *nodes = numbers;
        }
    }
    return status;
}
