/*
 * prune.h: what the files behind mtsz_prune share: the tasks that are pruned, step by
 * step.
 */
#ifndef MTS_COMPRESS_PRUNE_PRUNE_H
#define MTS_COMPRESS_PRUNE_PRUNE_H

#include "compress/prune/cost.h"
#include "compress/prune/importance.h"
#include "compress/prune/thin.h"

/* A task on its way; everything but `task` lies in its arena. */
typedef struct mts_prune_task {
    const mts_task *task; /* as it was read */
    uint32_t index;       /* in the bundle */
    mts_arena arena;
    mts_channels channels;
    bool *removable; /* [group] */
    mts_cost cost;
    double **importance; /* [group] */
    bool **keep;         /* [group], see mts_thin */
    mts_thin_kept *kept; /* [group] */
    mts_graph *thin;
    bool **fixed; /* [node], see mts_refit; NULL: none */
    mts_graph *out;
} mts_prune_task;

/*
 * Chooses channels of all tasks: of each by itself, or of each family together, where
 * aligned groups of as many channels lose the same. Errors of mts_choose, with the task's
 * name.
 */
mts_status mts_prune_choose(mts_prune_task *tasks, uint32_t count, const mtsz_prune_options *options,
                            mts_arena *arena, mts_error *error);
/*
 * Finds the filters of the thin graphs of which a part has equal bytes in another task's
 * aligned layer, and marks them as fixed in all. OUT_OF_MEMORY.
 */
mts_status mts_prune_fix_shared(mts_prune_task *tasks, uint32_t count, mts_arena *arena, mts_error *error);

/* mtsz_prune with checked compiler options and an allocator. */
mts_status mts_prune_bundle(const char *bundle_path, const mtsz_data *data, const mtsz_prune_options *prune,
                            const char *out_path, const mtsc_options *options, const mts_allocator *allocator,
                            mtsz_prune_report *report, mts_error *error);

#endif
