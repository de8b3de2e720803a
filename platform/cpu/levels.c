/*
 * levels.c: see levels.h.
 *
 * Each word that threads change has the number of its run in its upper half. A thread
 * takes a chunk by exchanging a word that it has seen for one less, which fails where
 * another run has begun. A run does not end, and so none begins, while a thread holds a
 * chunk: it may then read the arrays that `begin` fills.
 */
#include "platform/cpu/levels.h"

#include <stdatomic.h>

#define LINE_WORDS 8u /* words of a line that processors share */

struct mts_cpu_levels {
    uint32_t capacity;
    _Atomic(uint64_t) run; /* an mts_cpu_level_run */
    /* [home][level]: chunks to take. As a rule only the threads of a home touch its row. */
    _Atomic(uint64_t) *left;
    _Atomic(uint64_t) *unfinished; /* [level]: chunks */
    uint32_t *chunks;              /* of each launch */
    const mts_cpu_order *order;
    const void *work;
    _Atomic(uint32_t) homes; /* of the run; a late thread may read it */
};

static uint64_t number_of(mts_cpu_level_run run)
{
    return run >> 32;
}

static uint64_t word_of(uint64_t number, uint32_t count)
{
    return number << 32 | count;
}

static uint32_t homes_of(const mts_cpu_levels *levels)
{
    return atomic_load_explicit(&levels->homes, memory_order_relaxed);
}

static _Atomic(uint64_t) *left_of(const mts_cpu_levels *levels, uint32_t home, uint32_t level)
{
    return &levels->left[(size_t)home * levels->capacity + level];
}

mts_cpu_levels *mts_cpu_levels_make(const mts_allocator *allocator, uint32_t capacity)
{
    mts_cpu_levels *levels = mts_alloc_zero(allocator, 1, sizeof *levels);
    if (!levels) {
        return NULL;
    }
    levels->capacity = (capacity / LINE_WORDS + 1) * LINE_WORDS;
    levels->left =
        mts_alloc_zero(allocator, (size_t)MTS_CPU_HOMES_MOST * levels->capacity, sizeof *levels->left);
    levels->unfinished = mts_alloc_zero(allocator, levels->capacity, sizeof *levels->unfinished);
    levels->chunks = mts_alloc_zero(allocator, levels->capacity, sizeof *levels->chunks);
    if (!levels->left || !levels->unfinished || !levels->chunks) {
        mts_cpu_levels_destroy(levels, allocator);
        return NULL;
    }
    atomic_init(&levels->homes, 1);
    return levels;
}

void mts_cpu_levels_destroy(mts_cpu_levels *levels, const mts_allocator *allocator)
{
    if (levels) {
        mts_alloc_free(allocator, (void *)levels->left);
        mts_alloc_free(allocator, (void *)levels->unfinished);
        mts_alloc_free(allocator, levels->chunks);
        mts_alloc_free(allocator, levels);
    }
}

static void begin_level(mts_cpu_levels *levels, uint64_t number, uint32_t level, uint32_t homes)
{
    const mts_cpu_order *order = levels->order;
    uint32_t of_home[MTS_CPU_HOMES_MOST] = {0}, all = 0;
    for (uint32_t i = order->level_first[level]; i < order->level_first[level + 1]; i++) {
        const uint32_t chunks = levels->chunks[i];
        for (uint32_t home = 0; home < homes; home++) {
            of_home[home] +=
                mts_cpu_home_begin(home + 1, homes, chunks) - mts_cpu_home_begin(home, homes, chunks);
        }
        all += chunks;
    }
    for (uint32_t home = 0; home < homes; home++) {
        atomic_store_explicit(left_of(levels, home, level), word_of(number, of_home[home]),
                              memory_order_release);
    }
    atomic_store_explicit(&levels->unfinished[level], word_of(number, all), memory_order_release);
}

void mts_cpu_levels_clear(mts_cpu_levels *levels, mts_cpu_level_run behind)
{
    atomic_store(&levels->run, word_of(number_of(behind) + 1, 0));
}

