/*
 * board.h: which launches of a run may start, and what of them is left: a bit and a few
 * words for each launch.
 *
 * A launch opens when the last launch that it waits for has ended. Threads take chunks of
 * open launches one by one; the thread that ends a launch's last chunk opens what waited
 * for it. All of that are single atomic steps, none of which waits for another thread.
 * Not responsible for threads (pool.c) nor for what a chunk computes.
 *
 * Thread-safety: mts_cpu_board_begin is called by one thread between runs. All threads
 * may take at any time, also one that is late from an earlier run: what it takes then is
 * a chunk of the present one.
 */
#ifndef MTS_CPU_BOARD_H
#define MTS_CPU_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"

typedef struct mts_cpu_board mts_cpu_board;

/* Launches 0 to count - 1 of a run and who waits for whom; the same for many runs. */
typedef struct mts_cpu_order {
    uint32_t count;
    /* How many others each waits for. */
    const uint32_t *waits;
    /* next[next_first[i] .. next_first[i + 1]) wait for launch i. All are larger than
       i. */
    const uint32_t *next_first, *next;
    /* Where the launches are levels (levels.h): level i has level_first[i] ..
       level_first[i + 1]. 0: they are not. */
    uint32_t levels;
    const uint32_t *level_first;
} mts_cpu_order;

/* Chunk `chunk` of the `chunks` of a launch, one of home_first .. home_end - 1, which the
   same threads take as a rule. */
typedef struct mts_cpu_chunk {
    uint32_t launch, chunk, chunks, home_first, home_end;
} mts_cpu_chunk;

/* More threads share the homes. */
#define MTS_CPU_HOMES_MOST 8u

/* The first of `chunks` that belongs to a home of so many or to a later one. */
static inline uint32_t mts_cpu_home_begin(uint32_t home, uint32_t homes, uint32_t chunks)
{
    return (uint32_t)((uint64_t)home * chunks / homes);
}

/* How many chunks a launch has, at least 1. */
typedef uint32_t mts_cpu_chunks_function(const void *work, uint32_t launch, uint32_t threads);

/* A board for runs of so many launches at most. NULL: no memory. */
mts_cpu_board *mts_cpu_board_make(const mts_allocator *allocator, uint32_t capacity);
uint32_t mts_cpu_board_capacity(const mts_cpu_board *board);
/* NULL is fine. */
void mts_cpu_board_destroy(mts_cpu_board *board, const mts_allocator *allocator);

/* Forgets a run that nothing will end: that of the parent in the child of a fork. No
   other thread uses the board. */
void mts_cpu_board_clear(mts_cpu_board *board);

/* Begins a run of order->count launches, at least 1, on `threads`. The run before has
   ended. */
void mts_cpu_board_begin(mts_cpu_board *board, const mts_cpu_order *order, const void *work,
                         mts_cpu_chunks_function *chunks_of, uint32_t threads);
/*
 * Takes a chunk of the first open launch from number `from` on; behind the last one come
 * those before it. Of that launch the thread's own home comes first. False: all chunks of
 * open launches are taken.
 */
bool mts_cpu_board_take(mts_cpu_board *board, uint32_t thread, uint32_t from, mts_cpu_chunk *out);
/*
 * Says that `count` chunks of a launch, of which `chunk` is one, have been computed.
 * Returns how many chunks are to be had of the launches that this opened; it may be the
 * end of the run.
 */
uint32_t mts_cpu_board_end(mts_cpu_board *board, const mts_cpu_chunk *chunk, uint32_t count);
/* Whether all launches of the run have ended. What they wrote is visible to the caller
   then. */
bool mts_cpu_board_is_over(const mts_cpu_board *board);
/* What the launches of the run work on. For a thread that computes a chunk of it. */
const void *mts_cpu_board_work(const mts_cpu_board *board);

#endif
