/*
 * The frames of a rated workload by a clock of the test's own: when they arrive, which
 * run together, which are dropped. Nothing sleeps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "apps/mts/bench_schedule.h"

#define TASKS 3
#define RUNS 64

/* A device that takes cost[t] milliseconds for each task of a submission. */
typedef struct fake {
    double now;
    double cost[TASKS];
    uint32_t tasks;
    /* Of each run: when it began, and its tasks as bits. */
    double began[RUNS];
    uint32_t mask[RUNS];
    uint32_t runs;
    uint32_t kept[TASKS], dropped[TASKS];
    /* Frame and end that were reported last. */
    uint64_t last_frame[TASKS];
    double last_end[TASKS];
    uint32_t sleeps;
    /* The run that fails; RUNS: none. */
    uint32_t fails;
} fake;

static double fake_now(void *context)
{
    return ((fake *)context)->now;
}

static void fake_sleep_until(void *context, double ms)
{
    fake *f = context;
    assert_true(ms > f->now);
    f->now = ms;
    f->sleeps++;
}

static bool fake_run(void *context, const bool *chosen)
{
    fake *f = context;
    assert_true(f->runs < RUNS);
    f->began[f->runs] = f->now;
    for (uint32_t t = 0; t < f->tasks; t++) {
        f->mask[f->runs] |= chosen[t] ? 1u << t : 0;
        f->now += chosen[t] ? f->cost[t] : 0.0;
    }
    return f->runs++ != f->fails;
}

static void fake_ended(void *context, size_t task, uint64_t frame, double end)
{
    fake *f = context;
    /* Frames of a task are reported in order, none twice. */
    assert_int_equal(frame, f->kept[task] + f->dropped[task]);
    f->kept[task] += end < 0.0 ? 0 : 1;
    f->dropped[task] += end < 0.0 ? 1 : 0;
    f->last_frame[task] = frame;
    f->last_end[task] = end;
}

static bool turn(fake *f, cli_rated_task *tasks, cli_schedule schedule)
{
    bool chosen[TASKS];
    const cli_rated_world world = {
        .context = f, .now = fake_now, .sleep_until = fake_sleep_until, .run = fake_run, .ended = fake_ended};
    return cli_rated_turn(tasks, f->tasks, schedule, &world, chosen);
}

static cli_rated_task task(double interval, double cost, uint64_t frames)
{
    return (cli_rated_task){
        .interval_ms = interval, .deadline_ms = interval, .cost_ms = cost, .frames = frames};
}

static void frames_of_a_turn_are_those_that_arrive_before_its_end(void **state)
{
    (void)state;
    assert_int_equal(cli_rated_frames(10.0, 100.0), 10);
    assert_int_equal(cli_rated_frames(10.0, 100.1), 11);
    assert_int_equal(cli_rated_frames(10.0, 99.9), 10);
    assert_int_equal(cli_rated_frames(1e3 / 60.0, 1e3), 60);
    assert_int_equal(cli_rated_frames(1e3 / 45.0, 10e3), 450);
    assert_int_equal(cli_rated_frames(10.0, 0.0), 0);
    assert_int_equal(cli_rated_frames(1e6, 1.0), 1);
}

static void due_frames_run_together(void **state)
{
    (void)state;
    cli_rated_task tasks[] = {task(10, 1, 4), task(20, 2, 2), task(40, 3, 1)};
    fake f = {.tasks = 3, .cost = {1, 2, 3}, .fails = RUNS};
    assert_true(turn(&f, tasks, CLI_SCHEDULE_TOGETHER));
    const uint32_t masks[] = {7, 1, 3, 1};
    assert_int_equal(f.runs, 4);
    for (uint32_t r = 0; r < 4; r++) {
        assert_int_equal(f.mask[r], masks[r]);
        assert_true(f.began[r] == 10.0 * r);
    }
    assert_int_equal(f.sleeps, 3);
    assert_int_equal(f.kept[0], 4);
    assert_int_equal(f.kept[1], 2);
    assert_int_equal(f.kept[2], 1);
}

