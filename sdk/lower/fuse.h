/*
 * fuse.h: whether layers that could be one launch (plan/fuse.h) become one: as was
 * measured, else as a model of the device predicts.
 */
#ifndef MTS_LOWER_FUSE_H
#define MTS_LOWER_FUSE_H

#include "lower/lower.h"
#include "plan/fuse.h"

/* Facts of a block: those of its last layer, but the signature and the kind are of all
   its layers. Errors: OUT_OF_MEMORY. */
mts_status mts_fuse_facts(const mts_stitched *stitched, const mts_fused_layers *layers,
                          const mts_allocator *allocator, mts_layer_facts *facts, mts_error *error);
/* The functions of mts_plan_fuse; the context is a mts_encoding with stitched, device,
   precision, configs and arena. */
const char *mts_fuse_refuses(void *context, const mts_stitched *stitched, const mts_fused_layers *layers);
bool mts_fuse_fits(void *context, const mts_plan *plan, uint32_t layer);

#endif
