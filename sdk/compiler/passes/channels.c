/*
 * channels.c: see channels.h. Union-find over values; what an operator does not keep
 * apart is pinned.
 */
#include "compiler/passes/channels.h"

typedef struct set {
    uint32_t parent, channels;
    bool present, pinned;
    uint32_t part_first, part_count; /* values, in parts[].group */
} set;

typedef struct finder {
    const mts_graph *graph;
    mts_arena *arena;
    uint32_t *uses;
    set *sets; /* [value] */
    mts_channel_part *parts;
    uint32_t part_count;
} finder;

static const mts_value *input_of(const mts_graph *graph, const mts_node *node, uint32_t index)
{
    return index < node->input_count && node->inputs[index] != MTS_NONE ? &graph->values[node->inputs[index]]
                                                                        : NULL;
}

static uint32_t find(finder *f, uint32_t value)
{
    while (f->sets[value].parent != value) {
        f->sets[value].parent = f->sets[f->sets[value].parent].parent;
        value = f->sets[value].parent;
    }
    return value;
}

static void pin(finder *f, uint32_t value)
{
    if (value != MTS_NONE && f->sets[value].present) {
        f->sets[find(f, value)].pinned = true;
    }
}

static void pin_node(finder *f, const mts_node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        pin(f, node->inputs[i]);
    }
    pin(f, node->output);
}

/* Same order from now on. Two orders that both follow from others are not compared but
   pinned. */
static void tie(finder *f, uint32_t a, uint32_t b)
{
    if (!f->sets[a].present || !f->sets[b].present || f->sets[a].channels != f->sets[b].channels) {
        pin(f, a);
        pin(f, b);
        return;
    }
    set *x = &f->sets[find(f, a)], *y = &f->sets[find(f, b)];
    if (x == y) {
        return;
    }
    y->parent = x->parent;
    x->pinned = x->pinned || y->pinned || (x->part_count && y->part_count);
    if (x->part_count && y->part_count) {
        for (uint32_t i = 0; i < y->part_count; i++) {
            pin(f, f->parts[y->part_first + i].group);
        }
    } else if (y->part_count) {
        x->part_first = y->part_first;
        x->part_count = y->part_count;
    }
}

static void compose(finder *f, const mts_node *node, uint32_t factor)
{
    set *out = &f->sets[find(f, node->output)];
    out->part_first = f->part_count;
    out->part_count = node->input_count;
    for (uint32_t i = 0; i < node->input_count; i++) {
        f->parts[f->part_count++] = (mts_channel_part){.group = node->inputs[i], .factor = factor};
    }
}

/* A constant operand that other nodes read too cannot be reordered for this one. */
static bool operands_private(const finder *f, const mts_node *node, uint32_t first)
{
    for (uint32_t i = first; i < node->input_count; i++) {
        const mts_value *value = input_of(f->graph, node, i);
        if (value && value->kind == MTS_VALUE_CONST &&
            (f->uses[node->inputs[i]] > 1 || value->block_count != 1)) {
            return false;
        }
    }
    return true;
}

static void find_conv(finder *f, const mts_node *node)
{
    const mts_value *residual = input_of(f->graph, node, 4);
    const bool depthwise = mts_channels_depthwise(f->graph, node);
    if ((node->attrs.conv.group != 1 && !depthwise) || node->scatter || !operands_private(f, node, 1) ||
        (residual && residual->kind == MTS_VALUE_CONST)) {
        pin_node(f, node);
        return;
    }
    if (depthwise) {
        tie(f, node->output, node->inputs[0]);
    }
    if (residual) {
        tie(f, node->output, node->inputs[4]);
    }
}

static void find_concat(finder *f, const mts_node *node)
{
    bool constants = false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        constants = constants || !f->sets[node->inputs[i]].present;
    }
    if (constants) {
        pin_node(f, node);
    } else if (node->attrs.concat.axis == 1 && node->input_count > 1) {
        compose(f, node, 1);
    } else {
        for (uint32_t i = 0; i < node->input_count; i++) {
            tie(f, node->output, node->inputs[i]);
        }
    }
}

static void find_binary(finder *f, const mts_node *node)
{
    const mts_shape *out = &f->graph->values[node->output].shape;
    for (uint32_t i = 0; i < 2; i++) {
        const mts_value *operand = input_of(f->graph, node, i);
        const uint32_t axis = mts_channels_axis(f->graph, node, i);
        if (operand->kind == MTS_VALUE_CONST) {
            if (axis != MTS_NONE && !operands_private(f, node, 0)) {
                pin_node(f, node);
            }
        } else if (operand->shape.rank != out->rank) {
            pin_node(f, node);
        } else if (axis == 1) {
            tie(f, node->output, node->inputs[i]);
        } else if (out->rank > 1 && out->dims[1] > 1) {
            pin(f, node->output);
        }
    }
}

static void find_node(finder *f, const mts_node *node)
{
    if (!f->sets[node->output].present || !f->sets[node->inputs[0]].present) {
        if (node->op == MTS_OP_BINARY && f->sets[node->output].present) {
            find_binary(f, node);
        } else {
            pin_node(f, node);
        }
        return;
    }
    switch (node->op) {
    case MTS_OP_CONV:
        find_conv(f, node);
        return;
    case MTS_OP_CONCAT:
        find_concat(f, node);
        return;
    case MTS_OP_BINARY:
        find_binary(f, node);
        return;
    case MTS_OP_RESHAPE:
        if (mts_channels_flatten(f->graph, node) > 1) {
            compose(f, node, mts_channels_flatten(f->graph, node));
            return;
        }
        break;
    case MTS_OP_SCALE:
        if (!operands_private(f, node, 1)) {
            pin_node(f, node);
        }
        break;
    default:
        break;
    }
    if (mts_channels_pass(f->graph, node)) {
        tie(f, node->output, node->inputs[0]);
    } else {
        pin_node(f, node);
    }
}

