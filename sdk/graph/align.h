/*
 * align.h: which nodes of several graphs correspond.
 *
 * Two nodes correspond when they do the same kind of work (operator and attributes equal;
 * channel counts, image sizes and constants may differ) and stand in the same order in
 * both graphs (longest common subsequence of the topologically ordered nodes). The
 * compiler discovers sharing along the rows, the run-time stitches them. Rows are in an
 * order that is topological for every graph.
 */
#ifndef MTS_GRAPH_ALIGN_H
#define MTS_GRAPH_ALIGN_H

#include "graph/graph.h"

typedef struct mts_alignment {
    uint32_t graph_count, row_count;
    uint32_t *nodes; /* [row][graph]: node index or MTS_NONE; every node stands in exactly one row */
} mts_alignment;

/* Whether two nodes may stand in one row. */
bool mts_node_alike(const mts_graph *a, const mts_node *x, const mts_graph *b, const mts_node *y);

/* Aligns count >= 1 graphs, one after another onto the rows so far. The result lives in
 * `arena`. OUT_OF_MEMORY only. */
mts_status mts_graph_align(const mts_graph *const *graphs, uint32_t count, mts_arena *arena,
                           mts_alignment *out, mts_error *error);

/*
 * Partitions graphs into families: a graph joins the first family with whose first member
 * at least half of its and of that member's weighted nodes (CONV, DECONV, MATMUL) align.
 * family[i] receives the family's number, *families their count; numbers are given in
 * order of appearance.
 */
mts_status mts_graph_families(const mts_graph *const *graphs, uint32_t count, const mts_allocator *allocator,
                              uint32_t *family, uint32_t *families, mts_error *error);

#endif
