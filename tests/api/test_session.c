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

#define PIXELS ((size_t)3 * 32 * 32)
#define OUTPUTS 64

typedef struct world {
    api_fixture fixture;
    mts_bundle *bundle;
    mts_session *session;
    uint8_t pixels[PIXELS];
} world;

static void world_open(world *w, const char *device, const mts_session_options *options)
{
    memset(w, 0, sizeof *w);
    api_open(&w->fixture, device);
    assert_int_equal(mts_bundle_open(w->fixture.runtime, api_bundle_path(), &w->bundle), MTS_STATUS_OK);
    if (mts_session_create(w->fixture.runtime, w->bundle, options, &w->session) != MTS_STATUS_OK) {
        fail_msg("cannot make a session: %s", w->fixture.error);
    }
    api_pixels(w->pixels, 7);
}

static void world_close(world *w)
{
    mts_session_destroy(&w->session);
    assert_null(w->session);
    mts_bundle_destroy(&w->bundle);
    api_close(&w->fixture);
}

/* Two tasks, so that a run is short. */
static mts_session_options two_tasks(void)
{
    static const char *const names[] = {"pet", "object"};
    mts_session_options options;
    mts_session_options_default(&options);
    options.tasks = names;
    options.task_count = 2;
    return options;
}

static void run(world *w, const mts_frame *frame)
{
    mts_ticket ticket = 0;
    assert_int_equal(mts_session_submit(w->session, frame, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(w->session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
}

/* The values of the two tasks' outputs. */
static size_t outputs_get(const world *w, float *values)
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
    world w;
    float first[OUTPUTS];
    float again[OUTPUTS];
    float other[OUTPUTS];
    (void)state;
    const mts_session_options options = two_tasks();
    world_open(&w, "reference", &options);
    const mts_frame frame = api_frame(w.pixels);
    run(&w, &frame);
    const size_t count = outputs_get(&w, first);
    uint8_t pixels[PIXELS];
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
    world_close(&w);
}

static void sequential_and_compact_agree_on_every_device(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < mts_device_count(); i++) {
        mts_device_desc device;
        float values[2][OUTPUTS];
        size_t count = 0;
        assert_int_equal(mts_device_describe(i, &device), MTS_STATUS_OK);
        for (int strategy = MTS_STRATEGY_SEQUENTIAL; strategy <= MTS_STRATEGY_COMPACT; strategy++) {
            world w;
            mts_session_options options = two_tasks();
            options.strategy = (mts_strategy)strategy;
            world_open(&w, device.id, &options);
            const mts_frame frame = api_frame(w.pixels);
            run(&w, &frame);
            count = outputs_get(&w, values[strategy]);
            world_close(&w);
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
    world w;
    float from_frame[OUTPUTS];
    float from_tensor[OUTPUTS];
    float *planes = malloc(PIXELS * sizeof *planes);
    (void)state;
    assert_non_null(planes);
    const mts_session_options options = two_tasks();
    world_open(&w, "reference", &options);
    const mts_frame frame = api_frame(w.pixels);
    run(&w, &frame);
    const size_t count = outputs_get(&w, from_frame);
    for (size_t i = 0; i < PIXELS; i++) {
        planes[i % 3 * 1024 + i / 3] = ((float)w.pixels[i] - mean[i % 3]) / deviation[i % 3];
    }
    mts_tensor tensor = {
        .data = planes, .bytes = PIXELS * 4, .type = MTS_TYPE_FLOAT32, .rank = 4, .dims = {1, 3, 32, 32}};
    assert_int_equal(mts_session_input(w.session, "pet", 0, &tensor), MTS_STATUS_OK);
    assert_int_equal(mts_session_input(w.session, "object", 0, &tensor), MTS_STATUS_OK);
    run(&w, NULL);
    (void)outputs_get(&w, from_tensor);
    for (size_t i = 0; i < count; i++) {
        assert_true(fabsf(from_frame[i] - from_tensor[i]) < 1e-3f);
    }
    world_close(&w);
    free(planes);
}

static void formats_strides_and_crops_of_the_same_pixels_give_the_same_outputs(void **state)
{
    enum { STRIDE = 40 * 4 + 12 };
    world w;
    float plain[OUTPUTS];
    float other[OUTPUTS];
    uint8_t *large = calloc(50, STRIDE);
    (void)state;
    assert_non_null(large);
    const mts_session_options options = two_tasks();
    world_open(&w, "reference", &options);
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
    world_close(&w);
    free(large);
}

static void a_frame_that_contradicts_itself_is_refused(void **state)
{
    world w;
    mts_ticket ticket = 0;
    (void)state;
    const mts_session_options options = two_tasks();
    world_open(&w, "reference", &options);
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
        assert_memory_equal(w.fixture.error, "frame: ", 7);
    }
    assert_int_equal(ticket, 0);
    run(&w, &good);
    world_close(&w);
}

static void a_frame_over_more_bytes_than_kernels_can_count_is_refused(void **state)
{
    world w;
    mts_ticket ticket = 0;
    (void)state;
    const mts_session_options options = two_tasks();
    world_open(&w, "reference", &options);
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
    world_close(&w);
}

static void inputs_of_another_type_or_shape_are_refused(void **state)
{
    world w;
    float values[4] = {0};
    (void)state;
    const mts_session_options options = two_tasks();
    world_open(&w, "reference", &options);
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
    world_close(&w);
}

static void separate_inputs_let_each_task_see_its_own_frame(void **state)
{
    world w;
    float common[OUTPUTS];
    float separate[OUTPUTS];
    uint8_t pixels[PIXELS];
    (void)state;
    mts_session_options options = two_tasks();
    api_pixels(pixels, 99);
    const mts_frame other = api_frame(pixels);
    world_open(&w, "reference", &options);
    const mts_frame frame = api_frame(w.pixels);
    run(&w, &frame);
    const size_t count = outputs_get(&w, common);
    world_close(&w);
    options.separate_inputs = 1;
    world_open(&w, "reference", &options);
    assert_int_equal(mts_session_input_frame(w.session, "pet", &frame), MTS_STATUS_OK);
    assert_int_equal(mts_session_input_frame(w.session, "object", &other), MTS_STATUS_OK);
    run(&w, NULL);
    (void)outputs_get(&w, separate);
    for (size_t i = 0; i < 3; i++) {
        assert_true(fabsf(common[i] - separate[i]) < 1e-3f); /* pet: the same frame */
    }
    assert_memory_not_equal(common + 3, separate + 3, (count - 3) * sizeof common[0]);
    world_close(&w);
}

static void calls_out_of_order_are_refused_and_change_nothing(void **state)
{
    world w;
    mts_ticket ticket = 0;
    mts_ticket second = 0;
    mts_tensor tensor;
    (void)state;
    const mts_session_options options = two_tasks();
    world_open(&w, "reference", &options);
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
    world_close(&w);
}

static void a_wait_with_a_limit_times_out_and_the_run_goes_on(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < mts_device_count(); i++) {
        world w;
        mts_device_desc device;
        mts_ticket ticket = 0;
        mts_tensor tensor;
        mts_status status = MTS_STATUS_TIMEOUT;
        assert_int_equal(mts_device_describe(i, &device), MTS_STATUS_OK);
        world_open(&w, device.id, NULL);
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
        world_close(&w);
    }
}

static void two_sessions_of_a_runtime_can_both_be_waited_for_with_a_limit(void **state)
{
    world w;
    mts_session *other = NULL;
    mts_ticket first = 0;
    mts_ticket second = 0;
    mts_status status = MTS_STATUS_TIMEOUT;
    (void)state;
    const mts_session_options options = two_tasks();
    world_open(&w, "reference", &options);
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
    world_close(&w);
}

static void a_run_in_steady_state_allocates_nothing(void **state)
{
    world w;
    (void)state;
    const mts_session_options options = two_tasks();
    world_open(&w, "reference", &options);
    const mts_frame frame = api_frame(w.pixels);
    run(&w, &frame);
    const size_t calls = w.fixture.calls;
    for (uint32_t i = 0; i < 5; i++) {
        mts_tensor tensor;
        run(&w, &frame);
        assert_int_equal(mts_session_output(w.session, "pet", 0, &tensor), MTS_STATUS_OK);
    }
    assert_int_equal(w.fixture.calls, calls);
    world_close(&w);
}

static void the_watched_device_has_nothing_to_report(void **state)
{
    api_fixture fixture;
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    mts_ticket ticket = 0;
    uint8_t pixels[PIXELS];
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

static int cancel(void *context, float fraction, const char *what)
{
    uint32_t *calls = context;
    (void)what;
    assert_true(fraction >= 0.0f && fraction <= 1.0f);
    return ++*calls == 2;
}

static void progress_can_cancel_the_making_of_a_session(void **state)
{
    world w;
    uint32_t calls = 0;
    mts_session *session = NULL;
    (void)state;
    mts_session_options options = two_tasks();
    world_open(&w, "reference", &options);
    options.progress = cancel;
    options.context = &calls;
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                     MTS_STATUS_CANCELLED);
    assert_int_equal(calls, 2);
    assert_null(session);
    world_close(&w);
}

static void session_options_that_make_no_sense_are_refused(void **state)
{
    static const char *const unknown[] = {"pet", "weather"};
    static const char *const twice[] = {"pet", "pet"};
    static const char *const missing[] = {NULL};
    world w;
    mts_session *session = NULL;
    (void)state;
    mts_session_options options = two_tasks();
    world_open(&w, "reference", &options);
    options.tasks = unknown;
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                     MTS_STATUS_NOT_FOUND);
    assert_non_null(strstr(w.fixture.error, "weather"));
    options.tasks = twice;
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                     MTS_STATUS_INVALID_ARGUMENT);
    options.tasks = missing;
    options.task_count = 1;
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                     MTS_STATUS_INVALID_ARGUMENT);
    options.task_count = 0;
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                     MTS_STATUS_INVALID_ARGUMENT);
    options = two_tasks();
    options.strategy = (mts_strategy)17;
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                     MTS_STATUS_INVALID_ARGUMENT);
    for (int wrong = -1; wrong <= 3; wrong += 4) {
        options = two_tasks();
        options.precision = (mts_precision)wrong;
        assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                         MTS_STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(w.fixture.error, "precision"));
    }
    options = two_tasks();
    options.size += 8;
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_create(w.fixture.runtime, NULL, NULL, &session),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_null(session);
    world_close(&w);
}

