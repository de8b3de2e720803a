/*
 * test_edges.c: what networks do at their borders: outputs that are inputs, constants, reshapes or named
 * twice; element types other than float32; some of a bundle's tasks in any order; mistakes of the caller.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "base/half.h"
#include "support/net.h"
#include "support/random_net.h"

static mts_device *devices[2];
static const char *const device_names[2] = {"reference", "opencl"};

static void must(mts_status status, const mts_error *error, const char *what)
{
    if (status != MTS_STATUS_OK) {
        print_error("%s: %s: %s\n", what, mts_status_text(status), error->text);
        fail();
    }
}

static uint32_t add(mts_graph *graph, mts_op op, uint32_t x, const mts_attrs *attrs)
{
    mts_error error = {0};
    uint32_t value = MTS_NONE;
    must(mts_graph_add_node(graph, op, mts_op_name(op), &x, 1, attrs, &value, &error), &error, "node");
    return value;
}

static void output(mts_graph *graph, const char *name, uint32_t value, mts_type dtype)
{
    mts_error error = {0};
    must(mts_graph_add_output(graph, name, value, dtype, &graph->values[value].shape, &error), &error, name);
}

static mts_engine *engine_of(int device, const test_net *net, bool separate)
{
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = separate};
    mts_engine *engine = NULL;
    mts_error error = {0};
    must(mts_planned_engine_create(devices[device], net->archive, &options, NULL, &engine, NULL, &error),
         &error, device_names[device]);
    return engine;
}

static void submit(mts_engine *engine)
{
    mts_error error = {0};
    must(mts_engine_submit(engine, &error), &error, "submit");
    must(mts_engine_wait(engine, &error), &error, "wait");
}

static const void *read_output(const mts_engine *engine, uint32_t index, size_t size)
{
    const void *data = NULL;
    size_t bytes = 0;
    mts_error error = {0};
    must(mts_engine_output(engine, 0, index, &data, &bytes, &error), &error, "output");
    assert_int_equal(bytes, size);
    return data;
}

/* Outputs: the input, a reshape of it, a constant, a sum twice. */
static mts_graph *border_graph(mts_arena *arena, const float *constant)
{
    mts_graph *graph = mts_graph_create(arena, "border");
    assert_non_null(graph);
    const mts_shape shape = mts_shape_make(2, (const int64_t[]){2, 3});
    const mts_attrs flat = {.reshape = {.shape = mts_shape_make(1, (const int64_t[]){6})}};
    const mts_attrs negate = {.unary = {.act = {.fn = MTS_FN_NEG}}};
    const uint32_t x = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &shape);
    const uint32_t c = mts_graph_add_const(graph, "c", MTS_TYPE_FLOAT32, &shape, constant);
    const uint32_t row = add(graph, MTS_OP_RESHAPE, x, &flat);
    const uint32_t minus = add(graph, MTS_OP_UNARY, x, &negate);
    output(graph, "same", x, MTS_TYPE_FLOAT32);
    output(graph, "row", row, MTS_TYPE_FLOAT32);
    output(graph, "constant", c, MTS_TYPE_FLOAT32);
    output(graph, "minus", minus, MTS_TYPE_FLOAT32);
    output(graph, "again", minus, MTS_TYPE_FLOAT32);
    return graph;
}

