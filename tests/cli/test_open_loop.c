/*
 * Requests that arrive by a clock of the test's own, on a device whose times are known: the
 * answers of queueing theory come out. Nothing sleeps.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps/mts/open_loop.h"

#define SLOTS 4

/* A device that serves one request after another, `cost` milliseconds each. */
typedef struct fake {
    double now, cost;
    /* When the device has done what it was given, and the ends of the requests that it holds. */
    double idle_at, ends[SLOTS];
    uint64_t submitted, ended, fails_at, sleeps;
    /* It holds no more requests than these, whatever the slots. */
    uint64_t most;
} fake;

static double fake_now(void *context)
{
    return ((fake *)context)->now;
}

static void fake_sleep_until(void *context, double ms)
{
    fake *f = context;
    assert_true(ms > f->now && isfinite(ms));
    f->now = ms;
    f->sleeps++;
}

static int fake_submit(void *context)
{
    fake *f = context;
    if (f->submitted - f->ended == f->most) {
        return 0;
    }
    assert_true(f->submitted - f->ended < SLOTS);
    f->idle_at = fmax(f->idle_at, f->now) + f->cost;
    f->ends[f->submitted % SLOTS] = f->idle_at;
    return f->submitted++ == f->fails_at ? -1 : 1;
}

static int fake_wait(void *context, double until)
{
    fake *f = context;
    assert_true(f->ended < f->submitted);
    const double end = f->ends[f->ended % SLOTS];
    if (end > until) {
        f->now = fmax(f->now, until);
        return 0;
    }
    f->now = fmax(f->now, end);
    f->ended++;
    return 1;
}

static fake fake_of(double cost)
{
    return (fake){.cost = cost, .fails_at = UINT64_MAX, .most = SLOTS};
}

static cli_loop_summary turn(fake *f, const cli_arrivals *arrivals, uint32_t slots)
{
    const cli_loop_world world = {.context = f,
                                  .now = fake_now,
                                  .sleep_until = fake_sleep_until,
                                  .submit = fake_submit,
                                  .wait = fake_wait};
    cli_loop_summary summary;
    cli_request *requests = calloc(arrivals->count, sizeof *requests);
    assert_non_null(requests);
    assert_true(cli_loop_run(arrivals, slots, &world, requests));
    for (size_t i = 0; i < arrivals->count; i++) {
        assert_true(requests[i].arrived == arrivals->times_ms[i]);
        assert_true(requests[i].submitted >= requests[i].arrived);
        assert_true(requests[i].ended >= requests[i].submitted + f->cost - 1e-9);
    }
    assert_true(cli_loop_summarise(requests, arrivals->count, &summary));
    free(requests);
    return summary;
}

/* Pollaczek and Khinchine: with equal service times D at a load of p, an arrival waits
   D p / (2 (1 - p)) and finds p + p^2 / (2 (1 - p)) requests in the system. */
static void poisson_arrivals_wait_as_theory_says(void **state)
{
    static const double loads[] = {0.3, 0.5, 0.8};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const double p = loads[i];
        for (uint32_t slots = 1; slots <= 2; slots++) {
            cli_arrivals arrivals;
            fake f = fake_of(2.0);
            assert_true(cli_arrivals_make(CLI_ARRIVALS_POISSON, p * 500.0, 200000, 7, &arrivals));
            assert_true(fabs(cli_arrivals_rate(&arrivals) / (p * 500.0) - 1.0) < 0.01);
            const cli_loop_summary s = turn(&f, &arrivals, slots);
            const double wait = 2.0 * p / (2.0 * (1.0 - p));
            assert_true(fabs(s.mean_ms / (2.0 + wait) - 1.0) < 0.05);
            assert_true(fabs(s.queue_mean / (p + p * p / (2.0 * (1.0 - p))) - 1.0) < 0.08);
            assert_true(fabs(s.throughput / (p * 500.0) - 1.0) < 0.01);
            assert_true(s.p50_ms <= s.p90_ms && s.p90_ms < s.p99_ms && s.p99_ms < s.p999_ms);
            assert_true(s.p999_ms <= s.most_ms);
            cli_arrivals_release(&arrivals);
        }
    }
}

static void even_arrivals_never_wait_below_saturation(void **state)
{
    cli_arrivals arrivals;
    fake f = fake_of(2.0);
    (void)state;
    assert_true(cli_arrivals_make(CLI_ARRIVALS_UNIFORM, 400.0, 1000, 1, &arrivals));
    const cli_loop_summary s = turn(&f, &arrivals, 1);
    assert_true(fabs(s.most_ms - 2.0) < 1e-9);
    assert_int_equal(s.queue_most, 0);
    assert_int_equal(f.sleeps, 999); /* the first one is there at once */
    cli_arrivals_release(&arrivals);
}

static void above_saturation_the_queue_grows_and_throughput_does_not(void **state)
{
    cli_arrivals arrivals;
    fake f = fake_of(2.0);
    (void)state;
    assert_true(cli_arrivals_make(CLI_ARRIVALS_UNIFORM, 1000.0, 1000, 1, &arrivals));
    const cli_loop_summary s = turn(&f, &arrivals, 1);
    /* request i arrives at i and ends at 2 (i + 1) */
    assert_true(fabs(s.most_ms - 1001.0) < 1e-6);
    assert_true(fabs(s.throughput - 500.0) < 1e-6);
    assert_int_equal(s.queue_most, 500);
    cli_arrivals_release(&arrivals);
}

