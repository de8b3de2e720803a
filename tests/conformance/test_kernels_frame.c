/*
 * test_kernels_frame.c: the kernel that takes frames agrees with the reference, over every format,
 * orientation, fit and filter; and with numbers computed by hand.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frame/params.h"
#include "support/kernel_pair.h"

#define MEMBERS 4
#define FORMATS (MTS_PIXEL_FORMAT_UYVY + 1u)
#define KERNEL_NAME "frame_any__f32_planar"

static uint32_t packed_images;

/* Random bytes in the pool, laid out as a frame of the format; returns its first byte. */
static void random_frame(kernel_pair *pair, mts_frame_view *view, uint32_t at[MTS_FRAME_PLANES])
{
    view->frame.width = kernel_pair_pick(pair, 1, 60);
    view->frame.height = kernel_pair_pick(pair, 1, 50);
    view->frame.yuv = (mts_yuv)kernel_pair_pick(pair, MTS_YUV_BT601, MTS_YUV_BT709_FULL);
    const mts_frame_planes planes =
        mts_frame_planes_of(view->frame.format, view->frame.width, view->frame.height);
    for (uint32_t k = 0; k < planes.count; k++) {
        view->stride[k] = planes.row_bytes[k] + kernel_pair_pick(pair, 0, 9);
        const uint32_t bytes = (uint32_t)mts_frame_plane_bytes(&planes, view->stride, k);
        const uint32_t odd = kernel_pair_pick(pair, 0, 3); /* planes begin anywhere */
        at[k] = kernel_pair_pool(pair, (bytes + odd + 3) / 4) * 4 + odd;
        for (uint32_t i = 0; i < bytes; i++) {
            ((unsigned char *)pair->pool)[at[k] + i] = (unsigned char)kernel_pair_pick(pair, 0, 255);
        }
    }
}

static mts_region random_region(kernel_pair *pair, const mts_frame_view *view)
{
    mts_region region = {.rotation = (mts_rotation)(90 * kernel_pair_pick(pair, 0, 3)),
                         .mirror = kernel_pair_pick(pair, 0, 1),
                         .fit = (mts_fit)kernel_pair_pick(pair, MTS_FIT_STRETCH, MTS_FIT_LETTERBOX_CORNER),
                         .filter = (mts_filter)kernel_pair_pick(pair, MTS_FILTER_BILINEAR, MTS_FILTER_AREA)};
    if (kernel_pair_pick(pair, 0, 3) > 0) {
        region.width = kernel_pair_pick(pair, 1, view->frame.width);
        region.height = kernel_pair_pick(pair, 1, view->frame.height);
        region.x = kernel_pair_pick(pair, 0, view->frame.width - region.width);
        region.y = kernel_pair_pick(pair, 0, view->frame.height - region.height);
    }
    for (int c = 0; c < 3; c++) {
        region.fill[c] = (uint8_t)kernel_pair_pick(pair, 0, 255);
    }
    if (kernel_pair_pick(pair, 0, 1) == 0) { /* at any place and angle, outside of the frame too */
        region.x = region.y = region.width = region.height = 0;
        for (int k = 0; k < 2; k++) {
            region.middle[k] = (float)kernel_pair_pick(pair, 0, 800) / 8.0f - 25.0f;
            region.sides[k] = (float)kernel_pair_pick(pair, 1, 800) / 8.0f;
        }
        region.angle = (float)kernel_pair_pick(pair, 0, 1000) / 100.0f - 5.0f;
        region.outside = (mts_outside)kernel_pair_pick(pair, 0, 1);
    }
    return region;
}

static mts_frame_params random_image(kernel_pair *pair)
{
    mts_preprocess p = {.color = kernel_pair_pick(pair, MTS_COLOR_RGB, MTS_COLOR_GREY),
                        .interleaved = kernel_pair_pick(pair, 0, 1)};
    const int64_t channels = p.color == MTS_COLOR_GREY ? 1 : 3;
    const int64_t height = kernel_pair_pick(pair, 1, 40);
    const int64_t width = kernel_pair_pick(pair, 1, 40);
    const int64_t planar[4] = {1, channels, height, width};
    const int64_t inner[4] = {1, height, width, channels};
    const uint32_t count = (uint32_t)(channels * height * width);
    const uint32_t out = kernel_pair_act(pair, count);
    for (int c = 0; c < 4; c++) {
        p.mean[c] = kernel_pair_float(pair, 0.0f, 200.0f);
        p.std[c] = kernel_pair_float(pair, 20.0f, 200.0f);
    }
    kernel_pair_may_write(pair, out, count);
    return mts_frame_params_of(&p, p.interleaved ? inner : planar, MTS_TYPE_FLOAT32, out, 0);
}

