/*
 * waiter.c: the helper thread behind waits that have a time limit.
 */
#include "api/waiter.h"

#include <errno.h>
#include <time.h>

#define NANOSECONDS 1000000000L

static void *waiter_main(void *context)
{
    mts_waiter *waiter = context;
    (void)pthread_mutex_lock(&waiter->mutex);
    while (!waiter->quit) {
        mts_wait_job *job = waiter->job;
        if (!job) {
            (void)pthread_cond_wait(&waiter->wake, &waiter->mutex);
            continue;
        }
        (void)pthread_mutex_unlock(&waiter->mutex);
        job->code = mts_engine_wait(job->engine, &job->error);
        (void)pthread_mutex_lock(&waiter->mutex);
        job->state = MTS_WAIT_DONE;
        waiter->job = NULL;
        (void)pthread_cond_broadcast(&waiter->done);
    }
    (void)pthread_mutex_unlock(&waiter->mutex);
    return NULL;
}

/* The condition that is waited on with a limit counts on the clock that nobody can set. */
static bool condition_make(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) {
        return false;
    }
    const bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                      pthread_cond_init(condition, &attributes) == 0;
    (void)pthread_condattr_destroy(&attributes);
    return made;
}

static struct timespec deadline_after(uint32_t milliseconds)
{
    struct timespec at = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (time_t)(milliseconds / 1000u);
    at.tv_nsec += (long)(milliseconds % 1000u) * 1000000L;
    if (at.tv_nsec >= NANOSECONDS) {
        at.tv_sec += 1;
        at.tv_nsec -= NANOSECONDS;
    }
    return at;
}

mts_code mts_waiter_start(mts_waiter *waiter, mts_error *error)
{
    if (waiter->ready) {
        return MTS_CODE_OK;
    }
    if (pthread_mutex_init(&waiter->mutex, NULL) != 0) {
        return mts_fail(error, MTS_CODE_OUT_OF_MEMORY, "waiting with a time limit: no mutex to be had");
    }
    if (!condition_make(&waiter->wake)) {
        (void)pthread_mutex_destroy(&waiter->mutex);
        return mts_fail(error, MTS_CODE_OUT_OF_MEMORY, "waiting with a time limit: no condition to be had");
    }
    if (!condition_make(&waiter->done)) {
        (void)pthread_cond_destroy(&waiter->wake);
        (void)pthread_mutex_destroy(&waiter->mutex);
        return mts_fail(error, MTS_CODE_OUT_OF_MEMORY, "waiting with a time limit: no condition to be had");
    }
    if (pthread_create(&waiter->thread, NULL, waiter_main, waiter) != 0) {
        (void)pthread_cond_destroy(&waiter->done);
        (void)pthread_cond_destroy(&waiter->wake);
        (void)pthread_mutex_destroy(&waiter->mutex);
        return mts_fail(error, MTS_CODE_OUT_OF_MEMORY, "waiting with a time limit: no thread to be had");
    }
    waiter->ready = true;
    return MTS_CODE_OK;
}

mts_code mts_waiter_wait(mts_waiter *waiter, mts_wait_job *job, uint32_t timeout_ms, mts_error *error)
{
    mts_code code = MTS_CODE_OK;
    const struct timespec deadline = deadline_after(timeout_ms);
    int late = 0;
    (void)pthread_mutex_lock(&waiter->mutex);
    while (waiter->job && waiter->job != job && late == 0) {
        late = pthread_cond_timedwait(&waiter->done, &waiter->mutex, &deadline); /* another session's run */
    }
    if (job->state == MTS_WAIT_NONE && !waiter->job) {
        job->state = MTS_WAIT_PENDING;
        waiter->job = job;
        (void)pthread_cond_signal(&waiter->wake);
    }
    while (job->state == MTS_WAIT_PENDING && late == 0) {
        late = pthread_cond_timedwait(&waiter->done, &waiter->mutex, &deadline);
    }
    if (job->state == MTS_WAIT_DONE) {
        job->state = MTS_WAIT_NONE;
        code = job->code;
        if (code != MTS_CODE_OK && error) {
            *error = job->error;
        }
    } else {
        code = mts_fail(error, MTS_CODE_TIMEOUT, "the run has not finished within %lu ms; it goes on",
                        (unsigned long)timeout_ms);
    }
    (void)pthread_mutex_unlock(&waiter->mutex);
    return code;
}

bool mts_waiter_holds(mts_waiter *waiter, const mts_wait_job *job)
{
    if (!waiter->ready) {
        return false;
    }
    (void)pthread_mutex_lock(&waiter->mutex);
    const bool holds = job->state != MTS_WAIT_NONE;
    (void)pthread_mutex_unlock(&waiter->mutex);
    return holds;
}

void mts_waiter_settle(mts_waiter *waiter)
{
    if (!waiter->ready) {
        return;
    }
    (void)pthread_mutex_lock(&waiter->mutex);
    while (waiter->job) {
        (void)pthread_cond_wait(&waiter->done, &waiter->mutex);
    }
    (void)pthread_mutex_unlock(&waiter->mutex);
}

void mts_waiter_release(mts_waiter *waiter)
{
    if (!waiter->ready) {
        return;
    }
    mts_waiter_settle(waiter);
    (void)pthread_mutex_lock(&waiter->mutex);
    waiter->quit = true;
    (void)pthread_cond_signal(&waiter->wake);
    (void)pthread_mutex_unlock(&waiter->mutex);
    (void)pthread_join(waiter->thread, NULL);
    (void)pthread_cond_destroy(&waiter->done);
    (void)pthread_cond_destroy(&waiter->wake);
    (void)pthread_mutex_destroy(&waiter->mutex);
    waiter->ready = false;
}
