/*
 * The TensorFlow Lite importer on hand-made models: what operators compute, beside results counted by hand, and in
 * which order; what is refused and how.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/net.h"
#include "support/tflite_world.h"

#define DIMS(...)                                                                                            \
    (const int32_t[])                                                                                        \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define SHAPE(...) (int)(sizeof(DIMS(__VA_ARGS__)) / sizeof(int32_t)), DIMS(__VA_ARGS__)
#define FLOATS(...)                                                                                          \
    (const float[])                                                                                          \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define EXPECT(output, ...) expect(output, sizeof(FLOATS(__VA_ARGS__)) / sizeof(float), FLOATS(__VA_ARGS__))

static tflite_world world;
static float ramp[256]; /* 1, 2, 3, ... */

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < 256; i++) {
        ramp[i] = (float)(i + 1);
    }
    return tflite_world_open(&world);
}

static int tear_down(void **state)
{
    (void)state;
    return tflite_world_close(&world);
}

static uint32_t count_of(const mts_graph *graph, mts_op op)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        count += graph->nodes[i].op == op;
    }
    return count;
}

/* Imports and runs the model on the ramp; the output holds these numbers. */
static void expect(uint32_t output, size_t count, const float *wanted)
{
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT};
    const mts_graph *graph = tflite_world_folded(&world);
    const void *data[4] = {ramp, ramp, ramp, ramp};
    const void *const *inputs = data;
    test_net net = {0};
    mts_engine *engine = NULL;
    mts_status status = net_make(&graph, 1, 0.0f, &net, &world.error);
    MTS_TRY(status, mts_planned_engine_create(world.device, net.archive, &options, NULL, &engine, NULL,
                                              &world.error));
    MTS_TRY(status, net_engine_run(engine, &net, &inputs, &world.error));
    if (status != MTS_STATUS_OK) {
        fail_msg("%s", world.error.text);
    }
    size_t got_count = 0;
    const float *got = net_output(engine, &net, 0, output, &got_count);
    assert_int_equal(got_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_float_equal(got[i], wanted[i], 1e-4);
    }
    mts_engine_destroy(&engine);
    net_release(&net);
    tflite_end(&world.model);
    tflite_begin(&world.model);
}

/* One operator of one operand and the ramp. */
static void one(int code, int rank, const int32_t *in, int out_rank, const int32_t *out, int b, int c)
{
    const int x = tflite_input(&world.model, "x", rank, in),
              y = tflite_value(&world.model, "y", out_rank, out);
    tflite_node(&world.model, code, y, x, b, c);
    tflite_output(&world.model, y);
}

static void convolutions_read_and_write_channels_last(void **state)
{
    (void)state;
    const float weight[4] = {1, 0, 10, 1}, bias[2] = {0.5f, -20};
    const int w = tflite_floats(&world.model, "w", SHAPE(2, 1, 1, 2), weight);
    const int b = tflite_floats(&world.model, "b", SHAPE(2), bias);
    one(3, SHAPE(1, 2, 2, 2), SHAPE(1, 2, 2, 2), w, b);
    tflite_option(&world.model, 1, 1);
    tflite_option(&world.model, 2, 1);
    tflite_option(&world.model, 3, 1); /* RELU */
    EXPECT(0, 1.5f, 0, 3.5f, 14, 5.5f, 36, 7.5f, 58);
}

static void padding_called_same_puts_the_odd_element_last(void **state)
{
    (void)state;
    const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    int w = tflite_floats(&world.model, "w", SHAPE(1, 2, 2, 1), ones);
    one(4, SHAPE(1, 2, 2, 1), SHAPE(1, 2, 2, 1), w, -1);
    tflite_option(&world.model, 1, 1);
    tflite_option(&world.model, 2, 1);
    EXPECT(0, 10, 6, 7, 4);
    /* two results for each channel, next to each other */
    const float two[4] = {1, 2, 3, 4};
    w = tflite_floats(&world.model, "w", SHAPE(1, 1, 1, 4), two);
    one(4, SHAPE(1, 1, 2, 2), SHAPE(1, 1, 2, 4), w, -1);
    tflite_option(&world.model, 0, 1);
    tflite_option(&world.model, 1, 1);
    tflite_option(&world.model, 2, 1);
    tflite_option(&world.model, 3, 2);
    EXPECT(0, 1, 2, 6, 8, 3, 6, 12, 16);
}

