/*
 * pool.c: see pool.h.
 *
 * `opened` counts the times that launches were opened, and the ends of runs. A thread
 * without work waits for it to become another than before the thread last looked at the
 * board: what opened before that look was found there, and what opens later changes it.
 * No wake-up is lost: a thread first counts itself as a sleeper and then looks at
 * `opened` once more, and a thread that opens launches first raises `opened` and then
 * looks for sleepers, so one of the two sees the other. No thread waits for one that is
 * late or sleeps, only for chunks that are being computed.
 *
 * A run by levels does the same with a level's own word in place of `opened`, so that
 * nothing else passes between threads from one level to the next.
 */
#include "platform/cpu/pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "platform/cpu/levels.h"
#include "platform/os/os.h"
#include "platform/os/thread.h"

#define POLL_NS 30000u     /* before a thread without work sleeps */
#define POLL_ROUNDS 64     /* looks at `opened` from one look at the clock to the next */
#define LINE 64            /* bytes that processors share as one */
#define LAUNCHES_FIRST 63u /* that a list may have before the board grows */

typedef struct worker {
    mts_cpu_pool *pool;
    mts_os_thread thread;
    uint32_t number;
} worker;

/* What was too small: a late thread may still look at it. */
typedef struct retired {
    struct retired *next;
    mts_cpu_board *board;
    mts_cpu_levels *levels;
} retired;

struct mts_cpu_pool {
    const mts_allocator *allocator;
    mts_cpu_pool_calls calls;
    uint32_t threads; /* with the caller's */
    uint32_t started;
    uint64_t process; /* whose the threads are */
    worker *workers;
    _Atomic(mts_cpu_board *) board;
    _Atomic(mts_cpu_levels *) levels;
    retired *retired;
    uint32_t caller_at; /* the processor that the caller's thread was on, which the workers avoid */
    char before_opened[LINE];
    _Atomic(uint32_t) opened;
    char before_sleep[LINE];
    _Atomic(uint32_t) sleepers, wakes; /* workers that sleep; changes when they are woken */
    _Atomic(uint32_t) caller_sleeps, caller_wakes;
    _Atomic(bool) stop;
};

static void wake(const _Atomic(uint32_t) *sleepers, _Atomic(uint32_t) *wakes)
{
    if (atomic_load(sleepers) > 0) {
        atomic_fetch_add(wakes, 1);
        mts_os_word_wake(wakes);
    }
}

/* Wakes whom so many chunks, of which the calling thread takes one, or the end of the run
   concern. */
static void wake_for(mts_cpu_pool *pool, uint32_t chunks, bool over)
{
    if (over || chunks > 1) {
        wake(&pool->caller_sleeps, &pool->caller_wakes);
    }
    if (chunks > 1) {
        wake(&pool->sleepers, &pool->wakes);
    }
}

/* Tells that so many chunks are to be had, or that the run is over. */
static void announce(mts_cpu_pool *pool, uint32_t chunks, bool over)
{
    if (chunks > 0 || over) {
        atomic_fetch_add(&pool->opened, 1);
        wake_for(pool, chunks, over);
    }
}

/*
 * Keeps the workers off the processor that the caller's thread runs on, which calls this.
 * A system may wake a worker there though others are idle (a Linux guest does that whose
 * idle processors the host has taken away), and then lets it wait for the end of the
 * caller's slice of time, which is a frame long.
 */
static void stand_apart(mts_cpu_pool *pool)
{
    const uint32_t processor = mts_os_processor();
    if (processor != pool->caller_at) {
        pool->caller_at = processor;
        for (uint32_t i = 0; i < pool->started; i++) {
            mts_os_thread_avoid(&pool->workers[i].thread, processor);
        }
    }
}

/* Says that a thread has computed `count` chunks of a launch, of which it finds no more. */
static void end_chunks(mts_cpu_pool *pool, mts_cpu_board *board, const mts_cpu_chunk *chunk, uint32_t count)
{
    if (count > 0) {
        const uint32_t chunks = mts_cpu_board_end(board, chunk, count);
        announce(pool, chunks, mts_cpu_board_is_over(board));
    }
}

