/*
 * Devices that are lost: the session ends with a clear sentence, or goes on with those that are left, and every run
 * that was in flight gives what it gives without a loss, of the inputs, the frames and the regions that it was
 * submitted with.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/pipeline.h"
#include "support/chain_world.h"
#include "support/fault.h"
#include "support/frame_bundle.h"
#include "support/nets.h"

static int count_progress(void *context, float part, const char *what)
{
    (void)part;
    (void)what;
    ++*(uint32_t *)context;
    return 0;
}

static void make_pipeline(chain_world *w, uint32_t devices, uint32_t slots, const mts_chain *chain,
                          bool replan)
{
    static const uint32_t device_of[2] = {0, 1};
    mts_error error = {0};
    uint32_t *priorities = calloc(2, sizeof *priorities); /* needed during the call only, as `progress` */
    const bool groups = w->archive->task_count > 1;
    const mts_pipeline_options options = {.devices = w->devices,
                                          .device_count = devices,
                                          .ids = chain_ids,
                                          .engine = {.slots = slots,
                                                     .depth = 2,
                                                     .priorities = priorities,
                                                     .context = &w->progress,
                                                     .progress = count_progress},
                                          .stages = true,
                                          .chain = chain,
                                          .device_of = groups ? device_of : NULL,
                                          .replan = replan};
    test_must(mts_pipeline_create(w->archive, &options, &w->pipeline, &error), &error, "pipeline");
    free(priorities);
    w->progress = 0;
}

static void open_faulty(chain_world *w, uint32_t count, uint32_t faulty, mts_fault_plan *plan)
{
    mts_error error = {0};
    for (uint32_t d = 0; d < count; d++) {
        test_must(net_device_open("reference", NULL, &w->devices[d], &error), &error, "reference");
        if (d == faulty) {
            test_must(mts_wrap_fault(&w->devices[d], plan, &w->devices[d], &error), &error, "fault");
        }
    }
}

static const mts_chain three = {.stage_count = 3, .stages = {{0, 0, 2}, {1, 2, 4}, {2, 4, 6}}};

static void a_lost_device_is_named(void **state)
{
    (void)state;
    chain_world w;
    mts_fault_plan plan = {.kind = MTS_WRAP_KIND_LIST_SUBMIT, .code = MTS_STATUS_DEVICE_LOST};
    mts_error error = {0};
    chain_world_make(&w, 4, 1);
    open_faulty(&w, 3, 1, &plan);
    make_pipeline(&w, 3, 3, &three, false);
    chain_world_fill(&w, 1);
    chain_world_submit(&w);
    test_must(mts_pipeline_wait_until(w.pipeline, UINT64_MAX, &error), &error, "wait");
    test_must(mts_pipeline_take(w.pipeline, &error), &error, "take");
    plan.nth = plan.calls + 1;
    plan.onwards = true;
    for (uint32_t f = 0; f < 3; f++) {
        while (!mts_pipeline_can_start(w.pipeline)) {
            mts_pipeline_advance(w.pipeline);
        }
        chain_world_submit(&w);
    }
    for (uint32_t f = 0; f < 3; f++) {
        test_must(mts_pipeline_wait_until(w.pipeline, UINT64_MAX, &error), &error, "wait");
        assert_int_equal(mts_pipeline_take(w.pipeline, &error), MTS_STATUS_DEVICE_LOST);
        assert_non_null(strstr(error.text, "part 2 of 3, on device 'b'"));
    }
    chain_world_close(&w);
}

/* Each device is lost in turn, at each of its submissions, while three runs are in flight: all of them give what they
   give without a loss. */
