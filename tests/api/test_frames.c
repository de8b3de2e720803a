/*
 * test_frames.c: frames and regions of the public API: what is refused, what planes, crops and batches
 * become, and that zero-copy frames and copies give the same. How pixels are computed is shown in conformance/ and
 * frames/.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/api_fixture.h"
#include "support/frame_bundle.h"
#include "support/second_device.h"

#define SIDE 8 /* of an input */
#define IMAGE ((size_t)SIDE * SIDE)
#define BATCH 3
#define WIDTH 31
#define HEIGHT 21

typedef struct world {
    api_fixture fixture;
    mts_bundle_bytes bytes;
    mts_bundle *bundle;
    mts_session *session;
    uint8_t pixels[HEIGHT * WIDTH * 4];
} world;

static bool has_device(const char *id)
{
    for (uint32_t i = 0; i < mts_device_count(); i++) {
        mts_device_desc device = {.size = sizeof device};
        if (mts_device_describe(i, &device) == MTS_STATUS_OK && strcmp(device.id, id) == 0) {
            return true;
        }
    }
    return false;
}

static void world_open(world *w, const char *device, const frame_task *tasks, uint32_t count, bool separate)
{
    mts_session_options options;
    memset(w, 0, sizeof *w);
    frame_bundle_make(tasks, count, &w->bytes);
    api_open(&w->fixture, device);
    assert_int_equal(mts_bundle_open_memory(w->fixture.runtime, w->bytes.data, w->bytes.size, &w->bundle),
                     MTS_STATUS_OK);
    mts_session_options_default(&options);
    options.separate_inputs = separate;
    if (mts_session_create(w->fixture.runtime, w->bundle, &options, &w->session) != MTS_STATUS_OK) {
        fail_msg("cannot make a session: %s", w->fixture.error);
    }
    for (size_t i = 0; i < sizeof w->pixels; i++) {
        w->pixels[i] = (uint8_t)(i * 37 % 253 + i / 97 % 3);
    }
}

static void world_close(world *w)
{
    mts_session_destroy(&w->session);
    mts_bundle_destroy(&w->bundle);
    api_close(&w->fixture);
    mts_bundle_bytes_release(&w->bytes);
}

static const frame_task grey = {
    .color = MTS_COLOR_GREY, .batch = 1, .height = SIDE, .width = SIDE, .deviation = 1.0f};
static const frame_task grey_batch = {
    .color = MTS_COLOR_GREY, .batch = BATCH, .height = SIDE, .width = SIDE, .deviation = 1.0f};

static mts_frame frame_of(const world *w, mts_pixel_format format)
{
    mts_frame frame;
    mts_frame_default(&frame);
    frame.data = w->pixels;
    frame.width = WIDTH;
    frame.height = HEIGHT;
    frame.format = format;
    return frame;
}

