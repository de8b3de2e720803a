/*
 * Calibration sees what a session sees: frames of several formats through each task's crop, fit, bars and filter,
 * beside the inputs of a session on the reference device; and frames that are none.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compress/data/data.h"
#include "support/api_fixture.h"
#include "support/frame_bundle.h"

enum { WIDTH = 37, HEIGHT = 22, FRAMES = 3, TASKS = 5, ELEMENTS_MOST = 3 * 20 * 20 };

static unsigned char pixels[3 * WIDTH * HEIGHT];
static mts_error error;

/* Image i of the data: RGB, NV12 with a stride, and grey with a region of its own. */
static mts_frame frame_of(uint32_t index)
{
    mts_frame frame;
    mts_frame_default(&frame);
    frame.data = pixels;
    frame.width = WIDTH;
    frame.height = HEIGHT;
    frame.format = index == 0   ? MTS_PIXEL_FORMAT_RGB
                   : index == 1 ? MTS_PIXEL_FORMAT_NV12
                                : MTS_PIXEL_FORMAT_GREY;
    if (index == 1) {
        frame.stride = WIDTH + 3;
        frame.chroma[0] = pixels + (WIDTH + 3) * HEIGHT + 5;
    } else if (index == 2) {
        frame.region = (mts_region){.x = 3, .y = 2, .width = 20, .height = 18, .rotation = MTS_ROTATION_90};
    }
    return frame;
}

static int give_frame(void *context, uint32_t index, mts_frame *frame)
{
    (void)context;
    if (index >= FRAMES) {
        return 1;
    }
    *frame = frame_of(index);
    return 0;
}

static const frame_task tasks[TASKS] = {
    {.color = MTS_COLOR_RGB, .batch = 1, .height = 9, .width = 20, .mean = 100, .deviation = 50},
    {.color = MTS_COLOR_GREY,
     .batch = 1,
     .height = 12,
     .width = 12,
     .deviation = 2,
     .fit = MTS_FIT_LETTERBOX,
     .fill = 77,
     .filter = MTS_FILTER_AREA},
    {.color = MTS_COLOR_BGR,
     .interleaved = 1,
     .batch = 1,
     .height = 7,
     .width = 5,
     .mean = 10,
     .deviation = 255,
     .fit = MTS_FIT_CROP,
     .filter = MTS_FILTER_AREA},
    {.color = MTS_COLOR_RGB,
     .batch = 1,
     .height = 8,
     .width = 8,
     .deviation = 1,
     .crop = {0.5f, 0.1f, 0.5f, 0.7f}},
    {.color = MTS_COLOR_RGB,
     .batch = 1,
     .height = 20,
     .width = 20,
     .deviation = 1,
     .fit = MTS_FIT_LETTERBOX_CORNER,
     .fill = 5,
     .crop = {0, 0, 0.3f, 1}},
};

/* Element (a, b, d) of dims [1,A,B,D] lies at [b][d][a]. */
static void expect_equal(const mts_graph *graph, const float *seen, const float *given)
{
    const int64_t *dims = graph->inputs[0].shape.dims;
    for (int64_t a = 0; a < dims[1]; a++) {
        for (int64_t b = 0; b < dims[2]; b++) {
            for (int64_t d = 0; d < dims[3]; d++) {
                assert_float_equal(given[(b * dims[3] + d) * dims[1] + a],
                                   seen[(a * dims[2] + b) * dims[3] + d], 2e-4f);
            }
        }
    }
}

