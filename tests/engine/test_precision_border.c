/*
 * test_precision_border.c: what a caller sets and gets keeps its type in a float16 session: types of ports,
 * inputs that are outputs, zero-copy inputs, frames. And a run still allocates nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "base/hash.h"
#include "engine/state.h"
#include "tune/tune.h"
#include "support/fault_allocator.h"
#include "support/planted_world.h"
#include "support/synth.h"
#include "support/tolerance.h"

#define WORK MTS_BINARY_DIR "/precision-border"

enum { TASKS = 2, SIDE = 32, PIXELS = 3 * SIDE * SIDE };

static mts_device *devices[2];
static const char *const device_names[2] = {"reference", "opencl"};

static mts_engine *make(mts_device *device, const mts_archive *archive, mts_precision precision,
                        bool zero_copy)
{
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT,
                                        .precision = precision,
                                        .separate_inputs = true,
                                        .zero_copy_inputs = zero_copy};
    mts_engine *engine = NULL;
    mts_error error = {0};
    test_must(mts_planned_engine_create(device, archive, &options, NULL, &engine, NULL, &error), &error,
              "session");
    return engine;
}

static void submit(mts_engine *engine)
{
    mts_error error = {0};
    test_must(mts_engine_submit(engine, &error), &error, "submit");
    test_must(mts_engine_wait(engine, &error), &error, "wait");
}

static const void *read_output(const mts_engine *engine, uint32_t task, uint32_t index, size_t size)
{
    const void *data = NULL;
    size_t bytes = 0;
    mts_error error = {0};
    test_must(mts_engine_output(engine, task, index, &data, &bytes, &error), &error, "output");
    assert_int_equal(bytes, size);
    return data;
}

/* ---- types ---- */

typedef struct typed {
    mts_type in, out;
    const void *given;
    const void *wanted; /* 5 elements each: an odd number of halves is no whole word */
} typed;

/* Outputs: the input itself, and a copy. */
static mts_graph *typed_graph(mts_arena *arena, mts_type in, mts_type out)
{
    mts_error error = {0};
    mts_graph *graph = mts_graph_create(arena, "typed");
    assert_non_null(graph);
    const mts_shape shape = mts_shape_make(1, (const int64_t[]){5});
    const mts_attrs none = {.unary = {.act = {.fn = MTS_FN_NONE}}};
    const uint32_t x = mts_graph_add_input(graph, "x", in, &shape);
    uint32_t y = MTS_NONE;
    test_must(mts_graph_add_node(graph, MTS_OP_UNARY, "copy", &x, 1, &none, &y, &error), &error, "node");
    test_must(mts_graph_add_output(graph, "same", x, out, &shape, &error), &error, "output");
    test_must(mts_graph_add_output(graph, "copy", y, out, &shape, &error), &error, "output");
    return graph;
}

static void run_typed(const typed *c, bool zero_copy)
{
    mts_arena arena;
    test_net net;
    mts_error error = {0};
    mts_arena_init(&arena, mts_allocator_default());
    const mts_graph *graph = typed_graph(&arena, c->in, c->out);
    test_must(net_make(&graph, 1, 0.0f, &net, &error), &error, "bundle");
    const size_t size = 5 * mts_type_size(c->out);
    for (int d = 0; d < 2 && devices[d]; d++) {
        mts_engine *engine = make(devices[d], net.archive, MTS_PRECISION_FLOAT16_STORAGE, zero_copy);
        test_must(mts_engine_set_input(engine, 0, 0, c->given, 5 * mts_type_size(c->in), &error), &error,
                  "input");
        for (int run = 0; run < 2; run++) {
            submit(engine);
            assert_memory_equal(read_output(engine, 0, 0, size), c->wanted, size);
            assert_memory_equal(read_output(engine, 0, 1, size), c->wanted, size);
        }
        mts_engine_destroy(&engine);
    }
    net_release(&net);
    mts_arena_release(&arena);
}

