/*
 * test_constants.c: models whose operators read constants only: what the importer cannot compute runs, under
 * every strategy, and gives the numbers that the same operator gives for an input.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "compiler/import/import.h"
#include "compiler/passes/fold.h"
#include "support/net.h"
#include "support/onnx_model.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
#define COUNT 16 /* elements of the operand, [1,1,4,4] */
#define MOST 64

static mts_device *device;
static float numbers[COUNT];
static float vector[2] = {0.5f, 0.0f};

/* An operator over "c"; attributes are set by `attrs`. */
typedef struct operator_case {
    const char *op, *inputs;
    void (*attrs)(onnx_model *model);
} operator_case;

static void window_attrs(onnx_model *model)
{
    onnx_model_attr_ints(model, "kernel_shape", 2, DIMS(2, 2));
}

static void size_attr(onnx_model *model)
{
    onnx_model_attr_int(model, "size", 3);
}

static void no_attrs(onnx_model *model)
{
    (void)model;
}

static const operator_case cases[] = {
    {"Conv", "c,w", window_attrs},
    {"ConvTranspose", "c,w", window_attrs},
    {"BatchNormalization", "c,v,v,v,v", no_attrs},
    {"MaxPool", "c", window_attrs},
    {"AveragePool", "c", window_attrs},
    {"GlobalAveragePool", "c", no_attrs},
    {"Softmax", "c", no_attrs},
    {"LRN", "c", size_attr},
    {"PRelu", "c,v", no_attrs},
    {"MatMul", "c,c", no_attrs},
    {"Upsample", "c,s", no_attrs},
    {"Pad", "c,p", no_attrs},
    {"Relu", "c", no_attrs},
    {"Concat", "c,c", no_attrs},
};

/* The case's model; "c" is an input or a constant. */
static void write_model(onnx_model *model, const operator_case *which, bool constant)
{
    static const float scales[4] = {1.0f, 1.0f, 2.0f, 2.0f};
    const bool upsample = strcmp(which->op, "Upsample") == 0;
    onnx_model_begin(model, upsample ? 9 : 11);
    if (constant) {
        onnx_model_floats(model, "c", 4, DIMS(1, 1, 4, 4), numbers);
        onnx_model_input(model, "unused", ONNX_FLOAT, 1, DIMS(1));
    } else {
        onnx_model_input(model, "c", ONNX_FLOAT, 4, DIMS(1, 1, 4, 4));
    }
    onnx_model_floats(model, "w", 4, DIMS(1, 1, 2, 2), numbers);
    onnx_model_floats(model, "v", 1, DIMS(1), vector);
    onnx_model_floats(model, "s", 1, DIMS(4), scales);
    onnx_model_ints(model, "p", 8, DIMS(0, 0, 1, 0, 0, 0, 0, 1));
    onnx_model_node(model, which->op, which->inputs, "y");
    which->attrs(model);
    if (strcmp(which->op, "Concat") == 0) {
        onnx_model_attr_int(model, "axis", 1);
    }
    onnx_model_output(model, "y");
}

/* Runs the model; the elements of its output. */
static size_t run_model(const operator_case *which, bool constant, mts_strategy strategy, float *out)
{
    onnx_model model = {0};
    mts_arena arena;
    mts_graph *graph = NULL, *folded = NULL;
    test_net net = {0};
    mts_engine *engine = NULL;
    mts_error error = {0};
    const mts_engine_options options = {.strategy = strategy};
    static const float unused[1];
    size_t count = 0;
    write_model(&model, which, constant);
    mts_arena_init(&arena, mts_allocator_default());
    const onnx_bytes *file = onnx_model_file(&model);
    if (mts_import_memory(file->data, file->size, which->op, NULL, &arena, &graph, &error) != MTS_STATUS_OK ||
        mts_fold(graph, &arena, &folded, &error) != MTS_STATUS_OK ||
        net_make((const mts_graph *const *)&folded, 1, 0.0f, &net, &error) != MTS_STATUS_OK ||
        mts_planned_engine_create(device, net.archive, &options, NULL, &engine, NULL, &error) !=
            MTS_STATUS_OK) {
        fail_msg("%s, strategy %d: %s", which->op, (int)strategy, error.text);
    }
    const void *data[1] = {constant ? (const void *)unused : numbers};
    const void *const *inputs[1] = {data};
    if (net_engine_run(engine, &net, inputs, &error) != MTS_STATUS_OK) {
        fail_msg("%s: %s", which->op, error.text);
    }
    const float *got = net_output(engine, &net, 0, 0, &count);
    assert_non_null(got);
    assert_true(count <= MOST);
    memcpy(out, got, count * sizeof *out);
    mts_engine_destroy(&engine);
    net_release(&net);
    mts_arena_release(&arena);
    onnx_model_end(&model);
    return count;
}

static void operators_over_constants_give_what_they_give_over_inputs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        float want[MOST], got[MOST];
        const size_t count = run_model(&cases[i], false, MTS_STRATEGY_COMPACT, want);
        for (int s = 0; s < MTS_STRATEGY_COUNT; s++) {
            assert_int_equal(run_model(&cases[i], true, (mts_strategy)s, got), count);
            for (size_t e = 0; e < count; e++) {
                if (!(fabsf(got[e] - want[e]) <= 1e-5f * fmaxf(1.0f, fabsf(want[e])))) {
                    fail_msg("%s, strategy %d: [%zu] is %g instead of %g", cases[i].op, s, e, (double)got[e],
                             (double)want[e]);
                }
            }
        }
    }
}