/* Where the frame has rows enough they may pass for packed ones. */
static void maybe_pack(kernel_pair *pair, mts_frame_params *r, const mts_frame_view *view)
{
    const uint32_t rows = r->shift[0] ? (view->frame.height + 1) / 2 : view->frame.height;
    if (!r->turned && !r->box[0] && r->h / 2 >= r->rows && 2 * r->rows <= rows &&
        kernel_pair_pick(pair, 0, 3) > 0) {
        r->packed = 1;
        r->y = r->flip_y = r->shift[0] = 0;
        packed_images++;
    }
}

static void run_everywhere(kernel_pair *pair, const mts_frame_params *params, uint32_t members)
{
    static const struct {
        const char *defines;
        uint32_t items, local;
    } builds[] = {{"-DVEC=1", 64, 16}, {"-DVEC=16", 1, 1}, {"-DVEC=4", 3, 1}, {"-DVEC=8", 8, 8}};
    const uint32_t first = kernel_pair_words(pair, params, members * MTS_PARAM_WORDS(mts_frame_params));
    for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
        const uint32_t grid[3] = {builds[i].items, 40, members};
        const uint32_t local[3] = {builds[i].local, 1, 1};
        kernel_pair_run(pair, KERNEL_NAME, builds[i].defines, first, grid, local);
    }
}

static void frames_of_every_format_agree_with_the_reference(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 3 * FORMATS; n++) {
        mts_frame_params params[MEMBERS];
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 2e-4f; /* of values up to 255 before the scale */
        pair->raw_pool = true;
        for (uint32_t m = 0; m < MEMBERS; m++) {
            mts_frame_view view = {.frame.format = (mts_pixel_format)((n + m) % FORMATS)};
            uint32_t at[MTS_FRAME_PLANES] = {0};
            random_frame(pair, &view, at);
            const mts_region region = random_region(pair, &view);
            params[m] = random_image(pair);
            mts_frame_params_show(&params[m], &view, &region, at);
            maybe_pack(pair, &params[m], &view);
        }
        params[n % MEMBERS].idle =
            n % 5 == 0; /* its image may be written and is not: the reference says so */
        run_everywhere(pair, params, MEMBERS);
    }
    assert_true(packed_images > 2);
}

/* An image of a grey frame twice as wide and high: means of four pixels are exact on every
 * device, also those half way between two integers. */
static mts_frame_params halved_image(kernel_pair *pair, mts_type dtype)
{
    const uint32_t h = kernel_pair_pick(pair, 1, 20), w = kernel_pair_pick(pair, 1, 20), bytes = 4 * h * w;
    const int64_t dims[4] = {1, 3, h, w};
    const uint32_t at[MTS_FRAME_PLANES] = {kernel_pair_pool(pair, h * w) * 4};
    const mts_frame_view view = {.frame = {.width = 2 * w, .height = 2 * h, .format = MTS_PIXEL_FORMAT_GREY},
                                 .stride = {2 * w}};
    const mts_region region = {.mirror = kernel_pair_pick(pair, 0, 1)};
    mts_preprocess p = {.color = MTS_COLOR_RGB};
    for (uint32_t i = 0; i < bytes; i++) {
        ((unsigned char *)pair->pool)[at[0] + i] = (unsigned char)kernel_pair_pick(pair, 0, 255);
    }
    for (int c = 0; c < 4; c++) {
        p.mean[c] = (float)kernel_pair_pick(pair, 0, 600) / 4.0f;
        p.std[c] = kernel_pair_pick(pair, 0, 1) ? 1.0f : 0.5f;
    }
    const uint32_t out = kernel_pair_act(pair, 3 * h * w);
    kernel_pair_may_write(pair, out, 3 * h * w);
    mts_frame_params r = mts_frame_params_of(&p, dims, dtype, out, 0);
    mts_frame_params_show(&r, &view, &region, at);
    return r;
}