static void alone_the_earliest_deadline_runs_first(void **state)
{
    (void)state;
    cli_rated_task tasks[] = {task(40, 3, 1), task(20, 2, 1), task(10, 1, 1)};
    fake f = {.tasks = 3, .cost = {3, 2, 1}, .fails = RUNS};
    assert_true(turn(&f, tasks, CLI_SCHEDULE_ALONE));
    assert_int_equal(f.runs, 3);
    assert_int_equal(f.mask[0], 4);
    assert_int_equal(f.mask[1], 2);
    assert_int_equal(f.mask[2], 1);
    assert_true(f.last_end[2] == 1.0 && f.last_end[1] == 3.0 && f.last_end[0] == 6.0);
}

static void a_frame_whose_deadline_passes_before_it_runs_is_dropped(void **state)
{
    (void)state;
    /* Task 1 occupies the device for 35 ms: frames 1 and 2 of task 0 are lost by then,
       frame 3 runs. */
    cli_rated_task tasks[] = {task(10, 1, 4), task(100, 35, 1)};
    fake f = {.tasks = 2, .cost = {1, 35}, .fails = RUNS};
    assert_true(turn(&f, tasks, CLI_SCHEDULE_TOGETHER));
    assert_int_equal(f.kept[0], 2);
    assert_int_equal(f.dropped[0], 2);
    assert_int_equal(f.last_frame[0], 3);
    assert_true(f.last_end[0] == 37.0);
}

static void a_deadline_may_be_longer_than_the_interval(void **state)
{
    (void)state;
    cli_rated_task tasks[] = {task(10, 25, 3)};
    fake f = {.tasks = 1, .cost = {25}, .fails = RUNS};
    tasks[0].deadline_ms = 100;
    assert_true(turn(&f, tasks, CLI_SCHEDULE_ALONE));
    assert_int_equal(f.kept[0], 3);
    assert_true(f.last_end[0] == 75.0);
}

static void fit_joins_frames_only_while_all_end_in_half_of_the_time(void **state)
{
    (void)state;
    /* 2 + 2.5 end before 5, half of the first deadline; with 1 more it would be later. */
    cli_rated_task tasks[] = {task(10, 2, 1), task(20, 2.5, 1), task(40, 1, 1)};
    fake f = {.tasks = 3, .cost = {2, 2.5, 1}, .fails = RUNS};
    assert_true(turn(&f, tasks, CLI_SCHEDULE_FIT));
    assert_int_equal(f.runs, 2);
    assert_int_equal(f.mask[0], 3);
    assert_int_equal(f.mask[1], 4);
    assert_true(f.last_end[0] == 4.5 && f.last_end[2] == 5.5);
}

static void fit_drops_a_frame_that_cannot_end_in_time(void **state)
{
    (void)state;
    cli_rated_task tasks[] = {task(10, 12, 3), task(30, 6, 1)};
    fake f = {.tasks = 2, .cost = {12, 6}, .fails = RUNS};
    assert_true(turn(&f, tasks, CLI_SCHEDULE_FIT));
    assert_int_equal(f.dropped[0], 3);
    assert_int_equal(f.kept[1], 1);
    assert_true(f.last_end[1] == 6.0);
}

