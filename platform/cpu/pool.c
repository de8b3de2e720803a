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
 */
#include "platform/cpu/pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
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

/* A board that was too small: a late thread may still look at it. */
typedef struct retired {
    struct retired *next;
    mts_cpu_board *board;
} retired;

struct mts_cpu_pool {
    const mts_allocator *allocator;
    mts_cpu_pool_calls calls;
    uint32_t threads; /* with the caller's */
    uint32_t started;
    uint64_t process; /* whose the threads are */
    worker *workers;
    _Atomic(mts_cpu_board *) board;
    retired *boards;
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

/* Tells that so many chunks are to be had, of which the calling thread takes one, or that
   the run is over. */
static void announce(mts_cpu_pool *pool, uint32_t chunks, bool over)
{
    if (chunks == 0 && !over) {
        return;
    }
    atomic_fetch_add(&pool->opened, 1);
    if (over || chunks > 1) {
        wake(&pool->caller_sleeps, &pool->caller_wakes);
    }
    if (chunks > 1) {
        wake(&pool->sleepers, &pool->wakes);
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

/* Polls until `opened` is another number; false: for long enough. */
static bool poll(const mts_cpu_pool *pool, uint32_t opened)
{
    const uint64_t start = mts_os_clock_ns();
    do {
        for (int i = 0; i < POLL_ROUNDS; i++) {
            if (atomic_load_explicit(&pool->opened, memory_order_acquire) != opened ||
                atomic_load_explicit(&pool->stop, memory_order_relaxed)) {
                return true;
            }
            mts_os_pause();
        }
    } while (mts_os_clock_ns() - start < POLL_NS);
    return false;
}

/* Sleeps until `opened` is another number; the caller's thread and the workers have words
   of their own. */
static void sleep_on(mts_cpu_pool *pool, uint32_t opened, _Atomic(uint32_t) *sleepers,
                     const _Atomic(uint32_t) *wakes)
{
    atomic_fetch_add(sleepers, 1);
    const uint32_t before = atomic_load(wakes);
    if (atomic_load(&pool->opened) == opened && !atomic_load(&pool->stop)) {
        mts_os_word_wait(wakes, before);
    }
    atomic_fetch_sub(sleepers, 1);
}

static void worker_run(void *context)
{
    const worker *self = context;
    mts_cpu_pool *pool = self->pool;
    uint32_t at = 0;
    pool->calls.enter();
    while (!atomic_load_explicit(&pool->stop, memory_order_acquire)) {
        const uint32_t opened = work_on(pool, self->number, &at);
        if (!poll(pool, opened)) {
            sleep_on(pool, opened, &pool->sleepers, &pool->wakes);
        }
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
    atomic_init(&pool->board, mts_cpu_board_make(allocator, LAUNCHES_FIRST));
    if (!pool->workers || !atomic_load(&pool->board)) {
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
    while (pool->boards) {
        retired *gone = pool->boards;
        pool->boards = gone->next;
        mts_cpu_board_destroy(gone->board, pool->allocator);
        mts_alloc_free(pool->allocator, gone);
    }
    mts_cpu_board_destroy(atomic_load(&pool->board), pool->allocator);
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
    /* At least twice the old one, so that all that are retired take no more than the
       present one. */
    mts_cpu_board *board =
        mts_cpu_board_make(pool->allocator, launches / 2 > capacity ? launches : 2 * capacity);
    if (!entry || !board) {
        mts_alloc_free(pool->allocator, entry);
        mts_cpu_board_destroy(board, pool->allocator);
        return false;
    }
    *entry = (retired){pool->boards, old};
    pool->boards = entry;
    atomic_store(&pool->board, board);
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

void mts_cpu_pool_run(mts_cpu_pool *pool, const mts_cpu_order *order, const void *work, bool alone)
{
    mts_cpu_board *board = atomic_load(&pool->board);
    uint32_t at = 0;
    mts_cpu_pool_start(pool); /* nothing, except in the child of a fork */
    if (alone || pool->threads == 1 || pool->started == 0 || order->count == 0) {
        run_alone(pool, order, work);
        return;
    }
    mts_cpu_board_begin(board, order, work, pool->calls.chunks, pool->started + 1);
    stand_apart(pool);
    announce(pool, UINT32_MAX, false);
    for (;;) {
        const uint32_t opened = work_on(pool, 0, &at);
        if (mts_cpu_board_is_over(board)) {
            return;
        }
        if (!poll(pool, opened)) {
            sleep_on(pool, opened, &pool->caller_sleeps, &pool->caller_wakes);
        }
    }
}
