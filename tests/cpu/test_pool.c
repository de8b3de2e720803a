/*
 * test_pool.c: threads of the cpu backend: every chunk once, launches in order, by all threads, also after a fork.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "platform/cpu/pool.h"
#include "platform/os/os.h"

enum { LAUNCHES = 300, CHUNKS = 64, RUNS = 20 };

static uint32_t cells[LAUNCHES][CHUNKS];

static void enter(void)
{
}

/* Many launches of one chunk among those of many. */
static uint32_t chunks_of(const void *work, uint32_t launch, uint32_t threads)
{
    (void)work;
    (void)threads;
    return launch % 7 == 0 ? 1 : launch % CHUNKS + 1;
}

/* Counts up from what the launch before left: wrong if it has not ended, or if a chunk runs twice. */
static void run_chunk(const void *work, uint32_t launch, uint32_t chunk, uint32_t chunks, uint32_t thread)
{
    const uint32_t before = launch > 0 ? cells[launch - 1][chunks_of(work, launch - 1, 1) - 1] : 0;
    (void)chunks;
    (void)thread;
    cells[launch][chunk] += before + 1;
}

static const mts_cpu_pool_calls calls = {enter, chunks_of, run_chunk};

static int is_right(mts_cpu_pool *pool)
{
    memset(cells, 0, sizeof cells);
    mts_cpu_pool_run(pool, NULL, LAUNCHES);
    for (uint32_t launch = 0; launch < LAUNCHES; launch++) {
        for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
            if (cells[launch][chunk] != (chunk < chunks_of(NULL, launch, 1) ? launch + 1 : 0)) {
                return 0;
            }
        }
    }
    return 1;
}

static void every_chunk_runs_once_and_after_the_launch_before(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 5; threads++) {
        mts_cpu_pool *pool = mts_cpu_pool_make(mts_allocator_default(), threads, &calls);
        assert_non_null(pool);
        for (int run = 0; run < RUNS; run++) {
            assert_true(is_right(pool));
            if (run % 5 == 0) {
                mts_os_sleep_ns(1000000); /* threads sleep, and are woken */
            }
        }
        mts_cpu_pool_destroy(pool);
    }
}

static void a_pool_that_never_ran_and_none_are_destroyed(void **state)
{
    (void)state;
    mts_cpu_pool_destroy(mts_cpu_pool_make(mts_allocator_default(), 4, &calls));
    mts_cpu_pool_destroy(NULL);
}

/*
 * Launches of two chunks. In the first a worker's takes long, so that the caller's thread sleeps; in the second each chunk
 * waits for the other one, for which both threads have to be awake.
 */
typedef struct meeting {
    _Atomic(uint32_t) arrived;
    _Atomic(bool) missed;
} meeting;

static uint32_t two_chunks(const void *work, uint32_t launch, uint32_t threads)
{
    (void)work;
    (void)launch;
    (void)threads;
    return 2;
}

static void meet(const void *work, uint32_t launch, uint32_t chunk, uint32_t chunks, uint32_t thread)
{
    meeting *both = *(meeting *const *)work;
    (void)chunk;
    (void)chunks;
    if (launch == 0) {
        atomic_fetch_add(&both->arrived, 1);
        while (atomic_load(&both->arrived) < 2) {
            mts_os_sleep_ns(10000); /* each thread takes one of the chunks */
        }
        mts_os_sleep_ns(thread > 0 ? 20000000 : 0);
        return;
    }
    atomic_fetch_add(&both->arrived, 1);
    for (int i = 0; i < 1000 && atomic_load(&both->arrived) < 4; i++) {
        mts_os_sleep_ns(1000000);
    }
    if (atomic_load(&both->arrived) < 4) {
        atomic_store(&both->missed, true);
    }
}

static void a_caller_that_sleeps_is_woken_for_the_next_launch(void **state)
{
    (void)state;
    const mts_cpu_pool_calls meeting_calls = {enter, two_chunks, meet};
    mts_cpu_pool *pool = mts_cpu_pool_make(mts_allocator_default(), 2, &meeting_calls);
    meeting both = {.missed = false};
    meeting *const work = &both;
    assert_non_null(pool);
    mts_cpu_pool_run(pool, &work, 2);
    assert_false(both.missed);
    mts_cpu_pool_destroy(pool);
}

static void a_child_of_a_fork_has_threads_of_its_own(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* the sanitizer refuses threads there */
#else
    mts_cpu_pool *pool = mts_cpu_pool_make(mts_allocator_default(), 3, &calls);
    assert_true(is_right(pool));
    const pid_t child = fork();
    if (child == 0) {
        const int right = is_right(pool);
        mts_cpu_pool_destroy(pool);
        _exit(right ? 0 : 1);
    }
    int status = -1;
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(is_right(pool));
    mts_cpu_pool_destroy(pool);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chunk_runs_once_and_after_the_launch_before),
        cmocka_unit_test(a_pool_that_never_ran_and_none_are_destroyed),
        cmocka_unit_test(a_caller_that_sleeps_is_woken_for_the_next_launch),
        cmocka_unit_test(a_child_of_a_fork_has_threads_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