/* Costs that were measured while the machine was disturbed. */
static void a_wrong_cost_is_corrected_by_runs(void **state)
{
    (void)state;
    /* Too high: after 15 frames one runs all the same, and then all do. */
    cli_rated_task high[] = {task(10, 25, 40)};
    fake f = {.tasks = 1, .cost = {4}, .fails = RUNS};
    assert_true(turn(&f, high, CLI_SCHEDULE_FIT));
    assert_int_equal(f.dropped[0], CLI_RATED_REFUSED - 1);
    assert_int_equal(f.kept[0], 41 - CLI_RATED_REFUSED);
    assert_true(high[0].cost_ms > 3.999 && high[0].cost_ms < 4.001);
    /* Too low: the two run together until it is known that they cannot end in time. */
    cli_rated_task low[] = {task(10, 2, 12), task(10, 2, 12)};
    fake g = {.tasks = 2, .cost = {6, 6}, .fails = RUNS};
    assert_true(turn(&g, low, CLI_SCHEDULE_FIT));
    assert_int_equal(g.mask[0], 3);
    assert_true(g.mask[g.runs - 1] == 1 || g.mask[g.runs - 1] == 2);
    assert_true(low[0].cost_ms > 5.0 && low[0].cost_ms < 6.5);
    /* Right: nothing changes. A task that never can end in time runs now and then. */
    cli_rated_task never[] = {task(10, 12, 48)};
    fake h = {.tasks = 1, .cost = {12}, .fails = RUNS};
    assert_true(turn(&h, never, CLI_SCHEDULE_FIT));
    assert_true(h.kept[0] >= 2 && h.kept[0] <= 3);
    assert_true(never[0].cost_ms > 11.999 && never[0].cost_ms < 12.001);
}

static void the_more_important_frame_runs_first(void **state)
{
    (void)state;
    cli_rated_task tasks[] = {task(10, 1, 1), task(40, 2, 1), task(40, 3, 1)};
    fake f = {.tasks = 3, .cost = {1, 2, 3}, .fails = RUNS};
    tasks[1].importance = tasks[2].importance = 5;
    assert_true(turn(&f, tasks, CLI_SCHEDULE_TOGETHER));
    assert_int_equal(f.runs, 2);
    assert_int_equal(f.mask[0], 6);
    assert_int_equal(f.mask[1], 1);
    fake g = {.tasks = 3, .cost = {1, 2, 3}, .fails = RUNS};
    assert_true(turn(&g, tasks, CLI_SCHEDULE_ALONE));
    assert_int_equal(g.mask[0], 2);
    assert_int_equal(g.mask[1], 4);
    assert_int_equal(g.mask[2], 1);
}

static void a_failed_run_ends_the_turn(void **state)
{
    (void)state;
    cli_rated_task tasks[] = {task(10, 1, 4)};
    fake f = {.tasks = 1, .cost = {1}, .fails = 1};
    assert_false(turn(&f, tasks, CLI_SCHEDULE_FIT));
    assert_int_equal(f.kept[0], 1);
    fake again = {.tasks = 1, .cost = {1}, .fails = RUNS};
    assert_true(turn(&again, tasks, CLI_SCHEDULE_FIT));
    assert_int_equal(again.kept[0], 4);
}

static void every_frame_is_kept_or_dropped_under_overload(void **state)
{
    (void)state;
    for (int schedule = 0; schedule < CLI_SCHEDULE_COUNT; schedule++) {
        cli_rated_task tasks[] = {task(10, 7, 20), task(15, 9, 13), task(50, 20, 4)};
        fake f = {.tasks = 3, .cost = {7, 9, 20}, .fails = RUNS};
        assert_true(turn(&f, tasks, (cli_schedule)schedule));
        for (uint32_t t = 0; t < 3; t++) {
            assert_int_equal(f.kept[t] + f.dropped[t], tasks[t].frames);
        }
        assert_true(f.dropped[0] + f.dropped[1] + f.dropped[2] > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_a_turn_are_those_that_arrive_before_its_end),
        cmocka_unit_test(due_frames_run_together),
        cmocka_unit_test(alone_the_earliest_deadline_runs_first),
        cmocka_unit_test(a_frame_whose_deadline_passes_before_it_runs_is_dropped),
        cmocka_unit_test(a_deadline_may_be_longer_than_the_interval),
        cmocka_unit_test(fit_joins_frames_only_while_all_end_in_half_of_the_time),
        cmocka_unit_test(fit_drops_a_frame_that_cannot_end_in_time),
        cmocka_unit_test(a_wrong_cost_is_corrected_by_runs),
        cmocka_unit_test(the_more_important_frame_runs_first),
        cmocka_unit_test(a_failed_run_ends_the_turn),
        cmocka_unit_test(every_frame_is_kept_or_dropped_under_overload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