static void average_pools_do_not_count_padding(void **state)
{
    (void)state;
    for (int code = 1; code <= 17; code += 16) {
        one(code, SHAPE(1, 2, 2, 1), SHAPE(1, 2, 2, 1), -1, -1);
        tflite_option(&world.model, 1, 1);
        tflite_option(&world.model, 2, 1);
        tflite_option(&world.model, 3, 2);
        tflite_option(&world.model, 4, 2);
        if (code == 1) {
            EXPECT(0, 2.5f, 3, 3.5f, 4);
        } else {
            EXPECT(0, 4, 4, 4, 4);
        }
    }
}

static void transposed_convolutions_have_the_stated_size(void **state)
{
    (void)state;
    const float weight[4] = {1, 2, 3, 4}, bias[1] = {100};
    const int shape = tflite_ints(&world.model, "shape", 4, DIMS(1, 2, 4, 1));
    const int w = tflite_floats(&world.model, "w", SHAPE(1, 2, 2, 1), weight);
    const int x = tflite_input(&world.model, "x", SHAPE(1, 1, 2, 1)),
              y = tflite_value(&world.model, "y", SHAPE(1, 2, 4, 1));
    tflite_node(&world.model, 67, y, shape, w, x);
    tflite_option(&world.model, 1, 2);
    tflite_option(&world.model, 2, 2);
    tflite_output(&world.model, y);
    EXPECT(0, 1, 2, 2, 4, 3, 4, 6, 8);
    const int32_t options[3] = {1, 2, 2};
    const int w2 = tflite_floats(&world.model, "w", SHAPE(1, 2, 2, 1), weight);
    const int b2 = tflite_floats(&world.model, "b", SHAPE(1), bias);
    one(TFLITE_CUSTOM, SHAPE(1, 1, 2, 1), SHAPE(1, 2, 4, 1), w2, b2);
    world.model.operators[0].custom = "Convolution2DTransposeBias";
    world.model.operators[0].custom_options = options;
    world.model.operators[0].custom_bytes = sizeof options;
    EXPECT(0, 101, 102, 102, 104, 103, 104, 106, 108);
}

static void resizing_follows_its_two_switches(void **state)
{
    (void)state;
    const float *const wanted[3] = {FLOATS(1, 1.5f, 2, 2), FLOATS(1, 1.25f, 1.75f, 2),
                                    FLOATS(1, 4.0f / 3, 5.0f / 3, 2)};
    for (int i = 0; i < 3; i++) {
        const int size = tflite_ints(&world.model, "size", 2, DIMS(1, 4));
        one(23, SHAPE(1, 1, 2, 1), SHAPE(1, 1, 4, 1), size, -1);
        tflite_option(&world.model, 2, i == 2);
        tflite_option(&world.model, 3, i == 1);
        expect(0, 4, wanted[i]);
    }
}

