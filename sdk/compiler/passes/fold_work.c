/*
 * fold_work.c: see fold_work.h. The rules are in fold_move.c, fold_taps.c, fold_resize.c, fold_scale.c, fold_act.c,
 * fold_slope.c, fold_norm.c, fold_gate.c and fold_gain.c; fold_line.c recognises lines for them.
 */
#include "compiler/passes/fold_work.h"

#include <string.h>

#include "compiler/passes/clone.h"

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

mts_node *mts_fold_home(const mts_fold_work *work, uint32_t value)
{
    const uint32_t home = value == MTS_NONE ? MTS_NONE : work->home[value];
    return home == MTS_NONE ? NULL : &work->graph->nodes[home];
}

mts_node *mts_fold_producer(const mts_fold_work *work, const mts_node *node, uint32_t index)
{
    return mts_fold_home(work, mts_fold_input(work, node, index));
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

/* Takes a reader from a value. */
static void leave(mts_fold_work *work, uint32_t value)
{
    if (value == MTS_NONE || --work->uses[value] > 0 || work->home[value] == MTS_NONE) {
        return;
    }
    mts_node *node = &work->graph->nodes[work->home[value]];
    work->home[value] = MTS_NONE;
    work->dead[node - work->graph->nodes] = true;
    for (uint32_t i = 0; i < node->input_count; i++) {
        leave(work, mts_fold_input(work, node, i));
    }
}

void mts_fold_become(mts_fold_work *work, mts_node *node, const mts_node *merged)
{
    const mts_node before = *node;
    *node = *merged;
    node->output = before.output;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const uint32_t value = mts_fold_input(work, node, i);
        if (value != MTS_NONE) {
            work->uses[value]++;
        }
    }
    for (uint32_t i = 0; i < before.input_count; i++) {
        leave(work, mts_fold_input(work, &before, i));
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

uint32_t mts_fold_constant(mts_fold_work *work, const float *data, const mts_shape *shape)
{
    const size_t count = mts_shape_count(shape);
    float *copy = mts_arena_zero(work->arena, count, sizeof(*copy));
    if (copy) {
        memcpy(copy, data, count * sizeof(*copy));
    }
    uint32_t value = copy ? mts_graph_add_const(work->graph, NULL, MTS_TYPE_FLOAT32, shape, copy) : MTS_NONE;
    if (value == MTS_NONE || !enter_value(work, value)) {
        work->failed = true;
        return MTS_NONE;
    }
    return value;
}

uint32_t mts_fold_vector(mts_fold_work *work, const float *data, uint32_t count)
{
    return mts_fold_constant(work, data, &(mts_shape){.rank = 1, .dims = {count}});
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

bool mts_fold_begin(mts_fold_work *work, const mts_graph *graph, mts_arena *scratch)
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
