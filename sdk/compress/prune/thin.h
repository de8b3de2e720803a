/*
 * thin.h: a graph without some of its channels.
 */
#ifndef MTS_COMPRESS_PRUNE_THIN_H
#define MTS_COMPRESS_PRUNE_THIN_H

#include "compiler/passes/channels.h"

/*
 * A copy of `graph` in `arena` that has only the channels c of group g with keep[g][c]
 * (NULL: all). `channels` is mts_channels_find's of the graph; only FREE groups may lose
 * channels (PARTS follow their parts), and each keeps one at least (INVALID_ARGUMENT
 * names the value). Values and nodes keep their names and their numbers; *nodes (may be
 * NULL) receives, in the arena, the node of the copy for each of the graph's. Names and
 * constants that lose nothing are shared. OUT_OF_MEMORY, MALFORMED.
 */
mts_status mts_thin(const mts_graph *graph, const mts_channels *channels, const bool *const *keep,
                    mts_arena *arena, mts_graph **out, uint32_t **nodes, mts_error *error);

/*
 * [group] in `arena`: whether pruning may take channels of it: FREE, more than one
 * channel, made by a convolution with filters of its own, and no softmax over them. NULL
 * if memory is short.
 */
bool *mts_thin_removable(const mts_graph *graph, const mts_channels *channels, mts_arena *arena);

/* The channels of each group that `keep` leaves, ascending, those of PARTS included. */
typedef struct mts_thin_kept {
    uint32_t count;
    const uint32_t *channels; /* [count] */
    bool all;                 /* nothing is lost */
} mts_thin_kept;

/* kept[channels->group_count] in `arena`; errors as mts_thin. */
mts_status mts_thin_select(const mts_graph *graph, const mts_channels *channels, const bool *const *keep,
                           mts_arena *arena, mts_thin_kept **kept, mts_error *error);

#endif
