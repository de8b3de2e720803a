/*
 * test_pool.c: threads of the cpu backend: every chunk once, launches behind those that they wait for, by all threads, also
 * after a fork.
 */
#define _GNU_SOURCE /* sched_getaffinity */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "platform/cpu/pool.h"
#include "platform/os/os.h"
#include "platform/os/thread.h"

enum { LAUNCHES = 300, CHUNKS = 64, RUNS = 20, DAG_LAUNCHES = 40, DAG_CHUNKS = 4, DAG_EDGES = 4 };

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
static void run_chunk(const void *work, const mts_cpu_chunk *chunk, uint32_t thread)
{
    const uint32_t launch = chunk->launch;
    const uint32_t before = launch > 0 ? cells[launch - 1][chunks_of(work, launch - 1, 1) - 1] : 0;
    (void)work;
    (void)thread;
    cells[launch][chunk->chunk] += before + 1;
}

static const mts_cpu_pool_calls calls = {enter, chunks_of, run_chunk};

/* Each launch waits for the one before, which makes it a level of its own. */
static void run_chain_by(mts_cpu_pool *pool, const void *work, uint32_t count, bool levels)
{
    static uint32_t waits[LAUNCHES], next_first[LAUNCHES + 1], next[LAUNCHES], level_first[LAUNCHES + 1];
    for (uint32_t i = 0; i <= count; i++) {
        level_first[i] = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        waits[i] = i > 0 ? 1 : 0;
        next_first[i] = i;
        next[i] = i + 1;
    }
    next_first[count] = count - 1;
    const mts_cpu_order order = {count, waits, next_first, next, levels ? count : 0, level_first};
    assert_true(mts_cpu_pool_reserve(pool, count));
    mts_cpu_pool_run(pool, &order, work, false);
}

static void run_chain(mts_cpu_pool *pool, const void *work, uint32_t count)
{
    static uint32_t runs;
    run_chain_by(pool, work, count, runs++ % 2 == 0);
}