static void outputs_may_be_inputs_constants_reshapes_and_named_twice(void **state)
{
    (void)state;
    const float constant[6] = {1, 2, 3, 4, 5, 6}, input[6] = {-1, 0.5f, 7, -9, 1e20f, 3};
    float minus[6];
    mts_arena arena;
    test_net net;
    mts_error error = {0};
    for (int i = 0; i < 6; i++) {
        minus[i] = -input[i];
    }
    mts_arena_init(&arena, mts_allocator_default());
    const mts_graph *graph = border_graph(&arena, constant);
    must(net_make(&graph, 1, 0.0f, &net, &error), &error, "bundle");
    for (int d = 0; d < 2 && devices[d]; d++) {
        mts_engine *engine = engine_of(d, &net, false);
        must(mts_engine_set_input(engine, 0, 0, input, sizeof input, &error), &error, "input");
        for (int run = 0; run < 2; run++) {
            submit(engine);
            assert_memory_equal(read_output(engine, 0, sizeof input), input, sizeof input);
            assert_memory_equal(read_output(engine, 1, sizeof input), input, sizeof input);
            assert_memory_equal(read_output(engine, 2, sizeof input), constant, sizeof input);
            assert_memory_equal(read_output(engine, 3, sizeof input), minus, sizeof input);
            assert_memory_equal(read_output(engine, 4, sizeof input), minus, sizeof input);
        }
        mts_engine_destroy(&engine);
    }
    net_release(&net);
    mts_arena_release(&arena);
}

static void a_graph_without_nodes_runs(void **state)
{
    (void)state;
    const float input[2] = {4, 5};
    mts_arena arena;
    test_net net;
    mts_error error = {0};
    mts_arena_init(&arena, mts_allocator_default());
    mts_graph *graph = mts_graph_create(&arena, "wire");
    assert_non_null(graph);
    const mts_shape shape = mts_shape_make(1, (const int64_t[]){2});
    output(graph, "y", mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &shape), MTS_TYPE_FLOAT32);
    must(net_make((const mts_graph *const *)&graph, 1, 0.0f, &net, &error), &error, "bundle");
    for (int d = 0; d < 2 && devices[d]; d++) {
        mts_engine *engine = engine_of(d, &net, false);
        must(mts_engine_set_input(engine, 0, 0, input, sizeof input, &error), &error, "input");
        submit(engine);
        assert_memory_equal(read_output(engine, 0, sizeof input), input, sizeof input);
        mts_engine_destroy(&engine);
    }
    net_release(&net);
    mts_arena_release(&arena);
}

/* ---- depthwise convolutions that read images in place ---- */

enum { CHANNELS = 8, SIDE = 20, OTHER_SIDE = 12 };

/* A 1x1 convolution, which may be an output too, and a depthwise one of 3x3 taps behind it. */
static mts_graph *depthwise_graph(mts_arena *arena, const char *name, int64_t side, uint32_t dilation,
                                  bool between)
{
    static float pointwise[CHANNELS * CHANNELS], depthwise[CHANNELS * 9];
    const int32_t pad = (int32_t)dilation;
    mts_error error = {0};
    uint32_t v = MTS_NONE, y = MTS_NONE;
    for (int i = 0; i < CHANNELS * CHANNELS; i++) {
        pointwise[i] = 0.01f * (float)(i % 13 - 6);
    }
    for (int i = 0; i < CHANNELS * 9; i++) {
        depthwise[i] = 0.02f * (float)(i % 7 - 3);
    }
    mts_graph *graph = mts_graph_create(arena, name);
    assert_non_null(graph);
    const mts_shape image = mts_shape_make(4, (const int64_t[]){1, CHANNELS, side, side});
    const mts_shape w = mts_shape_make(4, (const int64_t[]){CHANNELS, CHANNELS, 1, 1});
    const mts_shape d = mts_shape_make(4, (const int64_t[]){CHANNELS, 1, 3, 3});
    const mts_attrs one = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    const mts_attrs taps = {.conv = {.kernel = {3, 3},
                                     .stride = {1, 1},
                                     .dilation = {dilation, dilation},
                                     .pad = {pad, pad, pad, pad},
                                     .group = CHANNELS}};
    const uint32_t first[2] = {mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &image),
                               mts_graph_add_const(graph, "w", MTS_TYPE_FLOAT32, &w, pointwise)};
    must(mts_graph_add_node(graph, MTS_OP_CONV, "one", first, 2, &one, &v, &error), &error, "node");
    const uint32_t second[2] = {v, mts_graph_add_const(graph, "d", MTS_TYPE_FLOAT32, &d, depthwise)};
    must(mts_graph_add_node(graph, MTS_OP_CONV, "taps", second, 2, &taps, &y, &error), &error, "node");
    if (between) {
        output(graph, "v", v, MTS_TYPE_FLOAT32);
    }
    output(graph, "y", y, MTS_TYPE_FLOAT32);
    return graph;
}

