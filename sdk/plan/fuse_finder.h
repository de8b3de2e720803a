/*
 * fuse_finder.h: what a launch needs to know of values to compute several layers: who reads
 * them, who computes them, and what has been decided about.
 */
#ifndef MTS_PLAN_FUSE_FINDER_H
#define MTS_PLAN_FUSE_FINDER_H

#include "plan/plan.h"

/* What has to be known of values to fuse their readers. */
typedef struct mts_fuse_finder {
    mts_plan *plan;
    const mts_stitched *stitched;
    const mts_plan_fuse *how;
    const bool *forced;
    /* Per svalue: members that read it, and outputs of graphs. */
    uint32_t *readers;
    /* Per member. */
    uint32_t *layer_of;
} mts_fuse_finder;

/* Fills readers and layer_of, which are zeros. */
void mts_fuse_count_readers(const mts_fuse_finder *f);
/* The layer whose members one by one compute an operand of a layer's members, which alone
   read it; or MTS_NONE. */
uint32_t mts_fuse_source(const mts_fuse_finder *f, const mts_layer *layer, uint32_t operand);
/* A part of one launch is no end of another: its own parts would then be computed by
   none. Layers are visited in their order, so one before has been decided about. */
bool mts_fuse_is_free(const mts_fuse_finder *f, uint32_t layer);
/* The step of layer `into` computes layer `part` too. */
void mts_fuse_join(const mts_fuse_finder *f, uint32_t part, uint32_t into);

#endif
