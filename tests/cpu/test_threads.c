/*
 * Sessions on device cpu and the threads that they use: how many, what they cost between runs, forks, two runtimes at once.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "platform/cpu/sets.h"
#include "support/api_fixture.h"

#define ANSWERS 64
#define IDLE_MS 300

typedef struct answers {
    float values[ANSWERS];
    size_t count;
} answers;

static void open_with(api_world *w, uint32_t threads)
{
    const mts_session_options session = api_two_tasks();
    memset(w, 0, sizeof *w);
    mts_runtime_options options = api_options(&w->fixture, "cpu");
    options.threads = threads;
    assert_int_equal(mts_runtime_create(&options, &w->fixture.runtime), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_open(w->fixture.runtime, api_bundle_path(), &w->bundle), MTS_STATUS_OK);
    assert_int_equal(mts_session_create(w->fixture.runtime, w->bundle, &session, &w->session), MTS_STATUS_OK);
    api_pixels(w->pixels, 7);
}

static int run(api_world *w, answers *out)
{
    const mts_frame frame = api_frame(w->pixels);
    mts_ticket ticket = 0;
    mts_tensor tensor;
    if (mts_session_submit(w->session, &frame, &ticket) != MTS_STATUS_OK ||
        mts_session_wait(w->session, ticket, MTS_TIMEOUT_INFINITE) != MTS_STATUS_OK ||
        mts_session_output(w->session, "object", 0, &tensor) != MTS_STATUS_OK) {
        return 0;
    }
    out->count = tensor.bytes / sizeof(float);
    out->count = out->count < ANSWERS ? out->count : ANSWERS;
    memcpy(out->values, tensor.data, out->count * sizeof(float));
    return out->count > 0;
}

static int same_bits(const answers *a, const answers *b)
{
    return a->count == b->count && memcmp(a->values, b->values, a->count * sizeof(float)) == 0;
}

static uint32_t threads_of(uint32_t wanted)
{
    api_fixture fixture;
    mts_device_desc desc = {.size = sizeof desc};
    mts_runtime_options options = api_options(&fixture, "cpu");
    options.threads = wanted;
    assert_int_equal(mts_runtime_create(&options, &fixture.runtime), MTS_STATUS_OK);
    assert_int_equal(mts_runtime_device(fixture.runtime, &desc), MTS_STATUS_OK);
    api_close(&fixture);
    return desc.compute_units;
}

static void threads_are_those_asked_for_or_one_for_each_processor_of_the_callers_set(void **state)
{
    cpu_set_t before, one;
    size_t first = 0;
    (void)state;
    assert_int_equal(threads_of(1), 1);
    assert_int_equal(threads_of(3), 3);
    assert_int_equal(threads_of(MTS_THREADS_MOST), MTS_THREADS_MOST);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(threads_of(0), CPU_COUNT(&before));
    while (!CPU_ISSET(first, &before)) {
        first++;
    }
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) {
        assert_int_equal(threads_of(0), 1);
        assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    }
}

static void every_number_of_threads_computes_the_same(void **state)
{
    answers first = {.count = 0};
    (void)state;
    for (uint32_t threads = 1; threads <= 6; threads++) {
        api_world w;
        answers got, again;
        open_with(&w, threads);
        assert_true(run(&w, &got));
        for (int i = 0; i < 20; i++) {
            assert_true(run(&w, &again) && same_bits(&got, &again));
        }
        first = threads == 1 ? got : first;
        assert_int_equal(got.count, first.count);
        for (size_t i = 0; i < got.count; i++) {
            assert_true(fabsf(got.values[i] - first.values[i]) <= 1e-4f * (1.0f + fabsf(first.values[i])));
        }
        api_world_close(&w);
    }
}

static double processor_ms(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void an_idle_session_leaves_the_processors_alone(void **state)
{
    const struct timespec nap = {0, IDLE_MS * 1000000L};
    api_world w;
    answers got;
    (void)state;
    open_with(&w, 8);
    assert_true(run(&w, &got));
    const double before = processor_ms();
    assert_int_equal(nanosleep(&nap, NULL), 0);
    const double idle = processor_ms() - before;
    print_message("%.3f ms of the processors in %d ms without a run\n", idle, IDLE_MS);
    assert_true(idle < IDLE_MS / 20.0);
    api_world_close(&w);
}

/* Destroys everything too, so that a thread which is not there would be waited for. */
static int child_runs(api_world *w, const answers *expected)
{
    answers got;
    for (int i = 0; i < 10; i++) {
        if (!run(w, &got) || !same_bits(&got, expected)) {
            return 1;
        }
    }
    mts_session_destroy(&w->session);
    mts_bundle_destroy(&w->bundle);
    mts_runtime_destroy(&w->fixture.runtime);
    return w->fixture.alive == 0 ? 0 : 2;
}

/* `runs`: false: the child only destroys what it got. */
static void fork_once(api_world *w, const answers *expected, int runs)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        if (!runs) {
            mts_session_destroy(&w->session);
            mts_bundle_destroy(&w->bundle);
            mts_runtime_destroy(&w->fixture.runtime);
            _exit(0);
        }
        _exit(child_runs(w, expected));
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_child_of_a_fork_runs_the_session_and_the_parent_goes_on(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* the sanitizer refuses threads there */
#else
    api_world w;
    answers expected, got;
    open_with(&w, 4);
    assert_true(run(&w, &expected));
    fork_once(&w, &expected, 1);
    fork_once(&w, &expected, 0);
    assert_true(run(&w, &got) && same_bits(&got, &expected));
    api_world_close(&w);
#endif
}

static void *run_many(void *argument)
{
    api_world *w = argument;
    answers first, got;
    if (!run(w, &first)) {
        return w;
    }
    for (int i = 0; i < 30; i++) {
        if (!run(w, &got) || !same_bits(&got, &first)) {
            return w;
        }
    }
    return NULL;
}

static void two_runtimes_run_at_the_same_time(void **state)
{
    static api_world worlds[2];
    pthread_t threads[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        open_with(&worlds[i], 3);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_many, &worlds[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        void *wrong = NULL;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
        api_world_close(&worlds[i]);
    }
}

static int remove_bundle(void **state)
{
    (void)state;
    api_bundle_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_are_those_asked_for_or_one_for_each_processor_of_the_callers_set),
        cmocka_unit_test(every_number_of_threads_computes_the_same),
        cmocka_unit_test(an_idle_session_leaves_the_processors_alone),
        cmocka_unit_test(a_child_of_a_fork_runs_the_session_and_the_parent_goes_on),
        cmocka_unit_test(two_runtimes_run_at_the_same_time),
    };
    if (!mts_cpu_set_best()) {
        return 77; /* no kernels were compiled for this processor */
    }
    return cmocka_run_group_tests(tests, NULL, remove_bundle);
}
