/*
 * levels.h: runs of launches that follow one another as a single network's layers do,
 * level by level.
 *
 * A level has launches that do not wait for each other; its launches wait for earlier
 * levels only. All of a level begin when the level before has ended, so that what threads
 * tell each other between two layers is one word: how many chunks of the level have not
 * ended. A board (board.h) would have launches of different networks overlap, for several
 * words a launch.
 *
 * Thread-safety: as of a board. A thread that is late holds the number of an earlier run,
 * for which it gets no chunk.
 */
#ifndef MTS_CPU_LEVELS_H
#define MTS_CPU_LEVELS_H

#include "platform/cpu/board.h"

/* The smallest library has a board alone. */
#ifdef MTS_SMALL
#define MTS_CPU_LEVELS 0
#else
#define MTS_CPU_LEVELS 1
#endif

typedef struct mts_cpu_levels mts_cpu_levels;

/* A run, as threads hold it: its number, from 1 on, above its count of levels. */
typedef uint64_t mts_cpu_level_run;

typedef enum mts_cpu_level_state {
    MTS_CPU_LEVEL_BUSY,
    MTS_CPU_LEVEL_ENDED,
    MTS_CPU_LEVEL_STALE /* another run has begun */
} mts_cpu_level_state;

/* For runs of so many launches at most. NULL: no memory. */
mts_cpu_levels *mts_cpu_levels_make(const mts_allocator *allocator, uint32_t capacity);
/* NULL is fine. */
void mts_cpu_levels_destroy(mts_cpu_levels *levels, const mts_allocator *allocator);

/* No run, behind that one: the numbers of later runs go on from there, and no thread takes part in
   earlier ones. For a pool that has no worker in a run. */
void mts_cpu_levels_clear(mts_cpu_levels *levels, mts_cpu_level_run behind);
/* Begins a run of an order that has levels. The run before has ended. */
void mts_cpu_levels_begin(mts_cpu_levels *levels, const mts_cpu_order *order, const void *work,
                          mts_cpu_chunks_function *chunks_of, uint32_t threads);
/* The run that was begun last, which may have ended; 0: none. */
mts_cpu_level_run mts_cpu_levels_run(const mts_cpu_levels *levels);
uint32_t mts_cpu_levels_count(mts_cpu_level_run run);
mts_cpu_level_state mts_cpu_levels_state(const mts_cpu_levels *levels, mts_cpu_level_run run, uint32_t level);
/*
 * Takes a chunk of a level, all of whose earlier ones have ended. The thread's own home
 * comes first. False: all chunks are taken, or the run is over.
 */
bool mts_cpu_levels_take(mts_cpu_levels *levels, mts_cpu_level_run run, uint32_t level, uint32_t thread,
                         mts_cpu_chunk *out);
/*
 * Says that the caller has computed `count` chunks of a level, at least 1. Whether that
 * ended it; *next is then how many chunks the next level has, 0 if it was the last one.
 */
bool mts_cpu_levels_end(mts_cpu_levels *levels, mts_cpu_level_run run, uint32_t level, uint32_t count,
                        uint32_t *next);
/* For a thread that computes a chunk of the run. */
const void *mts_cpu_levels_work(const mts_cpu_levels *levels);

#endif