static void ports_of_every_type_keep_it(void **state)
{
    (void)state;
    const float floats[5] = {-3.0f, 0.0f, 200.0f, 1000.0f, 1.0f},
                third[5] = {1.0f / 3, 0, 2049, -1e-9f, 65504};
    const uint8_t bytes[5] = {0, 0, 200, 255, 1}, flags[5] = {1, 0, 1, 1, 1};
    const int32_t ints[5] = {-3, 0, 200, 1000, 1};
    const int64_t longs[5] = {-3, 0, 200, 1000, 1};
    const double doubles[5] = {-3.0, 0.0, 200.0, 1000.0, 1.0};
    uint16_t halves[5];
    float rounded[5];
    for (int i = 0; i < 5; i++) {
        halves[i] = mts_half_from_float(floats[i]);
        rounded[i] = mts_half_to_float(mts_half_from_float(third[i]));
    }
    const typed cases[] = {
        {MTS_TYPE_FLOAT32, MTS_TYPE_FLOAT32, third, rounded},
        {MTS_TYPE_FLOAT32, MTS_TYPE_UINT8, floats, bytes},
        {MTS_TYPE_FLOAT32, MTS_TYPE_BOOL, floats, flags},
        {MTS_TYPE_FLOAT32, MTS_TYPE_INT32, floats, ints},
        {MTS_TYPE_FLOAT32, MTS_TYPE_INT64, floats, longs},
        {MTS_TYPE_FLOAT32, MTS_TYPE_FLOAT64, floats, doubles},
        {MTS_TYPE_FLOAT32, MTS_TYPE_FLOAT16, floats, halves},
        {MTS_TYPE_INT32, MTS_TYPE_FLOAT32, ints, floats},
        {MTS_TYPE_INT64, MTS_TYPE_FLOAT32, longs, floats},
        {MTS_TYPE_FLOAT64, MTS_TYPE_FLOAT32, doubles, floats},
        {MTS_TYPE_FLOAT16, MTS_TYPE_FLOAT32, halves, floats},
        {MTS_TYPE_FLOAT16, MTS_TYPE_FLOAT16, halves, halves},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_typed(&cases[i], false);
        run_typed(&cases[i], true);
    }
}

static void an_output_that_is_a_constant_is_not_rounded(void **state)
{
    const float third = 1.0f / 3.0f;
    mts_arena arena;
    test_net net;
    mts_error error = {0};
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    mts_graph *graph = typed_graph(&arena, MTS_TYPE_FLOAT32, MTS_TYPE_FLOAT32);
    const mts_shape one = mts_shape_make(1, (const int64_t[]){1});
    const uint32_t c = mts_graph_add_const(graph, "c", MTS_TYPE_FLOAT32, &one, &third);
    test_must(mts_graph_add_output(graph, "c", c, MTS_TYPE_FLOAT32, &one, &error), &error, "output");
    test_must(net_make((const mts_graph *const *)&graph, 1, 0.0f, &net, &error), &error, "bundle");
    mts_engine *engine = make(devices[0], net.archive, MTS_PRECISION_FLOAT16_STORAGE, false);
    submit(engine);
    assert_memory_equal(read_output(engine, 0, 2, sizeof third), &third, sizeof third);
    mts_engine_destroy(&engine);
    net_release(&net);
    mts_arena_release(&arena);
}

/* ---- zero-copy inputs ---- */

static void fill(float *data, size_t count, size_t seed)
{
    for (size_t k = 0; k < count; k++) {
        const size_t words[2] = {seed, k};
        data[k] = (float)(mts_hash(words, sizeof words, 5) >> 40) / (float)(1u << 23) - 1.0f;
    }
}

/* A first layer of stride 2, and some more. Few kinds of layers: each costs a compilation. */
static void build(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, SIDE);
    const mts_net_value stem = mts_net_conv(net, x, mts_net_channels(net, true), 3, 2, NULL);
    const mts_net_value next = mts_net_conv(net, stem, mts_net_channels(net, true), 3, 1, &stem);
    mts_net_end(net, mts_net_mean(net, next), 5);
}

static void open_family(planted_world *w)
{
    planted_world_make(w, build, &(mts_net_plan){.tasks = TASKS, .shared = 12, .exclusive = 3, .seed = 1});
}

static void set_inputs(mts_engine *engine, float (*data)[PIXELS])
{
    mts_error error = {0};
    for (uint32_t t = 0; t < TASKS; t++) {
        test_must(mts_engine_set_input(engine, t, 0, data[t], sizeof data[t], &error), &error, "input");
    }
}

