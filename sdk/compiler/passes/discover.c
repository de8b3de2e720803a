/*
 * discover.c: the order of the steps, see discover.h; and the interning of blocks, which
 * is what shares them.
 */
#include "compiler/passes/discover.h"

#include <string.h>

#include "compiler/passes/family.h"
#include "compiler/passes/near.h"
#include "compiler/passes/pool.h"

#define MOVE_SHARE 50u /* channels are put into another order only if that saves 1 / 50 more */

typedef struct work {
    mts_archive *archive;
    const mts_allocator *allocator;
    const mts_discover_options *options;
    mts_discover_report *report;
    mts_graph **graphs;  /* of all tasks */
    mts_graph **members; /* of the family in hand */
    uint32_t *family;    /* [task] */
    mts_error *error;
} work;

static mts_status no_memory(const work *w)
{
    return mts_fail_memory(w->error);
}

/* The labels as the walk found them, to go back to. */
static bool copy_labels(mts_family *family, uint32_t ****values, uint32_t ****rows)
{
    *values = mts_arena_zero(family->arena, family->count, sizeof(**values));
    *rows = mts_arena_zero(family->arena, family->count, sizeof(**rows));
    for (uint32_t t = 0; *values && *rows && t < family->count; t++) {
        const mts_graph *graph = family->graphs[t];
        (*values)[t] = mts_arena_zero(family->arena, graph->value_count, sizeof(uint32_t *));
        (*rows)[t] = mts_arena_zero(family->arena, graph->node_count, sizeof(uint32_t *));
        if (!(*values)[t] || !(*rows)[t]) {
            return false;
        }
        memcpy((*values)[t], family->value_labels[t], graph->value_count * sizeof(uint32_t *));
        memcpy((*rows)[t], family->row_labels[t], graph->node_count * sizeof(uint32_t *));
    }
    return *values && *rows;
}

/* Compares both orders of channels by what they save, takes the better one, and cuts. */
static bool choose_and_cut(mts_family *family)
{
    uint64_t saved = 0, saved_moved = 0;
    uint32_t ***values = NULL, ***rows = NULL;
    if (!mts_family_label(family) || !mts_family_estimate(family, false, &saved) ||
        !copy_labels(family, &values, &rows) || !mts_family_order(family) ||
        !mts_family_permute_labels(family) || !mts_family_estimate(family, true, &saved_moved)) {
        return false;
    }
    if (saved_moved > saved + saved / MOVE_SHARE) {
        return mts_family_permute_weights(family) && mts_family_cut(family);
    }
    family->value_labels = values;
    family->row_labels = rows;
    family->orders = NULL;
    return mts_family_cut(family);
}

static mts_status cut_members(work *w, mts_arena *arena, const mts_alignment *rows, uint32_t count)
{
    mts_family family = {.graphs = w->members, .count = count, .arena = arena, .rows = *rows};
    mts_status status = MTS_STATUS_OK;
    mts_classes_init(&family.classes, w->allocator);
    family.channels = mts_arena_zero(arena, count, sizeof(*family.channels));
    if (!family.channels) {
        status = no_memory(w);
    }
    for (uint32_t t = 0; t < count && status == MTS_STATUS_OK; t++) {
        status = mts_channels_find(family.graphs[t], arena, &family.channels[t], w->error);
    }
    if (status == MTS_STATUS_OK && !choose_and_cut(&family)) {
        status = no_memory(w);
    }
    mts_classes_release(&family.classes);
    return status;
}

static mts_status discover_members(work *w, uint32_t count)
{
    mts_arena arena;
    mts_arena_init(&arena, w->allocator);
    mts_alignment rows = {0};
    mts_status status = mts_graph_align((const mts_graph *const *)w->members, count, &arena, &rows, w->error);
    if (status == MTS_STATUS_OK && w->options->tolerance > 0) {
        status = mts_merge_near(w->members, &rows, w->options->tolerance, &w->report->deviation, w->error);
    }
    MTS_TRY(status, cut_members(w, &arena, &rows, count));
    mts_arena_release(&arena);
    return status;
}

