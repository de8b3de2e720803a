/*
 * What a model file may cost: time and memory are bounded by its size, whatever it says, and the caller can
 * watch and stop.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "graph/limits.h"
#include "import_fixture.h"
#include "platform/os/os.h"

#define SECOND UINT64_C(1000000000)

/* Graphs of models that list thousands of inputs. */
static void ports_take_memory_by_their_number_not_by_its_square(void **state)
{
    const mts_shape shape = {.rank = 1, .dims = {1}};
    char name[32];
    (void)state;
    mts_graph *graph = mts_graph_create(&arena, "g");
    for (uint32_t i = 0; i < MTS_GRAPH_PORTS_MAX; i++) {
        (void)snprintf(name, sizeof name, "i%u", i);
        const uint32_t value = mts_graph_add_input(graph, name, MTS_TYPE_FLOAT32, &shape);
        assert_int_not_equal(value, MTS_NONE);
        assert_int_equal(mts_graph_add_output(graph, name, value, MTS_TYPE_FLOAT32, &shape, &error),
                         MTS_STATUS_OK);
    }
    assert_true(arena.used < (size_t)8 << 20);
    assert_int_equal(mts_graph_add_input(graph, "more", MTS_TYPE_FLOAT32, &shape), MTS_NONE);
    assert_int_equal(mts_graph_add_output(graph, "more", 0, MTS_TYPE_FLOAT32, &shape, &error),
                     MTS_STATUS_LIMIT);
    assert_string_equal(graph->inputs[4000].name, "i4000");
    assert_string_equal(graph->outputs[4000].name, "i4000");
}

static void more_outputs_or_inputs_than_a_graph_can_have_are_refused_before_anything_is_lowered(void **state)
{
    char name[32];
    (void)state;
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 2));
    for (int i = 0; i < 20000; i++) {
        (void)snprintf(name, sizeof name, "o%d", i);
        onnx_model_node(&model, "Sigmoid", "x", name);
        onnx_model_output(&model, name);
    }
    refused(MTS_STATUS_LIMIT, "20000 outputs, the limit is 4096");
    onnx_model_end(&model);
    onnx_model_begin(&model, 13);
    for (int i = 0; i < 20000; i++) {
        (void)snprintf(name, sizeof name, "i%d", i);
        onnx_model_input(&model, name, ONNX_FLOAT, INTS(1, 2));
    }
    onnx_model_node(&model, "Sigmoid", "i0", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_LIMIT, "20000 inputs, the limit is 4096");
    assert_true(arena.used < (size_t)1 << 20);
}

/* These names begin with the bytes that XXH3 without a seed multiplies by zero. */
static void names_of_a_file_cannot_be_made_to_collide(void **state)
{
    static const unsigned char zero[8] = {0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe};
    char name[40], first[40];
    uint32_t equal = 0;
    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        memcpy(name, zero, 8);
        (void)snprintf(name + 8, sizeof name - 8, "%08x0123456789abcdef", i);
        if (i == 0) {
            memcpy(first, name, sizeof first);
        }
        assert_int_equal(mts_hash(name, strlen(name), 0), mts_hash(first, strlen(first), 0)); /* the attack */
        equal += i > 0 && mts_hash_text(name) == mts_hash_text(first);
    }
    assert_int_equal(equal, 0);
}

static void initialisers_are_limited_by_the_limit_of_nodes(void **state)
{
    char name[32];
    (void)state;
    options.nodes_most = 10;
    for (int count = 40; count <= 41; count++) {
        onnx_model_begin(&model, 13);
        onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 2));
        for (int i = 0; i < count; i++) {
            (void)snprintf(name, sizeof name, "w%d", i);
            onnx_model_floats(&model, name, INTS(1), ramp);
        }
        onnx_model_node(&model, "Add", "x,w1", "y");
        onnx_model_output(&model, "y");
        if (count == 40) {
            (void)imported();
            onnx_model_end(&model);
        }
    }
    refused(MTS_STATUS_LIMIT, "41 initialisers, the limit is 40");
}

/* A constant of many elements made by a small file, read by many nodes. */
static void put_reductions(int64_t elements, int nodes)
{
    char name[32];
    onnx_model_end(&model);
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
    onnx_model_ints(&model, "s", INTS(elements));
    onnx_model_node(&model, "ConstantOfShape", "s", "c");
    for (int i = 0; i < nodes; i++) {
        (void)snprintf(name, sizeof name, "r%d", i);
        onnx_model_node(&model, "ReduceMax", "c", name);
        onnx_model_attr_ints(&model, "axes", INTS(0));
        onnx_model_output(&model, name);
    }
}