/*
 * Computes chunks while there are any. Returns the value of `opened` before the last look
 * at the board. *at: the launch that the thread worked on last.
 */
static uint32_t work_on(mts_cpu_pool *pool, uint32_t thread, uint32_t *at)
{
    mts_cpu_chunk last = {0};
    uint32_t count = 0; /* of the last one's launch, of which the board does not know yet */
    for (;;) {
        if (thread == 0) {
            stand_apart(pool);
        }
        const uint32_t opened = atomic_load(&pool->opened);
        mts_cpu_board *board = atomic_load(&pool->board);
        mts_cpu_chunk chunk;
        const bool found = mts_cpu_board_take(board, thread, *at, &chunk);
        if (!found || chunk.launch != last.launch) {
            const bool ended = count > 0;
            end_chunks(pool, board, &last, count);
            count = 0;
            if (!found && ended) {
                continue; /* that may have opened launches */
            }
        }
        if (!found) {
            return opened;
        }
        *at = chunk.launch;
        pool->calls.run(mts_cpu_board_work(board), &chunk, thread);
        last = chunk;
        count++;
    }
}

/* What a thread without work waits for: that `opened` is another number, or, in a run by
   levels, that one is not busy. */
typedef struct waiting {
    const mts_cpu_pool *pool;
    uint32_t opened;
    const mts_cpu_levels *levels; /* or NULL */
    mts_cpu_level_run run;
    uint32_t level;
} waiting;

static bool is_met(const waiting *w)
{
    if (w->levels) {
        return mts_cpu_levels_state(w->levels, w->run, w->level) != MTS_CPU_LEVEL_BUSY;
    }
    return atomic_load(&w->pool->opened) != w->opened;
}

static bool is_stopped(const mts_cpu_pool *pool)
{
    return atomic_load_explicit(&pool->stop, memory_order_acquire);
}

/* Polls; false: for long enough. */
static bool poll(const waiting *w)
{
    const uint64_t start = mts_os_clock_ns();
    do {
        for (int i = 0; i < POLL_ROUNDS; i++) {
            if (is_met(w) || is_stopped(w->pool)) {
                return true;
            }
            mts_os_pause();
        }
    } while (mts_os_clock_ns() - start < POLL_NS);
    return false;
}

/* Polls, then sleeps; may return early. The caller's thread (0) and the workers have words
   of their own. */
static void wait_for(mts_cpu_pool *pool, const waiting *w, uint32_t thread)
{
    _Atomic(uint32_t) *sleepers = thread == 0 ? &pool->caller_sleeps : &pool->sleepers;
    const _Atomic(uint32_t) *wakes = thread == 0 ? &pool->caller_wakes : &pool->wakes;
    if (poll(w)) {
        return;
    }
    atomic_fetch_add(sleepers, 1);
    const uint32_t before = atomic_load(wakes);
    if (!is_met(w) && !is_stopped(pool)) {
        mts_os_word_wait(wakes, before);
    }
    atomic_fetch_sub(sleepers, 1);
}

/* ---- runs by levels ---- */

static void work_on_level(mts_cpu_pool *pool, mts_cpu_levels *levels, mts_cpu_level_run run, uint32_t level,
                          uint32_t thread)
{
    mts_cpu_chunk chunk;
    uint32_t count = 0, next = 0;
    for (; mts_cpu_levels_take(levels, run, level, thread, &chunk); count++) {
        pool->calls.run(mts_cpu_levels_work(levels), &chunk, thread);
    }
    if (count > 0 && mts_cpu_levels_end(levels, run, level, count, &next)) {
        wake_for(pool, next, level + 1 == mts_cpu_levels_count(run));
    }
}

