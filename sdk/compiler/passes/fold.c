/*
 * fold.c: the fold pass: applies the rules to each node until none fits, then builds the graph that is left.
 *
 * The rules are in fold_move.c, fold_scale.c and fold_act.c.
 */
#include "compiler/passes/fold.h"

#include <string.h>

#include "compiler/passes/clone.h"
#include "compiler/passes/fold_work.h"

/* ---- reading ---- */

uint32_t mts_fold_resolve(const mts_fold_work *work, uint32_t value)
{
    while (value != MTS_NONE && work->alias[value] != value) {
        value = work->alias[value];
    }
    return value;
}

uint32_t mts_fold_input(const mts_fold_work *work, const mts_node *node, uint32_t index)
{
    return index < node->input_count ? mts_fold_resolve(work, node->inputs[index]) : MTS_NONE;
}

const mts_value *mts_fold_value(const mts_fold_work *work, uint32_t value)
{
    return &work->graph->values[value];
}

mts_node *mts_fold_producer(const mts_fold_work *work, const mts_node *node, uint32_t index)
{
    uint32_t value = mts_fold_input(work, node, index);
    uint32_t home = value == MTS_NONE ? MTS_NONE : work->home[value];
    return home == MTS_NONE ? NULL : &work->graph->nodes[home];
}

bool mts_fold_single_use(const mts_fold_work *work, const mts_node *producer)
{
    return work->uses[producer->output] == 1;
}

mts_act *mts_fold_free_act(mts_node *node)
{
    mts_act *act = node->op == MTS_OP_UNARY ? NULL : (mts_act *)mts_node_act(node);
    return act && act->fn == MTS_FN_NONE ? act : NULL;
}

/* ---- rewriting ---- */

static void kill(mts_fold_work *work, mts_node *node)
{
    work->dead[node - work->graph->nodes] = true;
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t value = mts_fold_input(work, node, i);
        if (value != MTS_NONE) {
            work->uses[value]--;
        }
    }
}

void mts_fold_replace(mts_fold_work *work, mts_node *node, uint32_t value)
{
    uint32_t old = node->output;
    mts_value *values = work->graph->values;
    kill(work, node);
    work->alias[old] = value;
    work->uses[value] += work->uses[old];
    work->uses[old] = 0;
    work->home[old] = MTS_NONE;
    if (values[value].kind == MTS_VALUE_NODE) {
        const char *name = values[old].name;
        values[old].name = values[value].name;
        values[value].name = name;
    }
}

void mts_fold_merge(mts_fold_work *work, mts_node *node, const mts_node *merged, mts_node *other)
{
    uint32_t output = node->output;
    kill(work, node);
    kill(work, other);
    work->home[other->output] = MTS_NONE;
    *node = *merged;
    node->output = output;
    work->dead[node - work->graph->nodes] = false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t value = mts_fold_input(work, node, i);
        if (value != MTS_NONE) {
            work->uses[value]++;
        }
    }
}

void mts_fold_release(mts_fold_work *work, mts_node *node)
{
    if (--work->uses[node->output] == 0) {
        kill(work, node);
        work->home[node->output] = MTS_NONE;
    }
}

static bool grow_values(mts_fold_work *work)
{
    size_t count = work->graph->value_count, room = work->value_room;
    if (count <= room && work->alias) {
        return true;
    }
    room = count * 2 + 1;
    uint32_t *arrays[3] = {work->alias, work->uses, work->home};
    for (int i = 0; i < 3; i++) {
        uint32_t *bigger = mts_arena_zero(work->graph->arena, room, sizeof(*bigger));
        if (!bigger) {
            return false;
        }
        if (arrays[i]) {
            memcpy(bigger, arrays[i], work->value_room * sizeof(*bigger));
        }
        arrays[i] = bigger;
    }
    work->alias = arrays[0];
    work->uses = arrays[1];
    work->home = arrays[2];
    work->value_room = room;
    return true;
}

static bool enter_value(mts_fold_work *work, uint32_t value)
{
    if (!grow_values(work)) {
        work->failed = true;
        return false;
    }
    work->alias[value] = value;
    work->uses[value] = 0;
    work->home[value] = work->graph->values[value].producer;
    return true;
}

