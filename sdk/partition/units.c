/*
 * units.c: rows of aligned nodes of all families as one sequence, and what each of them
 * reads, computes and weighs.
 */
#include "partition/units.h"

#include <string.h>

#include "graph/align.h"
#include "partition/numbers.h"

/* Bytes of activations that take about as long as this many multiply-adds do: for the order
   and the first estimate of units only. */
#define MUL_ADDS_PER_BYTE 4.0

/* The rows of one family, in order. */
typedef struct family {
    mts_alignment rows;
    uint32_t *members; /* positions of its tasks */
    double *done;      /* [row]: the part of the family's work before its middle */
    uint32_t next;     /* the next row that becomes a unit */
} family;

double mts_units_work(const mts_units *units, uint32_t unit)
{
    return (double)units->mul_adds[unit] + (double)units->activations[unit] * MUL_ADDS_PER_BYTE;
}

static uint64_t bytes_of(const mts_value *value)
{
    return (uint64_t)mts_shape_count(&value->shape) * sizeof(float);
}

/* Bytes of the activations that a node reads and writes. */
static uint64_t activations_of(const mts_graph *graph, const mts_node *node)
{
    uint64_t bytes = bytes_of(&graph->values[node->output]);
    for (uint32_t i = 0; i < node->input_count; i++) {
        const uint32_t value = node->inputs[i];
        if (value != MTS_NONE && graph->values[value].kind != MTS_VALUE_CONST) {
            bytes += bytes_of(&graph->values[value]);
        }
    }
    return bytes;
}

static double work_of(const mts_graph *graph, const mts_node *node)
{
    return (double)mts_node_mul_adds(graph, node) + (double)activations_of(graph, node) * MUL_ADDS_PER_BYTE;
}

/* Aligns the tasks of one family. */
static mts_status align(const mts_units *u, const uint32_t *family_of, uint32_t number, mts_arena *arena,
                        family *out, mts_error *error)
{
    uint32_t count = 0;
    const mts_graph **graphs = mts_arena_zero(arena, u->task_count, sizeof *graphs);
    out->members = mts_arena_zero(arena, u->task_count, sizeof *out->members);
    if (!graphs || !out->members) {
        return mts_fail_memory(error);
    }
    for (uint32_t t = 0; t < u->task_count; t++) {
        if (family_of[t] == number) {
            out->members[count] = t;
            graphs[count++] = mts_units_graph(u, t);
        }
    }
    mts_status status = mts_graph_align(graphs, count, arena, &out->rows, error);
    if (status == MTS_STATUS_OK) {
        out->done = mts_arena_zero(arena, (size_t)out->rows.row_count + 1, sizeof *out->done);
        status = out->done ? MTS_STATUS_OK : mts_fail_memory(error);
    }
    double sum = 0.0;
    for (uint32_t r = 0; status == MTS_STATUS_OK && r < out->rows.row_count; r++) {
        double row = 0.0;
        for (uint32_t g = 0; g < count; g++) {
            const uint32_t node = out->rows.nodes[(size_t)r * count + g];
            row += node != MTS_NONE ? work_of(graphs[g], &graphs[g]->nodes[node]) : 0.0;
        }
        out->done[r] = sum + row / 2.0;
        sum += row;
    }
    for (uint32_t r = 0; status == MTS_STATUS_OK && r < out->rows.row_count && sum > 0.0; r++) {
        out->done[r] /= sum;
    }
    return status;
}

/* Makes units of the rows: always the next row of the family that is furthest behind. */
static void order(mts_units *u, family *families, uint32_t count)
{
    for (;;) {
        family *first = NULL;
        for (uint32_t f = 0; f < count; f++) {
            family *one = &families[f];
            const bool left = one->next < one->rows.row_count;
            if (left && (!first || one->done[one->next] < first->done[first->next])) {
                first = one;
            }
        }
        if (!first) {
            return;
        }
        const uint32_t graphs = first->rows.graph_count;
        for (uint32_t g = 0; g < graphs; g++) {
            const uint32_t node = first->rows.nodes[(size_t)first->next * graphs + g];
            if (node != MTS_NONE) {
                u->unit_of[first->members[g]][node] = u->count;
            }
        }
        first->next++;
        u->count++;
    }
}