/* The image as the reference computes it; the caller frees the arena. */
static float *reference_of(kernel_pair *pair, const mts_frame_params *r)
{
    const uint32_t one[3] = {1, 1, 1}, grid[3] = {1, r->height, 1};
    const uint32_t first = kernel_pair_words(pair, r, MTS_PARAM_WORDS(mts_frame_params));
    return kernel_pair_result(pair, pair->devices[0], KERNEL_NAME, "", first, grid, one);
}

static void inputs_of_8_bits_get_the_nearest_integers_of_their_type(void **state)
{
    kernel_pair *pair = *state;
    uint32_t lowest = 0, highest = 0, ties = 0;
    for (uint32_t n = 0; n < 12; n++) {
        const float least = n % 2 ? -128.0f : 0.0f;
        mts_frame_params params[MEMBERS];
        kernel_pair_start(pair, n + 1);
        pair->raw_pool = true;
        for (uint32_t m = 0; m < MEMBERS; m++) {
            params[m] = halved_image(pair, n % 2 ? MTS_TYPE_INT8 : MTS_TYPE_UINT8);
        }
        run_everywhere(pair, params, MEMBERS);
        mts_frame_params plain = params[0];
        plain.least = plain.most = 0.0f;
        float *found = reference_of(pair, &params[0]), *numbers = reference_of(pair, &plain);
        for (uint32_t i = plain.out; i < plain.out + 3 * plain.height * plain.width; i++) {
            assert_true(found[i] == fminf(fmaxf(rintf(numbers[i]), least), least + 255.0f));
            lowest += numbers[i] < least ? 1 : 0;
            highest += numbers[i] > least + 255.0f ? 1 : 0;
            ties += fabsf(numbers[i] - floorf(numbers[i]) - 0.5f) < 1e-6f ? 1 : 0;
        }
        free(found);
        free(numbers);
    }
    assert_true(lowest > 9 && highest > 9 && ties > 9);
}

/* ---- by hand, on the reference ---- */

/* A frame of 3 x 2 grey pixels, 0 10 20 over 30 40 50, shown by `region` in an image of h x w. */
static void expect_grey(kernel_pair *pair, const mts_region *region, uint32_t h, uint32_t w,
                        const float *values)
{
    static const unsigned char pixels[6] = {0, 10, 20, 30, 40, 50};
    const mts_frame_view view = {
        .frame = {.width = 3, .height = 2, .format = MTS_PIXEL_FORMAT_GREY, .region = *region},
        .stride = {3}};
    const mts_preprocess p = {.color = MTS_COLOR_GREY, .mean = {0}, .std = {1.0f}};
    const int64_t dims[4] = {1, 1, h, w};
    const uint32_t one[3] = {1, 1, 1};
    kernel_pair_clear(pair, 1);
    const uint32_t at[MTS_FRAME_PLANES] = {kernel_pair_pool(pair, 2) * 4};
    memcpy((char *)pair->pool + at[0], pixels, sizeof pixels);
    const uint32_t out = kernel_pair_act(pair, h * w);
    mts_frame_params r = mts_frame_params_of(&p, dims, MTS_TYPE_FLOAT32, out, 0);
    mts_frame_params_show(&r, &view, region, at);
    const uint32_t first = kernel_pair_words(pair, &r, MTS_PARAM_WORDS(mts_frame_params));
    float *result = kernel_pair_result(pair, pair->devices[0], KERNEL_NAME, "", first, one, one);
    for (uint32_t i = 0; i < h * w; i++) {
        if (!(fabsf(result[out + i] - values[i]) <= 1e-4f)) {
            fail_msg("value %u: expected %g, found %g", i, (double)values[i], (double)result[out + i]);
        }
    }
    free(result);
}

static void a_frame_is_turned_clockwise_and_then_mirrored(void **state)
{
    static const float turned[4][6] = {
        {0, 10, 20, 30, 40, 50}, {30, 0, 40, 10, 50, 20}, {50, 40, 30, 20, 10, 0}, {20, 50, 10, 40, 0, 30}};
    static const float mirrored[4][6] = {
        {20, 10, 0, 50, 40, 30}, {0, 30, 10, 40, 20, 50}, {30, 40, 50, 0, 10, 20}, {50, 20, 40, 10, 30, 0}};
    for (uint32_t turns = 0; turns < 4; turns++) {
        mts_region region = {.rotation = (mts_rotation)(90 * turns)};
        const uint32_t h = turns % 2 ? 3 : 2;
        expect_grey(*state, &region, h, 5 - h, turned[turns]);
        region.mirror = 1;
        expect_grey(*state, &region, h, 5 - h, mirrored[turns]);
    }
}