static mts_session_stats stats_in(mts_precision precision)
{
    world w;
    mts_session_stats stats = {.size = sizeof stats};
    mts_session_options options = two_tasks();
    options.precision = precision;
    world_open(&w, "reference", &options);
    assert_int_equal(mts_session_stats_get(w.session, &stats), MTS_STATUS_OK);
    world_close(&w);
    return stats;
}

static void statistics_tell_the_precision_that_is_used_and_its_bytes(void **state)
{
    (void)state;
    const mts_session_stats full = stats_in(MTS_PRECISION_FLOAT32);
    const mts_session_stats storage = stats_in(MTS_PRECISION_FLOAT16_STORAGE);
    const mts_session_stats half = stats_in(MTS_PRECISION_FLOAT16); /* plain C stands in for all devices */
    assert_int_equal(full.precision, MTS_PRECISION_FLOAT32);
    assert_int_equal(storage.precision, MTS_PRECISION_FLOAT16_STORAGE);
    assert_int_equal(half.precision, MTS_PRECISION_FLOAT16);
    assert_int_equal(2 * storage.weight_bytes, full.weight_bytes);
    assert_int_equal(half.peak_bytes, storage.peak_bytes);
}

static void statistics_and_explanation_tell_how_the_session_runs(void **state)
{
    world w;
    mts_session_stats stats = {.size = sizeof stats};
    mts_session_stats wrong = {.size = 1};
    char text[32];
    size_t needed = 0;
    (void)state;
    const mts_session_options options = two_tasks();
    world_open(&w, "reference", &options);
    assert_int_equal(mts_session_stats_get(w.session, &stats), MTS_STATUS_OK);
    assert_true(stats.weight_bytes > 1400000 && stats.weight_bytes < 1600000);
    assert_true(stats.launches > 20 && stats.kernels > 0 && stats.groups > 0);
    assert_true(stats.peak_bytes >= stats.weight_bytes + stats.activation_bytes);
    assert_true(stats.mul_adds > 10000000);
    assert_int_equal(mts_session_stats_get(w.session, &wrong), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_explain(w.session, MTS_REPORT_TEXT, text, sizeof text, &needed),
                     MTS_STATUS_LIMIT);
    assert_true(needed > sizeof text);
    assert_int_equal(mts_session_explain(w.session, MTS_REPORT_DOT, text, sizeof text, &needed),
                     MTS_STATUS_UNSUPPORTED);
    world_close(&w);
}