static void axes_are_those_of_the_file(void **state)
{
    (void)state;
    /* a pool leaves [1,1,2,2] in the graph's layout; numbers 1 2 | 3 4 */
    static const struct {
        int code, field, number, operand[8], operand_count, dims[4], rank;
        float wanted[8];
        int count;
    } cases[] = {{2, 0, 3, {0}, 0, {1, 1, 2, 4}, 4, {1, 2, 1, 2, 3, 4, 3, 4}, 8},
                 {2, 0, 2, {0}, 0, {1, 1, 4, 2}, 4, {1, 2, 3, 4, 1, 2, 3, 4}, 8},
                 {34, -1, 0, {0, 0, 0, 0, 0, 0, 1, 0}, 8, {1, 1, 2, 3}, 4, {0, 1, 2, 0, 3, 4}, 6},
                 {74, 0, 0, {3}, 1, {1, 1, 2}, 3, {3, 7}, 2},
                 {40, 0, 1, {1, 2}, 2, {1, 1, 1, 2}, 4, {2, 3}, 2},
                 {82, 0, 0, {2}, 1, {1, 1, 2}, 3, {3, 4}, 2},
                 {22, -1, 0, {4}, 1, {4}, 1, {1, 2, 3, 4}, 4},
                 {39, -1, 0, {0, 1, 3, 2}, 4, {1, 1, 2, 2}, 4, {1, 3, 2, 4}, 4},
                 {5, 0, 1, {0}, 0, {1, 1, 2, 2}, 4, {1, 2, 3, 4}, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int x = tflite_input(&world.model, "x", SHAPE(1, 1, 2, 2));
        const int pooled = tflite_value(&world.model, "pooled", SHAPE(1, 1, 2, 2));
        const int y = tflite_value(&world.model, "y", cases[i].rank, cases[i].dims);
        tflite_node(&world.model, 17, pooled, x, -1, -1);
        for (int field = 1; field < 5; field++) {
            tflite_option(&world.model, field, 1);
        }
        const bool joins = cases[i].code == 2;
        int operand = joins ? pooled : -1;
        if (cases[i].operand_count == 8) {
            operand = tflite_add(&world.model, "operand", TFLITE_INT32, SHAPE(4, 2), cases[i].operand, 32);
        } else if (cases[i].operand_count) {
            operand = tflite_ints(&world.model, "operand", cases[i].operand_count, cases[i].operand);
        }
        tflite_node(&world.model, cases[i].code, y, pooled, operand, -1);
        if (cases[i].field >= 0) {
            tflite_option(&world.model, cases[i].field, cases[i].number);
        }
        tflite_output(&world.model, y);
        expect(0, (size_t)cases[i].count, cases[i].wanted);
    }
}

/* Along channels, which lie last in the file. */
static void vectors_are_normalised_along_the_last_dimension(void **state)
{
    (void)state;
    const float rows[4] = {0.447214f, 0.894427f, 0.6f, 0.8f}; /* of 1 2 | 3 4 */
    const float zero[4] = {0};
    one(11, SHAPE(1, 1, 2, 2), SHAPE(1, 1, 2, 2), -1, -1);
    expect(0, 4, rows);
    one(11, SHAPE(2, 2), SHAPE(2, 2), -1, -1);
    tflite_option(&world.model, 0, 2); /* with RELU_N1_TO_1 behind it */
    expect(0, 4, rows);
    const int x = tflite_input(&world.model, "x", SHAPE(2, 2));
    const int zeros = tflite_floats(&world.model, "zeros", SHAPE(2, 2), zero);
    const int product = tflite_value(&world.model, "product", SHAPE(2, 2));
    const int y = tflite_value(&world.model, "y", SHAPE(2, 2));
    tflite_node(&world.model, 18, product, x, zeros, -1);
    tflite_node(&world.model, 11, y, product, -1, -1);
    tflite_output(&world.model, y);
    expect(0, 4, zero); /* no division by 0 */
}

static void slices_count_from_either_end(void **state)
{
    (void)state;
    int first = tflite_ints(&world.model, "begin", 4, DIMS(0, 0, -1, 0));
    const int end = tflite_ints(&world.model, "end", 4, DIMS(1, 1, -3, 2)),
              step = tflite_ints(&world.model, "step", 4, DIMS(1, 1, -1, 1));
    const int x = tflite_input(&world.model, "x", SHAPE(1, 1, 3, 2)),
              y = tflite_value(&world.model, "y", SHAPE(1, 1, 2, 2));
    tflite_node(&world.model, 45, y, x, first, end);
    world.model.operators[0].inputs[3] = step;
    world.model.operators[0].input_count = 4;
    tflite_output(&world.model, y);
    EXPECT(0, 5, 6, 3, 4);
    first = tflite_ints(&world.model, "begin", 4, DIMS(0, 0, 1, 0));
    const int size = tflite_ints(&world.model, "size", 4, DIMS(1, 1, -1, 1));
    one(65, SHAPE(1, 1, 3, 2), SHAPE(1, 1, 2, 1), first, size);
    EXPECT(0, 3, 5);
}

static void operands_broadcast_along_channels(void **state)
{
    (void)state;
    const int slope = tflite_floats(&world.model, "slope", SHAPE(1, 1, 2), FLOATS(-1, 1));
    const int shift = tflite_floats(&world.model, "shift", SHAPE(2), FLOATS(2, 3));
    const int x = tflite_input(&world.model, "x", SHAPE(1, 1, 2, 2)),
              moved = tflite_value(&world.model, "moved", SHAPE(1, 1, 2, 2));
    const int y = tflite_value(&world.model, "y", SHAPE(1, 1, 2, 2));
    tflite_node(&world.model, 41, moved, x, shift, -1); /* -1 -1 1 1 */
    tflite_node(&world.model, 54, y, moved, slope, -1);
    tflite_output(&world.model, y);
    EXPECT(0, 1, -1, 1, 1);
    one(25, SHAPE(1, 1, 2, 2), SHAPE(1, 1, 2, 2), -1, -1);
    tflite_option_float(&world.model, 0, 1.0f);
    EXPECT(0, 0.268941f, 0.731059f, 0.268941f, 0.731059f);
    one(21, SHAPE(1, 8), SHAPE(1, 8), -1, -1);
    EXPECT(0, 1, 2, 3, 4, 5, 6, 6, 6);
}

/* y = x W with W stored in some form that is [[1,0,0,2],[0,3,0,0]] when it is read. */
static void connect(int weight)
{
    const int dense = tflite_value(&world.model, "dense", SHAPE(2, 4));
    const int x = tflite_input(&world.model, "x", SHAPE(1, 4)),
              y = tflite_value(&world.model, "y", SHAPE(1, 2));
    tflite_node(&world.model, world.model.tensors[weight].levels ? 124 : 6, dense, weight, -1, -1);
    tflite_node(&world.model, 9, y, x, dense, -1);
    tflite_output(&world.model, y);
    EXPECT(0, 9, 6);
}

static void values_are_compared_and_chosen(void **state)
{
    (void)state;
    const float half = 2.5f, three = -3, zero = 0;
    const int x = tflite_input(&world.model, "x", SHAPE(4)),
              h = tflite_floats(&world.model, "h", SHAPE(1), &half);
    const int z = tflite_floats(&world.model, "z", SHAPE(1), &zero),
              m = tflite_value(&world.model, "m", SHAPE(4));
    const int n = tflite_value(&world.model, "n", SHAPE(4)), y = tflite_value(&world.model, "y", SHAPE(4));
    tflite_node(&world.model, 58, m, x, h, -1);  /* LESS */
    tflite_node(&world.model, 87, n, m, -1, -1); /* LOGICAL_NOT */
    tflite_node(&world.model, 123, y, n, x, z);  /* SELECT_V2 */
    tflite_output(&world.model, y);
    EXPECT(0, 0, 0, 3, 4);
    int t = tflite_floats(&world.model, "t", SHAPE(1), &three);
    one(95, SHAPE(4), SHAPE(4), t, -1); /* FLOOR_MOD */
    EXPECT(0, -2, -1, 0, -2);
    t = tflite_floats(&world.model, "t", SHAPE(1), &three);
    one(90, SHAPE(4), SHAPE(4), t, -1); /* FLOOR_DIV */
    EXPECT(0, -1, -1, -1, -2);
}

static void weights_are_read_from_every_stored_form(void **state)
{
    (void)state;
    const uint16_t half[8] = {0x3c00, 0, 0, 0x4000, 0, 0x4200, 0, 0};
    connect(tflite_add(&world.model, "w", TFLITE_FLOAT16, SHAPE(2, 4), half, sizeof half));
    const int8_t narrow[8] = {3, 1, 1, 5, 1, 4, 1, 1};
    const float scales[2] = {0.5f, 1.0f};
    int w = tflite_add(&world.model, "w", TFLITE_INT8, SHAPE(2, 4), narrow, sizeof narrow);
    world.model.tensors[w].scales = scales;
    world.model.tensors[w].scale_count = 2;
    world.model.tensors[w].zero = 1;
    connect(w);
    /* rows, of which columns are listed */
    const tflite_level levels[2] = {
        {.dense_size = 2},
        {.segment_count = 3, .index_count = 3, .segments = DIMS(0, 2, 3), .indices = DIMS(0, 3, 1)}};
    w = tflite_add(&world.model, "w", TFLITE_FLOAT32, SHAPE(2, 4), FLOATS(1, 2, 3), 12);
    world.model.tensors[w].levels = levels;
    world.model.tensors[w].level_count = 2;
    world.model.tensors[w].order = DIMS(0, 1);
    connect(w);
    /* columns are cut into blocks of 2, of which each row lists some */
    const tflite_level blocks[3] = {
        {.dense_size = 2},
        {.segment_count = 3, .index_count = 3, .segments = DIMS(0, 2, 3), .indices = DIMS(0, 1, 0)},
        {.dense_size = 2}};
    w = tflite_add(&world.model, "w", TFLITE_FLOAT32, SHAPE(2, 4), FLOATS(1, 0, 0, 2, 0, 3), 24);
    world.model.tensors[w].levels = blocks;
    world.model.tensors[w].level_count = 3;
    world.model.tensors[w].order = DIMS(0, 1, 2);
    world.model.tensors[w].blocks = DIMS(1);
    world.model.tensors[w].block_count = 1;
    connect(w);
}

static void no_transpose_stands_between_operators(void **state)
{
    (void)state;
    const int shape = tflite_ints(&world.model, "shape", 2, DIMS(1, 2)),
              axes = tflite_ints(&world.model, "axes", 2, DIMS(1, 2));
    const int w = tflite_floats(&world.model, "w", SHAPE(2, 1, 1, 2), ramp);
    const int x = tflite_input(&world.model, "x", SHAPE(1, 2, 2, 2));
    const int a = tflite_value(&world.model, "a", SHAPE(1, 2, 2, 2)),
              b = tflite_value(&world.model, "b", SHAPE(1, 2, 2, 2));
    const int c = tflite_value(&world.model, "c", SHAPE(1, 1, 1, 2)),
              y = tflite_value(&world.model, "y", SHAPE(1, 2));
    tflite_node(&world.model, 3, a, x, w, -1);
    tflite_option(&world.model, 1, 1);
    tflite_option(&world.model, 2, 1);
    tflite_node(&world.model, 0, b, a, a, -1);
    tflite_node(&world.model, 40, c, b, axes, -1);
    tflite_option(&world.model, 0, 1);
    tflite_node(&world.model, 22, y, c, shape, -1);
    tflite_output(&world.model, y);
    const mts_graph *graph = tflite_world_folded(&world);
    assert_int_equal(count_of(graph, MTS_OP_TRANSPOSE), 1); /* of the input */
    assert_int_equal(graph->outputs[0].shape.rank, 2);
    assert_string_equal(graph->outputs[0].name, "y");
    assert_string_equal(graph->inputs[0].name, "x");
}

static void blocks_become_batches_and_come_back(void **state)
{
    (void)state;
    const int32_t block[2] = {2, 2}, edges[4] = {0, 0, 1, 1};
    int b = tflite_ints(&world.model, "b", 2, block), e = tflite_ints(&world.model, "e", 4, edges);
    /* a row of zeros on either side of columns 1, 2 and 3, 4 */
    one(38, SHAPE(1, 2, 2, 1), SHAPE(4, 1, 2, 1), b, e);
    EXPECT(0, 0, 2, 1, 0, 0, 4, 3, 0);
    b = tflite_ints(&world.model, "b", 2, block), e = tflite_ints(&world.model, "e", 4, edges);
    one(37, SHAPE(4, 1, 2, 1), SHAPE(1, 2, 2, 1), b, e);
    EXPECT(0, 3, 2, 7, 6);
    b = tflite_ints(&world.model, "b", 1, block), e = tflite_ints(&world.model, "e", 2, edges);
    one(38, SHAPE(1, 4, 2), SHAPE(2, 2, 2), b, e);
    EXPECT(0, 1, 2, 5, 6, 3, 4, 7, 8);
    const int32_t three[2] = {3, 2}, none[2] = {0, 2};
    b = tflite_ints(&world.model, "b", 2, three), e = tflite_ints(&world.model, "e", 4, edges);
    one(38, SHAPE(1, 2, 2, 1), SHAPE(6, 1, 2, 1), b, e);
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED,
                         "dimension 1 of 2 is not a multiple of its block of 3");
    b = tflite_ints(&world.model, "b", 2, three), e = tflite_ints(&world.model, "e", 4, edges);
    one(37, SHAPE(4, 1, 2, 1), SHAPE(1, 2, 2, 1), b, e);
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED, "the batch is no multiple of the block");
    b = tflite_ints(&world.model, "b", 2, none), e = tflite_ints(&world.model, "e", 4, edges);
    one(38, SHAPE(1, 2, 2, 1), SHAPE(1, 2, 2, 1), b, e);
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED, "dimension 0: a block of 0");
    b = tflite_ints(&world.model, "b", 2, block), e = tflite_ints(&world.model, "e", 2, edges);
    one(38, SHAPE(1, 2, 2, 1), SHAPE(4, 1, 2, 1), b, e);
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED, "a block of 2 dimensions does not fit rank 4");
}