/* Large families are compared in parts; whole blocks that parts have in common are found
   all the same. */
static mts_status discover_family(work *w, uint32_t f)
{
    mts_status status = MTS_STATUS_OK;
    uint32_t members = 0;
    for (uint32_t t = 0; t < w->archive->task_count && status == MTS_STATUS_OK; t++) {
        if (w->family[t] == f) {
            w->members[members++] = w->graphs[t];
        }
        const bool last = t + 1 == w->archive->task_count;
        if (members > 1 && (last || members == MTS_CLASS_TASKS_MAX)) {
            status = discover_members(w, members);
            members = 0; /* the next part */
        }
    }
    return status;
}

static mts_status discover_families(work *w)
{
    const uint32_t count = w->archive->task_count;
    mts_status status = mts_graph_families((const mts_graph *const *)w->graphs, count, w->allocator,
                                           w->family, &w->report->families, w->error);
    for (uint32_t f = 0; f < w->report->families && status == MTS_STATUS_OK; f++) {
        status = discover_family(w, f);
    }
    return status;
}

/* Bytes of a block that a reference stands for. */
static size_t ref_bytes(const mts_value *value, const mts_block_ref *ref)
{
    uint32_t rows = 0, columns = 0, inner = 0;
    mts_value_matrix(value, &rows, &columns, &inner);
    return (size_t)ref->out_count * ref->in_count * inner * mts_type_size(value->dtype);
}

static bool assign_value(work *w, mts_pool *pool, mts_value *value)
{
    for (uint32_t b = 0; b < value->block_count; b++) {
        mts_block_ref *ref = &value->blocks[b];
        const size_t size = ref_bytes(value, ref);
        if (!mts_pool_add(pool, ref->data, size, value->dtype, &ref->block)) {
            return false;
        }
        ref->data = pool->blocks[ref->block].data;
        w->report->bytes_unshared += size;
    }
    return true;
}

static bool assign_blocks(work *w, mts_pool *pool)
{
    for (uint32_t t = 0; t < w->archive->task_count; t++) {
        mts_graph *graph = w->graphs[t];
        for (uint32_t v = 0; v < graph->value_count; v++) {
            if (!assign_value(w, pool, &graph->values[v])) {
                return false;
            }
        }
    }
    mts_archive *archive = w->archive;
    archive->blocks = mts_arena_zero(&archive->arena, pool->count, sizeof(*archive->blocks));
    if (!archive->blocks) {
        return false;
    }
    for (size_t i = 0; i < pool->count; i++) {
        archive->blocks[i] = pool->blocks[i];
        w->report->bytes += pool->blocks[i].size;
    }
    archive->block_count = (uint32_t)pool->count;
    return true;
}

static mts_status run(work *w)
{
    for (uint32_t t = 0; t < w->archive->task_count; t++) {
        w->graphs[t] = w->archive->tasks[t].graph;
    }
    mts_status status = discover_families(w);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_pool pool;
    mts_pool_init(&pool, w->allocator);
    const bool done = assign_blocks(w, &pool);
    mts_pool_release(&pool);
    return done ? MTS_STATUS_OK : no_memory(w);
}

mts_status mts_discover(mts_archive *archive, const mts_discover_options *options,
                        mts_discover_report *report, mts_error *error)
{
    const mts_allocator *allocator = archive->arena.allocator;
    const uint32_t count = archive->task_count;
    memset(report, 0, sizeof(*report));
    work w = {
        .archive = archive, .allocator = allocator, .options = options, .report = report, .error = error};
    w.graphs = mts_alloc_zero(allocator, count, sizeof(mts_graph *));
    w.members = mts_alloc_zero(allocator, count, sizeof(mts_graph *));
    w.family = mts_alloc_zero(allocator, count, sizeof(*w.family));
    const bool ready = w.graphs && w.members && w.family;
    const mts_status status = ready ? run(&w) : no_memory(&w);
    mts_alloc_free(allocator, w.graphs);
    mts_alloc_free(allocator, w.members);
    mts_alloc_free(allocator, w.family);
    return status;
}