static int is_right(mts_cpu_pool *pool)
{
    memset(cells, 0, sizeof cells);
    run_chain(pool, NULL, LAUNCHES);
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

static void meet(const void *work, const mts_cpu_chunk *chunk, uint32_t thread)
{
    meeting *both = *(meeting *const *)work;
    if (chunk->launch == 0) {
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
    for (int levels = 0; levels < 2; levels++) {
        atomic_store(&both.arrived, 0);
        run_chain_by(pool, &work, 2, levels > 0);
        assert_false(both.missed);
    }
    mts_cpu_pool_destroy(pool);
}

/* A chunk for each thread, which none leaves before all are there, and the processor that it ran on. */
typedef struct places {
    _Atomic(uint32_t) arrived;
    uint32_t processor[2];
} places;

static void stand(const void *work, const mts_cpu_chunk *chunk, uint32_t thread)
{
    places *at = *(places *const *)work;
    (void)chunk;
    at->processor[thread] = mts_os_processor();
    atomic_fetch_add(&at->arrived, 1);
    while (atomic_load(&at->arrived) < 2) {
        mts_os_pause();
    }
}

/* A walk of the calling thread over some processors, with a run of the pool on each. */
typedef struct walk {
    mts_cpu_pool *pool;
    places at;
    cpu_set_t over;
    uint32_t runs, elsewhere,
        together; /* runs; of them with the caller elsewhere, and with both on one processor */
} walk;

static void *walk_over(void *context)
{
    walk *w = context;
    places *const work = &w->at;
    for (uint32_t processor = 0; processor < CPU_SETSIZE; processor++) {
        if (CPU_ISSET(processor, &w->over)) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(processor, &one);
            (void)sched_setaffinity(0, sizeof one, &one);
            atomic_store(&w->at.arrived, 0);
            run_chain(w->pool, &work, 1);
            w->runs++;
            w->elsewhere += w->at.processor[0] != processor;
            w->together += w->at.processor[0] == w->at.processor[1];
        }
    }
    return NULL;
}

/* What the process may use is what its first thread may, which runs this test; a camera's thread pins only itself. */
static void workers_avoid_the_processor_of_the_caller_wherever_it_goes(void **state)
{
    (void)state;
    const mts_cpu_pool_calls stand_calls = {enter, two_chunks, stand};
    walk w = {.runs = 0};
    assert_int_equal(sched_getaffinity(0, sizeof w.over, &w.over), 0);
    const cpu_set_t all = w.over;
    if (CPU_COUNT(&all) < 2) {
        skip();
    }
    w.pool = mts_cpu_pool_make(mts_allocator_default(), 2, &stand_calls);
    assert_non_null(w.pool);
    places *const work = &w.at;
    run_chain(w.pool, &work, 1); /* the worker starts with all processors */
    for (int round = 0; round < 2; round++) {
        pthread_t camera;
        assert_int_equal(pthread_create(&camera, NULL, walk_over, &w), 0);
        assert_int_equal(pthread_join(camera, NULL), 0);
    }
    assert_int_equal(w.runs, 2 * CPU_COUNT(&all));
    assert_int_equal(w.elsewhere, 0);
    assert_int_equal(w.together, 0);
    (void)walk_over(&w); /* the process has one processor at a time now */
    assert_int_equal(w.runs, 3 * CPU_COUNT(&all));
    assert_int_equal(w.elsewhere, 0);
    assert_int_equal(w.together, CPU_COUNT(&all));
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    mts_cpu_pool_destroy(w.pool);
}

/*
 * Launches that wait for some of the earlier ones, each chunk of which mixes all chunks of those: a launch that starts too
 * early, a chunk that is left out or runs twice gives other numbers.
 */
typedef struct dag {
    uint32_t count;
    uint32_t waits[DAG_LAUNCHES], next_first[DAG_LAUNCHES + 1], next[DAG_LAUNCHES * DAG_EDGES];
    uint32_t before[DAG_LAUNCHES][DAG_EDGES], chunks[DAG_LAUNCHES];
    uint32_t levels, level_first[DAG_LAUNCHES + 1]; /* of a third of them */
    uint32_t cells[DAG_LAUNCHES][DAG_CHUNKS];
} dag;

static uint32_t dag_chunks(const void *work, uint32_t launch, uint32_t threads)
{
    (void)threads;
    return (*(dag *const *)work)->chunks[launch];
}

static void mix(const void *work, const mts_cpu_chunk *chunk, uint32_t thread)
{
    dag *d = *(dag *const *)work;
    uint32_t sum = chunk->launch * 97 + chunk->chunk + 1;
    (void)thread;
    for (uint32_t i = 0; chunk->chunk == 1 && i < 100; i++) {
        mts_os_pause(); /* time for other threads to do wrong */
    }
    for (uint32_t i = 0; i < d->waits[chunk->launch]; i++) {
        const uint32_t from = d->before[chunk->launch][i];
        for (uint32_t c = 0; c < d->chunks[from]; c++) {
            sum = sum * 31 + d->cells[from][c];
        }
    }
    d->cells[chunk->launch][chunk->chunk] = d->cells[chunk->launch][chunk->chunk] * 7 + sum;
}

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

static void draw_dag(dag *d, uint32_t seed)
{
    uint32_t at = 0;
    memset(d, 0, sizeof *d);
    d->count = 1 + draw(&seed, DAG_LAUNCHES);
    const bool by_levels = draw(&seed, 3) == 0;
    const uint32_t edges = draw(&seed, DAG_EDGES + 1), widest = 1 + draw(&seed, 4);
    for (uint32_t i = 0; i < d->count; i++) {
        const uint32_t wide = by_levels && i > 0 ? i - d->level_first[d->levels - 1] : 0;
        d->chunks[i] = 1 + draw(&seed, DAG_CHUNKS);
        if (by_levels && (i == 0 || wide == widest || draw(&seed, 2) == 0)) {
            d->level_first[d->levels++] = i;
        }
        const uint32_t earlier = by_levels ? d->level_first[d->levels - 1] : i;
        for (uint32_t e = 0; earlier > 0 && e < edges; e++) {
            const uint32_t from = draw(&seed, earlier);
            bool known = draw(&seed, 3) == 0;
            for (uint32_t k = 0; k < d->waits[i]; k++) {
                known = known || d->before[i][k] == from;
            }
            if (!known) {
                d->before[i][d->waits[i]++] = from;
            }
        }
    }
    d->level_first[d->levels] = d->levels > 0 ? d->count : 0;
    for (uint32_t from = 0; from < d->count; from++) {
        d->next_first[from] = at;
        for (uint32_t i = from + 1; i < d->count; i++) {
            for (uint32_t k = 0; k < d->waits[i]; k++) {
                if (d->before[i][k] == from) {
                    d->next[at++] = i;
                }
            }
        }
    }
    d->next_first[d->count] = at;
}

/* 10^5 of them; MTS_TEST_DAGS says how many instead. */
static void launches_of_a_graph_run_behind_those_that_they_wait_for(void **state)
{
    (void)state;
    const mts_cpu_pool_calls dag_calls = {enter, dag_chunks, mix};
    const char *wanted = getenv("MTS_TEST_DAGS");
    const uint32_t graphs = wanted ? (uint32_t)strtoul(wanted, NULL, 10) : 100000;
    static dag d, alone;
    dag *const work = &d, *const work_alone = &alone;
    for (uint32_t threads = 1; threads <= 8; threads++) {
        mts_cpu_pool *pool = mts_cpu_pool_make(mts_allocator_default(), threads, &dag_calls);
        mts_cpu_pool *one = mts_cpu_pool_make(mts_allocator_default(), 1, &dag_calls);
        assert_non_null(pool);
        assert_non_null(one);
        /* Most with few threads: many on few processors take turns of the system's clock. */
        for (uint32_t g = 0; g < (threads == 2 ? graphs - graphs / 16 : graphs / 112); g++) {
            draw_dag(&d, g * 8 + threads);
            alone = d;
            const mts_cpu_order order = {d.count, d.waits, d.next_first, d.next, d.levels, d.level_first};
            assert_true(mts_cpu_pool_reserve(pool, d.count));
            mts_cpu_pool_run(pool, &order, &work, false);
            mts_cpu_pool_run(one, &order, &work_alone, false);
            assert_memory_equal(d.cells, alone.cells, sizeof d.cells);
        }
        mts_cpu_pool_destroy(pool);
        mts_cpu_pool_destroy(one);
    }
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

static _Atomic(int) child_of_a_run;

static bool child_by_levels;

/* The caller's thread forks in the middle of a run. The child runs something shorter on the same pool. */
static void fork_once(const void *work, const mts_cpu_chunk *chunk, uint32_t thread)
{
    static const uint32_t waits[1], next_first[2], next[1], level_first[2] = {0, 1};
    const mts_cpu_order order = {1, waits, next_first, next, child_by_levels ? 1 : 0, level_first};
    mts_cpu_pool *const *pool = work;
    if (pool && chunk->launch >= 2 && thread == 0 && atomic_load(&child_of_a_run) == 0) {
        const pid_t child = fork();
        if (child == 0) {
            (void)alarm(20);
            mts_cpu_pool_run(*pool, &order, NULL, false);
            _exit(0);
        }
        atomic_store(&child_of_a_run, (int)child);
    }
}

static void a_child_of_a_fork_within_a_run_begins_its_own(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* the sanitizer refuses threads there */
#else
    const mts_cpu_pool_calls forking = {enter, chunks_of, fork_once};
    for (int which = 0; which < 4; which++) { /* both kinds of a run, in the parent and in the child */
        mts_cpu_pool *pool = mts_cpu_pool_make(mts_allocator_default(), 3, &forking);
        assert_non_null(pool);
        child_by_levels = which / 2 == 1;
        atomic_store(&child_of_a_run, 0);
        run_chain_by(pool, &pool, LAUNCHES, which % 2 == 1);
        const pid_t child = (pid_t)atomic_load(&child_of_a_run);
        int status = -1;
        if (child > 0) { /* the caller's thread got a chunk at all */
            assert_true(waitpid(child, &status, 0) == child);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
        mts_cpu_pool_destroy(pool);
    }
#endif
}

/* As the sessions of a runtime open lists of many lengths, in turn. */
static void a_pool_grows_with_its_runs(void **state)
{
    (void)state;
    mts_cpu_pool *pool = mts_cpu_pool_make(mts_allocator_default(), 3, &calls);
    assert_non_null(pool);
    for (uint32_t launches = 1; launches <= LAUNCHES; launches += 7) {
        run_chain_by(pool, NULL, launches, true);
        run_chain_by(pool, NULL, launches, false);
    }
    mts_cpu_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chunk_runs_once_and_after_the_launch_before),
        cmocka_unit_test(a_pool_that_never_ran_and_none_are_destroyed),
        cmocka_unit_test(a_caller_that_sleeps_is_woken_for_the_next_launch),
        cmocka_unit_test(workers_avoid_the_processor_of_the_caller_wherever_it_goes),
        cmocka_unit_test(launches_of_a_graph_run_behind_those_that_they_wait_for),
        cmocka_unit_test(a_child_of_a_fork_has_threads_of_its_own),
        cmocka_unit_test(a_child_of_a_fork_within_a_run_begins_its_own),
        cmocka_unit_test(a_pool_grows_with_its_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