/* Takes part in a run, until it has ended. */
static void walk_levels(mts_cpu_pool *pool, mts_cpu_levels *levels, mts_cpu_level_run run, uint32_t thread)
{
    for (uint32_t level = 0; level < mts_cpu_levels_count(run); level++) {
        const waiting w = {.pool = pool, .levels = levels, .run = run, .level = level};
        const mts_cpu_level_state state = mts_cpu_levels_state(levels, run, level);
        if (state == MTS_CPU_LEVEL_STALE) {
            return;
        }
        if (state == MTS_CPU_LEVEL_ENDED) { /* a worker that came late */
            continue;
        }
        if (thread == 0) {
            stand_apart(pool);
        }
        work_on_level(pool, levels, run, level, thread);
        while (!is_met(&w)) {
            if (is_stopped(pool)) {
                return;
            }
            wait_for(pool, &w, thread);
        }
    }
}

static void run_levels(mts_cpu_pool *pool, const mts_cpu_order *order, const void *work)
{
    mts_cpu_levels *levels = atomic_load(&pool->levels);
    mts_cpu_levels_begin(levels, order, work, pool->calls.chunks, pool->started + 1);
    stand_apart(pool);
    announce(pool, UINT32_MAX, false);
    walk_levels(pool, levels, mts_cpu_levels_run(levels), 0);
}

/* ---- threads ---- */

static void worker_run(void *context)
{
    const worker *self = context;
    mts_cpu_pool *pool = self->pool;
    mts_cpu_level_run seen = 0;
    uint32_t at = 0;
    pool->calls.enter();
    while (!is_stopped(pool)) {
        const waiting w = {.pool = pool, .opened = atomic_load(&pool->opened)}; /* before all looks */
        mts_cpu_levels *levels = atomic_load(&pool->levels);
        const mts_cpu_level_run run = mts_cpu_levels_run(levels);
        if (MTS_CPU_LEVELS && run != seen) {
            walk_levels(pool, levels, run, self->number);
            seen = run;
        }
        (void)work_on(pool, self->number, &at);
        wait_for(pool, &w, self->number);
    }
}

/* Starts the threads that are missing. Where the system has no more the pool works with
   those it has. */
void mts_cpu_pool_start(mts_cpu_pool *pool)
{
    const uint64_t process = mts_os_process();
    if (pool->threads > 1 && pool->process != process) { /* the first run, or the first one after a fork */
        pool->process = process;
        pool->started = 0;
        atomic_store(&pool->sleepers, 0);
        atomic_store(&pool->caller_sleeps, 0);
        mts_cpu_board_clear(atomic_load(&pool->board));
        mts_cpu_levels *levels = atomic_load(&pool->levels);
        mts_cpu_levels_clear(levels, mts_cpu_levels_run(levels));
        uint32_t started = 0;
        for (uint32_t i = 0; i + 1 < pool->threads; i++) {
            pool->workers[i] = (worker){.pool = pool, .number = i + 1};
            if (!mts_os_thread_start(&pool->workers[i].thread, worker_run, &pool->workers[i])) {
                break;
            }
            started++;
        }
        pool->started = started;
        pool->caller_at = UINT32_MAX;
    }
}

/* A board and levels for runs of as many launches; both NULL: no memory. */
static mts_cpu_board *make_board(const mts_allocator *allocator, uint32_t launches, mts_cpu_levels **levels)
{
    mts_cpu_board *board = mts_cpu_board_make(allocator, launches);
    *levels = board ? mts_cpu_levels_make(allocator, mts_cpu_board_capacity(board)) : NULL;
    if (board && !*levels) {
        mts_cpu_board_destroy(board, allocator);
        board = NULL;
    }
    return board;
}

mts_cpu_pool *mts_cpu_pool_make(const mts_allocator *allocator, uint32_t threads,
                                const mts_cpu_pool_calls *calls)
{
    mts_cpu_pool *pool = mts_alloc_zero(allocator, 1, sizeof *pool);
    if (!pool) {
        return NULL;
    }
    pool->allocator = allocator;
    pool->calls = *calls;
    pool->threads = threads < 1 ? 1 : threads > MTS_THREADS_MOST ? MTS_THREADS_MOST : threads;
    pool->workers = mts_alloc_zero(allocator, pool->threads, sizeof *pool->workers);
    mts_cpu_levels *levels = NULL;
    atomic_init(&pool->board, make_board(allocator, LAUNCHES_FIRST, &levels));
    atomic_init(&pool->levels, levels);
    if (!pool->workers || !levels) {
        mts_cpu_pool_destroy(pool);
        return NULL;
    }
    return pool;
}