static void dimensions_of_one_are_inserted_and_removed_where_the_operator_says(void **state)
{
    (void)state;
    const int32_t last = -1, far = 4;
    int axis = tflite_ints(&world.model, "axis", 1, &last);
    one(70, SHAPE(1, 3), SHAPE(1, 3, 1), axis, -1);
    EXPECT(0, 1, 2, 3);
    axis = tflite_ints(&world.model, "axis", 1, &far);
    one(70, SHAPE(1, 3), SHAPE(1, 3, 1), axis, -1);
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED, "axis 4 does not exist in rank 3");
    one(43, SHAPE(1, 3, 1), SHAPE(3), -1, -1);
    EXPECT(0, 1, 2, 3);
}

static void elements_are_picked_and_placed_by_position(void **state)
{
    (void)state;
    static const int32_t rows[] = {1, 0}, pair[] = {0, 1, 1, 0}, one_number = 1, same[] = {1, 1},
                         shape[] = {3};
    const float half[] = {0.5f, 1.5f};
    one(36, SHAPE(2, 2), SHAPE(2, 2), tflite_ints(&world.model, "i", 2, rows), -1);
    EXPECT(0, 3, 4, 1, 2);
    const int at = tflite_add(&world.model, "i", TFLITE_INT32, SHAPE(2, 2), pair, sizeof pair);
    one(107, SHAPE(2, 2), SHAPE(2), at, -1);
    EXPECT(0, 2, 3);
    one(36, SHAPE(2, 2), SHAPE(2, 2),
        tflite_add(&world.model, "i", TFLITE_INT32, SHAPE(2, 2), pair, sizeof pair), -1);
    tflite_option(&world.model, 0, 1);
    tflite_option(&world.model, 1, 1); /* a row of indices for each row */
    EXPECT(0, 1, 2, 4, 3);
    const int places = tflite_add(&world.model, "i", TFLITE_INT32, SHAPE(2, 1), same, sizeof same);
    const int updates = tflite_floats(&world.model, "u", SHAPE(2), half);
    const int x = tflite_input(&world.model, "x", SHAPE(3)),
              sum = tflite_value(&world.model, "sum", SHAPE(3));
    tflite_node(&world.model, 122, sum, places, updates, tflite_ints(&world.model, "shape", 1, shape));
    const int y = tflite_value(&world.model, "y", SHAPE(3));
    tflite_node(&world.model, 0, y, x, sum, -1);
    tflite_output(&world.model, y);
    EXPECT(0, 1, 4, 3);
    one(36, SHAPE(2, 2), SHAPE(1, 2), tflite_ints(&world.model, "i", 1, &(int32_t){-1}), -1);
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED, "index -1 is out of range");
    one(128, SHAPE(2, 2), SHAPE(2, 2), tflite_ints(&world.model, "axis", 1, &one_number), -1);
    tflite_option(&world.model, 1, 1);
    EXPECT(0, 3, 2, 7, 4);
}

