/*
 * parts.c: which values cross borders, which task of which part gives them, and where the
 * ports of the session's tasks are. Not responsible for the graphs (part_graph.c).
 */
#include "partition/parts.h"

#include <string.h>

#include "base/hash.h"
#include "partition/part_graph.h"

/* ---- links ---- */

static uint32_t part_of_value(const mts_splitting *s, uint32_t task, uint32_t value)
{
    const mts_graph *graph = mts_units_graph(s->units, task);
    const mts_value *v = &graph->values[value];
    return v->kind == MTS_VALUE_NODE ? mts_splitting_part(s, task, v->producer) : s->first_part[task];
}

/* The task that gives a link: of those in the first part that computes the value, the
   first. */
static void find_homes(mts_splitting *s)
{
    const mts_units *u = s->units;
    for (uint32_t t = 0; t < u->task_count; t++) {
        const mts_graph *graph = mts_units_graph(u, t);
        for (uint32_t v = 0; v < graph->value_count; v++) {
            const uint32_t number = u->number_of[t][v];
            if (number == MTS_NONE) {
                continue;
            }
            mts_home *home = &s->homes[number];
            const uint32_t part = part_of_value(s, t, v);
            if (home->task == MTS_NONE || part < home->part) {
                home->part = part;
                home->task = t;
                home->value = v;
            }
        }
    }
}

static void number_links(mts_splitting *s)
{
    const mts_units *u = s->units;
    for (uint32_t t = 0; t < u->task_count; t++) {
        const mts_graph *graph = mts_units_graph(u, t);
        for (uint32_t n = 0; n < graph->node_count; n++) {
            const mts_node *node = &graph->nodes[n];
            for (uint32_t i = 0; i < node->input_count; i++) {
                const uint32_t value = node->inputs[i];
                const uint32_t number = value != MTS_NONE ? u->number_of[t][value] : MTS_NONE;
                if (number != MTS_NONE && mts_splitting_part(s, t, n) > part_of_value(s, t, value) &&
                    s->homes[number].link == MTS_NONE) {
                    s->homes[number].link = s->out->link_count++;
                }
            }
        }
    }
}

static mts_status find_links(mts_splitting *s, mts_error *error)
{
    const mts_units *u = s->units;
    s->homes = mts_arena_zero(&s->out->arena, u->value_count, sizeof *s->homes);
    if (!s->homes) {
        return mts_fail_memory(error);
    }
    for (uint32_t v = 0; v < u->value_count; v++) {
        s->homes[v] = (mts_home){.task = MTS_NONE, .link = MTS_NONE};
    }
    find_homes(s);
    number_links(s);
    s->out->link_elements = mts_arena_zero(&s->out->arena, s->out->link_count, sizeof *s->out->link_elements);
    if (!s->out->link_elements) {
        return mts_fail_memory(error);
    }
    for (uint32_t v = 0; v < u->value_count; v++) {
        if (s->homes[v].link != MTS_NONE) {
            s->out->link_elements[s->homes[v].link] = (size_t)(u->values[v].bytes / sizeof(float));
        }
    }
    return MTS_STATUS_OK;
}

/* ---- parts ---- */

static mts_status make_part(mts_splitting *s, uint32_t number, mts_part *part, mts_error *error)
{
    const mts_units *u = s->units;
    mts_arena *arena = &s->out->arena;
    part->archive = mts_archive_create(arena->allocator);
    if (!part->archive) {
        return mts_fail_memory(error);
    }
    mts_archive *a = part->archive;
    const uint64_t key[] = {u->archive->hash, s->hash, number};
    a->hash = mts_hash(key, sizeof key, 0);
    a->blocks = u->archive->blocks;
    a->block_count = u->archive->block_count;
    a->tasks = mts_arena_zero(&a->arena, u->task_count, sizeof *a->tasks);
    part->tasks = mts_arena_zero(arena, u->task_count, sizeof *part->tasks);
    part->inputs = mts_arena_zero(arena, u->task_count, sizeof *part->inputs);
    part->outputs = mts_arena_zero(arena, u->task_count, sizeof *part->outputs);
    part->units = mts_arena_zero(arena, u->task_count, sizeof *part->units);
    part->index_of = mts_arena_zero(arena, u->task_count, sizeof *part->index_of);
    if (!a->tasks || !part->tasks || !part->inputs || !part->outputs || !part->units || !part->index_of) {
        return mts_fail_memory(error);
    }
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = 0; status == MTS_STATUS_OK && t < u->task_count; t++) {
        bool used = false;
        part->index_of[t] = MTS_NONE;
        status = mts_part_graph(s, number, t, part, &used, error);
        if (status == MTS_STATUS_OK && used) {
            part->index_of[t] = a->task_count;
            part->tasks[a->task_count++] = t;
        }
    }
    return status;
}

