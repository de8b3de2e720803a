/*
 * The session handle: what it refuses, the order of calls, and the promises of a run.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/api_fixture.h"

#define OUTPUTS 64

static void run(api_world *w, const mts_frame *frame)
{
    mts_ticket ticket = 0;
    assert_int_equal(mts_session_submit(w->session, frame, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(w->session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
}

/* The values of the two tasks' outputs. */
static size_t outputs_get(const api_world *w, float *values)
{
    static const char *const names[] = {"pet", "object"};
    size_t count = 0;
    for (size_t i = 0; i < 2; i++) {
        mts_tensor tensor;
        assert_int_equal(mts_session_output(w->session, names[i], 0, &tensor), MTS_STATUS_OK);
        assert_int_equal(tensor.type, MTS_TYPE_FLOAT32);
        assert_true(count + tensor.bytes / 4 <= OUTPUTS);
        memcpy(values + count, tensor.data, tensor.bytes);
        count += tensor.bytes / 4;
    }
    assert_int_equal(count, 13);
    return count;
}

static void the_same_frame_gives_bit_identical_outputs_and_another_frame_others(void **state)
{
    api_world w;
    float first[OUTPUTS];
    float again[OUTPUTS];
    float other[OUTPUTS];
    (void)state;
    const mts_session_options options = api_two_tasks();
    api_world_open(&w, "reference", &options);
    const mts_frame frame = api_frame(w.pixels);
    run(&w, &frame);
    const size_t count = outputs_get(&w, first);
    uint8_t pixels[API_PIXELS];
    api_pixels(pixels, 99);
    const mts_frame second = api_frame(pixels);
    run(&w, &second);
    (void)outputs_get(&w, other);
    run(&w, &frame);
    (void)outputs_get(&w, again);
    assert_memory_equal(first, again, count * sizeof first[0]);
    assert_memory_not_equal(first, other, count * sizeof first[0]);
    run(&w, NULL); /* inputs stay as they were set last */
    (void)outputs_get(&w, again);
    assert_memory_equal(first, again, count * sizeof first[0]);
    api_world_close(&w);
}

static void sequential_and_compact_agree_on_every_device(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < mts_device_count(); i++) {
        mts_device_desc device = {.size = sizeof device};
        float values[2][OUTPUTS];
        size_t count = 0;
        assert_int_equal(mts_device_describe(i, &device), MTS_STATUS_OK);
        for (int strategy = MTS_STRATEGY_SEQUENTIAL; strategy <= MTS_STRATEGY_COMPACT; strategy++) {
            api_world w;
            mts_session_options options = api_two_tasks();
            options.strategy = (mts_strategy)strategy;
            api_world_open(&w, device.id, &options);
            const mts_frame frame = api_frame(w.pixels);
            run(&w, &frame);
            count = outputs_get(&w, values[strategy]);
            api_world_close(&w);
        }
        for (size_t v = 0; v < count; v++) {
            const float scale = fabsf(values[0][v]) > 1.0f ? fabsf(values[0][v]) : 1.0f;
            assert_true(fabsf(values[0][v] - values[1][v]) <= 1e-4f * scale);
        }
    }
}

static void a_frame_given_as_a_tensor_gives_the_same_outputs(void **state)
{
    static const float mean[3] = {125.3f, 123.0f, 113.9f};
    static const float deviation[3] = {63.0f, 62.1f, 66.7f};
    api_world w;
    float from_frame[OUTPUTS];
    float from_tensor[OUTPUTS];
    float *planes = malloc(API_PIXELS * sizeof *planes);
    (void)state;
    assert_non_null(planes);
    const mts_session_options options = api_two_tasks();
    api_world_open(&w, "reference", &options);
    const mts_frame frame = api_frame(w.pixels);
    run(&w, &frame);
    const size_t count = outputs_get(&w, from_frame);
    for (size_t i = 0; i < API_PIXELS; i++) {
        planes[i % 3 * 1024 + i / 3] = ((float)w.pixels[i] - mean[i % 3]) / deviation[i % 3];
    }
    mts_tensor tensor = {
        .data = planes, .bytes = API_PIXELS * 4, .type = MTS_TYPE_FLOAT32, .rank = 4, .dims = {1, 3, 32, 32}};
    assert_int_equal(mts_session_input(w.session, "pet", 0, &tensor), MTS_STATUS_OK);
    assert_int_equal(mts_session_input(w.session, "object", 0, &tensor), MTS_STATUS_OK);
    run(&w, NULL);
    (void)outputs_get(&w, from_tensor);
    for (size_t i = 0; i < count; i++) {
        assert_true(fabsf(from_frame[i] - from_tensor[i]) < 1e-3f);
    }
    api_world_close(&w);
    free(planes);
}

