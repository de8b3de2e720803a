/*
 * fold.c: the fold pass: applies the rules to each node until none fits, then builds the
 * graph that is left.
 *
 * The rules are in fold_move.c, fold_taps.c, fold_resize.c, fold_scale.c, fold_act.c,
 * fold_slope.c, fold_gate.c, fold_gelu.c, fold_gain.c and fold_norm.c.
 */
#include "compiler/passes/fold.h"

#include <string.h>

#include "compiler/passes/fold_work.h"

static void apply_rules(mts_fold_work *work)
{
    for (uint32_t i = 0; i < work->graph->node_count; i++) {
        bool changed = true;
        while (changed && !work->dead[i] && !work->failed) {
            mts_node *node = &work->graph->nodes[i];
            changed = mts_fold_drop(work, node) || mts_fold_norm(work, node) || mts_fold_move(work, node) ||
                      mts_fold_taps(work, node) || mts_fold_resize(work, node) ||
                      mts_fold_channels(work, node) || mts_fold_activation(work, node) ||
                      mts_fold_slope(work, node) || mts_fold_gate(work, node) || mts_fold_gelu(work, node) ||
                      mts_fold_gain(work, node);
        }
    }
    for (uint32_t i = 0; i < work->graph->node_count && !work->failed; i++) {
        if (!work->dead[i]) {
            (void)mts_fold_summand(work, &work->graph->nodes[i]);
            (void)mts_fold_resize_last(work, &work->graph->nodes[i]);
        }
    }
}

/* Marks what the outputs need; nodes are sorted, so one sweep from the end is enough. */
static bool *live_nodes(const mts_fold_work *work)
{
    const mts_graph *graph = work->graph;
    bool *live = mts_arena_zero(graph->arena, graph->node_count, sizeof(*live));
    if (!live) {
        return NULL;
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const mts_node *home = mts_fold_home(work, mts_fold_resolve(work, graph->outputs[i].value));
        if (home) {
            live[home - graph->nodes] = true;
        }
    }
    for (uint32_t i = graph->node_count; i-- > 0;) {
        for (uint32_t j = 0; live[i] && j < graph->nodes[i].input_count; j++) {
            const mts_node *producer = mts_fold_producer(work, &graph->nodes[i], j);
            if (producer) {
                live[producer - graph->nodes] = true;
            }
        }
    }
    return live;
}

/* Id in the result of a value of the work graph; constants enter when first read. */
static uint32_t carry(const mts_fold_work *work, mts_graph *out, uint32_t *ids, uint32_t value)
{
    const mts_value *from = &work->graph->values[value];
    if (ids[value] == MTS_NONE && from->kind == MTS_VALUE_CONST) {
        ids[value] = mts_graph_add_const(out, from->name, from->dtype, &from->shape, NULL);
        if (ids[value] != MTS_NONE) {
            out->values[ids[value]].blocks =
                mts_arena_zero(out->arena, from->block_count, sizeof(*from->blocks));
            out->values[ids[value]].block_count = from->block_count;
            if (!out->values[ids[value]].blocks) {
                return MTS_NONE;
            }
            memcpy(out->values[ids[value]].blocks, from->blocks, from->block_count * sizeof(*from->blocks));
        }
    }
    return ids[value];
}

static mts_status carry_node(const mts_fold_work *work, mts_graph *out, uint32_t *ids, const mts_node *node,
                             mts_error *error)
{
    uint32_t *inputs = mts_arena_zero(work->graph->arena, node->input_count, sizeof(*inputs));
    if (!inputs) {
        return mts_fail_memory(error);
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t value = mts_fold_input(work, node, i);
        inputs[i] = value == MTS_NONE ? MTS_NONE : carry(work, out, ids, value);
        if (value != MTS_NONE && inputs[i] == MTS_NONE) {
            return mts_fail_memory(error);
        }
    }
    uint32_t made = MTS_NONE;
    mts_status status =
        mts_graph_add_node(out, node->op, node->name, inputs, node->input_count, &node->attrs, &made, error);
    if (status != MTS_STATUS_OK) {
        return mts_fail_prefix(error, status, "node '%s'", node->name);
    }
    ids[node->output] = made;
    out->nodes[out->values[made].producer].scatter = node->scatter;
    return mts_graph_name_value(out, made, work->graph->values[node->output].name) ? MTS_STATUS_OK
                                                                                   : mts_fail_memory(error);
}

static mts_status rebuild(const mts_fold_work *work, mts_graph *out, mts_error *error)
{
    const mts_graph *graph = work->graph;
    bool *live = live_nodes(work);
    uint32_t *ids = mts_arena_zero(graph->arena, graph->value_count, sizeof(*ids));
    if (!live || !ids) {
        return mts_fail_memory(error);
    }
    memset(ids, 0xff, graph->value_count * sizeof(*ids));
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const mts_port *port = &graph->inputs[i];
        ids[port->value] = mts_graph_add_input(out, port->name, port->dtype, &port->shape);
        if (ids[port->value] == MTS_NONE) {
            return mts_fail_memory(error);
        }
    }
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; i < graph->node_count && status == MTS_STATUS_OK; i++) {
        if (live[i]) {
            status = carry_node(work, out, ids, &graph->nodes[i], error);
        }
    }
    for (uint32_t i = 0; i < graph->output_count && status == MTS_STATUS_OK; i++) {
        const mts_port *port = &graph->outputs[i];
        uint32_t value = carry(work, out, ids, mts_fold_resolve(work, port->value));
        status = value == MTS_NONE
                     ? mts_fail_memory(error)
                     : mts_graph_add_output(out, port->name, value, port->dtype, &port->shape, error);
    }
    return status;
}

mts_status mts_fold(const mts_graph *graph, mts_arena *arena, mts_graph **out, mts_error *error)
{
    mts_arena scratch;
    mts_fold_work work = {.arena = arena};
    *out = NULL;
    mts_arena_init(&scratch, arena->allocator);
    mts_graph *made = mts_graph_create(arena, graph->name);
    if (!made || !mts_fold_begin(&work, graph, &scratch)) {
        work.failed = true;
    } else {
        apply_rules(&work);
    }
    mts_status status = work.failed ? mts_fail_memory(error) : rebuild(&work, made, error);
    MTS_TRY(status, mts_graph_verify(made, error));
    mts_arena_release(&scratch);
    if (status == MTS_STATUS_OK) {
        *out = made;
    }
    return status;
}
