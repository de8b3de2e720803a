/*
 * layouts.h: how the activations lie that a step reads and writes. For reports.
 */
#ifndef MTS_LOWER_LAYOUTS_H
#define MTS_LOWER_LAYOUTS_H

#include "plan/plan.h"

/* The smallest library says neither how tensors lie nor why launches move them. */
#ifdef MTS_SMALL
#define MTS_EXPLAINS_PLANS 0
#else
#define MTS_EXPLAINS_PLANS 1
#endif

typedef enum mts_layout {
    MTS_LAYOUT_DENSE = 0,  /* row-major, without any padding */
    MTS_LAYOUT_PLANES = 1, /* with a border, longer rows or planes that are further apart */
    MTS_LAYOUT_BLOCKS = 2, /* MTS_CHANNEL_BLOCK channels side by side */
    MTS_LAYOUT_PACKS = 3,  /* MTS_CHANNEL_PACK channels side by side */
    MTS_LAYOUT_PHASES = 4, /* space to depth */
    MTS_LAYOUT_CODES = 5,  /* 8-bit numbers */
    MTS_LAYOUT_COUNT = 6
} mts_layout;

/* mts_layout of each storage, or NULL if memory ran out. Lives in `arena`. */
const uint8_t *mts_layouts_create(const mts_plan *plan, mts_arena *arena);
/* Sets of bits 1 << mts_layout of what a step reads and writes of the arena. */
void mts_layouts_find(const mts_plan *plan, const uint8_t *layouts, const mts_step *step, uint8_t *reads,
                      uint8_t *writes);
/* In English. */
const char *mts_layout_name(mts_layout layout);

#endif
