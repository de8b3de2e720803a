/*
 * persistent.h: an engine's frame as few persistent launches (lower/persist.h): the
 * program, how many work-groups of it the device runs at the same time, the command list,
 * and what follows when a wait in it takes too long.
 *
 * Only a run of all tasks without stages has this form; others go launch by launch, and
 * so do all once a wait has failed. Not responsible for repeating the frame whose wait
 * failed (submission.c).
 */
#ifndef MTS_ENGINE_PERSISTENT_H
#define MTS_ENGINE_PERSISTENT_H

#include "engine/launches.h"
#include "lower/persist.h"

/* Whether there is any of this: the smallest library has none. */
#ifdef MTS_SMALL
#define MTS_HAS_PERSISTENT 0
#else
#define MTS_HAS_PERSISTENT 1
#endif

typedef struct mts_persistent {
    mts_persist plan;
    mts_kernel *kernel;
    /* Work-groups of a launch. */
    uint32_t groups;
    /* Runs of all tasks are the list of `whole`. */
    bool on;
    /* The engine's launches with runs in place of what they consist of. It owns its list
       only. */
    mts_launches whole;
} mts_persistent;

struct mts_builder;

/* Bytes of an engine's activations with what `bytes` of them need behind them. */
uint64_t mts_persistent_bytes(const mts_persistent *persistent, uint64_t bytes);
/* Finds the runs; the plan is encoded. Without any the engine has none, and the log says
   so. */
mts_status mts_persistent_plan(struct mts_builder *b);
/* Forgets the runs, before anything is built from them; `why` is for the log. */
void mts_persistent_drop(const struct mts_builder *b, const char *why);
/* Writes the tables behind the activations. */
mts_status mts_persistent_upload(const struct mts_builder *b);
/* Builds the program and proves that its work-groups run at the same time. Where the
   device cannot, the engine goes launch by launch, and the log says why. Errors:
   DEVICE_LOST, OUT_OF_MEMORY. */
mts_status mts_persistent_build(const struct mts_builder *b);
/* Records the list and runs it once, on zeros, which shows whether the device takes it;
   `stand_in` as in mts_launches_record. */
mts_status mts_persistent_first(const struct mts_builder *b, mts_buffer *stand_in);
/* Enqueues a copy of the word that is not 0 where a wait has failed. */
mts_status mts_persistent_ask(const mts_persistent *persistent, uint32_t *failed, mts_error *error);
/* A run is repeated launch by launch; `for_good`: all go so from now on. */
void mts_persistent_give_up(mts_persistent *persistent, const char *why, bool for_good);
/* Launches of a run; 0: it is none of persistent launches. */
uint32_t mts_persistent_count(const mts_persistent *persistent);
void mts_persistent_release(mts_persistent *persistent);

#endif
