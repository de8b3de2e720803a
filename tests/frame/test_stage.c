/*
 * test_stage.c: what a frame costs: one launch for all inputs, one image for tasks that agree, no write
 * where nothing has changed or memory is read in place; and what a failure leaves behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/state.h"
#include "tune/tune.h"
#include "tests/support/fault.h"
#include "support/frame_bundle.h"

#define SIDE 6
#define PIXELS ((size_t)SIDE * SIDE)

typedef struct world {
    mts_fault_plan plan;
    mts_archive *archive;
    mts_device *device;
    mts_engine *engine;
    uint8_t pixels[2 * 12 * 10];
} world;

static void world_open(world *w, const frame_task *tasks, uint32_t count, bool separate)
{
    size_t backends = 0;
    mts_error error = {0};
    const mts_backend *const *table = mts_backend_table(&backends);
    const mts_device_options options = {.allocator = mts_allocator_default()};
    const mts_engine_options wanted = {.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = separate};
    memset(w, 0, sizeof *w);
    for (size_t i = 0; i < backends && !w->device; i++) {
        if (strcmp(table[i]->name, "reference") == 0) {
            assert_int_equal(table[i]->open(0, &options, &w->device, &error), MTS_STATUS_OK);
        }
    }
    assert_int_equal(mts_wrap_fault(&w->device, &w->plan, &w->device, &error), MTS_STATUS_OK);
    w->archive = frame_archive_make(tasks, count);
    assert_int_equal(
        mts_planned_engine_create(w->device, w->archive, &wanted, NULL, &w->engine, NULL, &error),
        MTS_STATUS_OK);
    for (size_t i = 0; i < sizeof w->pixels; i++) {
        w->pixels[i] = (uint8_t)(i * 7);
    }
}

static void world_close(world *w)
{
    mts_engine_destroy(&w->engine);
    mts_device_destroy(&w->device);
    mts_archive_destroy(&w->archive);
}

static const frame_task task = {
    .color = MTS_COLOR_GREY, .batch = 1, .height = SIDE, .width = SIDE, .mean = 1.0f, .deviation = 0.5f};

static mts_frame frame_of(const world *w)
{
    const mts_frame frame = {.size = sizeof frame,
                             .data = w->pixels,
                             .chroma = {w->pixels + 120},
                             .width = 12,
                             .height = 10,
                             .format = MTS_PIXEL_FORMAT_NV12};
    return frame;
}

static mts_status set_frame(world *w, uint32_t which, const mts_frame *frame)
{
    mts_frame_view view;
    mts_error error = {0};
    assert_int_equal(mts_frame_view_make(frame, &view, &error), MTS_STATUS_OK);
    return mts_engine_set_frame(w->engine, which, &view, &error);
}

static uint32_t calls_of(world *w, mts_wrap_kind kind, const mts_frame *frame, uint32_t which)
{
    w->plan = (mts_fault_plan){.kind = kind};
    assert_int_equal(set_frame(w, which, frame), MTS_STATUS_OK);
    return w->plan.calls;
}

static void run(world *w)
{
    mts_error error = {0};
    assert_int_equal(mts_engine_submit(w->engine, &error), MTS_STATUS_OK);
    assert_int_equal(mts_engine_wait(w->engine, &error), MTS_STATUS_OK);
}

static const float *output(const world *w, uint32_t index)
{
    const void *data = NULL;
    size_t size = 0;
    mts_error error = {0};
    assert_int_equal(mts_engine_output(w->engine, index, 0, &data, &size, &error), MTS_STATUS_OK);
    return data;
}

static void tasks_that_agree_share_one_image_and_all_share_one_launch(void **state)
{
    frame_task tasks[5] = {task, task, task, task, task};
    world w;
    (void)state;
    tasks[3].color = MTS_COLOR_RGB;
    tasks[4].height = 9;
    world_open(&w, tasks, 5, false);
    const mts_frame frame = frame_of(&w);
    assert_int_equal(calls_of(&w, MTS_WRAP_KIND_LIST_SUBMIT, &frame, MTS_NONE), 1);
    assert_int_equal(w.engine->frames.image_count, 3);
    assert_int_equal(w.engine->frames.lists[w.engine->frames.desc.input_count].count, 3);
    run(&w);
    assert_memory_equal(output(&w, 0), output(&w, 2), PIXELS * sizeof(float));
    world_close(&w);
    world_open(&w, tasks, 5, true);
    assert_int_equal(calls_of(&w, MTS_WRAP_KIND_LIST_SUBMIT, &frame, MTS_NONE), 1);
    assert_int_equal(w.engine->frames.image_count, 5);
    world_close(&w);
}

static void a_batch_is_one_launch_too(void **state)
{
    frame_task tasks[2] = {task, task};
    world w;
    (void)state;
    tasks[0].batch = 4;
    tasks[1].batch = 2;
    world_open(&w, tasks, 2, true);
    const mts_frame frame = frame_of(&w);
    assert_int_equal(calls_of(&w, MTS_WRAP_KIND_LIST_SUBMIT, &frame, MTS_NONE), 1);
    assert_int_equal(w.engine->frames.image_count, 6);
    assert_int_equal(calls_of(&w, MTS_WRAP_KIND_LIST_SUBMIT, &frame, 0), 1);
    run(&w);
    for (uint32_t i = 0; i < 4; i++) {
        assert_memory_equal(output(&w, 0) + i * PIXELS, output(&w, 1), PIXELS * sizeof(float));
    }
    world_close(&w);
}

/* The memory that the list of all images reads. */
static const mts_buffer *pinned(const world *w)
{
    return w->engine->submissions.items[0].staged.pins[w->engine->frames.desc.input_count].buffer;
}