static void an_area_is_the_mean_of_what_it_covers(void **state)
{
    static const float whole[1] = {25};
    static const float halves[2] = {(15.0f + 0.5f * 25.0f) / 1.5f, (35.0f + 0.5f * 25.0f) / 1.5f};
    const mts_region region = {.filter = MTS_FILTER_AREA};
    expect_grey(*state, &region, 1, 1, whole);
    expect_grey(*state, &region, 1, 2, halves);
}

static void a_letterbox_keeps_the_shape_in_the_middle(void **state)
{
    static const float values[15] = {9, 9, 9, 0, 10, 20, 30, 40, 50, 9, 9, 9, 9, 9, 9};
    const mts_region region = {.fit = MTS_FIT_LETTERBOX, .fill = {9, 9, 9}};
    expect_grey(*state, &region, 5, 3, values);
}

static void a_crop_is_all_that_is_seen(void **state)
{
    static const float values[4] = {10, 12.5f, 17.5f, 20};
    const mts_region region = {.x = 1, .y = 0, .width = 2, .height = 1};
    expect_grey(*state, &region, 1, 4, values);
}

/* The whole frame as a rectangle at any place, turned by quarters through its angle or its rotation. */
static void a_rectangle_is_turned_clockwise_by_its_angle(void **state)
{
    static const float turned[4][6] = {
        {0, 10, 20, 30, 40, 50}, {30, 0, 40, 10, 50, 20}, {50, 40, 30, 20, 10, 0}, {20, 50, 10, 40, 0, 30}};
    static const float diagonal[1] = {20};
    for (uint32_t turns = 0; turns < 4; turns++) {
        const uint32_t h = turns % 2 ? 3 : 2;
        mts_region region = {.middle = {1.5f, 1}, .sides = {3, 2}, .rotation = (mts_rotation)(90 * turns)};
        expect_grey(*state, &region, h, 5 - h, turned[turns]);
        /* an angle turns the rectangle, and so what it shows the other way round */
        region = (mts_region){
            .middle = {1.5f, 1}, .sides = {(float)(5 - h), (float)h}, .angle = -1.57079633f * (float)turns};
        expect_grey(*state, &region, h, 5 - h, turned[turns]);
    }
    const mts_region point = {.middle = {1, 1}, .sides = {0.001f, 0.001f}, .angle = 0.785398f};
    expect_grey(*state, &point, 1, 1, diagonal); /* the mean of the four pixels around */
}

static void a_rectangle_may_reach_beyond_the_frame(void **state)
{
    static const float filled[15] = {7, 7, 7, 7, 7, 7, 0, 10, 20, 7, 7, 30, 40, 50, 7};
    static const float edge[15] = {0, 0, 10, 20, 20, 0, 0, 10, 20, 20, 30, 30, 40, 50, 50};
    static const float far[2] = {7, 7};
    static const float corner[2] = {50, 50};
    static const float mean[1] = {(5 * 7 + 150 + 7 * 4) / 15.0f};
    mts_region region = {.middle = {1.5f, 0.5f}, .sides = {5, 3}, .fill = {7, 7, 7}};
    expect_grey(*state, &region, 3, 5, filled);
    region.filter = MTS_FILTER_AREA;
    expect_grey(*state, &region, 1, 1, mean);
    region.filter = MTS_FILTER_BILINEAR;
    region.outside = MTS_OUTSIDE_EDGE;
    expect_grey(*state, &region, 3, 5, edge);
    region = (mts_region){.middle = {1e6f, 1e6f}, .sides = {4, 2}, .fill = {7, 7, 7}};
    expect_grey(*state, &region, 1, 2, far);
    region.outside = MTS_OUTSIDE_EDGE;
    expect_grey(*state, &region, 1, 2, corner);
}

