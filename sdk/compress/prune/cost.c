/*
 * cost.c: see cost.h. Every node and every constant is one term.
 */
#include "compress/prune/cost.h"

static uint32_t group_of(const mts_channels *channels, uint32_t value)
{
    return value == MTS_NONE ? MTS_NONE : channels->group_of[value];
}

static mts_cost_term work_term(const mts_graph *graph, const mts_channels *channels, const mts_node *node)
{
    mts_cost_term term = {
        .base = mts_node_mul_adds(graph, node), .out = group_of(channels, node->output), .in = MTS_NONE};
    if (node->op == MTS_OP_CONV && node->attrs.conv.group == 1) {
        term.in = group_of(channels, node->inputs[0]);
    } else if (node->op == MTS_OP_REDUCE || node->op == MTS_OP_SOFTMAX) {
        term.out = group_of(channels, node->inputs[0]); /* every number that is read is one */
    }
    return term;
}

static void add_bytes(mts_cost *cost, const mts_graph *graph, bool *seen, uint32_t value, uint32_t out,
                      uint32_t in)
{
    size_t bytes = 0;
    if (value == MTS_NONE || graph->values[value].kind != MTS_VALUE_CONST || seen[value]) {
        return;
    }
    seen[value] = true;
    if (mts_shape_bytes(&graph->values[value].shape, graph->values[value].dtype, &bytes)) {
        cost->bytes[cost->bytes_count++] = (mts_cost_term){bytes, out, in};
    }
}

/* Mirrors what mts_thin does to the operands of a node. */
static void add_operands(mts_cost *cost, const mts_graph *graph, bool *seen, const mts_node *node)
{
    const uint32_t out = group_of(cost->channels, node->output);
    for (uint32_t i = 0; i < node->input_count; i++) {
        const bool along = (node->op == MTS_OP_CONV && i > 0) || (node->op == MTS_OP_SCALE && i > 0) ||
                           (node->op == MTS_OP_BINARY && mts_channels_axis(graph, node, i) != MTS_NONE);
        const bool reads = node->op == MTS_OP_CONV && i == 1 && node->attrs.conv.group == 1;
        add_bytes(cost, graph, seen, node->inputs[i], along ? out : MTS_NONE,
                  reads ? group_of(cost->channels, node->inputs[0]) : MTS_NONE);
    }
}

/* Parts have fewer channels than their whole. */
static void sort_groups(const mts_channels *channels, uint32_t *order)
{
    for (uint32_t i = 0; i < channels->group_count; i++) {
        uint32_t at = i;
        for (; at > 0 && channels->groups[order[at - 1]].channels > channels->groups[i].channels; at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
}

bool mts_cost_make(const mts_graph *graph, const mts_channels *channels, mts_arena *arena, mts_cost *out)
{
    bool *seen = mts_arena_zero(arena, graph->value_count, sizeof(*seen));
    *out = (mts_cost){.channels = channels};
    out->order = mts_arena_zero(arena, channels->group_count, sizeof(*out->order));
    out->work = mts_arena_zero(arena, graph->node_count, sizeof(*out->work));
    out->bytes = mts_arena_zero(arena, graph->value_count, sizeof(*out->bytes));
    if (!seen || !out->order || !out->work || !out->bytes) {
        return false;
    }
    sort_groups(channels, out->order);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        out->work[out->work_count++] = work_term(graph, channels, &graph->nodes[n]);
        add_operands(out, graph, seen, &graph->nodes[n]);
    }
    for (uint32_t v = 0; v < graph->value_count; v++) {
        add_bytes(out, graph, seen, v, MTS_NONE, MTS_NONE);
    }
    return true;
}

void mts_cost_settle(const mts_cost *cost, uint32_t *kept)
{
    for (uint32_t i = 0; i < cost->channels->group_count; i++) {
        const uint32_t g = cost->order[i];
        const mts_channel_group *group = &cost->channels->groups[g];
        if (group->kind != MTS_CHANNEL_PARTS) {
            continue;
        }
        kept[g] = 0;
        for (uint32_t p = 0; p < group->part_count; p++) {
            const mts_channel_part *part = &cost->channels->parts[group->part_first + p];
            kept[g] += kept[part->group] * part->factor;
        }
    }
}

/* Terms are multiples of their groups' channels: the division leaves nothing. */
static uint64_t left_of(const mts_channels *channels, uint64_t base, uint32_t group, const uint32_t *kept)
{
    const uint32_t all = group == MTS_NONE ? 0 : channels->groups[group].channels;
    return all == 0 || kept[group] == all ? base : base / all * kept[group];
}

static uint64_t sum(const mts_channels *channels, const mts_cost_term *terms, uint32_t count,
                    const uint32_t *kept)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; i++) {
        all += left_of(channels, left_of(channels, terms[i].base, terms[i].out, kept), terms[i].in, kept);
    }
    return all;
}

uint64_t mts_cost_work(const mts_cost *cost, const uint32_t *kept)
{
    return sum(cost->channels, cost->work, cost->work_count, kept);
}

uint64_t mts_cost_bytes(const mts_cost *cost, const uint32_t *kept)
{
    return sum(cost->channels, cost->bytes, cost->bytes_count, kept);
}