/* Such nodes come from files alone: the importer computes them. */
static void nodes_that_may_read_constants_alone_run(void **state)
{
    (void)state;
    static float a[2] = {1.0f, 2.0f}, b[4] = {10.0f, 20.0f, 30.0f, 40.0f};
    const mts_shape row = mts_shape_make(2, DIMS(1, 2)), square = mts_shape_make(2, DIMS(2, 2));
    const mts_attrs attrs[4] = {{.binary = {.kind = MTS_BIN_ADD}},
                                {.concat = {.axis = 0}},
                                {.reshape = {.shape = square}},
                                {.matmul = {.alpha = 1.0f}}};
    static const mts_op ops[4] = {MTS_OP_BINARY, MTS_OP_CONCAT, MTS_OP_EXPAND, MTS_OP_MATMUL};
    static const float want[4][6] = {{11, 22, 31, 42}, {1, 2, 10, 20, 30, 40}, {1, 2, 1, 2}, {70, 100}};
    static const size_t counts[4] = {4, 6, 4, 2};
    for (size_t i = 0; i < 4; i++) {
        mts_arena arena;
        test_net net = {0};
        mts_engine *engine = NULL;
        mts_error error = {0};
        const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT};
        size_t count = 0;
        mts_arena_init(&arena, mts_allocator_default());
        mts_graph *graph = mts_graph_create(&arena, "constants");
        const uint32_t inputs[2] = {mts_graph_add_const(graph, "a", MTS_TYPE_FLOAT32, &row, a),
                                    mts_graph_add_const(graph, "b", MTS_TYPE_FLOAT32, &square, b)};
        uint32_t y = MTS_NONE;
        assert_int_equal(mts_graph_add_node(graph, ops[i], "n", inputs, ops[i] == MTS_OP_EXPAND ? 1 : 2,
                                            &attrs[i], &y, &error),
                         MTS_STATUS_OK);
        assert_int_equal(
            mts_graph_add_output(graph, "y", y, MTS_TYPE_FLOAT32, &graph->values[y].shape, &error),
            MTS_STATUS_OK);
        if (net_make_as_is((const mts_graph *const *)&graph, 1, &net, &error) != MTS_STATUS_OK ||
            mts_planned_engine_create(device, net.archive, &options, NULL, &engine, NULL, &error) !=
                MTS_STATUS_OK ||
            mts_engine_submit(engine, &error) != MTS_STATUS_OK ||
            mts_engine_wait(engine, &error) != MTS_STATUS_OK) {
            fail_msg("%s: %s", mts_op_name(ops[i]), error.text);
        }
        const float *got = net_output(engine, &net, 0, 0, &count);
        assert_int_equal(count, counts[i]);
        assert_memory_equal(got, want[i], count * sizeof *got);
        mts_engine_destroy(&engine);
        net_release(&net);
        mts_arena_release(&arena);
    }
}

/* 65536 x 65536 positions around one pixel; a walk over them would take minutes. */
static void a_window_far_larger_than_the_image_costs_no_more_than_the_image(void **state)
{
    (void)state;
    for (uint32_t kind = MTS_POOL_MAX; kind <= MTS_POOL_AVG; kind++) {
        const mts_attrs attrs = {.pool = {.kind = kind,
                                          .kernel = {65536, 65536},
                                          .stride = {1, 1},
                                          .dilation = {1, 1},
                                          .pad = {65500, 65500, 65500, 65500},
                                          .include_pad = 1}};
        const mts_shape shape = mts_shape_make(4, DIMS(1, 1, 1, 1));
        mts_arena arena;
        test_net net = {0};
        mts_engine *engine = NULL;
        mts_error error = {0};
        const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT};
        const float pixel[1] = {-3.0f};
        const void *data[1] = {pixel};
        const void *const *inputs[1] = {data};
        size_t count = 0;
        mts_arena_init(&arena, mts_allocator_default());
        mts_graph *graph = mts_graph_create(&arena, "window");
        uint32_t y = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &shape);
        mts_attrs small = attrs; /* 66 columns and rows of outputs */
        small.pool.pad[2] = small.pool.pad[3] = 100;
        assert_int_equal(mts_graph_add_node(graph, MTS_OP_POOL, "pool", &y, 1, &small, &y, &error),
                         MTS_STATUS_OK);
        assert_int_equal(
            mts_graph_add_output(graph, "y", y, MTS_TYPE_FLOAT32, &graph->values[y].shape, &error),
            MTS_STATUS_OK);
        if (net_make_as_is((const mts_graph *const *)&graph, 1, &net, &error) != MTS_STATUS_OK ||
            mts_planned_engine_create(device, net.archive, &options, NULL, &engine, NULL, &error) !=
                MTS_STATUS_OK ||
            net_engine_run(engine, &net, inputs, &error) != MTS_STATUS_OK) {
            fail_msg("%s", error.text);
        }
        const float *got = net_output(engine, &net, 0, 0, &count);
        assert_int_equal(count, 66 * 66);
        const double all = 65536.0 * 65536.0;
        const double want = kind == MTS_POOL_MAX ? -3.0 : -3.0 / all;
        for (size_t i = 0; i < count; i++) {
            assert_true(fabs((double)got[i] - want) <= 1e-6 * fabs(want));
        }
        mts_engine_destroy(&engine);
        net_release(&net);
        mts_arena_release(&arena);
    }
}

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = (float)(i * 7 % 11) / 4.0f - 1.0f;
    }
    return net_device_open("reference", NULL, &device, NULL) == MTS_STATUS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    mts_device_destroy(&device);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_over_constants_give_what_they_give_over_inputs),
        cmocka_unit_test(nodes_that_may_read_constants_alone_run),
        cmocka_unit_test(a_window_far_larger_than_the_image_costs_no_more_than_the_image),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