static void assert_same(const mts_engine *a, const mts_engine *b, const mts_archive *archive)
{
    for (uint32_t t = 0; t < TASKS; t++) {
        const size_t size = mts_shape_count(&archive->tasks[t].graph->outputs[0].shape) * sizeof(float);
        assert_memory_equal(read_output(a, t, 0, size), read_output(b, t, 0, size), size);
    }
}

/* The strided first layer reads float32 of the caller where it lies; elsewhere a copy does. */
static void lent_inputs_stay_float32_and_give_the_same_bits(void **state)
{
    static float data[TASKS][PIXELS];
    planted_world w;
    (void)state;
    open_family(&w);
    for (int d = 0; d < 2 && devices[d]; d++) {
        for (int own = 0; own < 2; own++) { /* 1: a device that cannot read the caller's memory */
            const uint32_t usual = devices[d]->info.imports;
            devices[d]->info.imports = own == 0 ? usual : 0;
            mts_engine *kept = make(devices[d], w.net.archive, MTS_PRECISION_FLOAT16_STORAGE, false);
            mts_engine *zero_copy = make(devices[d], w.net.archive, MTS_PRECISION_FLOAT16_STORAGE, true);
            for (size_t round = 0; round < 2; round++) {
                for (uint32_t t = 0; t < TASKS; t++) {
                    fill(data[t], PIXELS, 10 * round + t);
                }
                set_inputs(kept, data);
                if (round == 0) { /* later runs read what lies there then */
                    set_inputs(zero_copy, data);
                }
                submit(kept);
                submit(zero_copy);
                assert_same(kept, zero_copy, w.net.archive);
            }
            mts_engine_destroy(&kept);
            mts_engine_destroy(&zero_copy);
            devices[d]->info.imports = usual;
        }
    }
    planted_world_release(&w);
}

static void what_a_device_cannot_read_in_place_is_counted_as_float32(void **state)
{
    planted_world w;
    (void)state;
    open_family(&w);
    const uint32_t usual = devices[0]->info.imports;
    mts_session_stats stats[2];
    for (int own = 0; own < 2; own++) {
        devices[0]->info.imports = own == 0 ? MTS_MEMORY_BIT(MTS_MEMORY_HOST) : 0;
        mts_engine *engine = make(devices[0], w.net.archive, MTS_PRECISION_FLOAT16_STORAGE, true);
        mts_engine_stats_get(engine, &stats[own]);
        mts_engine_destroy(&engine);
    }
    devices[0]->info.imports = usual;
    assert_int_equal(stats[1].workspace_bytes - stats[0].workspace_bytes, TASKS * PIXELS * sizeof(float));
    planted_world_release(&w);
}

/* ---- frames ---- */

static void frames_become_float16(void **state)
{
    static uint8_t pixels[PIXELS];
    test_synth b;
    mts_error error = {0};
    (void)state;
    for (size_t i = 0; i < sizeof pixels; i++) {
        pixels[i] = (uint8_t)(i * 37 % 251);
    }
    const mts_frame frame = {
        .size = sizeof frame, .data = pixels, .width = SIDE, .height = SIDE, .format = MTS_PIXEL_FORMAT_RGB};
    mts_frame_view view;
    assert_int_equal(mts_frame_view_make(&frame, &view, &error), MTS_STATUS_OK);
    static const double prune = 0.95;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, TASKS, &prune, 1, 0.5);
    test_synth_open(&b, &o);
    for (int d = 0; d < 2 && devices[d]; d++) {
        mts_engine *full = make(devices[d], b.archive, MTS_PRECISION_FLOAT32, false);
        mts_engine *half = make(devices[d], b.archive, MTS_PRECISION_FLOAT16_STORAGE, false);
        test_must(mts_engine_set_frame(full, MTS_NONE, &view, &error), &error, "frame");
        test_must(mts_engine_set_frame(half, MTS_NONE, &view, &error), &error, "frame");
        submit(full);
        submit(half);
        for (uint32_t t = 0; t < TASKS; t++) {
            const size_t count = mts_shape_count(&b.archive->tasks[t].graph->outputs[0].shape);
            const size_t size = count * sizeof(float);
            const double difference =
                test_difference(read_output(half, t, 0, size), read_output(full, t, 0, size), count);
            assert_true(difference <= TEST_TOLERANCE_FLOAT16);
        }
        mts_engine_destroy(&full);
        mts_engine_destroy(&half);
    }
    test_synth_close(&b);
}

