/*
 * pool.h: threads that share the chunks of a list of launches.
 *
 * The thread that submits works too. A thread without work takes a chunk of any launch
 * that may start (board.h), first of those near the one that it worked on last, whose
 * data its caches hold; a list with levels runs one after the other (levels.h). Where
 * there is none it polls for some tens of microseconds, then it sleeps. Not responsible for what a chunk computes, nor for which launches may start.
 *
 * Thread-safety: one thread at a time uses a pool. After a fork the child's first run
 * starts threads of its own.
 */
#ifndef MTS_CPU_POOL_H
#define MTS_CPU_POOL_H

#include <stdint.h>

#include "platform/cpu/board.h"

typedef struct mts_cpu_pool mts_cpu_pool;

/* Computes a chunk on the thread with this number, 0 being the one that submits. */
typedef void mts_cpu_chunk_function(const void *work, const mts_cpu_chunk *chunk, uint32_t thread);

/* What a pool does, given once. enter: called by each new thread first. */
typedef struct mts_cpu_pool_calls {
    void (*enter)(void);
    mts_cpu_chunks_function *chunks;
    mts_cpu_chunk_function *run;
} mts_cpu_pool_calls;

/* A pool of `threads`, the caller's included; mts_cpu_pool_start starts the others. NULL:
   no memory. */
mts_cpu_pool *mts_cpu_pool_make(const mts_allocator *allocator, uint32_t threads,
                                const mts_cpu_pool_calls *calls);
/*
 * Starts the threads, if this process has not, so that a run need not. A run does so too
 * where the caller did not, or in the child of a fork.
 */
void mts_cpu_pool_start(mts_cpu_pool *pool);
/* Ends its threads. NULL is fine. */
void mts_cpu_pool_destroy(mts_cpu_pool *pool);
/* Makes space for runs of so many launches, between two runs. False: no memory. */
bool mts_cpu_pool_reserve(mts_cpu_pool *pool, uint32_t launches);
/* Runs the launches of an order, for which there is space, and returns when all have
   ended. It allocates nothing. alone: on the caller's thread. */
void mts_cpu_pool_run(mts_cpu_pool *pool, const mts_cpu_order *order, const void *work, bool alone);

#endif
