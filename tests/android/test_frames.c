/*
 * Pictures of Android's cameras as frames of the library: the order of planes, strides, crops, which way up,
 * sizes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "android/app/src/main/cpp/frames.h"

#define WIDTH 6
#define HEIGHT 4
#define ROW 8

static uint8_t memory[4 * ROW * HEIGHT];

/* Pairs behind Y, as most cameras have it; `v` first or U first. */
static frame_planes pairs(bool v_first)
{
    uint8_t *chroma = memory + ROW * HEIGHT;
    const int32_t bytes = ROW * (HEIGHT / 2 - 1) + WIDTH - 1;
    return (frame_planes){.data = {memory, chroma + (v_first ? 1 : 0), chroma + (v_first ? 0 : 1)},
                          .bytes = {ROW * (HEIGHT - 1) + WIDTH, bytes, bytes},
                          .row_stride = {ROW, ROW, ROW},
                          .pixel_stride = {1, 2, 2},
                          .width = WIDTH,
                          .height = HEIGHT};
}

static frame_planes apart(void)
{
    uint8_t *u = memory + ROW * HEIGHT, *v = u + ROW * HEIGHT;
    const int32_t bytes = 5 * (HEIGHT / 2 - 1) + WIDTH / 2;
    return (frame_planes){.data = {memory, u, v},
                          .bytes = {ROW * (HEIGHT - 1) + WIDTH, bytes, bytes},
                          .row_stride = {ROW, 5, 5},
                          .pixel_stride = {1, 1, 1},
                          .width = WIDTH,
                          .height = HEIGHT};
}

static void pairs_with_u_first_are_nv12(void **state)
{
    const frame_planes planes = pairs(false);
    mts_frame frame;
    (void)state;
    assert_null(frame_from_planes(&planes, &frame));
    assert_int_equal(frame.format, MTS_PIXEL_FORMAT_NV12);
    assert_ptr_equal(frame.data, planes.data[0]);
    assert_ptr_equal(frame.chroma[0], planes.data[1]);
    assert_int_equal(frame.stride, ROW);
    assert_int_equal(frame.chroma_stride[0], ROW);
    assert_int_equal(frame.width, WIDTH);
    assert_int_equal(frame.height, HEIGHT);
    assert_int_equal(frame.yuv, MTS_YUV_BT601_FULL);
    assert_int_equal(frame.size, sizeof frame);
    assert_int_equal(frame.region.width, 0);
}

static void pairs_with_v_first_are_nv21(void **state)
{
    const frame_planes planes = pairs(true);
    mts_frame frame;
    (void)state;
    assert_null(frame_from_planes(&planes, &frame));
    assert_int_equal(frame.format, MTS_PIXEL_FORMAT_NV21);
    assert_ptr_equal(frame.chroma[0], planes.data[2]);
}

static void planes_apart_are_i420_with_strides_of_their_own(void **state)
{
    frame_planes planes = apart();
    mts_frame frame;
    (void)state;
    planes.row_stride[2] = 7;
    planes.bytes[2] = 7 + WIDTH / 2;
    assert_null(frame_from_planes(&planes, &frame));
    assert_int_equal(frame.format, MTS_PIXEL_FORMAT_I420);
    assert_ptr_equal(frame.chroma[0], planes.data[1]);
    assert_ptr_equal(frame.chroma[1], planes.data[2]);
    assert_int_equal(frame.chroma_stride[0], 5);
    assert_int_equal(frame.chroma_stride[1], 7);
}

static void odd_sizes_round_the_planes_of_colour_up(void **state)
{
    frame_planes planes = apart();
    mts_frame frame;
    (void)state;
    planes.width = WIDTH - 1;
    planes.height = HEIGHT - 1;
    assert_null(frame_from_planes(&planes, &frame));
    planes.bytes[1]--;
    assert_non_null(frame_from_planes(&planes, &frame));
}

static void a_crop_becomes_the_region(void **state)
{
    frame_planes planes = pairs(false);
    mts_frame frame;
    (void)state;
    planes.left = 1;
    planes.top = 2;
    planes.right = WIDTH;
    planes.bottom = HEIGHT;
    assert_null(frame_from_planes(&planes, &frame));
    assert_int_equal(frame.region.x, 1);
    assert_int_equal(frame.region.y, 2);
    assert_int_equal(frame.region.width, WIDTH - 1);
    assert_int_equal(frame.region.height, HEIGHT - 2);
}

static void refuse(frame_planes planes, const char *word)
{
    mts_frame frame;
    const char *fault = frame_from_planes(&planes, &frame);
    assert_non_null(fault);
    if (!strstr(fault, word)) {
        fail_msg("\"%s\" does not say \"%s\"", fault, word);
    }
}

static void a_picture_that_contradicts_itself_is_refused_with_a_sentence(void **state)
{
    const frame_planes good = pairs(false);
    frame_planes bad = good;
    (void)state;
    bad.width = 0;
    refuse(bad, "size");
    bad = good;
    bad.height = 16385;
    refuse(bad, "16384");
    bad = good;
    bad.data[2] = NULL;
    refuse(bad, "lacks a plane");
    bad = good;
    bad.pixel_stride[0] = 2;
    refuse(bad, "side by side");
    bad = good;
    bad.pixel_stride[1] = 3;
    refuse(bad, "side by side");
    bad = good;
    bad.pixel_stride[2] = 1;
    refuse(bad, "do not lie alike");
    bad = good;
    bad.row_stride[0] = WIDTH - 1;
    refuse(bad, "overlap");
    bad = good;
    bad.row_stride[0] = -ROW;
    refuse(bad, "overlap");
    bad = good;
    bad.row_stride[1] = bad.row_stride[2] = WIDTH - 1; /* the last V would be the next U */
    refuse(bad, "overlap");
    bad = good;
    bad.bytes[0]--;
    refuse(bad, "too early");
    bad = good;
    bad.bytes[2]--;
    refuse(bad, "too early");
    bad = good;
    bad.data[2] += 2;
    refuse(bad, "no pairs");
    bad = good;
    bad.right = WIDTH + 1;
    bad.bottom = HEIGHT;
    refuse(bad, "outside");
    bad = good;
    bad.left = 3;
    bad.right = 3;
    bad.bottom = HEIGHT;
    refuse(bad, "outside");
}