static void a_device_that_takes_no_more_is_asked_again(void **state)
{
    cli_arrivals arrivals;
    fake f = fake_of(1.0);
    (void)state;
    f.most = 1;
    assert_true(cli_arrivals_make(CLI_ARRIVALS_UNIFORM, 1e6, 100, 1, &arrivals));
    const cli_loop_summary s = turn(&f, &arrivals, SLOTS);
    assert_true(fabs(s.throughput - 1000.0) < 1.0);
    assert_int_equal(f.ended, 100);
    cli_arrivals_release(&arrivals);
}

static void a_failure_ends_the_turn(void **state)
{
    cli_arrivals arrivals;
    cli_request requests[10];
    fake f = fake_of(1.0);
    const cli_loop_world world = {&f, fake_now, fake_sleep_until, fake_submit, fake_wait};
    (void)state;
    f.fails_at = 5;
    assert_true(cli_arrivals_make(CLI_ARRIVALS_UNIFORM, 10.0, 10, 1, &arrivals));
    assert_false(cli_loop_run(&arrivals, 1, &world, requests));
    assert_int_equal(f.submitted, 6);
    cli_arrivals_release(&arrivals);
}

static void the_same_seed_is_the_same_arrivals(void **state)
{
    cli_arrivals a, b, c;
    (void)state;
    assert_true(cli_arrivals_make(CLI_ARRIVALS_POISSON, 100.0, 50, 1, &a));
    assert_true(cli_arrivals_make(CLI_ARRIVALS_POISSON, 100.0, 50, 1, &b));
    assert_true(cli_arrivals_make(CLI_ARRIVALS_POISSON, 100.0, 50, 2, &c));
    assert_memory_equal(a.times_ms, b.times_ms, 50 * sizeof *a.times_ms);
    assert_memory_not_equal(a.times_ms, c.times_ms, 50 * sizeof *a.times_ms);
    cli_arrivals_release(&a);
    cli_arrivals_release(&b);
    cli_arrivals_release(&c);
}

static void traces_are_read_and_scaled(void **state)
{
    static const char text[] = "# ms\n10\n 20.5 \r\n\n20.5\n30";
    char error[CLI_ARRIVALS_ERROR] = "";
    cli_arrivals read, scaled;
    (void)state;
    assert_true(cli_arrivals_read(text, sizeof text - 1, &read, error));
    assert_int_equal(read.count, 4);
    assert_true(read.times_ms[0] == 10.0 && read.times_ms[2] == 20.5 && read.times_ms[3] == 30.0);
    assert_true(fabs(cli_arrivals_rate(&read) - 150.0) < 1e-9);
    assert_true(cli_arrivals_scale(&read, 300.0, &scaled));
    assert_true(scaled.times_ms[0] == 0.0 && fabs(scaled.times_ms[1] - 5.25) < 1e-9);
    assert_true(fabs(cli_arrivals_rate(&scaled) - 300.0) < 1e-9);
    cli_arrivals_release(&read);
    cli_arrivals_release(&scaled);
}

static void traces_that_are_none_are_refused(void **state)
{
    static const struct {
        const char *text, *said;
    } cases[] = {{"", "no arrivals"},      {"# nothing\n\n", "no arrivals"},
                 {"1\n2\nx\n", "line 3 "}, {"5\n4\n", "line 2: 4 is before 5"},
                 {"-1\n", "line 1 "},      {"1\nnan\n", "line 2 "},
                 {"1\ninf\n", "line 2 "},  {"1 2\n", "line 1 "},
                 {"1\n1e999\n", "line 2 "}};
    char error[CLI_ARRIVALS_ERROR];
    cli_arrivals read;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        error[0] = '\0';
        assert_false(cli_arrivals_read(cases[i].text, strlen(cases[i].text), &read, error));
        assert_null(read.times_ms);
        if (!strstr(error, cases[i].said)) {
            fail_msg("'%s' said '%s' instead of '%s'", cases[i].text, error, cases[i].said);
        }
    }
    char line[200];
    memset(line, '1', sizeof line);
    assert_false(cli_arrivals_read(line, sizeof line, &read, error));
    assert_false(cli_arrivals_read("1\0\n", 3, &read, error));
    assert_true(cli_arrivals_read("1\n1\n", 4, &read, error));
    assert_true(cli_arrivals_rate(&read) == 0.0); /* no time passes between them */
    cli_arrivals scaled;
    assert_false(cli_arrivals_scale(&read, 10.0, &scaled));
    cli_arrivals_release(&read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poisson_arrivals_wait_as_theory_says),
        cmocka_unit_test(even_arrivals_never_wait_below_saturation),
        cmocka_unit_test(above_saturation_the_queue_grows_and_throughput_does_not),
        cmocka_unit_test(a_device_that_takes_no_more_is_asked_again),
        cmocka_unit_test(a_failure_ends_the_turn),
        cmocka_unit_test(the_same_seed_is_the_same_arrivals),
        cmocka_unit_test(traces_are_read_and_scaled),
        cmocka_unit_test(traces_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