static void formats_strides_and_crops_of_the_same_pixels_give_the_same_outputs(void **state)
{
    enum { STRIDE = 40 * 4 + 12 };
    api_world w;
    float plain[OUTPUTS];
    float other[OUTPUTS];
    uint8_t *large = calloc(50, STRIDE);
    (void)state;
    assert_non_null(large);
    const mts_session_options options = api_two_tasks();
    api_world_open(&w, "reference", &options);
    const mts_frame frame = api_frame(w.pixels);
    run(&w, &frame);
    const size_t count = outputs_get(&w, plain);
    for (size_t y = 0; y < 32; y++) {
        for (size_t x = 0; x < 32; x++) {
            uint8_t *pixel = large + (y + 9) * STRIDE + (x + 5) * 4;
            const uint8_t *from = w.pixels + (y * 32 + x) * 3;
            pixel[0] = from[2];
            pixel[1] = from[1];
            pixel[2] = from[0];
            pixel[3] = 77;
        }
    }
    const mts_frame cropped = {.size = sizeof cropped,
                               .data = large,
                               .width = 40,
                               .height = 50,
                               .stride = STRIDE,
                               .format = MTS_PIXEL_FORMAT_BGRA,
                               .region = {.x = 5, .y = 9, .width = 32, .height = 32}};
    run(&w, &cropped);
    (void)outputs_get(&w, other);
    for (size_t i = 0; i < count; i++) {
        assert_true(fabsf(plain[i] - other[i]) < 1e-4f);
    }
    api_world_close(&w);
    free(large);
}

static void a_frame_that_contradicts_itself_is_refused(void **state)
{
    api_world w;
    mts_ticket ticket = 0;
    (void)state;
    const mts_session_options options = api_two_tasks();
    api_world_open(&w, "reference", &options);
    const mts_frame good = api_frame(w.pixels);
    mts_frame bad[12];
    for (size_t i = 0; i < 12; i++) {
        bad[i] = good;
    }
    bad[0].size = 3;
    bad[1].data = NULL;
    bad[2].width = 0;
    bad[3].height = 16385;
    bad[4].width = UINT32_MAX;
    bad[5].stride = 95;
    bad[6].format = (mts_pixel_format)10;
    bad[7].region.width = 33;
    bad[7].region.height = 1;
    bad[8].region.x = 31;
    bad[8].region.width = 2;
    bad[8].region.height = 2;
    bad[9].region.y = UINT32_MAX;
    bad[9].region.width = 1;
    bad[9].region.height = 1;
    bad[10].region.width = 4;
    bad[11].region.x = 1;
    bad[11].region.width = UINT32_MAX;
    bad[11].region.height = UINT32_MAX;
    for (size_t i = 0; i < 12; i++) {
        w.fixture.error[0] = '\0';
        assert_int_equal(mts_session_submit(w.session, &bad[i], &ticket), MTS_STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(w.fixture.error, "frame"));
    }
    assert_int_equal(ticket, 0);
    run(&w, &good);
    api_world_close(&w);
}

static void a_frame_over_more_bytes_than_kernels_can_count_is_refused(void **state)
{
    api_world w;
    mts_ticket ticket = 0;
    (void)state;
    const mts_session_options options = api_two_tasks();
    api_world_open(&w, "reference", &options);
    const mts_frame good = api_frame(w.pixels);
    mts_frame bad[3] = {good, good, good};
    bad[0].stride = UINT32_MAX; /* 31 of them are more than 32 bits hold */
    bad[1].height = 2;          /* the least that is too much */
    bad[1].stride = (uint32_t)INT32_MAX - 95;
    bad[2].width = 8;
    bad[2].height = 16384;
    bad[2].stride = 131080;
    for (size_t i = 0; i < 3; i++) {
        w.fixture.error[0] = '\0';
        assert_int_equal(mts_session_submit(w.session, &bad[i], &ticket), MTS_STATUS_LIMIT);
        assert_non_null(strstr(w.fixture.error, "2147483647"));
    }
    assert_int_equal(ticket, 0);
    mts_frame one = good; /* a single row needs no stride */
    one.height = 1;
    one.stride = UINT32_MAX;
    run(&w, &one);
    run(&w, &good);
    api_world_close(&w);
}

