/*
 * pool.c: see pool.h.
 *
 * One 64-bit word, the ticket, holds the number of the current launch and how many of its chunks are left. A thread takes
 * a chunk by subtracting 1; what it then reads about the launch does not change until that chunk has ended. Whichever
 * thread ends the last chunk of a launch puts the next one into the ticket, so no thread waits for one that sleeps or is
 * late, only for chunks that are being computed.
 */
#include "platform/cpu/pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "platform/os/os.h"
#include "platform/os/thread.h"

/* Below this the low half of a ticket says that no chunk is left. Each thread goes below by 1 at most. */
#define TICKET_EMPTY ((uint32_t)1 << 16)
#define POLL_NS 30000u /* before a thread without work sleeps */
#define POLL_ROUNDS 64 /* looks at the ticket from one look at the clock to the next */
#define LINE 64        /* bytes that processors share as one */

typedef struct worker {
    mts_cpu_pool *pool;
    mts_os_thread thread;
    uint32_t number;
} worker;

struct mts_cpu_pool {
    const mts_allocator *allocator;
    mts_cpu_pool_calls calls;
    uint32_t threads; /* with the caller's */
    uint32_t started;
    uint64_t process; /* whose the threads are */
    worker *workers;
    /* Of the current run. */
    const void *work;
    uint32_t first, count;       /* number of its first launch, and how many it has */
    uint32_t chunks;             /* of the current launch */
    _Atomic(uint32_t) caller_at; /* the processor that the caller's thread was on */
    char before_ticket[LINE];
    _Atomic(uint64_t) ticket;
    char before_ended[LINE];
    _Atomic(uint32_t) ended; /* chunks of the current launch */
    char before_sleep[LINE];
    _Atomic(uint32_t) sleepers, wakes; /* workers that sleep; changes when they are woken */
    _Atomic(uint32_t) caller_sleeps, caller_wakes;
    _Atomic(bool) stop;
};

static uint32_t launch_of(uint64_t ticket)
{
    return (uint32_t)(ticket >> 32);
}

/* Makes launch `number` the current one, which is the run's last but one at most, or ends the run. */
static void publish(mts_cpu_pool *pool, uint32_t number)
{
    const uint32_t index = number - pool->first;
    const bool over = index == pool->count;
    uint32_t chunks = 0;
    if (!over) {
        chunks = pool->calls.chunks(pool->work, index, pool->started + 1);
        pool->chunks = chunks;
    }
    atomic_store_explicit(&pool->ended, 0, memory_order_relaxed);
    atomic_store(&pool->ticket, (uint64_t)number << 32 | (TICKET_EMPTY + chunks));
    if ((over || chunks > 1) && atomic_load(&pool->caller_sleeps)) {
        atomic_fetch_add(&pool->caller_wakes, 1);
        mts_os_word_wake(&pool->caller_wakes);
    }
    if (chunks > 1 && atomic_load(&pool->sleepers) > 0) {
        atomic_fetch_add(&pool->wakes, 1);
        mts_os_word_wake(&pool->wakes);
    }
}

/*
 * A system whose other processors are busy too wakes a worker where its waker runs, or moves it there, and leaves it: it
 * would take its time from the very thread that it is to help.
 */
static void stand_apart(mts_cpu_pool *pool, uint32_t thread)
{
    const uint32_t processor = mts_os_processor();
    const bool same = processor == atomic_load_explicit(&pool->caller_at, memory_order_relaxed);
    if (thread == 0 && !same) {
        atomic_store_explicit(&pool->caller_at, processor, memory_order_relaxed);
    } else if (thread != 0 && same) {
        mts_os_processor_leave(processor);
    }
}

/* Takes chunks of the current launch and of those that follow until none is left. Returns the last ticket. */
static uint64_t work_on(mts_cpu_pool *pool, uint32_t thread)
{
    for (;;) {
        stand_apart(pool, thread);
        uint64_t ticket = atomic_load_explicit(&pool->ticket, memory_order_acquire);
        if ((uint32_t)ticket > TICKET_EMPTY) {
            ticket = atomic_fetch_sub_explicit(&pool->ticket, 1, memory_order_acq_rel);
        }
        const uint32_t left = (uint32_t)ticket;
        if (left <= TICKET_EMPTY) {
            return ticket;
        }
        const uint32_t number = launch_of(ticket), chunks = pool->chunks;
        pool->calls.run(pool->work, number - pool->first, chunks - (left - TICKET_EMPTY), chunks, thread);
        if (atomic_fetch_add_explicit(&pool->ended, 1, memory_order_acq_rel) + 1 == chunks) {
            publish(pool, number + 1);
        }
    }
}