void mts_cpu_levels_begin(mts_cpu_levels *levels, const mts_cpu_order *order, const void *work,
                          mts_cpu_chunks_function *chunks_of, uint32_t threads)
{
    const uint32_t homes = threads < MTS_CPU_HOMES_MOST ? threads : MTS_CPU_HOMES_MOST;
    const uint64_t number = number_of(atomic_load_explicit(&levels->run, memory_order_relaxed)) + 1;
    levels->order = order;
    levels->work = work;
    atomic_store_explicit(&levels->homes, homes, memory_order_relaxed);
    for (uint32_t i = 0; i < order->count; i++) {
        levels->chunks[i] = chunks_of(work, i, threads);
    }
    for (uint32_t level = 0; level < order->levels; level++) {
        begin_level(levels, number, level, homes);
    }
    atomic_store(&levels->run, word_of(number, order->levels));
}

mts_cpu_level_run mts_cpu_levels_run(const mts_cpu_levels *levels)
{
    return atomic_load(&levels->run);
}

uint32_t mts_cpu_levels_count(mts_cpu_level_run run)
{
    return (uint32_t)run;
}

mts_cpu_level_state mts_cpu_levels_state(const mts_cpu_levels *levels, mts_cpu_level_run run, uint32_t level)
{
    const uint64_t word = atomic_load(&levels->unfinished[level]);
    if (number_of(word) != number_of(run)) {
        return MTS_CPU_LEVEL_STALE;
    }
    return (uint32_t)word == 0 ? MTS_CPU_LEVEL_ENDED : MTS_CPU_LEVEL_BUSY;
}

/* The chunk of a level behind which a home has left - 1. */
static mts_cpu_chunk chunk_of(const mts_cpu_levels *levels, uint32_t level, uint32_t home, uint32_t left)
{
    const mts_cpu_order *order = levels->order;
    const uint32_t homes = homes_of(levels);
    uint32_t launch = order->level_first[level + 1] - 1;
    for (;; launch--) {
        const uint32_t chunks = levels->chunks[launch];
        const uint32_t first = mts_cpu_home_begin(home, homes, chunks),
                       end = mts_cpu_home_begin(home + 1, homes, chunks);
        if (left <= end - first) {
            return (mts_cpu_chunk){.launch = launch,
                                   .chunk = end - left,
                                   .chunks = chunks,
                                   .home_first = first,
                                   .home_end = end};
        }
        left -= end - first;
    }
}

static bool take_of(mts_cpu_levels *levels, mts_cpu_level_run run, uint32_t level, uint32_t home,
                    mts_cpu_chunk *out)
{
    _Atomic(uint64_t) *left = left_of(levels, home, level);
    uint64_t word = atomic_load_explicit(left, memory_order_acquire);
    do {
        if (number_of(word) != number_of(run) || (uint32_t)word == 0) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(left, &word, word - 1, memory_order_acq_rel,
                                                    memory_order_acquire));
    *out = chunk_of(levels, level, home, (uint32_t)word);
    return true;
}

bool mts_cpu_levels_take(mts_cpu_levels *levels, mts_cpu_level_run run, uint32_t level, uint32_t thread,
                         mts_cpu_chunk *out)
{
    const uint32_t homes = homes_of(levels);
    for (uint32_t i = 0; i < homes; i++) {
        if (take_of(levels, run, level, (thread + i) % homes, out)) {
            return true;
        }
    }
    return false;
}

static uint32_t chunks_of_level(const mts_cpu_levels *levels, uint32_t level)
{
    uint32_t chunks = 0;
    for (uint32_t i = levels->order->level_first[level]; i < levels->order->level_first[level + 1]; i++) {
        chunks += levels->chunks[i];
    }
    return chunks;
}

bool mts_cpu_levels_end(mts_cpu_levels *levels, mts_cpu_level_run run, uint32_t level, uint32_t count,
                        uint32_t *next)
{
    /* before the level can end */
    const uint32_t chunks = level + 1 < mts_cpu_levels_count(run) ? chunks_of_level(levels, level + 1) : 0;
    *next = chunks;
    return (uint32_t)atomic_fetch_sub(&levels->unfinished[level], count) == count;
}

const void *mts_cpu_levels_work(const mts_cpu_levels *levels)
{
    return levels->work;
}