enum { PART = 16, PIXELS = 256 };

static float part_weight(int part, int row, int channel)
{
    return 0.01f * (float)((part * 31 + row * 7 + channel * 3) % 17 - 8);
}

/* Two 1x1 convolutions of 16 channels side by side, which are the output. */
static mts_graph *joined_graph(mts_arena *arena)
{
    static float weights[2][PART * CHANNELS];
    mts_error error = {0};
    uint32_t parts[2], all = MTS_NONE;
    mts_graph *graph = mts_graph_create(arena, "joined");
    assert_non_null(graph);
    const mts_shape image = mts_shape_make(4, (const int64_t[]){1, CHANNELS, 16, 16});
    const mts_shape w = mts_shape_make(4, (const int64_t[]){PART, CHANNELS, 1, 1});
    const mts_attrs one = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    const mts_attrs join = {.concat = {.axis = 1}};
    const uint32_t x = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &image);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < PART * CHANNELS; k++) {
            weights[i][k] = part_weight(i, k / CHANNELS, k % CHANNELS);
        }
        const uint32_t in[2] = {
            x, mts_graph_add_const(graph, i == 0 ? "a" : "b", MTS_TYPE_FLOAT32, &w, weights[i])};
        must(
            mts_graph_add_node(graph, MTS_OP_CONV, i == 0 ? "left" : "right", in, 2, &one, &parts[i], &error),
            &error, "node");
    }
    must(mts_graph_add_node(graph, MTS_OP_CONCAT, "all", parts, 2, &join, &all, &error), &error, "node");
    output(graph, "y", all, MTS_TYPE_FLOAT32);
    return graph;
}

static void compare_devices(const test_net *net, uint32_t task, uint32_t index, int64_t side, bool zero_copy)
{
    const mts_engine_options options = {
        .strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true, .zero_copy_inputs = zero_copy};
    static float image[CHANNELS * SIDE * SIDE], expected[CHANNELS * SIDE * SIDE];
    const size_t count = (size_t)(CHANNELS * side * side);
    mts_error error = {0};
    for (size_t i = 0; i < sizeof image / sizeof *image; i++) {
        image[i] = (float)(i % 11) - 5.0f;
    }
    for (int d = 0; d < 2 && devices[d]; d++) {
        mts_engine *engine = NULL;
        const void *data = NULL;
        size_t bytes = 0;
        must(mts_planned_engine_create(devices[d], net->archive, &options, NULL, &engine, NULL, &error),
             &error, device_names[d]);
        for (uint32_t t = 0; t < net->archive->task_count; t++) {
            const int64_t *dims = net->archive->tasks[t].graph->values[0].shape.dims;
            const size_t floats = (size_t)(dims[1] * dims[2] * dims[3]);
            must(mts_engine_set_input(engine, t, 0, image, floats * sizeof *image, &error), &error, "input");
        }
        submit(engine);
        must(mts_engine_output(engine, task, index, &data, &bytes, &error), &error, "output");
        assert_int_equal(bytes, count * sizeof(float));
        for (size_t i = 0; i < count; i++) {
            expected[i] = d == 0 ? ((const float *)data)[i] : expected[i];
            assert_float_equal(((const float *)data)[i], expected[i], 1e-4);
        }
        mts_engine_destroy(&engine);
    }
}

/* The image lies where the arena begins: vectors that begin left of it may not leave the arena. */
static void a_depthwise_convolution_reads_an_output_of_the_graph(void **state)
{
    (void)state;
    mts_arena arena;
    test_net net;
    mts_error error = {0};
    mts_arena_init(&arena, mts_allocator_default());
    const mts_graph *graph = depthwise_graph(&arena, "output", SIDE, 1, true);
    must(net_make(&graph, 1, 0.0f, &net, &error), &error, "bundle");
    for (uint32_t index = 0; index < 2; index++) {
        compare_devices(&net, 0, index, SIDE, true);
    }
    net_release(&net);
    mts_arena_release(&arena);
}