static mts_status make_units(mts_units *u, mts_arena *arena, mts_error *error)
{
    uint32_t count = 0;
    const mts_graph **graphs = mts_arena_zero(arena, u->task_count, sizeof *graphs);
    uint32_t *family_of = mts_arena_zero(arena, u->task_count, sizeof *family_of);
    if (!graphs || !family_of) {
        return mts_fail_memory(error);
    }
    for (uint32_t t = 0; t < u->task_count; t++) {
        graphs[t] = mts_units_graph(u, t);
        u->unit_of[t] = mts_arena_zero(arena, graphs[t]->node_count, sizeof **u->unit_of);
        if (!u->unit_of[t]) {
            return mts_fail_memory(error);
        }
    }
    mts_status status = mts_graph_families(graphs, u->task_count, arena->allocator, family_of, &count, error);
    family *families = mts_arena_zero(arena, count, sizeof *families);
    if (status == MTS_STATUS_OK && !families) {
        status = mts_fail_memory(error);
    }
    for (uint32_t f = 0; status == MTS_STATUS_OK && f < count; f++) {
        status = align(u, family_of, f, arena, &families[f], error);
    }
    if (status == MTS_STATUS_OK) {
        order(u, families, count);
    }
    return status;
}

/* ---- what units read, compute and weigh ---- */

typedef struct listing {
    mts_unit_lists *lists;
    uint32_t *stamp; /* of each number: 1 + the unit that has it in its list */
    uint32_t used;
} listing;

/* Nodes of a unit, one after another, of all tasks. */
typedef struct node_ref {
    uint32_t task, node;
} node_ref;

static mts_status list_open(listing *l, mts_unit_lists *lists, uint32_t units, size_t items, uint32_t numbers,
                            mts_arena *arena, mts_error *error)
{
    lists->first = mts_arena_zero(arena, (size_t)units + 1, sizeof *lists->first);
    lists->items = mts_arena_zero(arena, items, sizeof *lists->items);
    *l = (listing){.lists = lists, .stamp = mts_arena_zero(arena, numbers, sizeof *l->stamp)};
    return lists->first && lists->items && l->stamp ? MTS_STATUS_OK : mts_fail_memory(error);
}

static void list_add(listing *l, uint32_t unit, uint32_t number)
{
    if (l->stamp[number] != unit + 1) {
        l->stamp[number] = unit + 1;
        l->lists->items[l->used++] = number;
    }
}

/* All nodes in the order of their units: first[unit] is where those of a unit begin. */
static node_ref *sort_nodes(const mts_units *u, uint32_t *first, size_t *all, mts_arena *arena)
{
    size_t count = 0;
    for (uint32_t t = 0; t < u->task_count; t++) {
        const uint32_t nodes = mts_units_graph(u, t)->node_count;
        for (uint32_t n = 0; n < nodes; n++) {
            first[u->unit_of[t][n] + 1]++;
        }
        count += nodes;
    }
    for (uint32_t i = 0; i < u->count; i++) {
        first[i + 1] += first[i];
    }
    node_ref *refs = mts_arena_zero(arena, count, sizeof *refs);
    uint32_t *next = mts_arena_zero(arena, (size_t)u->count + 1, sizeof *next);
    *all = count;
    if (!refs || !next) {
        return NULL;
    }
    memcpy(next, first, u->count * sizeof *next);
    for (uint32_t t = 0; t < u->task_count; t++) {
        const uint32_t nodes = mts_units_graph(u, t)->node_count;
        for (uint32_t n = 0; n < nodes; n++) {
            refs[next[u->unit_of[t][n]]++] = (node_ref){t, n};
        }
    }
    return refs;
}

typedef struct lists {
    listing reads, makes, blocks;
} lists;