static void positions_are_results(void **state)
{
    (void)state;
    static const int32_t last = -1, two = 2, repeats[] = {2, 2}, wide[] = {2, 2};
    one(56, SHAPE(1, 1, 2, 3), SHAPE(1, 1, 2), tflite_ints(&world.model, "axis", 1, &last), -1);
    EXPECT(0, 2, 2);
    one(79, SHAPE(2, 3), SHAPE(2), tflite_ints(&world.model, "axis", 1, &last), -1);
    EXPECT(0, 0, 0);
    const int x = tflite_input(&world.model, "x", SHAPE(2, 3));
    const int values = tflite_value(&world.model, "values", SHAPE(2, 2)),
              at = tflite_value(&world.model, "at", SHAPE(2, 2));
    tflite_node(&world.model, 48, values, x, tflite_ints(&world.model, "k", 1, &two), -1);
    world.model.operators[0].outputs[1] = at;
    world.model.operators[0].output_count = 2;
    tflite_output(&world.model, values);
    tflite_output(&world.model, at);
    EXPECT(0, 3, 2, 6, 5);
    one(69, SHAPE(1, 2), SHAPE(2, 4), tflite_ints(&world.model, "repeats", 2, repeats), -1);
    EXPECT(0, 1, 2, 1, 2, 1, 2, 1, 2);
    one(130, SHAPE(1, 2), SHAPE(2, 2), tflite_ints(&world.model, "shape", 2, wide), -1);
    EXPECT(0, 1, 2, 1, 2);
    one(81, SHAPE(2, 3), SHAPE(2), tflite_ints(&world.model, "axis", 1, &last), -1);
    EXPECT(0, 6, 120);
}