static void calibration_sees_what_a_session_sees(void **state)
{
    static const char *const names[TASKS] = {"a", "b", "c", "d", "e"};
    api_fixture fixture;
    mts_bundle_bytes bytes;
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    mts_data *data = NULL;
    mtsz_data source;
    float inputs[ELEMENTS_MOST];
    (void)state;
    mtsz_data_default(&source);
    source.count = FRAMES;
    source.frame = give_frame;
    mts_archive *archive = frame_archive_make(tasks, TASKS);
    frame_bundle_make(tasks, TASKS, &bytes);
    api_open(&fixture, "reference");
    assert_int_equal(mts_bundle_open_memory(fixture.runtime, bytes.data, bytes.size, &bundle), MTS_STATUS_OK);
    assert_int_equal(mts_session_create(fixture.runtime, bundle, NULL, &session), MTS_STATUS_OK);
    assert_int_equal(
        mts_data_create(&source, archive->tasks, TASKS, 100 << 10, mts_allocator_default(), &data, &error),
        MTS_STATUS_OK);
    for (uint32_t i = 0; i < FRAMES; i++) {
        const mts_frame frame = frame_of(i);
        mts_ticket ticket = 0;
        if (mts_session_submit(session, &frame, &ticket) != MTS_STATUS_OK) {
            fail_msg("%s", fixture.error);
        }
        assert_int_equal(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        for (uint32_t t = 0; t < TASKS; t++) {
            mts_tensor seen;
            assert_int_equal(mts_session_output(session, names[t], 0, &seen), MTS_STATUS_OK);
            assert_int_equal(mts_data_fill(data, t, 0, &i, 1, NULL, inputs, &error), MTS_STATUS_OK);
            expect_equal(archive->tasks[t].graph, seen.data, inputs);
        }
    }
    mts_data_destroy(&data);
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
    api_close(&fixture);
    mts_bundle_bytes_release(&bytes);
    mts_archive_destroy(&archive);
}

static int give_bad_frame(void *context, uint32_t index, mts_frame *frame)
{
    const int kind = *(const int *)context;
    *frame = frame_of(index);
    switch (kind) {
    case 0:
        return 7;
    case 1:
        frame->data = NULL;
        break;
    case 2:
        frame->width = 0;
        break;
    case 3:
        frame->stride = 4;
        break;
    case 4:
        frame->memory = MTS_MEMORY_DMABUF;
        break;
    case 5:
        frame->format = (mts_pixel_format)99;
        break;
    case 6:
        frame->region = (mts_region){.x = WIDTH, .width = 1, .height = 1};
        break;
    default:
        frame->size = 3;
        break;
    }
    return 0;
}

static void a_frame_that_is_none_is_refused_with_its_number(void **state)
{
    static const char *const parts[] = {"cannot be had", "data is NULL", "0x22 pixels", "stride",
                                        "HOST memory",   "pixel format", "region",      "size"};
    const uint32_t index = 2;
    mts_archive *archive = frame_archive_make(tasks, 1);
    float inputs[ELEMENTS_MOST];
    (void)state;
    for (int kind = 0; kind < (int)(sizeof parts / sizeof parts[0]); kind++) {
        mtsz_data source;
        mts_data *data = NULL;
        mtsz_data_default(&source);
        source.count = FRAMES;
        source.context = &kind;
        source.frame = give_bad_frame;
        assert_int_equal(
            mts_data_create(&source, archive->tasks, 1, 1 << 20, mts_allocator_default(), &data, &error),
            MTS_STATUS_OK);
        assert_int_equal(mts_data_fill(data, 0, 0, &index, 1, NULL, inputs, &error),
                         kind == 0 ? MTS_STATUS_IO : MTS_STATUS_INVALID_ARGUMENT);
        if (!strstr(error.text, "image 2") || !strstr(error.text, parts[kind])) {
            fail_msg("'%s' and 'image 2' are not in '%s'", parts[kind], error.text);
        }
        mts_data_destroy(&data);
    }
    mts_archive_destroy(&archive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calibration_sees_what_a_session_sees),
        cmocka_unit_test(a_frame_that_is_none_is_refused_with_its_number),
    };
    for (size_t i = 0; i < sizeof pixels; i++) {
        pixels[i] = (unsigned char)(i * i * 31 + i / 7);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