static void describe_node(mts_units *u, lists *l, uint32_t unit, const node_ref *ref)
{
    const mts_graph *graph = mts_units_graph(u, ref->task);
    const mts_node *node = &graph->nodes[ref->node];
    const uint64_t mul_adds = mts_node_mul_adds(graph, node);
    u->mul_adds[unit] += mul_adds;
    u->task_mul_adds[ref->task] += mul_adds;
    u->activations[unit] += activations_of(graph, node);
    const uint32_t made = u->number_of[ref->task][node->output];
    list_add(&l->makes, unit, made);
    u->values[made].unit = u->values[made].unit == MTS_NONE ? unit : u->values[made].unit;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const uint32_t value = node->inputs[i];
        if (value == MTS_NONE) {
            continue;
        }
        const mts_value *v = &graph->values[value];
        for (uint32_t b = 0; v->kind == MTS_VALUE_CONST && b < v->block_count; b++) {
            if (v->blocks[b].block < u->archive->block_count) {
                list_add(&l->blocks, unit, v->blocks[b].block);
            }
        }
        if (v->kind != MTS_VALUE_CONST) {
            const uint32_t number = u->number_of[ref->task][value];
            list_add(&l->reads, unit, number);
            u->values[number].last_reader = unit;
        }
    }
}

static size_t count_operands(const mts_units *u, size_t *blocks)
{
    size_t inputs = 0;
    *blocks = 0;
    for (uint32_t t = 0; t < u->task_count; t++) {
        const mts_graph *graph = mts_units_graph(u, t);
        for (uint32_t n = 0; n < graph->node_count; n++) {
            for (uint32_t i = 0; i < graph->nodes[n].input_count; i++) {
                const uint32_t value = graph->nodes[n].inputs[i];
                *blocks += value != MTS_NONE ? graph->values[value].block_count : 0;
            }
            inputs += graph->nodes[n].input_count;
        }
    }
    return inputs;
}

static mts_status describe(mts_units *u, mts_arena *arena, mts_error *error)
{
    size_t nodes = 0;
    size_t blocks = 0;
    const size_t inputs = count_operands(u, &blocks);
    uint32_t *first = mts_arena_zero(arena, (size_t)u->count + 2, sizeof *first);
    u->mul_adds = mts_arena_zero(arena, u->count, sizeof *u->mul_adds);
    u->activations = mts_arena_zero(arena, u->count, sizeof *u->activations);
    u->task_mul_adds = mts_arena_zero(arena, u->task_count, sizeof *u->task_mul_adds);
    const node_ref *refs = first ? sort_nodes(u, first, &nodes, arena) : NULL;
    if (!refs || !u->mul_adds || !u->activations || !u->task_mul_adds) {
        return mts_fail_memory(error);
    }
    lists l;
    mts_status status = list_open(&l.reads, &u->reads, u->count, inputs, u->value_count, arena, error);
    MTS_TRY(status, list_open(&l.makes, &u->makes, u->count, nodes, u->value_count, arena, error));
    MTS_TRY(status,
            list_open(&l.blocks, &u->blocks, u->count, blocks, u->archive->block_count, arena, error));
    for (uint32_t unit = 0; status == MTS_STATUS_OK && unit < u->count; unit++) {
        for (uint32_t i = first[unit]; i < first[unit + 1]; i++) {
            describe_node(u, &l, unit, &refs[i]);
        }
        u->reads.first[unit + 1] = l.reads.used;
        u->makes.first[unit + 1] = l.makes.used;
        u->blocks.first[unit + 1] = l.blocks.used;
    }
    return status;
}

mts_status mts_units_make(const mts_archive *archive, const uint32_t *tasks, uint32_t task_count,
                          bool separate_inputs, mts_arena *arena, mts_units *out, mts_error *error)
{
    *out = (mts_units){.archive = archive,
                       .tasks = tasks,
                       .task_count = task_count,
                       .separate_inputs = separate_inputs,
                       .element_bytes = sizeof(float)};
    out->unit_of = mts_arena_zero(arena, task_count, sizeof *out->unit_of);
    out->number_of = mts_arena_zero(arena, task_count, sizeof *out->number_of);
    mts_status status = out->unit_of && out->number_of ? MTS_STATUS_OK : mts_fail_memory(error);
    MTS_TRY(status, make_units(out, arena, error));
    MTS_TRY(status, mts_units_number(out, arena, error));
    MTS_TRY(status, describe(out, arena, error));
    return status;
}
