/*
 * families.c: which graphs are similar enough to be stitched together.
 *
 * Many large graphs that are all different would take long to compare, so the work is
 * bounded: when the budget is spent, the remaining graphs become families of their own.
 */
#include "graph/align.h"

#define CELLS_BUDGET ((uint64_t)1 << 30) /* of all tables together */

static bool has_weights(mts_op op)
{
    return mts_op_weight_out(op) != MTS_NONE;
}

static uint32_t weighted_nodes(const mts_graph *graph)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        count += has_weights(graph->nodes[n].op);
    }
    return count;
}

/* Whether at least half of the weighted nodes of both graphs stand in rows of two. */
static mts_status same_family(const mts_graph *a, const mts_graph *b, const mts_allocator *allocator,
                              uint64_t *budget, bool *same, mts_error *error)
{
    const mts_graph *pair[2] = {a, b};
    mts_arena arena;
    mts_arena_init(&arena, allocator);
    mts_alignment alignment = {0};
    const uint64_t cells = (uint64_t)a->node_count * b->node_count;
    *same = false;
    if (cells > *budget) {
        *budget = 0;
        return MTS_STATUS_OK;
    }
    *budget -= cells;
    const mts_status status = mts_graph_align(pair, 2, &arena, &alignment, error);
    uint32_t aligned = 0;
    for (uint32_t row = 0; row < alignment.row_count; row++) {
        const uint32_t *nodes = &alignment.nodes[(size_t)row * 2];
        aligned += nodes[0] != MTS_NONE && nodes[1] != MTS_NONE && has_weights(a->nodes[nodes[0]].op);
    }
    *same = (uint64_t)aligned * 2 >= weighted_nodes(a) && (uint64_t)aligned * 2 >= weighted_nodes(b);
    mts_arena_release(&arena);
    return status;
}

mts_status mts_graph_families(const mts_graph *const *graphs, uint32_t count, const mts_allocator *allocator,
                              uint32_t *family, uint32_t *families, mts_error *error)
{
    uint32_t *first = mts_alloc_zero(allocator, count, sizeof(*first)); /* member of each family */
    if (!first) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "out of memory while comparing %u graphs", count);
    }
    uint32_t found = 0;
    uint64_t budget = CELLS_BUDGET;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t g = 0; g < count && status == MTS_STATUS_OK; g++) {
        bool same = false;
        uint32_t f = 0;
        for (; f < found && status == MTS_STATUS_OK; f++) {
            status = same_family(graphs[first[f]], graphs[g], allocator, &budget, &same, error);
            if (same) {
                break;
            }
        }
        if (f == found) {
            first[found++] = g;
        }
        family[g] = f;
    }
    mts_alloc_free(allocator, first);
    if (status == MTS_STATUS_OK) {
        *families = found;
    }
    return status;
}