void mts_cpu_pool_destroy(mts_cpu_pool *pool)
{
    if (!pool) {
        return;
    }
    const bool own = pool->process == mts_os_process();
    atomic_store(&pool->stop, true);
    atomic_fetch_add(&pool->wakes, 1);
    mts_os_word_wake(&pool->wakes);
    for (uint32_t i = 0; own && i < pool->started; i++) {
        mts_os_thread_join(&pool->workers[i].thread);
    }
    while (pool->retired) {
        retired *gone = pool->retired;
        pool->retired = gone->next;
        mts_cpu_board_destroy(gone->board, pool->allocator);
        mts_cpu_levels_destroy(gone->levels, pool->allocator);
        mts_alloc_free(pool->allocator, gone);
    }
    mts_cpu_board_destroy(atomic_load(&pool->board), pool->allocator);
    mts_cpu_levels_destroy(atomic_load(&pool->levels), pool->allocator);
    mts_alloc_free(pool->allocator, pool->workers);
    mts_alloc_free(pool->allocator, pool);
}

bool mts_cpu_pool_reserve(mts_cpu_pool *pool, uint32_t launches)
{
    mts_cpu_board *old = atomic_load(&pool->board);
    const uint32_t capacity = mts_cpu_board_capacity(old);
    if (launches <= capacity) {
        return true;
    }
    retired *entry = mts_alloc_zero(pool->allocator, 1, sizeof *entry);
    /* At least twice the old ones, so that all that are retired take no more than the
       present ones. */
    const uint32_t wanted = launches / 2 > capacity ? launches : 2 * capacity;
    mts_cpu_levels *levels = NULL, *former = atomic_load(&pool->levels);
    mts_cpu_board *board = make_board(pool->allocator, wanted, &levels);
    if (!entry || !board) {
        mts_alloc_free(pool->allocator, entry);
        mts_cpu_board_destroy(board, pool->allocator);
        mts_cpu_levels_destroy(levels, pool->allocator);
        return false;
    }
    mts_cpu_levels_clear(levels, mts_cpu_levels_run(former)); /* no worker has seen a run of that number */
    *entry = (retired){pool->retired, old, former};
    pool->retired = entry;
    atomic_store(&pool->board, board);
    atomic_store(&pool->levels, levels);
    return true;
}

static void run_alone(const mts_cpu_pool *pool, const mts_cpu_order *order, const void *work)
{
    mts_cpu_chunk c;
    for (c.launch = 0; c.launch < order->count; c.launch++) {
        c.chunks = pool->calls.chunks(work, c.launch, 1);
        c.home_first = 0;
        c.home_end = c.chunks;
        for (c.chunk = 0; c.chunk < c.chunks; c.chunk++) {
            pool->calls.run(work, &c, 0);
        }
    }
}

/* Every launch as soon as those have ended that it waits for. */
static void run_board(mts_cpu_pool *pool, const mts_cpu_order *order, const void *work)
{
    mts_cpu_board *board = atomic_load(&pool->board);
    uint32_t at = 0;
    mts_cpu_board_begin(board, order, work, pool->calls.chunks, pool->started + 1);
    stand_apart(pool);
    announce(pool, UINT32_MAX, false);
    for (;;) {
        const waiting w = {.pool = pool, .opened = work_on(pool, 0, &at)};
        if (mts_cpu_board_is_over(board)) {
            return;
        }
        wait_for(pool, &w, 0);
    }
}

void mts_cpu_pool_run(mts_cpu_pool *pool, const mts_cpu_order *order, const void *work, bool alone)
{
    mts_cpu_pool_start(pool); /* nothing, except in the child of a fork */
    if (alone || pool->threads == 1 || pool->started == 0 || order->count == 0) {
        run_alone(pool, order, work);
    } else if (MTS_CPU_LEVELS && order->levels > 0) {
        run_levels(pool, order, work);
    } else {
        run_board(pool, order, work);
    }
}