static void a_plane_of_two_gigabytes_is_no_overflow(void **state)
{
    frame_planes bad = pairs(false);
    (void)state;
    bad.width = 16384;
    bad.height = 16384;
    bad.row_stride[0] = bad.row_stride[1] = bad.row_stride[2] = INT32_MAX;
    refuse(bad, "too early");
}

static void turning_follows_sensor_screen_and_side(void **state)
{
    (void)state;
    /* A telephone held upright: most sensors are built in by a quarter. */
    assert_int_equal(frame_rotation(90, 0, false), MTS_ROTATION_90);
    assert_int_equal(frame_rotation(270, 0, true), MTS_ROTATION_270);
    /* Laid on its left side, the screen has turned by 90: the back camera is upright. */
    assert_int_equal(frame_rotation(90, 90, false), MTS_ROTATION_0);
    assert_int_equal(frame_rotation(90, 270, false), MTS_ROTATION_180);
    assert_int_equal(frame_rotation(270, 90, true), MTS_ROTATION_0);
    assert_int_equal(frame_rotation(270, 270, true), MTS_ROTATION_180);
    assert_int_equal(frame_rotation(0, 180, false), MTS_ROTATION_180);
    assert_int_equal(frame_rotation(-90, 0, false), MTS_ROTATION_270);
    assert_int_equal(frame_rotation(359, 0, false), MTS_ROTATION_0);
    assert_int_equal(frame_rotation(INT32_MAX, INT32_MIN, true) % 90, 0);
}

static void the_smallest_size_that_is_enough_is_chosen_in_the_wanted_shape(void **state)
{
    static const int32_t offered[] = {35, 4000, 3000, 0, 35, 1280, 720, 0, 35, 640, 360, 0, 33, 640, 480, 0,
                                      35, 1280, 960,  0, 35, 640,  480, 1, 35, 800, 600, 0, 35, 176, 144, 0};
    const uint32_t count = sizeof offered / sizeof offered[0];
    frame_size size = {0, 0};
    (void)state;
    assert_true(frame_size_choose(offered, count, 35, (frame_size){640, 480}, &size));
    assert_int_equal(size.width, 800);
    assert_true(frame_size_choose(offered, count, 35, (frame_size){700, 400}, &size));
    assert_int_equal(size.width, 800); /* none has the shape: the smallest */
    assert_true(frame_size_choose(offered, count, 35, (frame_size){8000, 6000}, &size));
    assert_int_equal(size.width, 4000); /* none is enough: the largest */
    assert_false(frame_size_choose(offered, count, 34, (frame_size){640, 480}, &size));
    assert_false(frame_size_choose(offered, 3, 35, (frame_size){640, 480}, &size));
    assert_false(frame_size_choose(NULL, 0, 35, (frame_size){640, 480}, &size));
}

static void planes_of_a_hardware_buffer_are_offsets_in_it(void **state)
{
    const frame_planes all[] = {pairs(false), pairs(true), apart()};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        mts_frame here, there;
        assert_null(frame_from_planes(&all[i], &here));
        there = here;
        assert_true(frame_to_buffer(memory, &there));
        assert_int_equal(there.memory, MTS_MEMORY_ANDROID);
        assert_ptr_equal(there.buffer, memory);
        assert_int_equal(there.offsets[0], 0);
        for (int k = 0; k < 2; k++) {
            const uint8_t *plane = here.chroma[k];
            assert_int_equal(there.offsets[k + 1], plane ? plane - memory : 0);
        }
        assert_int_equal(there.format, here.format);
        assert_int_equal(there.chroma_stride[0], here.chroma_stride[0]);
    }
    mts_frame frame;
    const frame_planes planes = apart();
    assert_null(frame_from_planes(&planes, &frame));
    frame.data = memory + sizeof memory - 1; /* Y behind U and V */
    const mts_frame before = frame;
    assert_false(frame_to_buffer(memory, &frame));
    assert_memory_equal(&before, &frame, sizeof frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planes_of_a_hardware_buffer_are_offsets_in_it),
        cmocka_unit_test(pairs_with_u_first_are_nv12),
        cmocka_unit_test(pairs_with_v_first_are_nv21),
        cmocka_unit_test(planes_apart_are_i420_with_strides_of_their_own),
        cmocka_unit_test(odd_sizes_round_the_planes_of_colour_up),
        cmocka_unit_test(a_crop_becomes_the_region),
        cmocka_unit_test(a_picture_that_contradicts_itself_is_refused_with_a_sentence),
        cmocka_unit_test(a_plane_of_two_gigabytes_is_no_overflow),
        cmocka_unit_test(turning_follows_sensor_screen_and_side),
        cmocka_unit_test(the_smallest_size_that_is_enough_is_chosen_in_the_wanted_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
