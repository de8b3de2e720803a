/*
 * thin.h: a graph without some of its channels.
 */
#ifndef MTS_COMPILER_PRUNE_THIN_H
#define MTS_COMPILER_PRUNE_THIN_H

#include "compiler/passes/channels.h"

/*
 * A copy of `graph` in `arena` that has only the channels c of group g with keep[g][c] (NULL: all).
 * `channels` is mts_channels_find's of the graph; only FREE groups may lose channels (PARTS follow their
 * parts), and each keeps one at least (INVALID_ARGUMENT names the value). Values and nodes keep their names;
 * *nodes (may be NULL) receives, in the arena, the node of the copy for each of the graph's. OUT_OF_MEMORY,
 * MALFORMED.
 */
mts_code mts_thin(const mts_graph *graph, const mts_channels *channels, const bool *const *keep,
                  mts_arena *arena, mts_graph **out, uint32_t **nodes, mts_error *error);

#endif