/* ---- a steady run ---- */

static void a_run_in_float16_allocates_nothing(void **state)
{
    static float data[TASKS][PIXELS];
    mts_fault_allocator memory;
    planted_world w;
    (void)state;
    open_family(&w);
    fill(data[0], PIXELS, 1);
    fill(data[1], PIXELS, 2);
    mts_fault_allocator_init(&memory, 0);
    const mts_allocator *usual = devices[0]->allocator;
    devices[0]->allocator = &memory.allocator;
    mts_engine *engine = make(devices[0], w.net.archive, MTS_PRECISION_FLOAT16_STORAGE, false);
    set_inputs(engine, data);
    submit(engine);
    const size_t calls = memory.calls;
    for (int run = 0; run < 3; run++) {
        set_inputs(engine, data);
        submit(engine);
    }
    assert_int_equal(memory.calls, calls);
    mts_engine_destroy(&engine);
    devices[0]->allocator = usual;
    assert_int_equal(memory.alive, 0);
    planted_world_release(&w);
}

/* Every allocation of making a session fails in turn: nothing is left, and the sentence says what lacked. */
static void making_a_float16_session_survives_every_failing_allocation(void **state)
{
    const float floats[5] = {1, 2, 3, 4, 5};
    mts_arena arena;
    test_net net;
    mts_error error = {0};
    mts_status status = MTS_STATUS_OUT_OF_MEMORY;
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    const mts_graph *graph = typed_graph(&arena, MTS_TYPE_FLOAT32, MTS_TYPE_INT32);
    test_must(net_make(&graph, 1, 0.0f, &net, &error), &error, "bundle");
    const mts_allocator *usual = devices[0]->allocator;
    for (size_t nth = 1; status == MTS_STATUS_OUT_OF_MEMORY; nth++) {
        const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT,
                                            .precision = MTS_PRECISION_FLOAT16_STORAGE};
        mts_fault_allocator memory;
        mts_engine *engine = NULL;
        mts_fault_allocator_init(&memory, nth);
        devices[0]->allocator = &memory.allocator;
        status = mts_planned_engine_create(devices[0], net.archive, &options, NULL, &engine, NULL, &error);
        assert_true((status == MTS_STATUS_OK) == (engine != NULL));
        if (engine) {
            test_must(mts_engine_set_input(engine, 0, 0, floats, sizeof floats, &error), &error, "input");
            submit(engine);
            assert_int_equal(((const int32_t *)read_output(engine, 0, 1, 5 * sizeof(int32_t)))[4], 5);
        }
        mts_engine_destroy(&engine);
        devices[0]->allocator = usual;
        assert_int_equal(memory.alive, 0);
    }
    assert_int_equal(status, MTS_STATUS_OK);
    net_release(&net);
    mts_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports_of_every_type_keep_it),
        cmocka_unit_test(an_output_that_is_a_constant_is_not_rounded),
        cmocka_unit_test(lent_inputs_stay_float32_and_give_the_same_bits),
        cmocka_unit_test(what_a_device_cannot_read_in_place_is_counted_as_float32),
        cmocka_unit_test(frames_become_float16),
        cmocka_unit_test(a_run_in_float16_allocates_nothing),
        cmocka_unit_test(making_a_float16_session_survives_every_failing_allocation),
    };
    mts_error error = {0};
    if (mts_os_directory_make(WORK, &error) != MTS_STATUS_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    for (int d = 0; d < 2; d++) {
        if (net_device_open(device_names[d], WORK, &devices[d], &error) != MTS_STATUS_OK) {
            printf("%s: %s\n", device_names[d], error.text);
        }
    }
    const int failed = devices[0] ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    for (int d = 0; d < 2; d++) {
        mts_device_destroy(&devices[d]);
    }
    return failed;
}