/* The colours of libyuv's own documentation: video black and white, and what is beyond. */
static void limited_range_has_its_black_at_16_and_its_white_at_235(void **state)
{
    static const unsigned char pixels[8] = {16, 128, 235, 128, 0, 128, 255, 128}; /* YUYV */
    static const float values[4] = {0, 255, 0, 255};
    kernel_pair *pair = *state;
    const mts_frame_view view = {.frame = {.width = 4, .height = 1, .format = MTS_PIXEL_FORMAT_YUYV},
                                 .stride = {8}};
    const mts_preprocess p = {.color = MTS_COLOR_RGB, .std = {1.0f, 1.0f, 1.0f}};
    const int64_t dims[4] = {1, 3, 1, 4};
    const uint32_t one[3] = {1, 1, 1};
    kernel_pair_clear(pair, 1);
    const uint32_t at[MTS_FRAME_PLANES] = {kernel_pair_pool(pair, 2) * 4};
    memcpy((char *)pair->pool + at[0], pixels, sizeof pixels);
    const uint32_t out = kernel_pair_act(pair, 12);
    mts_frame_params r = mts_frame_params_of(&p, dims, MTS_TYPE_FLOAT32, out, 0);
    mts_frame_params_show(&r, &view, &view.frame.region, at);
    const uint32_t first = kernel_pair_words(pair, &r, MTS_PARAM_WORDS(mts_frame_params));
    float *result = kernel_pair_result(pair, pair->devices[0], KERNEL_NAME, "", first, one, one);
    for (uint32_t i = 0; i < 12; i++) {
        assert_true(fabsf(result[out + i] - values[i % 4]) <= 1.0f);
    }
    free(result);
}

/* A frame that points outside is an error with a text, never an access. */
static void a_region_that_leaves_its_buffer_is_refused(void **state)
{
    kernel_pair *pair = *state;
    mts_device *device = pair->devices[0];
    const mts_frame_view view = {.frame = {.width = 5, .height = 3, .format = MTS_PIXEL_FORMAT_GREY},
                                 .stride = {6}};
    const mts_preprocess p = {.color = MTS_COLOR_GREY, .std = {1.0f}};
    const int64_t dims[4] = {1, 1, 2, 2};
    const mts_kernel_desc desc = {.name = KERNEL_NAME, .defines = ""};
    mts_buffer *buffers[3] = {NULL};
    mts_kernel *kernel = NULL;
    mts_error error = {0};
    assert_int_equal(mts_kernel_create(device, &desc, &kernel, &error), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_create(device, 16, &buffers[0], &error), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_create(device, 17, &buffers[1], &error), MTS_STATUS_OK); /* of 6 + 6 + 5 */
    assert_int_equal(mts_buffer_create(device, sizeof(mts_frame_params), &buffers[2], &error), MTS_STATUS_OK);
    const mts_launch launch = {.kernel = kernel,
                               .act = buffers[0],
                               .pool = buffers[1],
                               .params = buffers[2],
                               .global = {1, 1, 1},
                               .local = {1, 1, 1},
                               .label = "bad"};
    for (uint32_t too_far = 0; too_far < 3; too_far++) {
        const uint32_t at[MTS_FRAME_PLANES] = {too_far == 1};
        mts_frame_params r = mts_frame_params_of(&p, dims, MTS_TYPE_FLOAT32, too_far == 2, 0);
        mts_command_list *list = NULL;
        mts_frame_params_show(&r, &view, &view.frame.region, at);
        assert_int_equal(mts_buffer_write(buffers[2], 0, &r, sizeof r, &error), MTS_STATUS_OK);
        assert_int_equal(mts_command_list_create(device, &launch, 1, &list, &error), MTS_STATUS_OK);
        assert_int_equal(mts_command_list_submit(list, &error), too_far ? MTS_STATUS_DEVICE : MTS_STATUS_OK);
        mts_command_list_destroy(&list);
    }
    mts_kernel_destroy(&kernel);
    for (int i = 0; i < 3; i++) {
        mts_buffer_destroy(&buffers[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_every_format_agree_with_the_reference),
        cmocka_unit_test(inputs_of_8_bits_get_the_nearest_integers_of_their_type),
        cmocka_unit_test(a_frame_is_turned_clockwise_and_then_mirrored),
        cmocka_unit_test(a_rectangle_is_turned_clockwise_by_its_angle),
        cmocka_unit_test(a_rectangle_may_reach_beyond_the_frame),
        cmocka_unit_test(an_area_is_the_mean_of_what_it_covers),
        cmocka_unit_test(a_letterbox_keeps_the_shape_in_the_middle),
        cmocka_unit_test(a_crop_is_all_that_is_seen),
        cmocka_unit_test(limited_range_has_its_black_at_16_and_its_white_at_235),
        cmocka_unit_test(a_region_that_leaves_its_buffer_is_refused),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