/* Planes of 16x16 are spread over a cache's sets, but not those of an output, nor those of its parts. */
static void parts_of_a_concatenation_lie_as_the_whole_does(void **state)
{
    (void)state;
    static float image[CHANNELS * PIXELS];
    mts_arena arena;
    test_net net;
    mts_error error = {0};
    mts_arena_init(&arena, mts_allocator_default());
    const mts_graph *graph = joined_graph(&arena);
    must(net_make(&graph, 1, 0.0f, &net, &error), &error, "bundle");
    for (int i = 0; i < CHANNELS * PIXELS; i++) {
        image[i] = (float)(i % 23) - 11.0f;
    }
    for (int d = 0; d < 2 && devices[d]; d++) {
        mts_engine *engine = engine_of(d, &net, false);
        must(mts_engine_set_input(engine, 0, 0, image, sizeof image, &error), &error, "input");
        submit(engine);
        const float *got = read_output(engine, 0, 2 * PART * PIXELS * sizeof *got);
        for (int i = 0; i < 2 * PART * PIXELS; i++) {
            float sum = 0.0f;
            for (int c = 0; c < CHANNELS; c++) {
                sum +=
                    part_weight(i / (PART * PIXELS), i / PIXELS % PART, c) * image[c * PIXELS + i % PIXELS];
            }
            assert_float_equal(got[i], sum, 1e-3);
        }
        mts_engine_destroy(&engine);
    }
    net_release(&net);
    mts_arena_release(&arena);
}

/* Dilated taps in images of two sizes take two kernels: two launches of one step. */
static void a_layer_of_two_depthwise_kernels_runs(void **state)
{
    (void)state;
    mts_arena arena;
    test_net net;
    mts_error error = {0};
    mts_arena_init(&arena, mts_allocator_default());
    const mts_graph *graphs[2] = {depthwise_graph(&arena, "wide", SIDE, 2, false),
                                  depthwise_graph(&arena, "narrow", OTHER_SIDE, 2, false)};
    must(net_make(graphs, 2, 0.0f, &net, &error), &error, "bundle");
    compare_devices(&net, 0, 0, SIDE, false);
    compare_devices(&net, 1, 0, OTHER_SIDE, false);
    net_release(&net);
    mts_arena_release(&arena);
}

/* ---- element types ---- */

typedef struct typed {
    mts_type in, out;
    const void *given;
    const void *wanted; /* 4 elements each */
} typed;

static void run_typed(const typed *c)
{
    mts_arena arena;
    test_net net;
    mts_error error = {0};
    mts_arena_init(&arena, mts_allocator_default());
    mts_graph *graph = mts_graph_create(&arena, "typed");
    assert_non_null(graph);
    const mts_shape shape = mts_shape_make(1, (const int64_t[]){4});
    const mts_attrs none = {.unary = {.act = {.fn = MTS_FN_NONE}}};
    const uint32_t x = mts_graph_add_input(graph, "x", c->in, &shape);
    output(graph, "y", add(graph, MTS_OP_UNARY, x, &none), c->out);
    must(net_make((const mts_graph *const *)&graph, 1, 0.0f, &net, &error), &error, "bundle");
    for (int d = 0; d < 2 && devices[d]; d++) {
        mts_engine *engine = engine_of(d, &net, false);
        const size_t size = 4 * mts_type_size(c->in);
        must(mts_engine_set_input(engine, 0, 0, c->given, size, &error), &error, "input");
        assert_int_equal(mts_engine_set_input(engine, 0, 0, c->given, size + 1, &error),
                         MTS_STATUS_INVALID_ARGUMENT);
        submit(engine);
        assert_memory_equal(read_output(engine, 0, 4 * mts_type_size(c->out)), c->wanted,
                            4 * mts_type_size(c->out));
        mts_engine_destroy(&engine);
    }
    net_release(&net);
    mts_arena_release(&arena);
}