static void a_zero_copy_frame_is_not_written_and_unpinned_when_the_run_is_over(void **state)
{
    world w;
    (void)state;
    world_open(&w, &task, 1, false);
    mts_frame frame = frame_of(&w);
    frame.zero_copy = 1;
    for (uint32_t n = 0; n < 3; n++) {
        const uint32_t writes = calls_of(&w, MTS_WRAP_KIND_BUFFER_WRITE, &frame, MTS_NONE);
        assert_int_equal(writes, 1); /* the record */
        assert_non_null(pinned(&w));
        assert_ptr_equal(w.engine->frames.buffer, NULL);
        run(&w);
        assert_null(pinned(&w));
    }
    /* a second one before the wait cannot take the first one's place: it is copied */
    assert_int_equal(calls_of(&w, MTS_WRAP_KIND_BUFFER_WRITE, &frame, MTS_NONE), 1);
    assert_int_equal(calls_of(&w, MTS_WRAP_KIND_BUFFER_WRITE, &frame, MTS_NONE), 3); /* its record too */
    run(&w);
    frame.data = w.pixels + 1; /* nor can memory at any address */
    frame.chroma[0] = w.pixels + 121;
    frame.height = 9;
    assert_int_equal(calls_of(&w, MTS_WRAP_KIND_BUFFER_WRITE, &frame, MTS_NONE), 3);
    assert_null(pinned(&w));
    frame = frame_of(&w); /* nor planes in the wrong order */
    frame.zero_copy = 1;
    frame.data = w.pixels + 120;
    frame.chroma[0] = w.pixels;
    assert_int_equal(calls_of(&w, MTS_WRAP_KIND_BUFFER_WRITE, &frame, MTS_NONE), 3);
    assert_null(pinned(&w));
    world_close(&w);
}

static void only_the_rows_that_are_shown_are_copied(void **state)
{
    world w;
    (void)state;
    world_open(&w, &task, 1, false);
    mts_frame frame = frame_of(&w);
    (void)calls_of(&w, MTS_WRAP_KIND_BUFFER_WRITE, &frame, MTS_NONE);
    run(&w);
    uint8_t before[180];
    uint8_t after[180];
    mts_error error = {0};
    assert_int_equal(mts_buffer_read(w.engine->frames.buffer, 0, before, sizeof before, &error),
                     MTS_STATUS_OK);
    memset(w.pixels, 0xee, sizeof w.pixels);
    frame.region = (mts_region){.x = 2, .y = 3, .width = 4, .height = 2};
    (void)calls_of(&w, MTS_WRAP_KIND_BUFFER_WRITE, &frame, MTS_NONE);
    assert_int_equal(mts_buffer_read(w.engine->frames.buffer, 0, after, sizeof after, &error), MTS_STATUS_OK);
    for (size_t i = 0; i < 120; i++) { /* luma rows 3 and 4 */
        assert_int_equal(after[i], i / 12 == 3 || i / 12 == 4 ? 0xee : before[i]);
    }
    for (size_t i = 0; i < 52; i++) { /* pairs, rows 1 and 2: plane 1 begins at a multiple of 64 */
        assert_int_equal(after[128 + i], i / 12 == 1 || i / 12 == 2 ? 0xee : before[128 + i]);
    }
    world_close(&w);
}

/* Each call of the device fails once, in a copied and in a zero-copy frame; then the same frame goes in. */
static void a_frame_that_fails_at_any_call_can_be_given_again(void **state)
{
    (void)state;
    for (int zero_copy = 0; zero_copy < 2; zero_copy++) {
        uint32_t failures = 0;
        bool failed = true;
        float expected[2 * PIXELS];
        for (uint32_t nth = 0; failed || nth <= 1; nth++) {
            frame_task tasks[2] = {task, task};
            world w;
            tasks[1].mean = 5.0f;
            world_open(&w, tasks, 2, false);
            mts_frame frame = frame_of(&w);
            frame.zero_copy = zero_copy != 0;
            w.plan = (mts_fault_plan){.kind = MTS_WRAP_KIND_COUNT, .nth = nth, .code = MTS_STATUS_DEVICE};
            const mts_status status = set_frame(&w, MTS_NONE, &frame);
            failed = w.plan.failed > 0;
            failures += failed ? 1 : 0;
            assert_int_equal(status, failed ? MTS_STATUS_DEVICE : MTS_STATUS_OK);
            w.plan.nth = 0;
            if (failed) {
                assert_int_equal(set_frame(&w, MTS_NONE, &frame), MTS_STATUS_OK);
            }
            run(&w);
            for (uint32_t t = 0; t < 2; t++) {
                if (nth == 0) {
                    memcpy(expected + t * PIXELS, output(&w, t), PIXELS * sizeof(float));
                }
                assert_memory_equal(output(&w, t), expected + t * PIXELS, PIXELS * sizeof(float));
            }
            world_close(&w);
        }
        assert_true(failures >= 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_that_agree_share_one_image_and_all_share_one_launch),
        cmocka_unit_test(a_batch_is_one_launch_too),
        cmocka_unit_test(a_zero_copy_frame_is_not_written_and_unpinned_when_the_run_is_over),
        cmocka_unit_test(only_the_rows_that_are_shown_are_copied),
        cmocka_unit_test(a_frame_that_fails_at_any_call_can_be_given_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
