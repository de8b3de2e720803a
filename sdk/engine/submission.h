/*
 * submission.h: submissions of an engine, from when they are submitted until they are
 * consumed, in order.
 *
 * A submission occupies one slot: what one run needs of its own, so that the next ones
 * can be prepared meanwhile: the staged frame, the active tasks, the outputs as they were
 * read back. All submissions share the device's queue, the arena and the command lists.
 *
 *   FREE --submit--> WAITING --the device takes it--> RUNNING --all is over--> FINISHED
 *   --consume--> FREE
 *
 * WAITING is skipped where the device takes the run at once; only a submission with a
 * frame waits. With a deadline a RUNNING submission is partially submitted at first: its
 * task groups follow one by one. Dropping frees a slot that is WAITING or FINISHED.
 */
#ifndef MTS_ENGINE_SUBMISSION_H
#define MTS_ENGINE_SUBMISSION_H

#include "engine/filter.h"
#include "engine/outputs.h"
#include "frame/stage.h"

typedef enum mts_submission_state {
    MTS_SUBMISSION_FREE = 0,
    MTS_SUBMISSION_WAITING = 1,
    MTS_SUBMISSION_RUNNING = 2,
    MTS_SUBMISSION_FINISHED = 3
} mts_submission_state;

typedef struct mts_submission {
    mts_submission_state state;
    /* From 1; when it was submitted. */
    uint64_t number, submitted;
    /* The staged frame goes to the device when the run does. */
    bool has_frame;
    mts_staged_frame staged;
    /* A frame with pinned memory went to the device before the submission. */
    bool pinned_early;
#ifndef MTS_SMALL
    /* Its slot (links.h), and whether it runs there. */
    uint32_t link_slot;
    bool linked;
#endif

    /* ---- from when it runs ---- */

    uint32_t *active;
    /* When that was decided. */
    uint64_t began;
    /* Per task group: when it was found finished. */
    uint64_t *group_ended;
    /* Partially submitted: the lists of its task groups, and the next one of them; else
       NULL. */
    mts_filtered *split;
    uint32_t stage;
    uint32_t deadline_ms;
    bool cancelled;
    /* It was submitted as persistent launches; whether a wait in them failed, in memory
       that the device copies to. */
    bool persistent;
    uint32_t *wait_failed;
    /* The timeline value behind what was submitted last. */
    uint64_t timeline;
    mts_readback readback;

    /* ---- when it has finished ---- */

    mts_status status;
    mts_error error;
} mts_submission;

typedef struct mts_submissions {
    /* [slots + spare] */
    mts_submission *items;
    /* The first `used` are in flight, the oldest first; behind them the free ones, the
       next one first. */
    mts_submission **queue;
    uint32_t used;
    /* Submissions in flight at most; those on the device at most. */
    uint32_t slots, depth;
    /* 1: one more, for a frame that is staged before the oldest one is dropped for it. */
    uint32_t spare;
    /* Number of the last submission. */
    uint64_t last;
    /* Of submissions that have not gone to the device. */
    uint32_t deadline_ms;
#ifndef MTS_SMALL
    /* None goes there; of a part of a pipeline, which is held again once one went (part.h). */
    bool held, part;
#endif
} mts_submissions;

mts_status mts_submissions_create(mts_engine *engine, mts_error *error);
/* Nothing is on the device any more. */
void mts_submissions_release(mts_engine *engine);
uint32_t mts_submissions_count(const mts_submissions *submissions, mts_submission_state state);
/* The submission of that number, or NULL. */
mts_submission *mts_submissions_find(const mts_submissions *submissions, uint64_t number);
/* The slot of the next submission, or NULL with BUSY: none is free, or a frame waits for
   its turn. */
mts_submission *mts_submissions_next(const mts_submissions *submissions, mts_error *error);
/* BUSY, with a sentence about so many slots. */
mts_status mts_submissions_no_slot(uint32_t slots, mts_error *error);
/* A slot becomes the last free one: the next one keeps what was staged for the next
   submission already. */
void mts_submissions_free(mts_engine *engine, uint32_t index);
/* Sleeps between two looks, longer each time up to `most` nanoseconds. *pause is 0 at first.
   TIMEOUT: the clock has reached `until`. */
mts_status mts_submissions_pause(uint64_t until, uint64_t *pause, uint64_t most, mts_error *error);
/* Before inputs change: waits for runs that may have to be repeated with them, as those of
   persistent launches do. */
void mts_submissions_settle(mts_engine *engine);
/* INVALID_ARGUMENT: no task of the engine takes frames. */
mts_status mts_engine_check_frames(const mts_engine *engine, mts_error *error);

#endif