static void element_types_are_converted_at_the_border(void **state)
{
    (void)state;
    const float floats[4] = {-3.0f, 0.0f, 200.0f, 1000.0f}, wild[4] = {1e30f, -1e30f, NAN, 2.5f};
    const uint8_t bytes[4] = {0, 0, 200, 255}, flags[4] = {1, 0, 1, 1}, given_bytes[4] = {0, 1, 254, 255};
    const float from_bytes[4] = {0.0f, 1.0f, 254.0f, 255.0f};
    const int32_t ints[4] = {-3, 0, 200, 1000}, ends[4] = {INT32_MAX, INT32_MIN, 0, 2};
    const int64_t longs[4] = {-3, 0, 200, 1000}, long_ends[4] = {INT64_MAX - 1023, INT64_MIN, 0, 2};
    const double doubles[4] = {-3.0, 0.0, 200.0, 1000.0};
    uint16_t halves[4];
    for (int i = 0; i < 4; i++) {
        halves[i] = mts_half_from_float(floats[i]);
    }
    const typed cases[] = {
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
        {MTS_TYPE_UINT8, MTS_TYPE_FLOAT32, given_bytes, from_bytes},
        {MTS_TYPE_FLOAT32, MTS_TYPE_INT32, wild, ends},
        {MTS_TYPE_FLOAT32, MTS_TYPE_INT64, wild, long_ends},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_typed(&cases[i]);
    }
}

/* ---- some of the tasks ---- */

static void some_tasks_in_any_order_give_what_all_give(void **state)
{
    (void)state;
    static const uint32_t lists[5][4] = {
        {3, 1, 0, 0}, {2, 0, 0, 0}, {1, 2, 3, 0}, {3, 2, 1, 0}, {0, 3, 0, 0}};
    static const uint32_t counts[5] = {2, 2, 3, 4, 2};
    for (uint32_t seed = 0; seed < 20; seed++) {
        const random_family family = {.seed = 50000 + seed, .tasks = 4, .steps = 5, .common = seed % 2 == 0};
        const mts_graph *graphs[4];
        float *inputs[4], **values[4];
        mts_arena arena;
        test_net net;
        mts_error error = {0};
        mts_arena_init(&arena, mts_allocator_default());
        for (uint32_t t = 0; t < 4; t++) {
            graphs[t] = random_net(&family, t, &arena);
            assert_non_null(graphs[t]);
            inputs[t] = random_input(&family, t, graphs[t], 0, &arena);
            values[t] = mts_arena_zero(&arena, graphs[t]->value_count, sizeof(float *));
            must(random_oracle(graphs[t], (const float *const *)&inputs[t], devices[0], &arena, values[t],
                               &error),
                 &error, "oracle");
        }
        must(net_make(graphs, 4, 0.0f, &net, &error), &error, "bundle");
        const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT,
                                            .tasks = lists[seed % 5],
                                            .task_count = counts[seed % 5],
                                            .separate_inputs = !family.common};
        mts_engine *engine = NULL;
        must(mts_planned_engine_create(devices[0], net.archive, &options, NULL, &engine, NULL, &error),
             &error, "engine");
        for (uint32_t i = 0; i < options.task_count; i++) {
            const uint32_t t = options.tasks[i];
            const size_t size = mts_shape_count(&graphs[t]->inputs[0].shape) * sizeof(float);
            must(mts_engine_set_input(engine, t, 0, inputs[t], size, &error), &error, "input");
        }
        submit(engine);
        for (uint32_t i = 0; i < options.task_count; i++) {
            const uint32_t t = options.tasks[i], last = graphs[t]->output_count - 1;
            const float *want = values[t][graphs[t]->outputs[last].value];
            size_t count = 0;
            const float *got = net_output(engine, &net, t, last, &count);
            assert_non_null(got);
            for (size_t k = 0; k < count; k++) {
                assert_true(fabs((double)got[k] - (double)want[k]) <=
                            1e-4 * fmax(1.0, fabs((double)want[k])));
            }
        }
        for (uint32_t t = 0, listed; t < 4; t++) {
            listed = 0;
            for (uint32_t i = 0; i < options.task_count; i++) {
                listed += options.tasks[i] == t;
            }
            const void *data = NULL;
            size_t size = 0;
            assert_int_equal(mts_engine_output(engine, t, 0, &data, &size, &error),
                             listed ? MTS_STATUS_OK : MTS_STATUS_NOT_FOUND);
        }
        mts_engine_destroy(&engine);
        net_release(&net);
        mts_arena_release(&arena);
    }
}

