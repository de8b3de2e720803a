/*
 * waiter.h: waiting for a run with a time limit, on top of an engine that can only wait without one.
 *
 * One helper thread per runtime, made at the first wait that has a limit. While it waits for a run the device
 * is its own: every other call that touches the device settles the waiter first. Private to sdk/api.
 */
#ifndef MTS_API_WAITER_H
#define MTS_API_WAITER_H

#include <pthread.h>

#include "exec/engine.h"

typedef enum mts_wait_state { MTS_WAIT_NONE = 0, MTS_WAIT_PENDING = 1, MTS_WAIT_DONE = 2 } mts_wait_state;

/* One run that is waited for; lives in its session. */
typedef struct mts_wait_job {
    mts_engine *engine;   /* set once: the thread reads it at any time */
    mts_wait_state state; /* guarded by the waiter's mutex */
    mts_code code;
    mts_error error;
} mts_wait_job;

typedef struct mts_waiter {
    bool ready; /* thread, mutex and conditions exist */
    bool quit;
    mts_wait_job *job; /* what the thread waits for now, or NULL */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake, done;
} mts_waiter;

/* Makes the thread if there is none yet. OUT_OF_MEMORY. */
mts_code mts_waiter_start(mts_waiter *waiter, mts_error *error);
/* Of a started waiter. Waits at most timeout_ms for the job; TIMEOUT leaves it pending. Otherwise the run's
 * result, and the job is NONE. */
mts_code mts_waiter_wait(mts_waiter *waiter, mts_wait_job *job, uint32_t timeout_ms, mts_error *error);
/* Whether the job was handed to the thread and its result has not been taken. */
bool mts_waiter_holds(mts_waiter *waiter, const mts_wait_job *job);
/* Returns when the thread waits for nothing; results stay in their jobs. */
void mts_waiter_settle(mts_waiter *waiter);
/* Ends the thread. A zeroed waiter is fine. */
void mts_waiter_release(mts_waiter *waiter);

#endif
