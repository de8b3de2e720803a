/*
 * Export of several tasks as one ONNX model: each block of weights is stored once, in any arrangement and type; names
 * of tasks do not meet; inputs are shared where that is asked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/emit/onnx.h"
#include "compiler/import/import.h"
#include "compiler/passes/fold.h"
#include "support/fault_each.h"

#define SHAPE(...)                                                                                           \
    ((mts_shape){(uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define BLOCKS 16u

static const mts_attrs one_pixel = {
    .conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
static mts_arena arena;
static mts_error error;
static mts_graph *graphs[2];
static uint32_t x[2]; /* input "image" [1,3,6,6] of each */
static float numbers[64];

static int set_up(void **state)
{
    (void)state;
    const mts_shape shape = SHAPE(1, 3, 6, 6);
    mts_arena_init(&arena, mts_allocator_default());
    for (int i = 0; i < 64; i++) {
        numbers[i] = 0.3f + (float)i;
    }
    for (int t = 0; t < 2; t++) {
        graphs[t] = mts_graph_create(&arena, "sample");
        x[t] = mts_graph_add_input(graphs[t], "image", MTS_TYPE_FLOAT32, &shape);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mts_arena_release(&arena);
    return 0;
}

static uint32_t constant(mts_graph *graph, mts_type dtype, mts_shape shape, mts_block_ref *blocks,
                         uint32_t count)
{
    const uint32_t value = mts_graph_add_const(graph, "weight", dtype, &shape, numbers);
    graph->values[value].blocks = blocks;
    graph->values[value].block_count = count;
    return value;
}

/* A product of pixels with a weight, which becomes output "y". */
static void product(int task, uint32_t weight, const uint32_t *scatter)
{
    mts_graph *graph = graphs[task];
    const uint32_t inputs[2] = {x[task], weight};
    uint32_t y = MTS_NONE;
    if (mts_graph_add_node(graph, MTS_OP_CONV, "conv", inputs, 2, &one_pixel, &y, &error) != MTS_STATUS_OK ||
        mts_graph_add_output(graph, "y", y, MTS_TYPE_FLOAT32, &graph->values[y].shape, &error) !=
            MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    graph->nodes[0].scatter = scatter;
    assert_int_equal(mts_graph_verify(graph, &error), MTS_STATUS_OK);
}

static mts_graph *there_and_back(bool common, size_t *size, void **bytes)
{
    static const uint32_t own[1] = {MTS_NONE}, first[1] = {0};
    const mts_onnx_task tasks[2] = {{"a", graphs[0], own}, {"a.b", graphs[1], common ? first : own}};
    mts_graph *back = NULL, *out = NULL;
    if (mts_onnx_export_stitched(tasks, 2, BLOCKS, mts_allocator_default(), bytes, size, &error) !=
            MTS_STATUS_OK ||
        mts_import_memory(*bytes, *size, "exported", NULL, &arena, &back, &error) != MTS_STATUS_OK ||
        mts_fold(back, &arena, &out, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return out;
}

/* How often bytes are in a model. */
static int count_bytes(const void *model, size_t size, const void *bytes, size_t length)
{
    int count = 0;
    for (size_t i = 0; i + length <= size; i++) {
        count += memcmp((const char *)model + i, bytes, length) == 0 ? 1 : 0;
    }
    return count;
}

/* The weight of task `index` as it came back. */
static void weight_check(const mts_graph *back, int index, const float *wanted, size_t count)
{
    float out[16];
    assert_int_equal(back->node_count, 2);
    mts_value_read_f32(&back->values[back->nodes[index].inputs[1]], out);
    assert_memory_equal(out, wanted, count * sizeof *wanted);
}

/* No row and no column of this weight is free of a block that crosses it. */
static void blocks_in_any_arrangement_are_stored_once(void **state)
{
    (void)state;
    mts_block_ref wheel[2][5];
    for (uint32_t t = 0; t < 2; t++) {
        const uint32_t other = t * 5; /* the first block is the same in both */
        const mts_block_ref refs[5] = {{3, 0, 1, 0, 2, numbers},
                                       {4 + other, 0, 2, 2, 1, numbers + 8 + other * 4},
                                       {5 + other, 2, 1, 1, 2, numbers + 10 + other * 4},
                                       {6 + other, 1, 2, 0, 1, numbers + 12 + other * 4},
                                       {7 + other, 1, 1, 1, 1, numbers + 14 + other * 4}};
        memcpy(wheel[t], refs, sizeof refs);
        product((int)t, constant(graphs[t], MTS_TYPE_FLOAT32, SHAPE(3, 3, 1, 1), wheel[t], 5), NULL);
    }
    void *bytes = NULL;
    size_t size = 0;
    const mts_graph *back = there_and_back(false, &size, &bytes);
    for (int t = 0; t < 2; t++) {
        const float *n = numbers + 20 * t;
        const float wanted[9] = {numbers[0], numbers[1], n[8], n[12], n[14], n[9], n[13], n[10], n[11]};
        weight_check(back, t, wanted, 9);
    }
    assert_int_equal(count_bytes(bytes, size, numbers, 2 * sizeof *numbers), 1);
    /* what the export itself names belongs to a task too */
    assert_true(count_bytes(bytes, size, "mts.t", 5) > 0);
    assert_int_equal(count_bytes(bytes, size, "mts.t", 5), count_bytes(bytes, size, "/mts.t", 6));
    mts_alloc_free(mts_allocator_default(), bytes);
}

static void weights_of_16_and_8_bits_stay_so_in_the_file(void **state)
{
    (void)state;
    static const uint16_t halves[9] = {0x3c00, 0x4000, 0x3800, 0xbc00, 0, 0x4200, 0x3c01, 0x3400, 0x4400};
    static const int8_t codes[9] = {127, -128, 3, 0, 1, -1, 64, 32, 5};
    mts_block_ref half = {1, 0, 3, 0, 3, halves};
    mts_block_ref upper = {2, 0, 1, 0, 3, codes}, lower = {3, 1, 2, 0, 3, codes + 3};
    mts_block_ref both[2] = {lower, upper};
    product(0, constant(graphs[0], MTS_TYPE_FLOAT16, SHAPE(3, 3, 1, 1), &half, 1), NULL);
    product(1, constant(graphs[1], MTS_TYPE_INT8, SHAPE(3, 3, 1, 1), both, 2), NULL);
    void *bytes = NULL;
    size_t size = 0;
    const mts_graph *back = there_and_back(false, &size, &bytes);
    float wanted[9];
    for (int t = 0; t < 2; t++) {
        const mts_graph *graph = graphs[t];
        mts_value_read_f32(&graph->values[graph->nodes[0].inputs[1]], wanted);
        weight_check(back, t, wanted, 9);
    }
    assert_int_equal(count_bytes(bytes, size, halves, sizeof halves), 1);
    assert_int_equal(count_bytes(bytes, size, codes + 3, 6), 1);
    mts_alloc_free(mts_allocator_default(), bytes);
}

/* Task a.b has task a's rows in another order, and as a product of another rank they would be the same block. */
static void rows_in_another_order_are_the_same_block(void **state)
{
    (void)state;
    static const uint32_t scatter[3] = {2, 0, 1};
    mts_block_ref refs[2] = {{1, 0, 3, 0, 3, numbers}, {1, 0, 3, 0, 3, numbers}};
    product(0, constant(graphs[0], MTS_TYPE_FLOAT32, SHAPE(3, 3, 1, 1), &refs[0], 1), NULL);
    product(1, constant(graphs[1], MTS_TYPE_FLOAT32, SHAPE(3, 3, 1, 1), &refs[1], 1), scatter);
    void *bytes = NULL;
    size_t size = 0;
    const mts_graph *back = there_and_back(false, &size, &bytes);
    const float ordered[9] = {numbers[3], numbers[4], numbers[5], numbers[6], numbers[7],
                              numbers[8], numbers[0], numbers[1], numbers[2]};
    weight_check(back, 0, numbers, 9);
    weight_check(back, 1, ordered, 9);
    assert_int_equal(count_bytes(bytes, size, numbers, 9 * sizeof *numbers), 1);
    mts_alloc_free(mts_allocator_default(), bytes);
}

static void names_begin_with_the_task_and_inputs_are_shared_where_asked(void **state)
{
    (void)state;
    for (int common = 0; common < 2; common++) {
        mts_block_ref ref = {1, 0, 3, 0, 3, numbers};
        for (int t = 0; t < 2; t++) {
            product(t, constant(graphs[t], MTS_TYPE_FLOAT32, SHAPE(3, 3, 1, 1), &ref, 1), NULL);
        }
        /* handed on as it came; where the input is another task's it has two names */
        assert_int_equal(mts_graph_add_output(graphs[1], "image", x[1], MTS_TYPE_FLOAT32,
                                              &graphs[1]->values[x[1]].shape, &error),
                         MTS_STATUS_OK);
        void *bytes = NULL;
        size_t size = 0;
        const mts_graph *back = there_and_back(common == 1, &size, &bytes);
        assert_int_equal(back->input_count, common == 1 ? 1 : 2);
        assert_string_equal(back->inputs[0].name, "a/image");
        assert_int_equal(back->output_count, 3);
        assert_string_equal(back->outputs[0].name, "a/y");
        assert_string_equal(back->outputs[1].name, "a.b/y");
        assert_string_equal(back->outputs[2].name, "a.b/image");
        assert_int_equal(back->outputs[2].value, back->inputs[common == 1 ? 0 : 1].value);
        mts_alloc_free(mts_allocator_default(), bytes);
        tear_down(NULL);
        set_up(NULL);
    }
}

static void an_operator_without_a_form_is_refused_with_its_task(void **state)
{
    (void)state;
    static const uint32_t own[1] = {MTS_NONE};
    const mts_attrs attrs = {.scan = {.kind = MTS_SCAN_PROD, .axis = 2}};
    void *bytes = NULL;
    size_t size = 0;
    uint32_t y = MTS_NONE;
    mts_block_ref ref = {1, 0, 3, 0, 3, numbers};
    product(0, constant(graphs[0], MTS_TYPE_FLOAT32, SHAPE(3, 3, 1, 1), &ref, 1), NULL);
    assert_int_equal(mts_graph_add_node(graphs[1], MTS_OP_SCAN, "odd", &x[1], 1, &attrs, &y, &error),
                     MTS_STATUS_OK);
    assert_int_equal(
        mts_graph_add_output(graphs[1], "y", y, MTS_TYPE_FLOAT32, &graphs[1]->values[y].shape, &error),
        MTS_STATUS_OK);
    const mts_onnx_task tasks[2] = {{"a", graphs[0], own}, {"b", graphs[1], own}};
    assert_int_equal(
        mts_onnx_export_stitched(tasks, 2, BLOCKS, mts_allocator_default(), &bytes, &size, &error),
        MTS_STATUS_UNSUPPORTED);
    assert_null(bytes);
    assert_non_null(strstr(error.text, "task 'b'"));
    assert_non_null(strstr(error.text, "odd"));
}

static mts_status export_with(const mts_allocator *allocator, void *data)
{
    const mts_onnx_task *tasks = data;
    void *bytes = NULL;
    size_t size = 0;
    const mts_status status = mts_onnx_export_stitched(tasks, 2, BLOCKS, allocator, &bytes, &size, &error);
    assert_int_equal(bytes != NULL, status == MTS_STATUS_OK);
    mts_alloc_free(allocator, bytes);
    return status;
}

static void exporting_without_memory_fails_cleanly(void **state)
{
    (void)state;
    mts_block_ref halves[2] = {{1, 0, 2, 0, 3, numbers}, {2, 2, 1, 0, 3, numbers + 6}};
    for (int t = 0; t < 2; t++) {
        product(t, constant(graphs[t], MTS_TYPE_FLOAT32, SHAPE(3, 3, 1, 1), halves, 2), NULL);
    }
    mts_onnx_task tasks[2] = {{"a", graphs[0], NULL}, {"b", graphs[1], NULL}};
    mts_fault_each(export_with, tasks);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(blocks_in_any_arrangement_are_stored_once),
        TEST(weights_of_16_and_8_bits_stay_so_in_the_file),
        TEST(rows_in_another_order_are_the_same_block),
        TEST(names_begin_with_the_task_and_inputs_are_shared_where_asked),
        TEST(an_operator_without_a_form_is_refused_with_its_task),
        TEST(exporting_without_memory_fails_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