static mts_status make_parts(mts_splitting *s, uint32_t count, const uint32_t *devices, mts_error *error)
{
    mts_status status = find_links(s, error);
    for (uint32_t p = 0; status == MTS_STATUS_OK && p < count; p++) {
        mts_part *part = &s->out->parts[s->out->part_count];
        *part = (mts_part){.device = devices[p]};
        status = make_part(s, p, part, error);
        if (status == MTS_STATUS_OK && part->archive->task_count == 0) {
            mts_archive_destroy(&part->archive); /* nodes without readers only */
        } else if (part->archive) {
            s->out->part_count++;
        }
    }
    return status;
}

/* ---- which task needs which ---- */

static bool gives(const mts_part *part, uint32_t index, uint32_t link)
{
    const mts_graph *graph = part->archive->tasks[index].graph;
    for (uint32_t o = 0; o < graph->output_count; o++) {
        if (part->outputs[index][o].link == link) {
            return true;
        }
    }
    return false;
}

/* The tasks of earlier parts that give what a task of part `reader` reads. */
static void need_links(mts_partition *p, uint32_t task, uint32_t reader, uint32_t index)
{
    const mts_part *from = &p->parts[reader];
    const uint32_t inputs = from->archive->tasks[index].graph->input_count;
    for (uint32_t i = 0; i < inputs; i++) {
        const uint32_t link = from->inputs[index][i].link;
        for (uint32_t e = 0; link != MTS_NONE && e < reader; e++) {
            for (uint32_t k = 0; k < p->parts[e].archive->task_count; k++) {
                if (gives(&p->parts[e], k, link)) {
                    p->parts[e].needed[task][k] = true;
                }
            }
        }
    }
}

static mts_status find_needed(mts_partition *p, mts_error *error)
{
    for (uint32_t i = 0; i < p->part_count; i++) {
        mts_part *part = &p->parts[i];
        part->needed = mts_arena_zero(&p->arena, p->task_count, sizeof *part->needed);
        for (uint32_t t = 0; t < p->task_count; t++) {
            bool *row =
                part->needed ? mts_arena_zero(&p->arena, part->archive->task_count, sizeof *row) : NULL;
            if (!row) {
                return mts_fail_memory(error);
            }
            part->needed[t] = row;
            if (part->index_of[t] != MTS_NONE) {
                row[part->index_of[t]] = true;
            }
        }
    }
    for (uint32_t t = 0; t < p->task_count; t++) {
        for (uint32_t i = p->part_count; i-- > 1;) {
            for (uint32_t k = 0; k < p->parts[i].archive->task_count; k++) {
                if (p->parts[i].needed[t][k]) {
                    need_links(p, t, i, k);
                }
            }
        }
    }
    return MTS_STATUS_OK;
}

/* ---- where ports are ---- */

static void place_own(mts_partition *p, uint32_t part, uint32_t index)
{
    const mts_part *from = &p->parts[part];
    const mts_graph *graph = from->archive->tasks[index].graph;
    const uint32_t task = from->tasks[index];
    for (uint32_t i = 0; i < graph->input_count; i++) {
        if (from->inputs[index][i].own != MTS_NONE) {
            p->inputs[task][from->inputs[index][i].own] = (mts_part_place){part, index, i};
        }
    }
    for (uint32_t o = 0; o < graph->output_count; o++) {
        if (from->outputs[index][o].own != MTS_NONE) {
            p->outputs[task][from->outputs[index][o].own] = (mts_part_place){part, index, o};
        }
    }
}

/* An input of a task that is not in the first part is that of a task that holds the same. */
static void place_common(const mts_units *u, mts_partition *p)
{
    for (uint32_t t = 0; t < u->task_count; t++) {
        const mts_graph *graph = mts_units_graph(u, t);
        for (uint32_t i = 0; i < graph->input_count; i++) {
            const uint32_t number = u->number_of[t][graph->inputs[i].value];
            for (uint32_t o = 0; o < u->task_count && p->inputs[t][i].part == MTS_NONE; o++) {
                const mts_graph *other = mts_units_graph(u, o);
                for (uint32_t k = 0; k < other->input_count; k++) {
                    if (u->number_of[o][other->inputs[k].value] == number &&
                        p->inputs[o][k].part != MTS_NONE) {
                        p->inputs[t][i] = p->inputs[o][k];
                    }
                }
            }
        }
    }
}

