/*
 * shared.c: which filters tasks share, so that fitting leaves them alone (prune.h).
 */
#include <string.h>

#include "compress/prune/prune.h"
#include "graph/align.h"

/* A weight read as [out][in][inner]. */
typedef struct matrix {
    float *data;
    uint32_t out, in, inner;
} matrix;

static bool read_weight(const mts_graph *graph, uint32_t node, mts_arena *arena, matrix *out)
{
    const mts_value *weight = &graph->values[graph->nodes[node].inputs[1]];
    mts_value_matrix(weight, &out->out, &out->in, &out->inner);
    out->data = mts_arena_zero(arena, (size_t)out->out * out->in * out->inner, sizeof(float));
    if (out->data) {
        mts_value_read_f32(weight, out->data);
    }
    return out->data;
}

/* Whether some cell of filter `o` has equal bytes in both, and is not zero. */
static bool shares(const matrix *a, const matrix *b, uint32_t o)
{
    const size_t size = a->inner;
    for (size_t i = 0; i < a->in; i++) {
        const float *cell = a->data + (o * a->in + i) * size;
        bool zero = true;
        for (size_t k = 0; k < size && zero; k++) {
            zero = cell[k] == 0.0f;
        }
        if (!zero && memcmp(cell, b->data + (o * a->in + i) * size, size * sizeof(*cell)) == 0) {
            return true;
        }
    }
    return false;
}

static bool mark(mts_prune_task *task, uint32_t node, const matrix *own, const matrix *other)
{
    if (!task->fixed[node]) {
        task->fixed[node] = mts_arena_zero(&task->arena, own->out, sizeof(bool));
    }
    for (uint32_t o = 0; task->fixed[node] && o < own->out; o++) {
        task->fixed[node][o] = task->fixed[node][o] || shares(own, other, o);
    }
    return task->fixed[node];
}

static bool mark_row(mts_prune_task *const *tasks, uint32_t count, const uint32_t *nodes, mts_arena *arena)
{
    matrix *weights = mts_arena_zero(arena, count, sizeof(*weights));
    bool done = weights;
    for (uint32_t t = 0; done && t < count; t++) {
        if (nodes[t] != MTS_NONE && tasks[t]->thin->nodes[nodes[t]].op == MTS_OP_CONV) {
            done = read_weight(tasks[t]->thin, nodes[t], arena, &weights[t]);
        }
    }
    for (uint32_t a = 0; done && a < count; a++) {
        for (uint32_t b = 0; done && b < count; b++) {
            const matrix *x = &weights[a], *y = &weights[b];
            if (a != b && x->data && y->data && x->out == y->out && x->in == y->in && x->inner == y->inner) {
                done = mark(tasks[a], nodes[a], x, y);
            }
        }
    }
    return done;
}

static mts_status mark_family(mts_prune_task *const *tasks, uint32_t count, mts_arena *arena,
                              mts_error *error)
{
    const mts_graph **graphs = mts_arena_zero(arena, count, sizeof(*graphs));
    mts_alignment rows = {0};
    if (!graphs) {
        return mts_fail_memory(error);
    }
    for (uint32_t t = 0; t < count; t++) {
        graphs[t] = tasks[t]->task->graph; /* as it was read: thin ones have the same nodes */
    }
    mts_status status = mts_graph_align(graphs, count, arena, &rows, error);
    for (uint32_t r = 0; r < rows.row_count && status == MTS_STATUS_OK; r++) {
        mts_arena own;
        mts_arena_init(&own, arena->allocator);
        status =
            mark_row(tasks, count, rows.nodes + (size_t)r * count, &own) ? status : mts_fail_memory(error);
        mts_arena_release(&own);
    }
    return status;
}

mts_status mts_prune_fix_shared(mts_prune_task *tasks, uint32_t count, mts_arena *arena, mts_error *error)
{
    const mts_graph **graphs = mts_arena_zero(arena, count, sizeof(*graphs));
    uint32_t *family = mts_arena_zero(arena, count, sizeof(*family));
    mts_prune_task **members = mts_arena_zero(arena, count, sizeof(mts_prune_task *));
    uint32_t families = 0;
    if (!graphs || !family || !members) {
        return mts_fail_memory(error);
    }
    for (uint32_t t = 0; t < count; t++) {
        graphs[t] = tasks[t].task->graph;
        tasks[t].fixed = mts_arena_zero(&tasks[t].arena, graphs[t]->node_count, sizeof(bool *));
        if (!tasks[t].fixed) {
            return mts_fail_memory(error);
        }
    }
    mts_status status = mts_graph_families(graphs, count, arena->allocator, family, &families, error);
    for (uint32_t f = 0; f < families && status == MTS_STATUS_OK; f++) {
        uint32_t in_family = 0;
        for (uint32_t t = 0; t < count; t++) {
            if (family[t] == f) {
                members[in_family++] = &tasks[t];
            }
        }
        status = in_family > 1 ? mark_family(members, in_family, arena, error) : MTS_STATUS_OK;
    }
    return status;
}
