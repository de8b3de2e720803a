/*
 * test_track.c: boxes of successive frames keep the numbers of their tracks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>

#include "gst/track.h"

/* A box of 0.2 x 0.2 whose upper left corner is there. */
#define BOX(x, y)                                                                                            \
    {                                                                                                        \
        (x), (y), (x) + 0.2f, (y) + 0.2f                                                                     \
    }

static track one(tracker *all, uint64_t time, float x, float y)
{
    const float boxes[1][4] = {BOX(x, y)};
    track out[1];
    tracker_next(all, time, boxes, 1, out);
    return out[0];
}

static void what_moves_slowly_keeps_its_number(void **state)
{
    tracker all = {.count = 0};
    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        const track now = one(&all, 100 + i, 0.03f * (float)i, 0.1f);
        assert_int_equal(now.id, 1);
        assert_int_equal(now.first, 100);
        assert_int_equal(now.age, i);
    }
    assert_int_equal(one(&all, 200, 0.9f, 0.9f).id, 2);
}

static void two_that_come_close_keep_their_own_in_any_order(void **state)
{
    tracker all = {.count = 0};
    track out[2];
    (void)state;
    const float first[2][4] = {BOX(0.1f, 0.1f), BOX(0.25f, 0.1f)};
    tracker_next(&all, 0, first, 2, out);
    assert_int_equal(out[0].id, 1);
    assert_int_equal(out[1].id, 2);
    /* Both boxes overlap most with the last place of track 2. The first box overlaps more, and gets it; the
       second box gets track 1. */
    const float then[2][4] = {BOX(0.22f, 0.1f), BOX(0.2f, 0.1f)};
    tracker_next(&all, 1, then, 2, out);
    assert_int_equal(out[0].id, 2);
    assert_int_equal(out[1].id, 1);
}

static void a_track_that_is_missed_for_a_while_comes_back(void **state)
{
    tracker all = {.count = 0};
    track none[1];
    (void)state;
    assert_int_equal(one(&all, 0, 0.1f, 0.1f).id, 1);
    for (uint32_t i = 0; i < TRACK_MISSED_MOST; i++) {
        tracker_next(&all, 1 + i, NULL, 0, none);
    }
    const track back = one(&all, 50, 0.1f, 0.1f);
    assert_int_equal(back.id, 1);
    assert_int_equal(back.age, TRACK_MISSED_MOST + 1);
    for (uint32_t i = 0; i <= TRACK_MISSED_MOST; i++) {
        tracker_next(&all, 60 + i, NULL, 0, none);
    }
    assert_int_equal(all.count, 0);
    const track other = one(&all, 99, 0.1f, 0.1f);
    assert_int_equal(other.id, 2);
    assert_int_equal(other.first, 99);
    tracker_reset(&all);
    assert_int_equal(one(&all, 100, 0.1f, 0.1f).id, 3);
}

static void more_boxes_than_places_and_nonsense_break_nothing(void **state)
{
    static float boxes[2 * TRACKS_MOST][4];
    static track out[TRACKS_MOST];
    tracker all = {.count = 0};
    (void)state;
    for (uint32_t round = 0; round < 50; round++) {
        for (uint32_t i = 0; i < 2 * TRACKS_MOST; i++) {
            for (int k = 0; k < 4; k++) {
                const int odd = rand() % 16;
                boxes[i][k] = odd == 0 ? NAN : odd == 1 ? INFINITY : (float)rand() / (float)RAND_MAX;
            }
        }
        tracker_next(&all, round, (const float(*)[4])boxes, 2 * TRACKS_MOST, out);
        assert_int_equal(all.count, TRACKS_MOST);
        for (uint32_t i = 0; i < TRACKS_MOST; i++) {
            assert_true(out[i].id >= 1 && out[i].id <= all.given);
            for (uint32_t k = 0; k < i; k++) {
                assert_int_not_equal(out[i].id, out[k].id);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_moves_slowly_keeps_its_number),
        cmocka_unit_test(two_that_come_close_keep_their_own_in_any_order),
        cmocka_unit_test(a_track_that_is_missed_for_a_while_comes_back),
        cmocka_unit_test(more_boxes_than_places_and_nonsense_break_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
