/*
 * submission_queue.c: the queue of submissions: finding and counting, taking and freeing
 * slots, and the pauses of those who wait for one. Not responsible for what a submission
 * does (submission.c).
 */
#include <inttypes.h>
#include <string.h>

#include "engine/state.h"
#include "engine/submission.h"
#include "platform/os/os.h"

#define PAUSE_LEAST_NS 20000u

uint32_t mts_submissions_count(const mts_submissions *all, mts_submission_state state)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->used; i++) {
        count += all->queue[i]->state == state ? 1 : 0;
    }
    return count;
}

mts_submission *mts_submissions_find(const mts_submissions *all, uint64_t number)
{
    for (uint32_t i = 0; i < all->used; i++) {
        if (all->queue[i]->number == number) {
            return all->queue[i];
        }
    }
    return NULL;
}

mts_status mts_submissions_no_slot(uint32_t slots, mts_error *error)
{
    return slots == 1 ? mts_fail(error, MTS_STATUS_BUSY, "the previous run has not been waited for")
                      : mts_fail(error, MTS_STATUS_BUSY,
                                 "%" PRIu32 " runs are in flight, which is the most: wait for one", slots);
}

mts_submission *mts_submissions_next(const mts_submissions *all, mts_error *error)
{
    if (all->used == all->slots) {
        (void)mts_submissions_no_slot(all->slots, error);
        return NULL;
    }
    if (mts_submissions_count(all, MTS_SUBMISSION_WAITING) > 0) {
        (void)mts_fail(error, MTS_STATUS_BUSY, "a frame waits for its turn, and would see this input");
        return NULL;
    }
    return all->queue[all->used];
}

void mts_submissions_free(mts_engine *engine, uint32_t index)
{
    mts_submissions *all = &engine->submissions;
    const uint32_t last = all->slots + all->spare - 1;
    mts_submission *s = all->queue[index];
    if (s->state == MTS_SUBMISSION_WAITING && s->pinned_early) {
        (void)mts_device_wait(engine->device, NULL); /* the device may be reading what was pinned */
    }
    (void)mts_outputs_hand_back(&engine->outputs, NULL); /* a failure fails the next run */
    memmove(&all->queue[index], &all->queue[index + 1], (last - index) * sizeof *all->queue);
    all->queue[last] = s;
    all->used--;
    s->state = MTS_SUBMISSION_FREE;
    s->pinned_early = false;
    mts_frame_unpin(&s->staged, &engine->frames);
}

mts_status mts_submissions_pause(uint64_t until, uint64_t *pause, uint64_t most, mts_error *error)
{
    const uint64_t now = mts_os_clock_ns();
    if (now >= until) {
        return mts_fail(error, MTS_STATUS_TIMEOUT, "the run has not finished in time; it goes on");
    }
    const uint64_t next = 2 * *pause < most ? 2 * *pause : most;
    *pause = *pause == 0 ? PAUSE_LEAST_NS : next;
    mts_os_sleep_ns(until - now < *pause ? until - now : *pause);
    return MTS_STATUS_OK;
}