uint32_t mts_fold_vector(mts_fold_work *work, const float *data, uint32_t count)
{
    mts_shape shape = {.rank = 1, .dims = {count}};
    float *copy = mts_arena_zero(work->arena, count, sizeof(*copy));
    if (copy) {
        memcpy(copy, data, count * sizeof(*copy));
    }
    uint32_t value = copy ? mts_graph_add_const(work->graph, NULL, MTS_TYPE_FLOAT32, &shape, copy) : MTS_NONE;
    if (value == MTS_NONE || !enter_value(work, value)) {
        work->failed = true;
        return MTS_NONE;
    }
    return value;
}

bool mts_fold_widen(mts_fold_work *work, mts_node *node, uint32_t count)
{
    if (node->input_count >= count) {
        return true;
    }
    uint32_t *inputs = mts_arena_zero(work->graph->arena, count, sizeof(*inputs));
    if (!inputs) {
        work->failed = true;
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        inputs[i] = i < node->input_count ? node->inputs[i] : MTS_NONE;
    }
    node->inputs = inputs;
    node->input_count = count;
    return true;
}

/* ---- the pass ---- */

static bool begin(mts_fold_work *work, const mts_graph *graph, mts_arena *scratch)
{
    work->graph = mts_graph_clone(graph, scratch);
    if (!work->graph) {
        return false;
    }
    work->dead = mts_arena_zero(scratch, graph->node_count, sizeof(*work->dead));
    if (!work->dead || !grow_values(work)) {
        return false;
    }
    for (uint32_t i = 0; i < graph->value_count; i++) {
        if (!enter_value(work, i)) {
            return false;
        }
    }
    mts_graph_count_uses(work->graph, work->uses);
    return true;
}

static void apply_rules(mts_fold_work *work)
{
    for (uint32_t i = 0; i < work->graph->node_count; i++) {
        bool changed = true;
        while (changed && !work->dead[i] && !work->failed) {
            mts_node *node = &work->graph->nodes[i];
            changed = mts_fold_drop(work, node) || mts_fold_move(work, node) ||
                      mts_fold_channels(work, node) || mts_fold_activation(work, node);
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
        uint32_t home = work->home[mts_fold_resolve(work, graph->outputs[i].value)];
        if (home != MTS_NONE) {
            live[home] = true;
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
    mts_status code =
        mts_graph_add_node(out, node->op, node->name, inputs, node->input_count, &node->attrs, &made, error);
    if (code != MTS_STATUS_OK) {
        return mts_fail_prefix(error, code, "node '%s'", node->name);
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
    mts_status code = MTS_STATUS_OK;
    for (uint32_t i = 0; i < graph->node_count && code == MTS_STATUS_OK; i++) {
        if (live[i]) {
            code = carry_node(work, out, ids, &graph->nodes[i], error);
        }
    }
    for (uint32_t i = 0; i < graph->output_count && code == MTS_STATUS_OK; i++) {
        const mts_port *port = &graph->outputs[i];
        uint32_t value = carry(work, out, ids, mts_fold_resolve(work, port->value));
        code = value == MTS_NONE
                   ? mts_fail_memory(error)
                   : mts_graph_add_output(out, port->name, value, port->dtype, &port->shape, error);
    }
    return code;
}

mts_status mts_fold(const mts_graph *graph, mts_arena *arena, mts_graph **out, mts_error *error)
{
    mts_arena scratch;
    mts_fold_work work = {.arena = arena};
    *out = NULL;
    mts_arena_init(&scratch, arena->allocator);
    mts_graph *made = mts_graph_create(arena, graph->name);
    if (!made || !begin(&work, graph, &scratch)) {
        work.failed = true;
    } else {
        apply_rules(&work);
    }
    mts_status code = work.failed ? mts_fail_memory(error) : rebuild(&work, made, error);
    MTS_TRY(code, mts_graph_verify(made, error));
    mts_arena_release(&scratch);
    if (code == MTS_STATUS_OK) {
        *out = made;
    }
    return code;
}
