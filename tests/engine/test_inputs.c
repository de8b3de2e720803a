/*
 * test_inputs.c: inputs of an engine: setting one leaves the outputs of the last run alone, and a frame
 * that fails half way is as if it had not been given.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tune/tune.h"
#include "tests/support/fault.h"
#include "support/fault_allocator.h"

enum { SIDE = 4, FRAME_SIDE = 6, TASKS = 12 };

typedef struct world {
    mts_archive *archive;
    mts_device *device;
    mts_engine *engine;
    mts_fault_allocator memory;
} world;

static const mts_backend *reference(void)
{
    size_t count = 0;
    const mts_backend *const *backends = mts_backend_table(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(backends[i]->name, "reference") == 0) {
            return backends[i];
        }
    }
    return NULL;
}

/* y = 2 x over 1 x 3 x SIDE x SIDE; task t takes frames with a mean of its own, so that no two share an
 * input. */
static void add_task(mts_archive *archive, uint32_t t, mts_type dtype)
{
    static const char *const names[TASKS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    static const float two = 2.0f;
    const int64_t dims[4] = {1, 3, SIDE, SIDE};
    const mts_shape shape = mts_shape_make(4, dims);
    const mts_shape one = mts_shape_make(0, NULL);
    mts_error error = {0};
    mts_task *task = &archive->tasks[t];
    mts_graph *graph = mts_graph_create(&archive->arena, names[t]);
    const uint32_t x = mts_graph_add_input(graph, "x", dtype, &shape);
    const uint32_t inputs[2] = {x, mts_graph_add_const(graph, "two", MTS_TYPE_FLOAT32, &one, &two)};
    mts_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    attrs.binary.kind = MTS_BIN_MUL;
    uint32_t y = MTS_NONE;
    assert_int_equal(mts_graph_add_node(graph, MTS_OP_BINARY, "double", inputs, 2, &attrs, &y, &error), 0);
    assert_int_equal(mts_graph_add_output(graph, "y", y, MTS_TYPE_FLOAT32, &shape, &error), 0);
    task->name = names[t];
    task->graph = graph;
    task->preprocess.color = MTS_COLOR_RGB;
    for (int c = 0; c < 4; c++) {
        task->preprocess.mean[c] = (float)t;
        task->preprocess.std[c] = 1.0f;
    }
}

typedef enum way_of_input { KEPT, ZERO_COPY, ZERO_COPY_UPLOADED, WAY_COUNT } way_of_input;

/* plan: NULL, or what the device's calls are counted and refused by. launch_ns: 0: each layer is a launch. */
static void open_costly(world *w, uint32_t tasks, mts_type dtype, way_of_input how, mts_fault_plan *plan,
                        uint32_t launch_ns)
{
    mts_error error = {0};
    memset(w, 0, sizeof *w);
    mts_fault_allocator_init(&w->memory, 0);
    w->archive = mts_archive_create(mts_allocator_default());
    assert_non_null(w->archive);
    w->archive->tasks = mts_arena_zero(&w->archive->arena, tasks, sizeof *w->archive->tasks);
    w->archive->task_count = tasks;
    for (uint32_t t = 0; t < tasks; t++) {
        add_task(w->archive, t, dtype);
    }
    const mts_device_options options = {.allocator = &w->memory.allocator};
    assert_int_equal(reference()->open(0, &options, &w->device, &error), MTS_STATUS_OK);
    w->device->info.imports = how == ZERO_COPY ? MTS_MEMORY_BIT(MTS_MEMORY_HOST) : 0;
    w->device->info.launch_ns = launch_ns;
    if (plan) {
        assert_int_equal(mts_wrap_fault(&w->device, plan, &w->device, &error), MTS_STATUS_OK);
    }
    /* A budget that is never reached: without one, default sessions trade launches for memory. */
    const mts_engine_options engine = {.strategy = MTS_STRATEGY_COMPACT,
                                       .separate_inputs = how != KEPT,
                                       .zero_copy_inputs = how != KEPT,
                                       .memory_budget = {.bytes = UINT64_C(1) << 40}};
    assert_int_equal(
        mts_planned_engine_create(w->device, w->archive, &engine, NULL, &w->engine, NULL, &error),
        MTS_STATUS_OK);
}

static void open_planned(world *w, uint32_t tasks, mts_type dtype, way_of_input how, mts_fault_plan *plan)
{
    open_costly(w, tasks, dtype, how, plan, 0);
}

static void open_zero_copy(world *w, uint32_t tasks, mts_type dtype, way_of_input how)
{
    open_planned(w, tasks, dtype, how, NULL);
}

static void open_world(world *w, uint32_t tasks, mts_type dtype)
{
    open_zero_copy(w, tasks, dtype, KEPT);
}

static void close_world(world *w)
{
    mts_engine_destroy(&w->engine);
    mts_device_destroy(&w->device);
    mts_archive_destroy(&w->archive);
    assert_int_equal(w->memory.alive, 0);
}

static void run(world *w)
{
    mts_error error = {0};
    assert_int_equal(mts_engine_submit(w->engine, &error), MTS_STATUS_OK);
    assert_int_equal(mts_engine_wait(w->engine, &error), MTS_STATUS_OK);
}

static const float *output(world *w, uint32_t task)
{
    const void *data = NULL;
    size_t size = 0;
    mts_error error = {0};
    assert_int_equal(mts_engine_output(w->engine, task, 0, &data, &size, &error), MTS_STATUS_OK);
    assert_int_equal(size, sizeof(float) * 3 * SIDE * SIDE);
    return data;
}

static void setting_an_integer_input_leaves_the_outputs_of_the_last_run_alone(void **state)
{
    (void)state;
    world w;
    int32_t first[3 * SIDE * SIDE];
    int32_t second[3 * SIDE * SIDE];
    mts_error error = {0};
    open_world(&w, 1, MTS_TYPE_INT32);
    for (int i = 0; i < 3 * SIDE * SIDE; i++) {
        first[i] = i;
        second[i] = 100 + i;
    }
    assert_int_equal(mts_engine_set_input(w.engine, 0, 0, first, sizeof first, &error), MTS_STATUS_OK);
    run(&w);
    const float *before = output(&w, 0);
    assert_int_equal(mts_engine_set_input(w.engine, 0, 0, second, sizeof second, &error), MTS_STATUS_OK);
    for (int i = 0; i < 3 * SIDE * SIDE; i++) {
        assert_true(before[i] == (float)(2 * i));
    }
    assert_ptr_equal(output(&w, 0), before);
    run(&w);
    assert_true(output(&w, 0)[5] == 210.0f);
    close_world(&w);
}

static void a_first_frame_that_fails_at_any_allocation_can_be_given_again(void **state)
{
    (void)state;
    static const uint8_t pixels[FRAME_SIDE * FRAME_SIDE * 3] = {0};
    const mts_frame frame = {.size = sizeof frame,
                             .data = pixels,
                             .width = FRAME_SIDE,
                             .height = FRAME_SIDE,
                             .format = MTS_PIXEL_FORMAT_RGB};
    mts_frame_view view;
    assert_int_equal(mts_frame_view_make(&frame, &view, NULL), MTS_STATUS_OK);
    mts_status status = MTS_STATUS_OUT_OF_MEMORY;
    uint32_t failures = 0;
    for (size_t nth = 1; status != MTS_STATUS_OK; nth++, failures++) {
        world w;
        mts_error error = {0};
        open_world(&w, TASKS, MTS_TYPE_FLOAT32);
        w.memory.fail_at = w.memory.calls + nth;
        status = mts_engine_set_frame(w.engine, MTS_NONE, &view, &error);
        assert_true(status == MTS_STATUS_OK || status == MTS_STATUS_OUT_OF_MEMORY);
        w.memory.fail_at = 0;
        assert_int_equal(mts_engine_set_frame(w.engine, MTS_NONE, &view, &error), MTS_STATUS_OK);
        run(&w);
        for (uint32_t t = 0; t < TASKS; t++) { /* 2 (0 - t): the frame reached every task */
            assert_true(output(&w, t)[7] == -2.0f * (float)t);
        }
        close_world(&w);
    }
    assert_true(failures > 3);
}

static void expect_doubled(world *w, uint32_t task, const float *input)
{
    const float *values = output(w, task);
    for (int i = 0; i < 3 * SIDE * SIDE; i++) {
        assert_true(values[i] == 2.0f * input[i]);
    }
}

static void zero_copy_data_is_read_in_place_in_every_run(void **state)
{
    (void)state;
    for (way_of_input how = ZERO_COPY; how < WAY_COUNT; how++) {
        world w;
        float data[3][3 * SIDE * SIDE];
        mts_error error = {0};
        open_zero_copy(&w, 2, MTS_TYPE_FLOAT32, how);
        for (int i = 0; i < 3 * SIDE * SIDE; i++) {
            data[0][i] = (float)i;
            data[1][i] = (float)(1000 + i);
            data[2][i] = (float)(5000 - i);
        }
        for (uint32_t t = 0; t < 2; t++) {
            assert_int_equal(mts_engine_set_input(w.engine, t, 0, data[t], sizeof data[t], &error),
                             MTS_STATUS_OK);
        }
        run(&w);
        expect_doubled(&w, 0, data[0]);
        expect_doubled(&w, 1, data[1]);
        data[0][7] = -3.5f; /* changed in place: nothing is set again */
        run(&w);
        expect_doubled(&w, 0, data[0]);
        assert_int_equal(mts_engine_set_input(w.engine, 1, 0, data[2], sizeof data[2], &error),
                         MTS_STATUS_OK);
        run(&w);
        expect_doubled(&w, 1, data[2]);
        assert_int_equal(mts_engine_set_input(w.engine, 1, 0, data[1], sizeof data[1], &error),
                         MTS_STATUS_OK);
        run(&w);
        expect_doubled(&w, 0, data[0]);
        expect_doubled(&w, 1, data[1]);
        close_world(&w);
    }
}

static void set_floats(world *w, uint32_t task, const float *data)
{
    mts_error error = {0};
    assert_int_equal(mts_engine_set_input(w->engine, task, 0, data, sizeof(float) * 3 * SIDE * SIDE, &error),
                     MTS_STATUS_OK);
}

static void fill(float *data, float first)
{
    for (int i = 0; i < 3 * SIDE * SIDE; i++) {
        data[i] = first + (float)i;
    }
}

static void another_address_changes_the_list_and_does_not_make_it_again(void **state)
{
    (void)state;
    static const mts_wrap_kind kinds[] = {MTS_WRAP_KIND_LIST_CREATE, MTS_WRAP_KIND_LIST_UPDATE};
    uint32_t calls[2];
    float data[3][3 * SIDE * SIDE];
    for (int k = 0; k < 2; k++) {
        mts_fault_plan plan = {.kind = kinds[k], .nth = 0};
        world w;
        open_planned(&w, 2, MTS_TYPE_FLOAT32, ZERO_COPY, &plan);
        for (int d = 0; d < 3; d++) {
            fill(data[d], 100.0f * (float)d);
        }
        set_floats(&w, 0, data[0]);
        for (int r = 1; r < 5; r++) {
            set_floats(&w, 1, data[1 + r % 2]);
            run(&w);
            run(&w);
            expect_doubled(&w, 0, data[0]);
            expect_doubled(&w, 1, data[1 + r % 2]);
        }
        calls[k] = plan.calls;
        close_world(&w);
    }
    assert_int_equal(calls[0], 1);
    assert_int_equal(calls[1], 4); /* once for each address, also the first */
}

static uint32_t launches_of(const mts_engine *engine)
{
    mts_session_stats stats = {0};
    mts_engine_stats_get(engine, &stats);
    return stats.launches;
}

/* One launch reads MTS_LAUNCH_SOURCES inputs, which move and change between runs as any others. */
static void first_launches_of_zero_copy_inputs_are_joined(void **state)
{
    static float data[2][TASKS][3 * SIDE * SIDE];
    (void)state;
    for (way_of_input how = ZERO_COPY; how < WAY_COUNT; how++) {
        world w;
        open_costly(&w, TASKS, MTS_TYPE_FLOAT32, how, NULL, 0);
        assert_int_equal(launches_of(w.engine), TASKS + 1);
        close_world(&w);
        open_costly(&w, TASKS, MTS_TYPE_FLOAT32, how, NULL, 20000);
        assert_int_equal(launches_of(w.engine), (TASKS + MTS_LAUNCH_SOURCES - 1) / MTS_LAUNCH_SOURCES + 1);
        for (uint32_t round = 0; round < 4; round++) {
            for (uint32_t t = 0; t < TASKS; t++) {
                float *own = data[(round + t) % 2][t];
                fill(own, 1000.0f * (float)round + 10.0f * (float)t);
                set_floats(&w, t, own);
            }
            run(&w);
            for (uint32_t t = 0; t < TASKS; t++) {
                expect_doubled(&w, t, data[(round + t) % 2][t]);
            }
        }
        data[1][TASKS - 2][5] = -3.5f; /* changed in place; round 3 read it there */
        run(&w);
        expect_doubled(&w, TASKS - 2, data[1][TASKS - 2]);
        close_world(&w);
    }
}

static void a_list_that_cannot_be_changed_is_made_again(void **state)
{
    (void)state;
    static const mts_status codes[] = {MTS_STATUS_UNSUPPORTED, MTS_STATUS_DEVICE};
    float data[2][3 * SIDE * SIDE];
    for (int c = 0; c < 2; c++) {
        mts_fault_plan plan = {
            .kind = MTS_WRAP_KIND_LIST_UPDATE, .nth = 1, .onwards = true, .code = codes[c]};
        world w;
        mts_error error = {0};
        open_planned(&w, 1, MTS_TYPE_FLOAT32, ZERO_COPY, &plan);
        for (int r = 0; r < 4; r++) {
            fill(data[r % 2], (float)r);
            set_floats(&w, 0, data[r % 2]);
            if (codes[c] != MTS_STATUS_UNSUPPORTED && r % 2 == 0) { /* a failure is told once */
                assert_int_equal(mts_engine_submit(w.engine, &error), codes[c]);
            }
            run(&w);
            expect_doubled(&w, 0, data[r % 2]);
            plan.nth = codes[c] != MTS_STATUS_UNSUPPORTED && r % 2 == 0 ? 0 : 1;
            plan.calls = 0;
        }
        close_world(&w);
    }
}

static void memory_that_the_device_refuses_is_copied_in_every_run(void **state)
{
    (void)state;
    mts_fault_plan plan = {.kind = MTS_WRAP_KIND_BUFFER_CREATE, .code = MTS_STATUS_UNSUPPORTED};
    float data[3][3 * SIDE * SIDE];
    world w;
    open_planned(&w, 2, MTS_TYPE_FLOAT32, ZERO_COPY, &plan);
    for (int d = 0; d < 3; d++) {
        fill(data[d], 100.0f * (float)d);
    }
    set_floats(&w, 0, data[0]);
    plan.calls = 0;
    plan.nth = 1;
    set_floats(&w, 1, data[1]);
    assert_int_equal(plan.failed, 1);
    run(&w);
    expect_doubled(&w, 0, data[0]);
    expect_doubled(&w, 1, data[1]);
    data[1][3] = -8.0f; /* changed in place */
    run(&w);
    expect_doubled(&w, 1, data[1]);
    set_floats(&w, 1, data[2]);
    plan.calls = plan.failed = 0; /* in the way of itself: taken once what lay there before was given back */
    set_floats(&w, 0, data[1]);
    assert_int_equal(plan.failed, 1);
    run(&w);
    expect_doubled(&w, 0, data[1]);
    expect_doubled(&w, 1, data[2]);
    close_world(&w);
}

static void a_run_before_every_zero_copy_input_was_set_is_refused(void **state)
{
    (void)state;
    world w;
    float data[3 * SIDE * SIDE] = {1.0f};
    mts_error error = {0};
    open_zero_copy(&w, 2, MTS_TYPE_FLOAT32, ZERO_COPY);
    assert_int_equal(mts_engine_submit(w.engine, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(error.text, "task a"));
    assert_int_equal(mts_engine_set_input(w.engine, 0, 0, data, sizeof data, &error), MTS_STATUS_OK);
    assert_int_equal(mts_engine_submit(w.engine, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(error.text, "task b"));
    assert_int_equal(mts_engine_set_input(w.engine, 1, 0, data, sizeof data, &error), MTS_STATUS_OK);
    run(&w);
    expect_doubled(&w, 1, data);
    close_world(&w);
}

static void zero_copy_integers_are_converted_when_they_are_set(void **state)
{
    (void)state;
    for (way_of_input how = ZERO_COPY; how < WAY_COUNT; how++) {
        world w;
        int32_t data[3 * SIDE * SIDE];
        mts_error error = {0};
        open_zero_copy(&w, 1, MTS_TYPE_INT32, how);
        for (int i = 0; i < 3 * SIDE * SIDE; i++) {
            data[i] = i;
        }
        assert_int_equal(mts_engine_set_input(w.engine, 0, 0, data, sizeof data, &error), MTS_STATUS_OK);
        data[4] = 77;
        run(&w);
        assert_true(output(&w, 0)[4] == 8.0f);
        assert_int_equal(mts_engine_set_input(w.engine, 0, 0, data, sizeof data, &error), MTS_STATUS_OK);
        run(&w);
        assert_true(output(&w, 0)[4] == 154.0f);
        close_world(&w);
    }
}

static void what_a_device_cannot_read_in_place_is_counted(void **state)
{
    (void)state;
    uint64_t peak[WAY_COUNT];
    for (way_of_input how = ZERO_COPY; how < WAY_COUNT; how++) {
        world w;
        mts_session_stats stats;
        open_zero_copy(&w, 3, MTS_TYPE_FLOAT32, how);
        mts_engine_stats_get(w.engine, &stats);
        peak[how] = stats.peak_bytes;
        close_world(&w);
    }
    assert_int_equal(peak[ZERO_COPY_UPLOADED] - peak[ZERO_COPY], 3 * sizeof(float) * 3 * SIDE * SIDE);
}

static void frames_are_refused_where_inputs_are_zero_copy(void **state)
{
    (void)state;
    world w;
    const uint8_t pixels[3 * SIDE * SIDE] = {0};
    mts_error error = {0};
    const mts_frame frame = {
        .size = sizeof frame, .data = pixels, .width = SIDE, .height = SIDE, .format = MTS_PIXEL_FORMAT_RGB};
    mts_frame_view view;
    assert_int_equal(mts_frame_view_make(&frame, &view, &error), MTS_STATUS_OK);
    open_zero_copy(&w, 1, MTS_TYPE_FLOAT32, ZERO_COPY);
    assert_int_equal(mts_engine_set_frame(w.engine, 0, &view, &error), MTS_STATUS_INVALID_ARGUMENT);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_copy_data_is_read_in_place_in_every_run),
        cmocka_unit_test(first_launches_of_zero_copy_inputs_are_joined),
        cmocka_unit_test(another_address_changes_the_list_and_does_not_make_it_again),
        cmocka_unit_test(a_list_that_cannot_be_changed_is_made_again),
        cmocka_unit_test(memory_that_the_device_refuses_is_copied_in_every_run),
        cmocka_unit_test(a_run_before_every_zero_copy_input_was_set_is_refused),
        cmocka_unit_test(zero_copy_integers_are_converted_when_they_are_set),
        cmocka_unit_test(what_a_device_cannot_read_in_place_is_counted),
        cmocka_unit_test(frames_are_refused_where_inputs_are_zero_copy),
        cmocka_unit_test(setting_an_integer_input_leaves_the_outputs_of_the_last_run_alone),
        cmocka_unit_test(a_first_frame_that_fails_at_any_allocation_can_be_given_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