static void run(world *w, const mts_frame *frame)
{
    mts_ticket ticket = 0;
    if (mts_session_submit(w->session, frame, &ticket) != MTS_STATUS_OK) {
        fail_msg("submission: %s", w->fixture.error);
    }
    assert_int_equal(mts_session_wait(w->session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
}

static const float *output(const world *w, const char *task)
{
    mts_tensor tensor;
    assert_int_equal(mts_session_output(w->session, task, 0, &tensor), MTS_STATUS_OK);
    return tensor.data;
}

static void expect_refused(world *w, const mts_frame *frame, mts_status status, const char *word)
{
    mts_ticket ticket = 0;
    w->fixture.error[0] = '\0';
    assert_int_equal(mts_session_submit(w->session, frame, &ticket), status);
    assert_memory_equal(w->fixture.error, "frame: ", 7);
    if (!strstr(w->fixture.error, word)) {
        fail_msg("'%s' is not in: %s", word, w->fixture.error);
    }
    assert_int_equal(ticket, 0);
}

static void frames_that_contradict_themselves_are_refused_with_the_reason(void **state)
{
    world w;
    (void)state;
    world_open(&w, "reference", &grey, 1, false);
    mts_frame f = frame_of(&w, MTS_PIXEL_FORMAT_NV12);
    f.stride = WIDTH - 1;
    expect_refused(&w, &f, MTS_STATUS_INVALID_ARGUMENT, "stride 30");
    f = frame_of(&w, MTS_PIXEL_FORMAT_NV12);
    f.chroma_stride[0] = WIDTH; /* 16 pairs are 32 bytes */
    expect_refused(&w, &f, MTS_STATUS_INVALID_ARGUMENT,
                   "chroma_stride 31 is less than the 32 bytes of a row");
    f = frame_of(&w, MTS_PIXEL_FORMAT_I420);
    f.chroma_stride[1] = 15;
    expect_refused(&w, &f, MTS_STATUS_INVALID_ARGUMENT,
                   "chroma_stride 15 is less than the 16 bytes of a row");
    f = frame_of(&w, MTS_PIXEL_FORMAT_YUYV);
    f.stride = WIDTH * 2; /* 16 pairs of pixels are 64 bytes */
    expect_refused(&w, &f, MTS_STATUS_INVALID_ARGUMENT, "64 bytes of a row");
    f = frame_of(&w, (mts_pixel_format)10);
    expect_refused(&w, &f, MTS_STATUS_INVALID_ARGUMENT, "unknown pixel format");
    f = frame_of(&w, (mts_pixel_format)-1);
    expect_refused(&w, &f, MTS_STATUS_INVALID_ARGUMENT, "unknown pixel format");
    f = frame_of(&w, MTS_PIXEL_FORMAT_GREY);
    f.yuv = (mts_yuv)4;
    expect_refused(&w, &f, MTS_STATUS_INVALID_ARGUMENT, "unknown yuv");
    f = frame_of(&w, MTS_PIXEL_FORMAT_GREY);
    f.zero_copy = 2;
    expect_refused(&w, &f, MTS_STATUS_INVALID_ARGUMENT, "zero_copy");
    world_close(&w);
}

static void regions_that_contradict_themselves_are_refused_with_the_reason(void **state)
{
    static const struct {
        mts_region region;
        const char *words;
    } rectangles[] = {
        {{.sides = {-1, 1}}, "sides of -1"},
        {{.sides = {NAN, 1}}, "sides of"},
        {{.sides = {1, 0}}, "1 and 0 pixels"},
        {{.sides = {INFINITY, 1}}, "sides of inf"},
        {{.sides = {1, 1}, .angle = NAN}, "angle"},
        {{.sides = {1, 1}, .middle = {2e6f, 0}}, "middle"},
        {{.sides = {1, 1}, .width = 1, .height = 1}, "x, y, width and height are 0"},
        {{.outside = (mts_outside)2}, "outside 2"},
    };
    world w;
    (void)state;
    world_open(&w, "reference", &grey, 1, false);
    mts_frame f = frame_of(&w, MTS_PIXEL_FORMAT_GREY);
    f.region.rotation = (mts_rotation)45;
    expect_refused(&w, &f, MTS_STATUS_INVALID_ARGUMENT, "45");
    f = frame_of(&w, MTS_PIXEL_FORMAT_GREY);
    f.region.rotation = (mts_rotation)-90;
    expect_refused(&w, &f, MTS_STATUS_INVALID_ARGUMENT, "-90");
    f = frame_of(&w, MTS_PIXEL_FORMAT_GREY);
    f.region.mirror = 2;
    expect_refused(&w, &f, MTS_STATUS_INVALID_ARGUMENT, "mirror");
    f = frame_of(&w, MTS_PIXEL_FORMAT_GREY);
    f.region.fit = (mts_fit)5;
    expect_refused(&w, &f, MTS_STATUS_INVALID_ARGUMENT, "fit");
    f = frame_of(&w, MTS_PIXEL_FORMAT_GREY);
    f.region.filter = (mts_filter)-1;
    expect_refused(&w, &f, MTS_STATUS_INVALID_ARGUMENT, "filter");
    for (size_t i = 0; i < sizeof rectangles / sizeof rectangles[0]; i++) {
        f = frame_of(&w, MTS_PIXEL_FORMAT_GREY);
        f.region = rectangles[i].region;
        expect_refused(&w, &f, MTS_STATUS_INVALID_ARGUMENT, rectangles[i].words);
    }
    f = frame_of(&w, MTS_PIXEL_FORMAT_I420);
    f.region = (mts_region){.x = WIDTH - 1, .width = 2, .height = 1};
    expect_refused(&w, &f, MTS_STATUS_INVALID_ARGUMENT, "not inside 31x21");
    f = frame_of(&w, MTS_PIXEL_FORMAT_I420);
    f.region = (mts_region){.y = HEIGHT, .width = 1, .height = 1, .rotation = MTS_ROTATION_90};
    expect_refused(&w, &f, MTS_STATUS_INVALID_ARGUMENT, "not inside 31x21");
    world_close(&w);
}

static void frames_whose_planes_reach_too_far_are_refused(void **state)
{
    world w;
    (void)state;
    world_open(&w, "reference", &grey, 1, false);
    mts_frame f = frame_of(&w, MTS_PIXEL_FORMAT_NV21);
    f.chroma_stride[0] = UINT32_MAX;
    expect_refused(&w, &f, MTS_STATUS_LIMIT, "2147483647");
    f = frame_of(&w, MTS_PIXEL_FORMAT_NV21);
    f.height = 1;
    f.stride = UINT32_MAX; /* so far behind it the pairs would lie */
    expect_refused(&w, &f, MTS_STATUS_LIMIT, "2147483647");
    f.chroma[0] = w.pixels + WIDTH; /* but they do not */
    run(&w, &f);
    world_close(&w);
}

/* Every format of the smallest and the oddest sizes, at the very end of an allocation: a read behind it shows
 * under a sanitizer. */
static void frames_are_read_to_their_last_byte_and_not_beyond(void **state)
{
    static const uint32_t sizes[][2] = {{1, 1}, {1, 2}, {2, 1}, {3, 3}, {7, 1}, {1, 5}, {16, 9}};
    world w;
    (void)state;
    world_open(&w, "reference", &grey, 1, false);
    for (int format = MTS_PIXEL_FORMAT_RGB; format <= MTS_PIXEL_FORMAT_UYVY; format++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            const size_t cw = (sizes[s][0] + 1) / 2;
            const size_t ch = (sizes[s][1] + 1) / 2;
            const size_t pixels = (size_t)sizes[s][0] * sizes[s][1];
            static const size_t packed[5] = {3, 3, 4, 4, 1};
            const size_t bytes = format <= MTS_PIXEL_FORMAT_GREY   ? pixels * packed[format]
                                 : format <= MTS_PIXEL_FORMAT_I420 ? pixels + 2 * cw * ch
                                                                   : 4 * cw * sizes[s][1];
            uint8_t *memory = malloc(bytes);
            assert_non_null(memory);
            memset(memory, 128, bytes);
            mts_frame f = frame_of(&w, (mts_pixel_format)format);
            f.data = memory;
            f.width = sizes[s][0];
            f.height = sizes[s][1];
            f.yuv = MTS_YUV_BT601_FULL;
            run(&w, &f);
            free(memory);
            for (size_t i = 0; i < IMAGE; i++) {
                assert_true(fabsf(output(&w, "a")[i] - 128.0f) < 0.01f);
            }
        }
    }
    world_close(&w);
}

static void planes_may_lie_anywhere(void **state)
{
    world w;
    float expected[3 * IMAGE];
    uint8_t y[HEIGHT * 40];
    uint8_t u[11 * 20];
    uint8_t v[11 * 24];
    const frame_task task = {
        .color = MTS_COLOR_RGB, .batch = 1, .height = SIDE, .width = SIDE, .deviation = 1.0f};
    (void)state;
    world_open(&w, "reference", &task, 1, false);
    mts_frame f = frame_of(&w, MTS_PIXEL_FORMAT_I420);
    run(&w, &f);
    memcpy(expected, output(&w, "a"), sizeof expected);
    for (size_t i = 0; i < HEIGHT; i++) {
        memcpy(y + i * 40, w.pixels + i * WIDTH, WIDTH);
    }
    for (size_t i = 0; i < 11; i++) {
        memcpy(u + i * 20, w.pixels + HEIGHT * WIDTH + i * 16, 16);
        memcpy(v + i * 24, w.pixels + HEIGHT * WIDTH + (11 + i) * 16, 16);
    }
    f.data = y;
    f.stride = 40;
    f.chroma[0] = u;
    f.chroma[1] = v;
    f.chroma_stride[0] = 20;
    f.chroma_stride[1] = 24;
    for (f.zero_copy = 0; f.zero_copy < 2; f.zero_copy++) {
        run(&w, &f);
        assert_memory_equal(expected, output(&w, "a"), sizeof expected);
    }
    world_close(&w);
}

static void a_lent_frame_is_the_same_as_a_copied_one_and_free_after_the_wait(void **state)
{
    static const char *const backends[] = {"reference", "opencl:0"};
    (void)state;
    for (size_t b = 0; b < 2; b++) {
        const char *id = second_device_id(backends[b]);
        if (!has_device(id)) {
            continue;
        }
        world w;
        float expected[IMAGE];
        world_open(&w, id, &grey, 1, false);
        for (int n = 0; n < 12; n++) {
            const size_t bytes = sizeof w.pixels;
            uint8_t *memory = malloc(bytes); /* another address each time */
            assert_non_null(memory);
            mts_frame f = frame_of(&w, n % 2 ? MTS_PIXEL_FORMAT_NV12 : MTS_PIXEL_FORMAT_BGRA);
            f.region.rotation = MTS_ROTATION_270;
            w.pixels[n] ^= 0x55;
            run(&w, &f);
            memcpy(expected, output(&w, "a"), sizeof expected);
            memcpy(memory, w.pixels, bytes);
            f.data = memory;
            f.zero_copy = 1;
            run(&w, &f);
            free(memory);
            assert_memory_equal(expected, output(&w, "a"), sizeof expected);
            run(&w, NULL); /* what was seen stays, not where it lay */
            assert_memory_equal(expected, output(&w, "a"), sizeof expected);
        }
        world_close(&w);
    }
}

/* Of a large frame only some rows are copied; of zero-copy frames none. */
static void a_large_frame_is_seen_as_it_is_however_it_is_copied(void **state)
{
    enum { LARGE = 320, HIGH = 243 };
    static const char *const backends[] = {"reference", "opencl:0"};
    static const mts_rotation rotations[] = {MTS_ROTATION_0, MTS_ROTATION_180, MTS_ROTATION_90};
    uint8_t *memory = malloc((size_t)LARGE * HIGH * 4);
    (void)state;
    assert_non_null(memory);
    for (size_t i = 0; i < (size_t)LARGE * HIGH * 4; i++) {
        memory[i] = (uint8_t)(i * i % 251 + i / 5000);
    }
    for (size_t b = 0; b < 2; b++) {
        const char *id = second_device_id(backends[b]);
        if (!has_device(id)) {
            continue;
        }
        world w;
        float expected[BATCH * IMAGE];
        world_open(&w, id, &grey_batch, 1, false);
        mts_region regions[BATCH] = {{.x = 1, .y = 3, .width = 300, .height = 200, .fit = MTS_FIT_LETTERBOX},
                                     {.x = 100, .y = 40, .width = 33, .height = 203, .mirror = 1},
                                     {.x = 100, .y = 40, .width = 220, .height = 203}};
        for (int n = 0; n < 30; n++) {
            mts_frame f = frame_of(&w, (mts_pixel_format)(n % 10));
            f.data = memory;
            f.width = LARGE;
            f.height = HIGH;
            for (size_t i = 0; i < BATCH; i++) {
                regions[i].rotation = rotations[n / 10];
            }
            regions[0].y = (uint32_t)n;
            if (n % 3 == 0) { /* two thirds of the runs have a rectangle at an angle, beyond the frame */
                regions[1] = (mts_region){.middle = {40, 10.0f * (float)n},
                                          .sides = {150, 90},
                                          .angle = 0.3f * (float)n,
                                          .fill = {9, 9, 9}};
            }
            assert_int_equal(mts_session_regions(w.session, NULL, regions, n % 4 ? BATCH : 2), MTS_STATUS_OK);
            f.zero_copy = 1;
            run(&w, &f);
            memcpy(expected, output(&w, "a"), sizeof expected);
            f.zero_copy = 0;
            run(&w, &f);
            for (size_t i = 0; i < BATCH * IMAGE; i++) {
                if (!(fabsf(output(&w, "a")[i] - expected[i]) <= 0.02f)) {
                    fail_msg("%s, format %d, value %zu: %g, not %g", id, n % 10, i,
                             (double)output(&w, "a")[i], (double)expected[i]);
                }
            }
        }
        world_close(&w);
    }
    free(memory);
}

static void frames_of_the_same_size_allocate_nothing(void **state)
{
    world w;
    (void)state;
    world_open(&w, "reference", &grey_batch, 1, false);
    mts_frame f = frame_of(&w, MTS_PIXEL_FORMAT_NV12);
    mts_region regions[BATCH] = {{.width = 4, .height = 4}, {.x = 2, .width = 4, .height = 4}, {.x = 0}};
    run(&w, &f);
    const size_t calls = w.fixture.calls;
    for (uint32_t n = 0; n < 20; n++) {
        regions[1].y = n % 10;
        assert_int_equal(mts_session_regions(w.session, NULL, regions, n % (BATCH + 1)), MTS_STATUS_OK);
        f.format = n % 3 ? MTS_PIXEL_FORMAT_NV12 : MTS_PIXEL_FORMAT_GREY; /* a smaller one */
        run(&w, &f);
    }
    assert_int_equal(w.fixture.calls, calls);
    world_close(&w);
}

/* The mean of a region, found here. */
static float mean_of(const world *w, const mts_region *r)
{
    double sum = 0.0;
    for (uint32_t y = 0; y < r->height; y++) {
        for (uint32_t x = 0; x < r->width; x++) {
            sum += w->pixels[(r->y + y) * WIDTH + r->x + x];
        }
    }
    return (float)(sum / (r->width * r->height));
}

static float mean_of_image(const float *image)
{
    double sum = 0.0;
    for (size_t i = 0; i < IMAGE; i++) {
        sum += (double)image[i];
    }
    return (float)(sum / (double)IMAGE);
}

static void images_of_a_batch_show_their_own_regions(void **state)
{
    static const char *const backends[] = {"reference", "opencl:0"};
    (void)state;
    for (size_t b = 0; b < 2; b++) {
        const char *id = second_device_id(backends[b]);
        if (!has_device(id)) {
            continue;
        }
        world w;
        world_open(&w, id, &grey_batch, 1, false);
        mts_frame f = frame_of(&w, MTS_PIXEL_FORMAT_GREY);
        const mts_region whole = {.width = WIDTH, .height = HEIGHT};
        mts_region regions[BATCH] = {
            {.x = 3, .y = 2, .width = 16, .height = 12, .filter = MTS_FILTER_AREA},
            {.x = 10, .y = 5, .width = 21, .height = 16, .filter = MTS_FILTER_AREA, .mirror = 1},
            {.width = 8, .height = 9, .filter = MTS_FILTER_AREA, .rotation = MTS_ROTATION_180}};
        f.region.filter = MTS_FILTER_AREA;
        run(&w, &f);
        for (size_t i = 0; i < BATCH; i++) { /* without regions every image shows the frame's own */
            assert_true(fabsf(mean_of_image(output(&w, "a") + i * IMAGE) - mean_of(&w, &whole)) < 0.01f);
        }
        assert_int_equal(mts_session_regions(w.session, "a", regions, BATCH), MTS_STATUS_OK);
        run(&w, &f);
        float kept[BATCH];
        for (size_t i = 0; i < BATCH; i++) {
            kept[i] = mean_of_image(output(&w, "a") + i * IMAGE);
            assert_true(fabsf(kept[i] - mean_of(&w, &regions[i])) < 0.01f);
        }
        regions[0].x = 7;
        assert_int_equal(mts_session_regions(w.session, NULL, regions, 1), MTS_STATUS_OK);
        w.pixels[5 * WIDTH + 12] ^= 0xff; /* in all three regions but the last */
        run(&w, &f);
        const float *seen = output(&w, "a");
        assert_true(fabsf(mean_of_image(seen) - mean_of(&w, &regions[0])) < 0.01f);
        assert_true(mean_of_image(seen + IMAGE) == kept[1]); /* as it was before that pixel changed */
        assert_true(mean_of_image(seen + 2 * IMAGE) == kept[2]);
        assert_int_equal(mts_session_regions(w.session, "a", NULL, 0), MTS_STATUS_OK);
        run(&w, &f);
        for (size_t i = 0; i < BATCH; i++) {
            assert_true(fabsf(mean_of_image(output(&w, "a") + i * IMAGE) - mean_of(&w, &whole)) < 0.01f);
        }
        world_close(&w);
    }
}

static void a_region_outside_of_a_frame_fails_its_submission_and_changes_nothing(void **state)
{
    world w;
    mts_ticket ticket = 0;
    float before[BATCH * IMAGE];
    const mts_region regions[BATCH] = {
        {.width = 4, .height = 4}, {.x = 28, .width = 4, .height = 4}, {.width = 1, .height = 1}};
    (void)state;
    world_open(&w, "reference", &grey_batch, 1, false);
    mts_frame f = frame_of(&w, MTS_PIXEL_FORMAT_GREY);
    run(&w, &f);
    memcpy(before, output(&w, "a"), sizeof before);
    assert_int_equal(mts_session_regions(w.session, NULL, regions, BATCH), MTS_STATUS_OK);
    assert_int_equal(mts_session_submit(w.session, &f, &ticket), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(w.fixture.error, "4x4 at 28,0 is not inside 31x21"));
    assert_memory_equal(before, output(&w, "a"), sizeof before);
    run(&w, NULL);
    assert_memory_equal(before, output(&w, "a"), sizeof before);
    f.width = 20; /* a smaller frame: now the first is the only one inside */
    f.height = 20;
    assert_int_equal(mts_session_submit(w.session, &f, &ticket), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_regions(w.session, NULL, regions, 1), MTS_STATUS_OK);
    run(&w, &f);
    world_close(&w);
}

static void expect_no_regions(world *w, const char *task, const mts_region *regions, uint32_t count,
                              mts_status status, const char *word)
{
    w->fixture.error[0] = '\0';
    assert_int_equal(mts_session_regions(w->session, task, regions, count), status);
    if (!strstr(w->fixture.error, word)) {
        fail_msg("'%s' is not in: %s", word, w->fixture.error);
    }
}

static void regions_that_make_no_sense_are_refused(void **state)
{
    world w;
    mts_ticket ticket = 0;
    const frame_task tasks[3] = {
        grey_batch, grey_batch, {.batch = 1, .height = 2, .width = 2, .deviation = 1.0f}};
    mts_region region = {.width = 2, .height = 2};
    mts_region bad = region;
    (void)state;
    world_open(&w, "reference", tasks, 3, true);
    assert_int_equal(mts_session_regions(NULL, NULL, &region, 1), MTS_STATUS_INVALID_ARGUMENT);
    expect_no_regions(&w, NULL, NULL, 1, MTS_STATUS_INVALID_ARGUMENT, "NULL");
    expect_no_regions(&w, NULL, &region, BATCH + 1, MTS_STATUS_INVALID_ARGUMENT,
                      "4 regions are more than the 3");
    expect_no_regions(&w, "b", &region, UINT32_MAX, MTS_STATUS_INVALID_ARGUMENT, "task 'b'");
    expect_no_regions(&w, "c", &region, 1, MTS_STATUS_INVALID_ARGUMENT, "takes no frames");
    expect_no_regions(&w, "z", &region, 1, MTS_STATUS_NOT_FOUND, "z");
    bad.rotation = (mts_rotation)1;
    expect_no_regions(&w, "a", &bad, 1, MTS_STATUS_INVALID_ARGUMENT, "region 0: ");
    bad = region;
    bad.height = 0;
    expect_no_regions(&w, "a", &bad, 1, MTS_STATUS_INVALID_ARGUMENT, "no height");
    assert_int_equal(mts_session_submit(w.session, NULL, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_regions(w.session, "a", &region, 1), MTS_STATUS_OK); /* of frames to come */
    assert_int_equal(mts_session_wait(w.session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    world_close(&w);
    world_open(&w, "reference", tasks, 2, false);
    expect_no_regions(&w, "a", &region, 1, MTS_STATUS_INVALID_ARGUMENT, "common");
    assert_int_equal(mts_session_regions(w.session, NULL, &region, 1), MTS_STATUS_OK);
    world_close(&w);
}

static void separate_tasks_see_their_own_regions_of_one_frame(void **state)
{
    world w;
    const frame_task tasks[2] = {grey_batch, grey};
    const mts_region left = {.width = 8, .height = 8};
    const mts_region right = {.x = 20, .y = 10, .width = 8, .height = 8};
    (void)state;
    world_open(&w, "reference", tasks, 2, true);
    const mts_frame f = frame_of(&w, MTS_PIXEL_FORMAT_GREY);
    assert_int_equal(mts_session_regions(w.session, "a", &left, 1), MTS_STATUS_OK);
    assert_int_equal(mts_session_regions(w.session, "b", &right, 1), MTS_STATUS_OK);
    run(&w, &f);
    for (size_t y = 0; y < SIDE; y++) {
        for (size_t x = 0; x < SIDE; x++) {
            assert_true(output(&w, "a")[y * SIDE + x] == (float)w.pixels[y * WIDTH + x]);
            assert_true(output(&w, "b")[y * SIDE + x] == (float)w.pixels[(y + 10) * WIDTH + x + 20]);
        }
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_that_contradict_themselves_are_refused_with_the_reason),
        cmocka_unit_test(regions_that_contradict_themselves_are_refused_with_the_reason),
        cmocka_unit_test(frames_whose_planes_reach_too_far_are_refused),
        cmocka_unit_test(frames_are_read_to_their_last_byte_and_not_beyond),
        cmocka_unit_test(planes_may_lie_anywhere),
        cmocka_unit_test(a_lent_frame_is_the_same_as_a_copied_one_and_free_after_the_wait),
        cmocka_unit_test(a_large_frame_is_seen_as_it_is_however_it_is_copied),
        cmocka_unit_test(frames_of_the_same_size_allocate_nothing),
        cmocka_unit_test(images_of_a_batch_show_their_own_regions),
        cmocka_unit_test(a_region_outside_of_a_frame_fails_its_submission_and_changes_nothing),
        cmocka_unit_test(regions_that_make_no_sense_are_refused),
        cmocka_unit_test(separate_tasks_see_their_own_regions_of_one_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