static void suppression_of_boxes_is_left_to_the_app(void **state)
{
    (void)state;
    const int x = tflite_input(&world.model, "x", SHAPE(1, 2, 4)),
              s = tflite_input(&world.model, "s", SHAPE(1, 2, 3));
    const int boxes = tflite_value(&world.model, "boxes", SHAPE(1, 2, 4));
    const int scores = tflite_value(&world.model, "scores", SHAPE(1, 2, 3));
    const int anchors = tflite_floats(&world.model, "anchors", SHAPE(2, 4), ramp);
    const int found = tflite_value(&world.model, "found", SHAPE(1, 5, 4)),
              y = tflite_value(&world.model, "y", SHAPE(1, 5, 4));
    tflite_node(&world.model, 59, boxes, x, -1, -1);
    tflite_node(&world.model, 19, scores, s, -1, -1);
    tflite_node(&world.model, TFLITE_CUSTOM, found, boxes, scores, anchors);
    world.model.operators[2].custom = "TFLite_Detection_PostProcess";
    tflite_node(&world.model, 19, y, found, -1, -1);
    tflite_output(&world.model, y);
    const mts_graph *graph = tflite_world_folded(&world);
    assert_int_equal(graph->output_count, 2);
    assert_string_equal(graph->outputs[0].name, "boxes");
    EXPECT(1, 1, 2, 3, 4, 5, 6);
}