/* ---- mistakes ---- */

static void mistakes_are_named_and_change_nothing(void **state)
{
    (void)state;
    const float constant[6] = {0}, input[6] = {1, 2, 3, 4, 5, 6};
    const uint32_t missing[1] = {7}, twice[2] = {0, 0};
    mts_arena arena;
    test_net net;
    mts_error error = {0};
    const void *data = NULL;
    size_t size = 0;
    mts_arena_init(&arena, mts_allocator_default());
    const mts_graph *graph = border_graph(&arena, constant);
    must(net_make(&graph, 1, 0.0f, &net, &error), &error, "bundle");
    mts_engine *engine = NULL;
    mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .tasks = missing, .task_count = 1};
    assert_int_equal(
        mts_planned_engine_create(devices[0], net.archive, &options, NULL, &engine, NULL, &error),
        MTS_STATUS_NOT_FOUND);
    assert_null(engine);
    options.tasks = twice;
    options.task_count = 2;
    assert_int_equal(
        mts_planned_engine_create(devices[0], net.archive, &options, NULL, &engine, NULL, &error),
        MTS_STATUS_INVALID_ARGUMENT);
    assert_null(engine);
    engine = engine_of(0, &net, false);
    assert_int_equal(mts_engine_output(engine, 0, 0, &data, &size, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_engine_set_input(engine, 0, 1, input, sizeof input, &error), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_engine_set_input(engine, 1, 0, input, sizeof input, &error), MTS_STATUS_NOT_FOUND);
    must(mts_engine_set_input(engine, 0, 0, input, sizeof input, &error), &error, "input");
    must(mts_engine_submit(engine, &error), &error, "submit");
    assert_int_equal(mts_engine_submit(engine, &error), MTS_STATUS_BUSY);
    assert_int_equal(mts_engine_set_input(engine, 0, 0, constant, sizeof constant, &error), MTS_STATUS_BUSY);
    must(mts_engine_wait(engine, &error), &error, "wait");
    assert_memory_equal(read_output(engine, 0, sizeof input), input, sizeof input);
    mts_engine_destroy(&engine);
    net_release(&net);
    mts_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_may_be_inputs_constants_reshapes_and_named_twice),
        cmocka_unit_test(a_graph_without_nodes_runs),
        cmocka_unit_test(a_depthwise_convolution_reads_an_output_of_the_graph),
        cmocka_unit_test(a_layer_of_two_depthwise_kernels_runs),
        cmocka_unit_test(parts_of_a_concatenation_lie_as_the_whole_does),
        cmocka_unit_test(element_types_are_converted_at_the_border),
        cmocka_unit_test(some_tasks_in_any_order_give_what_all_give),
        cmocka_unit_test(mistakes_are_named_and_change_nothing),
    };
    mts_error error = {0};
    for (int d = 0; d < 2; d++) {
        if (net_device_open(device_names[d], NULL, &devices[d], &error) != MTS_STATUS_OK) {
            printf("%s: %s\n", device_names[d], error.text);
        }
    }
    const int failed = devices[0] ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    for (int d = 0; d < 2; d++) {
        mts_device_destroy(&devices[d]);
    }
    return failed;
}
