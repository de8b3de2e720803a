/*
 * plan.h: which part of a network is frozen, and which part a new task trains.
 */
#ifndef MTS_COMPRESS_LEARN_PLAN_H
#define MTS_COMPRESS_LEARN_PLAN_H

#include "compress/split/head.h"
#include "mts/mtsz.h"

typedef struct mts_learn_plan {
    mts_graph *whole;  /* of the new task; the trained numbers are those of the start */
    uint32_t cut;      /* nodes of `whole` that are frozen and computed once */
    uint32_t head;     /* node of `whole`: the new last layer */
    uint32_t features; /* length of what that reads */
    uint32_t count;
    uint32_t *values;      /* [count] of `whole`: what the rest reads of the frozen nodes */
    size_t elements;       /* of them, of an image */
    mts_graph *tail;       /* nodes cut..head of `whole`; its inputs are `values`, its output the scores */
    unsigned char *trains; /* [node of `tail`]: bits 1 << mts_parameter */
} mts_learn_plan;

/*
 * Plans for a method of `wanted`. `seed`: of the start of low-rank matrices. UNSUPPORTED: no
 * layer can be trained so; LIMIT: the graph becomes too large; OUT_OF_MEMORY.
 */
mts_status mts_learn_plan_make(const mts_task *base, const mts_head *head, const mtsz_train_options *wanted,
                               mts_arena *arena, mts_learn_plan *out, mts_error *error);

#endif
