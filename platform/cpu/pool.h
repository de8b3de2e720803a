/*
 * pool.h: threads that share the work-groups of a list of launches.
 *
 * The thread that submits works too. Launches run one after the other; the work-groups of one are handed out in chunks to
 * whichever thread is free. A thread without work polls for some tens of microseconds, then it sleeps. Not responsible
 * for what a chunk computes.
 *
 * Thread-safety: one thread at a time uses a pool. After a fork the child's first run starts threads of its own.
 */
#ifndef MTS_CPU_POOL_H
#define MTS_CPU_POOL_H

#include <stdint.h>

#include "base/alloc.h"

typedef struct mts_cpu_pool mts_cpu_pool;

/* Work of one launch: `chunks` of it, at least 1. */
typedef uint32_t mts_cpu_chunks_function(const void *work, uint32_t launch, uint32_t threads);
/* Computes chunk number `chunk` of `chunks` on the thread with this number, 0 being the one that submits. */
typedef void mts_cpu_chunk_function(const void *work, uint32_t launch, uint32_t chunk, uint32_t chunks,
                                    uint32_t thread);

/* What a pool does, given once. enter: called by each new thread first. */
typedef struct mts_cpu_pool_calls {
    void (*enter)(void);
    mts_cpu_chunks_function *chunks;
    mts_cpu_chunk_function *run;
} mts_cpu_pool_calls;

/* A pool of `threads`, the caller's included; mts_cpu_pool_start starts the others. NULL: no memory. */
mts_cpu_pool *mts_cpu_pool_make(const mts_allocator *allocator, uint32_t threads,
                                const mts_cpu_pool_calls *calls);
/*
 * Starts the threads, if this process has not, so that a run need not. A run does so too where the caller did not, or in
 * the child of a fork.
 */
void mts_cpu_pool_start(mts_cpu_pool *pool);
/* Ends its threads. NULL is fine. */
void mts_cpu_pool_destroy(mts_cpu_pool *pool);
/* Runs launches 0 to count - 1 of `work`, in order, and returns when all have ended. */
void mts_cpu_pool_run(mts_cpu_pool *pool, const void *work, uint32_t count);

#endif
