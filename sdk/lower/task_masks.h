/*
 * task_masks.h: which tasks each work-group of an engine's launches works for. Recorded
 * while launches are encoded, read when some of the tasks are left out (filter.h).
 *
 * A set of tasks is a row of bits, kept once and named by its number. What is common to
 * all launches of a member is its set: the tasks whose graphs have that node.
 */
#ifndef MTS_LOWER_TASK_MASKS_H
#define MTS_LOWER_TASK_MASKS_H

#include "strategy/program.h"
#include "plan/plan.h"

#define MTS_TASKS_ALL 0u /* the number of the set of all tasks */

/* Sets of tasks, each once. */
typedef struct mts_task_masks {
    const mts_allocator *allocator;
    uint32_t tasks, words; /* words of a set */
    uint32_t *bits;        /* [count][words] */
    size_t count, capacity;
    uint32_t *members, *conversions, *values; /* per member, conversion, input svalue: a set's number */
} mts_task_masks;

/* What a launch consists of, and where its entries stand in the parameter buffer. */
typedef enum mts_entry_kind {
    MTS_ENTRY_WHOLE = 0,   /* whole */
    MTS_ENTRY_TILE = 1,    /* mts_tile_params, one for each group along the first dimension */
    MTS_ENTRY_BLOCK = 2,   /* the mts_tile_params of mts_block_params, which the first dimension counts */
    MTS_ENTRY_PARAMS = 3,  /* params along the third dimension */
    MTS_ENTRY_SHARING = 4, /* likewise mts_fc_params */
    MTS_ENTRY_MIXED = 5    /* mts_mixed_params behind their number; heights: work-groups of each */
} mts_entry_kind;

/* A mts_conv_params with several epilogues. */
typedef struct mts_entry_job {
    uint32_t at; /* index in the kernel parameters of the params */
    uint32_t epilogue, epilogues;
    const uint32_t *masks; /* per epilogue */
} mts_entry_job;

/* `masks` is NULL where every entry serves all tasks. */
typedef struct mts_entries {
    mts_entry_kind kind;
    uint32_t first, words, count; /* index in the kernel parameters of the first, words of one, number */
    uint32_t *masks;              /* per entry */
    /* Per entry. PARAMS: what it needs of the second dimension; NULL: all of it. MIXED: its
       work-groups. */
    uint32_t *heights;
    uint32_t *runs;      /* BLOCK, per entry: those of equal number may stand in one block */
    uint32_t parts;      /* BLOCK: most of a block */
    mts_entry_job *jobs; /* TILE and BLOCK; ascending `at` */
    uint32_t job_count;
} mts_entries;

/* Makes the masks of a plan's members, conversions and inputs; arrays live in `arena`.
   OUT_OF_MEMORY. */
mts_status mts_task_masks_create(mts_task_masks *masks, const mts_program *program, uint32_t tasks,
                                 const mts_plan *plan, mts_arena *arena, mts_error *error);
void mts_task_masks_release(mts_task_masks *masks);
/* The set of both; MTS_TASKS_ALL when memory is short, which only costs time. */
uint32_t mts_task_masks_join(mts_task_masks *masks, uint32_t a, uint32_t b);

#endif