static void inputs_of_another_type_or_shape_are_refused(void **state)
{
    api_world w;
    float values[4] = {0};
    (void)state;
    const mts_session_options options = api_two_tasks();
    api_world_open(&w, "reference", &options);
    mts_tensor tensor = {
        .data = values, .bytes = sizeof values, .type = MTS_TYPE_FLOAT32, .rank = 1, .dims = {4}};
    assert_int_equal(mts_session_input(w.session, "pet", 0, &tensor), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(w.fixture.error, "1x3x32x32"));
    tensor.rank = 4000;
    assert_int_equal(mts_session_input(w.session, "pet", 0, &tensor), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_input(w.session, "pet", 0, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_input(w.session, "pet", 1, &tensor), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_session_input(w.session, "diet", 0, &tensor), MTS_STATUS_NOT_FOUND);
    assert_non_null(strstr(w.fixture.error, "does not run"));
    assert_int_equal(mts_session_input(w.session, "weather", 0, &tensor), MTS_STATUS_NOT_FOUND);
    const mts_frame frame = api_frame(w.pixels);
    assert_int_equal(mts_session_input_frame(w.session, "pet", &frame), MTS_STATUS_INVALID_ARGUMENT);
    api_world_close(&w);
}

static void separate_inputs_let_each_task_see_its_own_frame(void **state)
{
    api_world w;
    float common[OUTPUTS];
    float separate[OUTPUTS];
    uint8_t pixels[API_PIXELS];
    (void)state;
    mts_session_options options = api_two_tasks();
    api_pixels(pixels, 99);
    const mts_frame other = api_frame(pixels);
    api_world_open(&w, "reference", &options);
    const mts_frame frame = api_frame(w.pixels);
    run(&w, &frame);
    const size_t count = outputs_get(&w, common);
    api_world_close(&w);
    options.separate_inputs = 1;
    api_world_open(&w, "reference", &options);
    assert_int_equal(mts_session_input_frame(w.session, "pet", &frame), MTS_STATUS_OK);
    assert_int_equal(mts_session_input_frame(w.session, "object", &other), MTS_STATUS_OK);
    run(&w, NULL);
    (void)outputs_get(&w, separate);
    for (size_t i = 0; i < 3; i++) {
        assert_true(fabsf(common[i] - separate[i]) < 1e-3f); /* pet: the same frame */
    }
    assert_memory_not_equal(common + 3, separate + 3, (count - 3) * sizeof common[0]);
    api_world_close(&w);
}

static void calls_out_of_order_are_refused_and_change_nothing(void **state)
{
    api_world w;
    mts_ticket ticket = 0;
    mts_ticket second = 0;
    mts_tensor tensor;
    (void)state;
    const mts_session_options options = api_two_tasks();
    api_world_open(&w, "reference", &options);
    const mts_frame frame = api_frame(w.pixels);
    assert_int_equal(mts_session_output(w.session, "pet", 0, &tensor), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_wait(w.session, 0, 0), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_submit(w.session, &frame, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_submit(w.session, &frame, &second), MTS_STATUS_BUSY);
    assert_int_equal(second, 0);
    assert_int_equal(mts_session_output(w.session, "pet", 0, &tensor), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_wait(w.session, ticket + 1, 0), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_wait(w.session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(w.session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    assert_int_equal(mts_session_output(w.session, "pet", 0, &tensor), MTS_STATUS_OK);
    assert_int_equal(mts_session_output(w.session, "pet", 1, &tensor), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_session_output(w.session, "pet", 0, NULL), MTS_STATUS_INVALID_ARGUMENT);
    api_world_close(&w);
}

static void a_wait_with_a_limit_times_out_and_the_run_goes_on(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < mts_device_count(); i++) {
        api_world w;
        mts_device_desc device = {.size = sizeof device};
        mts_ticket ticket = 0;
        mts_tensor tensor;
        mts_status status = MTS_STATUS_TIMEOUT;
        assert_int_equal(mts_device_describe(i, &device), MTS_STATUS_OK);
        api_world_open(&w, device.id, NULL);
        const mts_frame frame = api_frame(w.pixels);
        for (uint32_t round = 0; round < 3; round++) {
            assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
            for (uint32_t tries = 0; tries < 100000; tries++) {
                status = mts_session_wait(w.session, ticket, tries % 2);
                if (status != MTS_STATUS_TIMEOUT) {
                    break;
                }
                assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_BUSY);
            }
            assert_int_equal(status, MTS_STATUS_OK);
            assert_int_equal(mts_session_output(w.session, "diet", 0, &tensor), MTS_STATUS_OK);
        }
        /* a wait without a limit takes over from one that timed out */
        assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
        (void)mts_session_wait(w.session, ticket, 0);
        assert_int_equal(mts_session_wait(w.session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        assert_int_equal(mts_session_output(w.session, "diet", 0, &tensor), MTS_STATUS_OK);
        /* destroyed while a run is being waited for */
        assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
        (void)mts_session_wait(w.session, ticket, 0);
        api_world_close(&w);
    }
}

static void two_sessions_of_a_runtime_can_both_be_waited_for_with_a_limit(void **state)
{
    api_world w;
    mts_session *other = NULL;
    mts_ticket first = 0;
    mts_ticket second = 0;
    mts_status status = MTS_STATUS_TIMEOUT;
    (void)state;
    const mts_session_options options = api_two_tasks();
    api_world_open(&w, "reference", &options);
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &other), MTS_STATUS_OK);
    const mts_frame frame = api_frame(w.pixels);
    for (uint32_t round = 0; round < 5; round++) {
        assert_int_equal(mts_session_submit(w.session, &frame, &first), MTS_STATUS_OK);
        (void)mts_session_wait(w.session, first, 0);
        assert_int_equal(mts_session_submit(other, &frame, &second), MTS_STATUS_OK);
        do {
            status = mts_session_wait(other, second, 1);
        } while (status == MTS_STATUS_TIMEOUT);
        assert_int_equal(status, MTS_STATUS_OK);
        assert_int_equal(mts_session_wait(w.session, first, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    }
    mts_session_destroy(&other);
    api_world_close(&w);
}

static void a_run_in_steady_state_allocates_nothing(void **state)
{
    api_world w;
    (void)state;
    const mts_session_options options = api_two_tasks();
    api_world_open(&w, "reference", &options);
    const mts_frame frame = api_frame(w.pixels);
    run(&w, &frame);
    const size_t calls = w.fixture.calls;
    for (uint32_t i = 0; i < 5; i++) {
        mts_tensor tensor;
        run(&w, &frame);
        assert_int_equal(mts_session_output(w.session, "pet", 0, &tensor), MTS_STATUS_OK);
    }
    assert_int_equal(w.fixture.calls, calls);
    api_world_close(&w);
}

static void the_watched_device_has_nothing_to_report(void **state)
{
    api_fixture fixture;
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    mts_ticket ticket = 0;
    uint8_t pixels[API_PIXELS];
    (void)state;
    mts_runtime_options options = api_options(&fixture, "reference");
    options.check = 1;
    assert_int_equal(mts_runtime_create(&options, &fixture.runtime), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_open(fixture.runtime, api_bundle_path(), &bundle), MTS_STATUS_OK);
    assert_int_equal(mts_session_create(fixture.runtime, bundle, NULL, &session), MTS_STATUS_OK);
    api_pixels(pixels, 3);
    const mts_frame frame = api_frame(pixels);
    assert_int_equal(mts_session_submit(session, &frame, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
    api_close(&fixture);
    assert_string_equal(fixture.log, "");
}

static void a_task_names_its_group_and_a_higher_priority_runs_first(void **state)
{
    static const uint32_t priorities[2] = {0, 1};
    api_world w;
    mts_task_stats first = {.size = sizeof first};
    mts_task_stats second = {.size = sizeof second};
    (void)state;
    mts_session_options options = api_two_tasks();
    options.priorities = priorities;
    api_world_open(&w, "reference", &options);
    assert_int_equal(mts_session_task_stats(w.session, options.tasks[0], &first), MTS_STATUS_OK);
    assert_int_equal(mts_session_task_stats(w.session, options.tasks[1], &second), MTS_STATUS_OK);
    assert_int_equal(first.group, 1);
    assert_int_equal(second.group, 0);
    api_world_close(&w);
}

static int remove_bundle(void **state)
{
    (void)state;
    api_bundle_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_frame_gives_bit_identical_outputs_and_another_frame_others),
        cmocka_unit_test(sequential_and_compact_agree_on_every_device),
        cmocka_unit_test(a_frame_given_as_a_tensor_gives_the_same_outputs),
        cmocka_unit_test(formats_strides_and_crops_of_the_same_pixels_give_the_same_outputs),
        cmocka_unit_test(a_frame_that_contradicts_itself_is_refused),
        cmocka_unit_test(a_frame_over_more_bytes_than_kernels_can_count_is_refused),
        cmocka_unit_test(inputs_of_another_type_or_shape_are_refused),
        cmocka_unit_test(separate_inputs_let_each_task_see_its_own_frame),
        cmocka_unit_test(calls_out_of_order_are_refused_and_change_nothing),
        cmocka_unit_test(a_wait_with_a_limit_times_out_and_the_run_goes_on),
        cmocka_unit_test(two_sessions_of_a_runtime_can_both_be_waited_for_with_a_limit),
        cmocka_unit_test(a_run_in_steady_state_allocates_nothing),
        cmocka_unit_test(the_watched_device_has_nothing_to_report),
        cmocka_unit_test(a_task_names_its_group_and_a_higher_priority_runs_first),
    };
    return cmocka_run_group_tests(tests, NULL, remove_bundle);
}