static void what_is_not_supported_is_named(void **state)
{
    (void)state;
    one(16, SHAPE(4), SHAPE(4), -1, -1);
    tflite_world_refuses(&world, MTS_STATUS_UNSUPPORTED,
                         "operator 0 'y' (LSTM): the operator is not supported");
    one(TFLITE_CUSTOM, SHAPE(4), SHAPE(4), -1, -1);
    world.model.operators[0].custom = "TransformLandmarks";
    tflite_world_refuses(&world, MTS_STATUS_UNSUPPORTED,
                         "operator 0 'y' (TransformLandmarks): the custom operator");
    one(19, SHAPE(4), SHAPE(4), -1, -1);
    world.model.tensors[0].type = 5; /* STRING */
    tflite_world_refuses(&world, MTS_STATUS_UNSUPPORTED, "input 'x' has type STRING");
    one(19, SHAPE(4), SHAPE(4), -1, -1);
    world.model.subgraphs = 0;
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED, "no subgraph");
    one(118, SHAPE(4), SHAPE(4), -1, -1);
    world.model.subgraphs = 3;
    tflite_world_refuses(&world, MTS_STATUS_UNSUPPORTED,
                         "operator 0 'y' (IF): the operator is not supported");
    one(19, SHAPE(4), SHAPE(4), -1, -1);
    tflite_option(&world.model, 0, 0);
    one(0, SHAPE(4), SHAPE(4), 0, -1);
    world.model.input_count = world.model.output_count = 1;
    world.model.outputs[0] = 3;
    tflite_option(&world.model, 0, 5);
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED, "tensor 'x' is not defined before it is used");
}