static void a_lost_device_is_replaced(void **state)
{
    (void)state;
    uint32_t losses = 0;
    for (uint32_t faulty = 0; faulty < 3; faulty++) {
        for (uint32_t nth = 1; nth <= 3; nth++) {
            chain_world w;
            mts_fault_plan plan = {.kind = MTS_WRAP_KIND_LIST_SUBMIT, .code = MTS_STATUS_DEVICE_LOST};
            mts_error error = {0};
            float want[4];
            chain_world_make(&w, 4, 1);
            open_faulty(&w, 3, faulty, &plan);
            make_pipeline(&w, 3, 3, &three, true);
            for (uint32_t f = 0; f < 4; f++) {
                chain_world_fill(&w, f);
                chain_world_submit(&w);
                test_must(mts_pipeline_wait_until(w.pipeline, UINT64_MAX, &error), &error, "wait");
                test_must(mts_pipeline_take(w.pipeline, &error), &error, "take");
                want[f] = chain_world_answer(&w);
            }
            const uint32_t before = plan.calls;
            plan.nth = before + nth;
            uint32_t taken = 0;
            for (uint32_t f = 0; f < 4; f++) {
                while (!mts_pipeline_can_start(w.pipeline)) {
                    test_must(mts_pipeline_wait_until(w.pipeline, UINT64_MAX, &error), &error, "wait");
                    test_must(mts_pipeline_take(w.pipeline, &error), &error, "take");
                    const float got = chain_world_answer(&w);
                    assert_memory_equal(&got, &want[taken], sizeof got);
                    taken++;
                }
                chain_world_fill(&w, f);
                chain_world_submit(&w);
                /* What was consumed before the loss can still be read. */
                assert_true(taken > 0 || chain_world_answer(&w) == want[3]);
            }
            for (; taken < 4; taken++) {
                test_must(mts_pipeline_wait_until(w.pipeline, UINT64_MAX, &error), &error, "wait");
                test_must(mts_pipeline_take(w.pipeline, &error), &error, "take");
                const float got = chain_world_answer(&w);
                assert_memory_equal(&got, &want[taken], sizeof got);
            }
            losses += w.devices[faulty]->lost ? 1 : 0;
            const uint32_t parts = mts_pipeline_part_count(w.pipeline);
            assert_in_range(parts, 1, 2);
            assert_int_equal(w.progress, 0);
            for (uint32_t i = 0; i < parts; i++) {
                mts_engine_view view;
                mts_engine_view_get(mts_pipeline_part(w.pipeline, i), &view);
                assert_false(view.device->lost);
            }
            chain_world_close(&w);
        }
    }
    assert_int_equal(losses, 9);
}

static void take_well(chain_world *w)
{
    mts_error error = {0};
    test_must(mts_pipeline_wait_until(w->pipeline, UINT64_MAX, &error), &error, "wait");
    test_must(mts_pipeline_take(w->pipeline, &error), &error, "take");
}

/* The last free slot has a run, and one device is left. */
static void the_last_device_takes_over_with_one_slot(void **state)
{
    (void)state;
    chain_world w;
    mts_fault_plan plan = {.kind = MTS_WRAP_KIND_LIST_SUBMIT, .code = MTS_STATUS_DEVICE_LOST};
    const mts_chain two = {.stage_count = 2, .stages = {{0, 0, 3}, {1, 3, 6}}};
    chain_world_make(&w, 4, 1);
    open_faulty(&w, 2, 1, &plan);
    make_pipeline(&w, 2, 1, &two, true);
    chain_world_fill(&w, 1);
    chain_world_submit(&w);
    take_well(&w);
    const float want = chain_world_answer(&w);
    plan.nth = plan.calls + 1;
    chain_world_submit(&w);
    take_well(&w);
    assert_true(w.devices[1]->lost && mts_pipeline_part_count(w.pipeline) == 1);
    assert_true(chain_world_answer(&w) == want);
    chain_world_close(&w);
}

/* The second is lost while the tasks are placed anew. */
static void two_devices_are_lost_at_once(void **state)
{
    (void)state;
    chain_world w;
    mts_fault_plan first = {.kind = MTS_WRAP_KIND_LIST_SUBMIT, .code = MTS_STATUS_DEVICE_LOST};
    mts_fault_plan second = {.kind = MTS_WRAP_KIND_BUFFER_CREATE, .code = MTS_STATUS_DEVICE_LOST};
    mts_error error = {0};
    chain_world_make(&w, 4, 1);
    open_faulty(&w, 3, 1, &first);
    test_must(mts_wrap_fault(&w.devices[2], &second, &w.devices[2], &error), &error, "fault");
    make_pipeline(&w, 3, 2, &three, true);
    chain_world_fill(&w, 1);
    chain_world_submit(&w);
    take_well(&w);
    const float want = chain_world_answer(&w);
    first.nth = first.calls + 1;
    second.nth = second.calls + 1;
    chain_world_submit(&w);
    take_well(&w);
    assert_true(w.devices[1]->lost && w.devices[2]->lost && mts_pipeline_part_count(w.pipeline) == 1);
    assert_true(chain_world_answer(&w) == want);
    chain_world_close(&w);
}