static void computing_constants_is_bounded_by_the_files_size(void **state)
{
    (void)state;
    const uint64_t start = mts_os_clock_ns();
    put_reductions((int64_t)1 << 22, 1000);
    refused(MTS_STATUS_LIMIT, "steps beyond the file's size");
    assert_true(mts_os_clock_ns() - start < 10u * SECOND); /* seconds on a loaded machine; was a minute */
    put_reductions((int64_t)1 << 29, 1);
    refused(MTS_STATUS_LIMIT, "the model needs more than");
    put_reductions((int64_t)1 << 22, 8); /* what models do */
    (void)imported();
}

/* Two constants of this many rows and columns, and their product. */
static mts_graph *product_of(int64_t rows, int64_t inner, int64_t columns)
{
    onnx_model_end(&model);
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
    onnx_model_floats(&model, "a", INTS(rows, inner), ramp);
    onnx_model_floats(&model, "b", INTS(inner, columns), ramp);
    onnx_model_node(&model, "MatMul", "a,b", "y");
    onnx_model_output(&model, "y");
    return imported();
}

static void products_of_constants_are_computed_unless_they_are_large(void **state)
{
    (void)state;
    const mts_graph *graph = product_of(2, 3, 2);
    NUMBERS(graph, 10, 13, 28, 40);
    assert_int_equal(graph->node_count, 0);
    graph = product_of(1024, 1, 1024); /* a million of numbers of two thousand */
    assert_int_equal(graph->node_count, 0);
    onnx_model_end(&model);
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
    onnx_model_ints(&model, "rows", INTS(1025, 1));
    onnx_model_node(&model, "ConstantOfShape", "rows", "c");
    onnx_model_floats(&model, "b", INTS(1, 1024), ramp);
    onnx_model_node(&model, "MatMul", "c,b", "y");
    onnx_model_output(&model, "y");
    (void)node_of(imported(), MTS_OP_MATMUL, 0);
}

typedef struct watcher {
    uint32_t calls, stop_at;
    float last;
} watcher;

static bool watch(void *context, float fraction)
{
    watcher *w = context;
    assert_true(fraction >= w->last && fraction <= 1.0f);
    w->last = fraction;
    return ++w->calls != w->stop_at;
}

static void the_caller_sees_progress_and_can_stop(void **state)
{
    char from[32], to[32];
    watcher w = {0};
    (void)state;
    options.progress = watch;
    options.note_context = &w;
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(from, sizeof from, i ? "v%d" : "x", i);
        (void)snprintf(to, sizeof to, "v%d", i + 1);
        onnx_model_node(&model, "Sigmoid", from, to);
    }
    onnx_model_output(&model, "v1000");
    (void)imported();
    assert_true(w.calls >= 10 && w.last > 0.9f);
    w = (watcher){.stop_at = 5};
    refused(MTS_STATUS_CANCELLED, "cancelled");
    assert_int_equal(w.calls, 5);
    onnx_model_end(&model);
    put_reductions((int64_t)1 << 22, 10); /* few nodes, much work */
    w = (watcher){.stop_at = 4};
    refused(MTS_STATUS_CANCELLED, "cancelled");
}

/* Names that are made for values without one, where a file has taken all that come to mind. */
static void made_names_are_found_at_once_where_a_file_has_taken_them(void **state)
{
    const mts_shape shape = {.rank = 1, .dims = {1}};
    const uint32_t count = 50000;
    char name[32];
    (void)state;
    const uint64_t start = mts_os_clock_ns();
    mts_graph *graph = mts_graph_create(&arena, "g");
    for (uint32_t i = 0; i < 2 * count; i++) {
        (void)snprintf(name, sizeof name, "value%u", count + i);
        assert_int_equal(mts_graph_add_const(graph, i < count ? name : NULL, MTS_TYPE_FLOAT32, &shape, ramp),
                         i);
    }
    assert_string_equal(graph->values[count].name, "value100000");
    assert_true(mts_os_clock_ns() - start < 5u * SECOND);
    assert_true(mts_graph_add_const(graph, "value5", MTS_TYPE_FLOAT32, &shape, ramp) != MTS_NONE);
}

#define BUDGET_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BUDGET_TEST(ports_take_memory_by_their_number_not_by_its_square),
        BUDGET_TEST(more_outputs_or_inputs_than_a_graph_can_have_are_refused_before_anything_is_lowered),
        BUDGET_TEST(names_of_a_file_cannot_be_made_to_collide),
        BUDGET_TEST(initialisers_are_limited_by_the_limit_of_nodes),
        BUDGET_TEST(computing_constants_is_bounded_by_the_files_size),
        BUDGET_TEST(products_of_constants_are_computed_unless_they_are_large),
        BUDGET_TEST(the_caller_sees_progress_and_can_stop),
        BUDGET_TEST(made_names_are_found_at_once_where_a_file_has_taken_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