/* Polls until the ticket is another launch's; false: for long enough. */
static bool poll(const mts_cpu_pool *pool, uint32_t launch)
{
    const uint64_t start = mts_os_clock_ns();
    do {
        for (int i = 0; i < POLL_ROUNDS; i++) {
            if (launch_of(atomic_load_explicit(&pool->ticket, memory_order_acquire)) != launch ||
                atomic_load_explicit(&pool->stop, memory_order_relaxed)) {
                return true;
            }
            mts_os_pause();
        }
    } while (mts_os_clock_ns() - start < POLL_NS);
    return false;
}

/* Sleeps until the ticket is another launch's; the caller's thread and the workers have words of their own. */
static void sleep_on(mts_cpu_pool *pool, uint32_t launch, _Atomic(uint32_t) *sleepers,
                     const _Atomic(uint32_t) *wakes)
{
    atomic_fetch_add(sleepers, 1);
    const uint32_t before = atomic_load(wakes);
    if (launch_of(atomic_load(&pool->ticket)) == launch && !atomic_load(&pool->stop)) {
        mts_os_word_wait(wakes, before);
    }
    atomic_fetch_sub(sleepers, 1);
}

static void worker_run(void *context)
{
    const worker *self = context;
    mts_cpu_pool *pool = self->pool;
    pool->calls.enter();
    while (!atomic_load_explicit(&pool->stop, memory_order_acquire)) {
        const uint32_t launch = launch_of(work_on(pool, self->number));
        if (!poll(pool, launch)) {
            sleep_on(pool, launch, &pool->sleepers, &pool->wakes);
        }
    }
}

/* Starts the threads that are missing. Where the system has no more the pool works with those it has. */
void mts_cpu_pool_start(mts_cpu_pool *pool)
{
    const uint64_t process = mts_os_process();
    if (pool->threads > 1 && pool->process != process) { /* the first run, or the first one after a fork */
        pool->process = process;
        pool->started = 0;
        atomic_store(&pool->sleepers, 0);
        uint32_t started = 0;
        for (uint32_t i = 0; i + 1 < pool->threads; i++) {
            pool->workers[i] = (worker){.pool = pool, .number = i + 1};
            if (!mts_os_thread_start(&pool->workers[i].thread, worker_run, &pool->workers[i])) {
                break;
            }
            started++;
        }
        pool->started = started;
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
    atomic_init(&pool->ticket, TICKET_EMPTY);
    atomic_init(&pool->caller_at, UINT32_MAX);
    pool->workers = mts_alloc_zero(allocator, pool->threads, sizeof *pool->workers);
    if (!pool->workers) {
        mts_alloc_free(allocator, pool);
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
    mts_alloc_free(pool->allocator, pool->workers);
    mts_alloc_free(pool->allocator, pool);
}

static void run_alone(const mts_cpu_pool *pool, const void *work, uint32_t count)
{
    for (uint32_t launch = 0; launch < count; launch++) {
        const uint32_t chunks = pool->calls.chunks(work, launch, 1);
        for (uint32_t chunk = 0; chunk < chunks; chunk++) {
            pool->calls.run(work, launch, chunk, chunks, 0);
        }
    }
}

void mts_cpu_pool_run(mts_cpu_pool *pool, const void *work, uint32_t count)
{
    mts_cpu_pool_start(pool); /* nothing, except in the child of a fork */
    if (pool->threads == 1 || pool->started == 0 || count == 0) {
        run_alone(pool, work, count);
        return;
    }
    pool->work = work;
    pool->count = count;
    pool->first = launch_of(atomic_load(&pool->ticket)) + 1;
    const uint32_t end = pool->first + count;
    publish(pool, pool->first);
    for (;;) {
        const uint32_t launch = launch_of(work_on(pool, 0));
        if (launch == end) {
            return;
        }
        if (!poll(pool, launch)) {
            sleep_on(pool, launch, &pool->caller_sleeps, &pool->caller_wakes);
        }
    }
}