/* A task that has not run since the loss has no outputs, rather than those of nothing. */
static void what_has_not_run_since_a_loss_has_no_outputs(void **state)
{
    (void)state;
    chain_world w;
    mts_fault_plan plan = {.kind = MTS_WRAP_KIND_LIST_SUBMIT, .code = MTS_STATUS_DEVICE_LOST};
    mts_error error = {0};
    const void *data = NULL;
    size_t size = 0;
    uint64_t run = 0;
    chain_world_make(&w, 2, 2);
    open_faulty(&w, 2, 1, &plan);
    make_pipeline(&w, 2, 2, NULL, true);
    chain_world_submit(&w);
    take_well(&w);
    test_must(mts_pipeline_enable(w.pipeline, 0, false, &error), &error, "off");
    plan.nth = plan.calls + 1;
    chain_world_submit(&w);
    take_well(&w);
    test_must(mts_pipeline_output(w.pipeline, 1, 0, &data, &size, &error), &error, "of the one that runs");
    assert_int_equal(mts_pipeline_output_run(w.pipeline, 0, &run, &error), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_pipeline_output(w.pipeline, 0, 0, &data, &size, &error), MTS_STATUS_NOT_FOUND);
    chain_world_close(&w);
}

/* ---- frames ---- */

#define SIDE 4u
#define PIXELS (3u * SIDE * SIDE)

static const mts_chain on_second = {.stage_count = 1, .stages = {{1, 0, 1}}};

/* Tasks that give back what they see, on the second device, which is lost at its next list once `plan` says so. */
static void open_frames(chain_world *w, uint32_t slots, mts_fault_plan *plan)
{
    const frame_task task = {
        .color = MTS_COLOR_RGB, .batch = 1, .height = SIDE, .width = SIDE, .mean = 0, .deviation = 1};
    memset(w, 0, sizeof *w);
    mts_arena_init(&w->arena, mts_allocator_default());
    w->archive = frame_archive_make(&task, 1);
    open_faulty(w, 2, 1, plan);
    make_pipeline(w, 2, slots, &on_second, true);
}

static mts_frame_view view_of(uint8_t *pixels, bool zero_copy)
{
    const mts_frame frame = {.size = sizeof frame,
                             .data = pixels,
                             .width = SIDE,
                             .height = SIDE,
                             .format = MTS_PIXEL_FORMAT_RGB,
                             .zero_copy = zero_copy ? 1 : 0};
    mts_frame_view view;
    mts_error error = {0};
    test_must(mts_frame_view_make(&frame, &view, &error), &error, "view");
    return view;
}

static void submit_frame(chain_world *w, uint8_t *pixels)
{
    mts_error error = {0};
    mts_engine_drop none = {0};
    const mts_frame_view view = view_of(pixels, false);
    test_must(mts_pipeline_submit_frame(w->pipeline, &view, &none, &error), &error, "frame");
}

/* Two runs with regions of their own: each sees its own again, and the one to come the last ones. */
static void regions_are_those_of_each_run(void **state)
{
    (void)state;
    chain_world w;
    uint8_t pixels[PIXELS];
    mts_fault_plan plan = {.kind = MTS_WRAP_KIND_LIST_SUBMIT, .code = MTS_STATUS_DEVICE_LOST};
    mts_error error = {0};
    for (uint32_t i = 0; i < PIXELS; i++) {
        pixels[i] = (uint8_t)(i / 3); /* its place */
    }
    const mts_region regions[2] = {{.x = 0, .y = 2, .width = 2, .height = 2},
                                   {.x = 2, .y = 2, .width = 2, .height = 2}};
    float want[3] = {0};
    for (int lost = 0; lost < 2; lost++) {
        plan.nth = 0;
        open_frames(&w, 3, &plan);
        submit_frame(&w, pixels);
        for (uint32_t i = 0; i < 2; i++) {
            plan.nth = lost && i == 1 ? plan.calls + 1 : 0; /* none of the three was consumed */
            test_must(mts_pipeline_set_regions(w.pipeline, i == 0 ? 0 : MTS_NONE, &regions[i], 1, &error),
                      &error, "regions");
            submit_frame(&w, pixels);
        }
        for (uint32_t i = 0; i < 3; i++) {
            take_well(&w);
            want[i] = lost ? want[i] : chain_world_answer(&w);
            assert_true(chain_world_answer(&w) == want[i]);
        }
        submit_frame(&w, pixels);
        take_well(&w);
        assert_true(chain_world_answer(&w) == want[2]);
        assert_true(w.devices[1]->lost == (lost == 1));
        chain_world_close(&w);
    }
    assert_true(want[0] < want[1] && want[1] < want[2]);
}