static void a_task_names_its_group_and_a_higher_priority_runs_first(void **state)
{
    static const uint32_t priorities[2] = {0, 1};
    world w;
    mts_task_stats first = {.size = sizeof first};
    mts_task_stats second = {.size = sizeof second};
    (void)state;
    mts_session_options options = two_tasks();
    options.priorities = priorities;
    world_open(&w, "reference", &options);
    assert_int_equal(mts_session_task_stats(w.session, options.tasks[0], &first), MTS_STATUS_OK);
    assert_int_equal(mts_session_task_stats(w.session, options.tasks[1], &second), MTS_STATUS_OK);
    assert_int_equal(first.group, 1);
    assert_int_equal(second.group, 0);
    world_close(&w);
}

static void failing_allocations_fail_the_session_cleanly(void **state)
{
    world w;
    uint32_t failures = 0;
    (void)state;
    const mts_session_options options = two_tasks();
    world_open(&w, "reference", &options);
    const size_t alive = w.fixture.alive;
    for (size_t step = 1; step < 1000000; step += 1 + step / 8) {
        mts_session *session = NULL;
        w.fixture.fail_from = w.fixture.calls + step;
        const mts_status status = mts_session_create(w.fixture.runtime, w.bundle, &options, &session);
        w.fixture.fail_from = 0;
        if (status == MTS_STATUS_OK) {
            mts_session_destroy(&session);
            assert_int_equal(w.fixture.alive, alive);
            break;
        }
        failures++;
        assert_int_equal(status, MTS_STATUS_OUT_OF_MEMORY);
        assert_null(session);
        assert_int_equal(w.fixture.alive, alive);
    }
    assert_true(failures > 10);
    world_close(&w);
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
        cmocka_unit_test(progress_can_cancel_the_making_of_a_session),
        cmocka_unit_test(session_options_that_make_no_sense_are_refused),
        cmocka_unit_test(statistics_tell_the_precision_that_is_used_and_its_bytes),
        cmocka_unit_test(statistics_and_explanation_tell_how_the_session_runs),
        cmocka_unit_test(a_task_names_its_group_and_a_higher_priority_runs_first),
        cmocka_unit_test(failing_allocations_fail_the_session_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, remove_bundle);
}