static mts_status place_ports(const mts_units *u, mts_partition *p, mts_error *error)
{
    p->inputs = mts_arena_zero(&p->arena, u->task_count, sizeof *p->inputs);
    p->outputs = mts_arena_zero(&p->arena, u->task_count, sizeof *p->outputs);
    if (!p->inputs || !p->outputs) {
        return mts_fail_memory(error);
    }
    for (uint32_t t = 0; t < u->task_count; t++) {
        const mts_graph *graph = mts_units_graph(u, t);
        p->inputs[t] = mts_arena_zero(&p->arena, graph->input_count, sizeof **p->inputs);
        p->outputs[t] = mts_arena_zero(&p->arena, graph->output_count, sizeof **p->outputs);
        if (!p->inputs[t] || !p->outputs[t]) {
            return mts_fail_memory(error);
        }
        for (uint32_t i = 0; i < graph->input_count; i++) {
            p->inputs[t][i].part = MTS_NONE;
        }
    }
    for (uint32_t i = 0; i < p->part_count; i++) {
        for (uint32_t k = 0; k < p->parts[i].archive->task_count; k++) {
            place_own(p, i, k);
        }
    }
    place_common(u, p);
    return MTS_STATUS_OK;
}

/* ---- both kinds ---- */

static mts_status split(mts_splitting *s, uint32_t count, const uint32_t *devices, mts_error *error)
{
    mts_status status = make_parts(s, count, devices, error);
    MTS_TRY(status, find_needed(s->out, error));
    MTS_TRY(status, place_ports(s->units, s->out, error));
    if (status != MTS_STATUS_OK) {
        mts_partition_release(s->out);
    }
    return status;
}

static mts_status open(mts_splitting *s, const mts_units *units, const mts_allocator *allocator,
                       mts_partition *out, mts_error *error)
{
    *s = (mts_splitting){.units = units, .out = out};
    *out = (mts_partition){.task_count = units->task_count};
    mts_arena_init(&out->arena, allocator);
    s->first_part = mts_arena_zero(&out->arena, units->task_count, sizeof *s->first_part);
    if (!s->first_part) {
        mts_partition_release(out);
        return mts_fail_memory(error);
    }
    return MTS_STATUS_OK;
}

mts_status mts_partition_chain(const mts_units *units, const mts_chain *chain, const mts_allocator *allocator,
                               mts_partition *out, mts_error *error)
{
    mts_splitting s;
    uint32_t devices[MTS_PARTITION_DEVICES] = {0};
    mts_status status = open(&s, units, allocator, out, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    out->chain = true;
    s.stage_of = mts_arena_zero(&out->arena, units->count, sizeof *s.stage_of);
    if (!s.stage_of) {
        mts_partition_release(out);
        return mts_fail_memory(error);
    }
    for (uint32_t i = 0; i < chain->stage_count; i++) {
        devices[i] = chain->stages[i].device;
        for (uint32_t unit = chain->stages[i].first; unit < chain->stages[i].end; unit++) {
            s.stage_of[unit] = i;
        }
    }
    s.hash = mts_hash(s.stage_of, units->count * sizeof *s.stage_of, 1);
    return split(&s, chain->stage_count, devices, error);
}

mts_status mts_partition_groups(const mts_units *units, const uint32_t *device_of, uint32_t device_count,
                                const mts_allocator *allocator, mts_partition *out, mts_error *error)
{
    mts_splitting s;
    uint32_t devices[MTS_PARTITION_DEVICES] = {0};
    uint32_t count = 0;
    mts_status status = open(&s, units, allocator, out, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    for (uint32_t d = 0; d < device_count; d++) {
        bool used = false;
        for (uint32_t t = 0; t < units->task_count; t++) {
            if (device_of[t] == d) {
                s.first_part[t] = count;
                used = true;
            }
        }
        if (used) {
            devices[count++] = d;
        }
    }
    s.hash = mts_hash(device_of, units->task_count * sizeof *device_of, 2);
    return split(&s, count, devices, error);
}

void mts_partition_release(mts_partition *partition)
{
    for (uint32_t i = 0; i < MTS_PARTITION_DEVICES; i++) {
        mts_archive_destroy(&partition->parts[i].archive);
    }
    mts_arena_release(&partition->arena);
    *partition = (mts_partition){0};
}
