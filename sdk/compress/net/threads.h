/*
 * threads.h: runs independent jobs side by side, each of them single-threaded (oneDNN's
 * threads included).
 */
#ifndef MTS_COMPRESS_NET_THREADS_H
#define MTS_COMPRESS_NET_THREADS_H

#include "base/status.h"

#include <stdint.h>

/* One job; `worker` < mts_threads_count() is the thread that runs it, for scratch memory
   of its own. */
typedef mts_status (*mts_threads_job)(void *context, uint32_t job, uint32_t worker, mts_error *error);

/* Processors that this process may use, at most 64. */
uint32_t mts_threads_count(void);
/*
 * Runs jobs 0..count-1, each once, on at most mts_threads_count() threads, and waits for
 * all. Jobs start in order. The first failure (lowest job) is returned; jobs that have
 * not started by then do not run.
 */
mts_status mts_threads_run(uint32_t count, mts_threads_job job, void *context, mts_error *error);

/* A job that cannot fail and needs no scratch memory. */
typedef void (*mts_threads_part)(void *context, uint32_t job);
/* The same for such jobs. */
void mts_threads_each(uint32_t count, mts_threads_part part, void *context);

#endif