static void shapes_that_contradict_are_refused(void **state)
{
    (void)state;
    one(19, SHAPE(4), SHAPE(5), -1, -1);
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED, "'y' has shape 5 in the file, 4 is computed");
    one(19, SHAPE(1, -4), SHAPE(4), -1, -1);
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED, "tensor 'x' has a dimension out of range");
    one(19, SHAPE(1, 1, 1, 1, 1, 1, 4), SHAPE(4), -1, -1);
    tflite_world_refuses(&world, MTS_STATUS_LIMIT, "rank 7");
    const int w = tflite_add(&world.model, "w", TFLITE_FLOAT32, SHAPE(4), ramp, 12);
    one(0, SHAPE(4), SHAPE(4), w, -1);
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED,
                         "tensor 'w' has 12 bytes, its shape and type FLOAT32 need 16");
    one(19, SHAPE(4), SHAPE(4), -1, -1);
    world.model.operators[0].inputs[0] = 77;
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED, "tensor 77 is named, there are 2");
    one(19, SHAPE(4), SHAPE(4), -1, -1);
    world.model.operators[0].inputs[0] = 1;
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED, "'y' is not defined before it is used");
    one(19, SHAPE(4), SHAPE(4), -1, -1);
    tflite_node(&world.model, 19, 1, 0, -1, -1);
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED, "'y' is defined more than once");
    one(3, SHAPE(1, 2, 2, 1), SHAPE(1, 2, 2, 1), tflite_floats(&world.model, "w", SHAPE(1, 1, 1, 1), ramp),
        -1);
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED, "kernel, stride, dilation or padding is out of range");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(convolutions_read_and_write_channels_last, set_up, tear_down),
        cmocka_unit_test_setup_teardown(padding_called_same_puts_the_odd_element_last, set_up, tear_down),
        cmocka_unit_test_setup_teardown(average_pools_do_not_count_padding, set_up, tear_down),
        cmocka_unit_test_setup_teardown(transposed_convolutions_have_the_stated_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(resizing_follows_its_two_switches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(axes_are_those_of_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(vectors_are_normalised_along_the_last_dimension, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slices_count_from_either_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(operands_broadcast_along_channels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_are_compared_and_chosen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(weights_are_read_from_every_stored_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_transpose_stands_between_operators, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blocks_become_batches_and_come_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dimensions_of_one_are_inserted_and_removed_where_the_operator_says,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(elements_are_picked_and_placed_by_position, set_up, tear_down),
        cmocka_unit_test_setup_teardown(positions_are_results, set_up, tear_down),
        cmocka_unit_test_setup_teardown(suppression_of_boxes_is_left_to_the_app, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_supported_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shapes_that_contradict_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("tflite", tests, NULL, NULL);
}