/* The caller's frame is gone when the run that it was set for has ended; later runs see its copy. */
static void a_frame_that_was_set_is_not_read_again(void **state)
{
    (void)state;
    chain_world w;
    uint8_t *pixels = malloc(PIXELS);
    mts_fault_plan plan = {.kind = MTS_WRAP_KIND_LIST_SUBMIT, .code = MTS_STATUS_DEVICE_LOST};
    mts_error error = {0};
    assert_non_null(pixels);
    memset(pixels, 7, PIXELS);
    open_frames(&w, 1, &plan);
    const mts_frame_view view = view_of(pixels, true);
    test_must(mts_pipeline_set_frame(w.pipeline, 0, &view, &error), &error, "frame");
    test_must(mts_pipeline_submit(w.pipeline, &error), &error, "submit");
    take_well(&w);
    assert_true(chain_world_answer(&w) == 7.0f);
    memset(pixels, 0, PIXELS);
    free(pixels);
    plan.nth = plan.calls + 1;
    test_must(mts_pipeline_submit(w.pipeline, &error), &error, "submit");
    take_well(&w);
    assert_true(w.devices[1]->lost && chain_world_answer(&w) == 7.0f);
    chain_world_close(&w);
}

/* No host memory for another placement: the session ends, and says why. */
static void a_session_without_memory_ends(void **state)
{
    (void)state;
    chain_world w;
    mts_wrap_allocator memory;
    mts_fault_plan plan = {.kind = MTS_WRAP_KIND_LIST_SUBMIT, .code = MTS_STATUS_DEVICE_LOST};
    mts_error error = {0};
    mts_wrap_allocator_init(&memory, mts_allocator_default(), 0);
    chain_world_make(&w, 4, 1);
    open_faulty(&w, 3, 1, &plan);
    const mts_allocator *const own = w.devices[0]->allocator;
    w.devices[0]->allocator = &memory.base; /* the pipeline's */
    make_pipeline(&w, 3, 2, &three, true);
    chain_world_submit(&w);
    take_well(&w);
    plan.nth = plan.calls + 1;
    chain_world_submit(&w);
    memory.nth = memory.calls + 1;
    memory.onwards = true;
    test_must(mts_pipeline_wait_until(w.pipeline, UINT64_MAX, &error), &error, "wait");
    assert_int_equal(mts_pipeline_take(w.pipeline, &error), MTS_STATUS_DEVICE_LOST);
    assert_non_null(strstr(error.text, "device 'b' was lost, and the session cannot go on"));
    assert_int_equal(mts_pipeline_part_count(w.pipeline), 0);
    assert_int_equal(mts_pipeline_submit(w.pipeline, &error), MTS_STATUS_DEVICE_LOST);
    mts_pipeline_destroy(&w.pipeline);
    assert_int_equal(memory.alive, 0);
    w.devices[0]->allocator = own;
    chain_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_device_is_named),
        cmocka_unit_test(a_lost_device_is_replaced),
        cmocka_unit_test(the_last_device_takes_over_with_one_slot),
        cmocka_unit_test(two_devices_are_lost_at_once),
        cmocka_unit_test(what_has_not_run_since_a_loss_has_no_outputs),
        cmocka_unit_test(regions_are_those_of_each_run),
        cmocka_unit_test(a_frame_that_was_set_is_not_read_again),
        cmocka_unit_test(a_session_without_memory_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
