/*
 * cut_runs.c: task sets of a row's filters, and the runs of input channels that they have
 * in common (cut.h).
 *
 * A run is broken wherever, in any task of the set, another channel follows; so all tasks
 * of the set have the same runs.
 */
#include "compiler/passes/cut.h"

#define NEXT_BROKEN 0xfffffffeu

static uint32_t channels_in(const mts_value *weight)
{
    return (uint32_t)weight->shape.dims[1];
}

static uint64_t cell_bytes(const mts_value *weight)
{
    uint32_t out = 0, in = 0, inner = 0;
    mts_value_matrix(weight, &out, &in, &inner);
    return (uint64_t)inner * mts_type_size(weight->dtype);
}

static bool is_common(const mts_cut_row *cut, uint32_t task, uint32_t channel, uint64_t tasks)
{
    const uint32_t label = cut->inputs[task] ? cut->inputs[task][channel] : MTS_CLASS_NONE;
    return (mts_classes_tasks(&cut->family->classes, label) & tasks) == tasks;
}

static uint32_t following(const mts_cut_row *cut, uint32_t task, uint32_t channel, uint64_t tasks)
{
    const uint32_t count = channels_in(cut->weights[task]);
    return channel + 1 < count && is_common(cut, task, channel + 1, tasks) ? cut->inputs[task][channel + 1]
                                                                           : NEXT_BROKEN;
}

static uint32_t first_task(uint64_t tasks)
{
    uint32_t t = 0;
    while ((tasks >> t & 1u) == 0) {
        t++;
    }
    return t;
}

static void add_set(mts_cut_row *cut, uint64_t tasks)
{
    for (uint32_t s = 0; s < cut->set_count; s++) {
        if (cut->sets[s].tasks == tasks) {
            return;
        }
    }
    if (cut->set_count < MTS_CUT_SETS_MAX) {
        cut->sets[cut->set_count++] = (mts_cut_set){.tasks = tasks};
    }
}

/* All tasks of a set must be of this row and count the same. */
static bool count_set(mts_cut_row *cut, mts_cut_set *set, bool whole)
{
    const uint32_t first = first_task(set->tasks);
    for (uint32_t t = 0; t < cut->family->count; t++) {
        if ((set->tasks >> t & 1u) == 0) {
            continue;
        }
        if (!cut->weights[t] || !cut->filters[t]) {
            return false;
        }
        uint32_t filters = 0, inputs = 0, runs = 0;
        for (uint32_t f = 0; f < (uint32_t)cut->weights[t]->shape.dims[0]; f++) {
            filters += mts_classes_tasks(&cut->family->classes, cut->filters[t][f]) == set->tasks;
        }
        for (uint32_t c = 0; c < channels_in(cut->weights[t]);) {
            bool common = whole;
            const uint32_t end =
                whole ? channels_in(cut->weights[t]) : mts_cut_run(cut, t, set->tasks, c, &common);
            inputs += common ? end - c : 0;
            runs += common;
            c = end;
        }
        if (t == first) {
            *set = (mts_cut_set){.tasks = set->tasks, .filters = filters, .inputs = inputs, .runs = runs};
        } else if (filters != set->filters || inputs != set->inputs || runs != set->runs) {
            return false;
        }
    }
    return set->inputs > 0 && set->runs <= MTS_CUT_RUNS_MAX;
}

void mts_cut_link(mts_cut_row *cut, uint64_t tasks)
{
    const uint32_t first = first_task(tasks);
    for (uint32_t t = first; t < cut->family->count; t++) {
        if ((tasks >> t & 1u) == 0 || !cut->weights[t]) {
            continue;
        }
        for (uint32_t c = 0; c < channels_in(cut->weights[t]); c++) {
            if (is_common(cut, t, c, tasks)) {
                uint32_t *next = &cut->next[cut->inputs[t][c]];
                const uint32_t own = following(cut, t, c, tasks);
                *next = t == first || *next == own ? own : NEXT_BROKEN;
            }
        }
    }
}

uint32_t mts_cut_run(const mts_cut_row *cut, uint32_t task, uint64_t tasks, uint32_t first, bool *common)
{
    const uint32_t count = channels_in(cut->weights[task]);
    uint32_t c = first;
    *common = is_common(cut, task, first, tasks);
    if (*common) {
        const uint32_t *labels = cut->inputs[task];
        while (c + 1 < count && is_common(cut, task, c + 1, tasks) && cut->next[labels[c]] == labels[c + 1]) {
            c++;
        }
        return c + 1;
    }
    while (c < count && !is_common(cut, task, c, tasks)) {
        c++;
    }
    return c;
}

void mts_cut_find_sets(mts_cut_row *cut, bool whole)
{
    cut->set_count = 0;
    for (uint32_t t = 0; t < cut->family->count; t++) {
        for (uint32_t f = 0; cut->filters[t] && f < (uint32_t)cut->weights[t]->shape.dims[0]; f++) {
            const uint64_t tasks = mts_classes_tasks(&cut->family->classes, cut->filters[t][f]);
            if (tasks) {
                add_set(cut, tasks);
            }
        }
    }
    for (uint32_t s = 0; s < cut->set_count; s++) {
        if (!whole) {
            mts_cut_link(cut, cut->sets[s].tasks);
        }
        cut->sets[s].used = count_set(cut, &cut->sets[s], whole);
    }
}

uint64_t mts_cut_saved(const mts_cut_row *cut)
{
    uint64_t saved = 0;
    for (uint32_t s = 0; s < cut->set_count; s++) {
        const mts_cut_set *set = &cut->sets[s];
        if (set->used) {
            saved += (uint64_t)set->filters * set->inputs * (mts_bits_count(set->tasks) - 1) *
                     cell_bytes(cut->weights[first_task(set->tasks)]);
        }
    }
    return saved;
}

const mts_cut_set *mts_cut_set_of(const mts_cut_row *cut, uint32_t label)
{
    const uint64_t tasks = mts_classes_tasks(&cut->family->classes, label);
    for (uint32_t s = 0; tasks && s < cut->set_count; s++) {
        if (cut->sets[s].tasks == tasks) {
            return cut->sets[s].used ? &cut->sets[s] : NULL;
        }
    }
    return NULL;
}
