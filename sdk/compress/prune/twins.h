/*
 * twins.h: a network and its thin copy, run over the same images up to any node, in
 * chunks.
 *
 * While one chunk suffices its values stay, and going on costs the next nodes alone.
 * Where several chunks take turns, what later nodes need of each is kept, so that it is
 * not computed anew from the start.
 */
#ifndef MTS_COMPRESS_PRUNE_TWINS_H
#define MTS_COMPRESS_PRUNE_TWINS_H

#include "compress/net/net.h"
#include "compress/prune/importance.h"

enum { MTS_TWIN_ORIGINAL = 0, MTS_TWIN_THIN = 1 };

/* Values of a chunk in front of a node. */
typedef struct mts_twins_store {
    uint32_t node;
    size_t bytes;
    float *data; /* on the allocator; NULL: there are none */
} mts_twins_store;

typedef struct mts_twins {
    const mts_graph *graphs[2]; /* with the same nodes and values */
    const mts_prune_images *images;
    const mts_allocator *allocator;
    mts_net *nets[2];
    mts_net_run *runs[2];
    uint32_t batch, chunk_count; /* images of a chunk */
    uint32_t held, done;     /* the chunk whose values the runs hold, MTS_NONE: none; nodes computed of it */
    uint32_t *last_reader;   /* [value] */
    mts_twins_store *stores; /* [chunk] */
    size_t stored;           /* bytes of all */
} mts_twins;

/* Release in any case. */
mts_status mts_twins_open(const mts_graph *original, const mts_graph *thin, const mts_prune_images *images,
                          const mts_allocator *allocator, mts_twins *out, mts_error *error);
void mts_twins_release(mts_twins *twins);
uint32_t mts_twins_chunk_images(const mts_twins *twins, uint32_t chunk);
/* Brings both runs in front of a node. Nodes may only grow from call to call of one
   chunk. */
mts_status mts_twins_advance(mts_twins *twins, uint32_t chunk, uint32_t node, mts_error *error);

#endif
