/*
 * choose.h: which channels are removed, given the importance of each, until a target of
 * mtsz.h is met.
 */
#ifndef MTS_COMPRESS_PRUNE_CHOOSE_H
#define MTS_COMPRESS_PRUNE_CHOOSE_H

#include "compress/prune/cost.h"
#include "mts/mtsz.h"

/* A group of a task that loses channels with the slot. */
typedef struct mts_choose_member {
    uint32_t task, group;
} mts_choose_member;

/* Channels that are decided on together. */
typedef struct mts_choose_slot {
    uint32_t channels, member_count;
    const double *importance; /* [channels] */
    const mts_choose_member *members;
} mts_choose_slot;

typedef struct mts_choose_problem {
    uint32_t task_count, slot_count;
    const mts_cost *costs; /* [task] */
    const mts_choose_slot *slots;
    mtsz_target target;
    double ratio;
    uint32_t round; /* >= 1 */
} mts_choose_problem;

/*
 * keep[task][group][channel] in `arena`, NULL for groups of no slot. Each slot keeps one
 * channel at least, and a multiple of `round` where it has as many. INVALID_ARGUMENT: the
 * target cannot be met (says how far it can). OUT_OF_MEMORY.
 */
mts_status mts_choose(const mts_choose_problem *problem, mts_arena *arena, bool ****keep, mts_error *error);

#endif