/* A pinned whole pins its parts. Parts have fewer channels, so this settles in few
   rounds. */
static void pin_parts(finder *f)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t v = 0; v < f->graph->value_count; v++) {
            const set *s = &f->sets[v];
            if (!s->present || s->parent != v || !s->pinned) {
                continue;
            }
            for (uint32_t i = 0; i < s->part_count; i++) {
                set *part = &f->sets[find(f, f->parts[s->part_first + i].group)];
                changed = changed || !part->pinned;
                part->pinned = true;
            }
        }
    }
}

static bool start(finder *f)
{
    const mts_graph *graph = f->graph;
    size_t inputs = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        inputs += graph->nodes[n].input_count;
    }
    f->uses = mts_arena_zero(f->arena, graph->value_count, sizeof(*f->uses));
    f->sets = mts_arena_zero(f->arena, graph->value_count, sizeof(*f->sets));
    f->parts = mts_arena_zero(f->arena, inputs, sizeof(*f->parts));
    if (!f->uses || !f->sets || !f->parts) {
        return false;
    }
    mts_graph_count_uses(graph, f->uses);
    for (uint32_t v = 0; v < graph->value_count; v++) {
        const mts_value *value = &graph->values[v];
        f->sets[v].parent = v;
        f->sets[v].present = value->kind != MTS_VALUE_CONST && value->shape.rank >= 2;
        f->sets[v].channels = f->sets[v].present ? (uint32_t)value->shape.dims[1] : 0;
        f->sets[v].pinned = value->kind == MTS_VALUE_INPUT;
    }
    return true;
}

static bool number_groups(finder *f, mts_channels *out)
{
    const uint32_t count = f->graph->value_count;
    out->group_of = mts_arena_zero(f->arena, count, sizeof(*out->group_of));
    out->groups = mts_arena_zero(f->arena, count, sizeof(*out->groups));
    if (!out->group_of || !out->groups) {
        return false;
    }
    for (uint32_t v = 0; v < count; v++) {
        const set *s = &f->sets[v];
        out->group_of[v] = MTS_NONE;
        if (s->present && s->parent == v) {
            out->group_of[v] = out->group_count;
            out->groups[out->group_count++] = (mts_channel_group){.kind = s->pinned       ? MTS_CHANNEL_PINNED
                                                                          : s->part_count ? MTS_CHANNEL_PARTS
                                                                                          : MTS_CHANNEL_FREE,
                                                                  .channels = s->channels,
                                                                  .part_first = s->part_first,
                                                                  .part_count = s->part_count};
        }
    }
    for (uint32_t v = 0; v < count; v++) {
        out->group_of[v] = f->sets[v].present ? out->group_of[find(f, v)] : MTS_NONE;
    }
    for (uint32_t p = 0; p < f->part_count; p++) {
        f->parts[p].group = out->group_of[f->parts[p].group];
    }
    out->parts = f->parts;
    return true;
}

bool mts_channels_depthwise(const mts_graph *graph, const mts_node *node)
{
    const mts_shape *x = &graph->values[node->inputs[0]].shape;
    const mts_shape *y = &graph->values[node->output].shape;
    return node->op == MTS_OP_CONV && node->attrs.conv.group > 1 && x->dims[1] == y->dims[1] &&
           x->dims[1] == (int64_t)node->attrs.conv.group;
}

uint32_t mts_channels_flatten(const mts_graph *graph, const mts_node *node)
{
    const mts_shape *x = &graph->values[node->inputs[0]].shape;
    const mts_shape *y = &graph->values[node->output].shape;
    if (node->op != MTS_OP_RESHAPE || x->rank < 2 || y->rank < 2 || x->dims[0] != y->dims[0]) {
        return 0;
    }
    const int64_t all = (int64_t)mts_shape_count(x) / x->dims[0];
    const bool same = y->dims[1] == x->dims[1];
    return same ? 1 : y->dims[1] == all ? (uint32_t)(all / x->dims[1]) : 0;
}

uint32_t mts_channels_axis(const mts_graph *graph, const mts_node *node, uint32_t index)
{
    const mts_shape *out = &graph->values[node->output].shape;
    const mts_shape *operand = &graph->values[node->inputs[index]].shape;
    const uint32_t missing = out->rank - operand->rank;
    if (out->rank < 2 || missing > 1 || operand->dims[1 - missing] == 1) {
        return MTS_NONE;
    }
    return 1 - missing;
}

bool mts_channels_pass(const mts_graph *graph, const mts_node *node)
{
    return mts_node_propagation(graph, node).pass == MTS_CHANNELS_KEPT;
}

mts_status mts_channels_find(const mts_graph *graph, mts_arena *arena, mts_channels *out, mts_error *error)
{
    finder f = {.graph = graph, .arena = arena};
    *out = (mts_channels){0};
    bool done = start(&f);
    for (uint32_t n = 0; done && n < graph->node_count; n++) {
        find_node(&f, &graph->nodes[n]);
    }
    for (uint32_t i = 0; done && i < graph->output_count; i++) {
        pin(&f, graph->outputs[i].value);
    }
    if (done) {
        pin_parts(&f);
        done = number_groups(&f, out);
    }
    return done ? MTS_STATUS_OK : mts_fail_memory(error);
}
