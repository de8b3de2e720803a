/*
 * Kept, late and dropped frames as numbers: percentiles, and XRBench's score worked out
 * by hand.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "apps/mts/bench_score.h"

static void is_near(double got, double wanted)
{
    assert_true(fabs(got - wanted) < 1e-9);
}

static void a_frame_scores_by_the_milliseconds_after_its_deadline(void **state)
{
    (void)state;
    is_near(cli_score_frame(0.0), 0.5);
    is_near(cli_score_frame(0.1), 1.0 / (1.0 + exp(1.5)));
    is_near(cli_score_frame(-0.1) + cli_score_frame(0.1), 1.0);
    is_near(cli_score_frame(-1000.0), 1.0);
    is_near(cli_score_frame(1e9), 0.0);
}

static void percentiles_are_nearest_ranks(void **state)
{
    (void)state;
    cli_frames frames = {0};
    assert_true(cli_frames_reserve(&frames, 1000));
    for (uint32_t i = 1000; i > 0; i--) {
        cli_frames_ran(&frames, i, 2000.0);
    }
    const cli_tail tail = cli_frames_tail(&frames);
    is_near(tail.p50, 501.0);
    is_near(tail.p99, 990.0);
    is_near(tail.p999, 999.0);
    is_near(tail.most, 1000.0);
    cli_frames_release(&frames);
}

static void no_frames_have_no_latency(void **state)
{
    (void)state;
    cli_frames frames = {0};
    const cli_tail none = cli_frames_tail(&frames);
    assert_true(none.p50 == 0.0 && none.most == 0.0);
    is_near(cli_frames_quality(&frames), 1.0);
    is_near(cli_frames_realtime(&frames), 1.0);
    is_near(cli_frames_score(NULL, 0), 0.0);
    cli_frames_dropped(&frames);
    is_near(cli_frames_quality(&frames), 0.0);
    is_near(cli_frames_score(&frames, 1), 0.0);
    assert_true(cli_frames_tail(&frames).p999 == 0.0);
}

static void a_score_is_the_mean_over_networks(void **state)
{
    (void)state;
    cli_frames networks[2] = {{0}, {0}};
    assert_true(cli_frames_reserve(&networks[0], 4) && cli_frames_reserve(&networks[1], 4));
    /* 3 in time, 1 dropped: 3/4 of the score, times 3/4 of the frames. */
    for (int i = 0; i < 3; i++) {
        cli_frames_ran(&networks[0], 5.0, 100.0);
    }
    cli_frames_dropped(&networks[0]);
    /* 1 in time, 1 just at its deadline, which is not late. */
    cli_frames_ran(&networks[1], 5.0, 100.0);
    cli_frames_ran(&networks[1], 100.0, 100.0);
    is_near(cli_frames_quality(&networks[0]), 0.75);
    is_near(cli_frames_realtime(&networks[0]), 0.75);
    assert_int_equal(networks[1].late, 0);
    is_near(cli_frames_score(networks, 2), 100.0 * (0.5625 + 0.75) / 2.0);
    /* A late frame is kept, and scores nothing. */
    cli_frames_ran(&networks[1], 200.0, 100.0);
    assert_int_equal(networks[1].late, 1);
    is_near(cli_frames_realtime(&networks[1]), 0.5);
    is_near(cli_frames_quality(&networks[1]), 1.0);
    cli_frames_release(&networks[0]);
    cli_frames_release(&networks[1]);
}

static void latencies_beyond_the_array_are_counted_but_not_kept(void **state)
{
    (void)state;
    cli_frames frames = {0};
    assert_true(cli_frames_reserve(&frames, 1));
    cli_frames_ran(&frames, 1.0, 2.0);
    cli_frames_ran(&frames, 3.0, 2.0);
    assert_int_equal(frames.due, 2);
    assert_int_equal(frames.late, 1);
    assert_int_equal(frames.count, 1);
    cli_frames_release(&frames);
    assert_null(frames.latencies);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_scores_by_the_milliseconds_after_its_deadline),
        cmocka_unit_test(percentiles_are_nearest_ranks),
        cmocka_unit_test(no_frames_have_no_latency),
        cmocka_unit_test(a_score_is_the_mean_over_networks),
        cmocka_unit_test(latencies_beyond_the_array_are_counted_but_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
