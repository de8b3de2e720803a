/*
 * Building, reading and verifying graphs: each kind of damage that a file could do is found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "support/graph_print.h"
#include "support/fault_allocator.h"

static mts_arena arena;
static mts_error error;
static float weights[4 * 3 * 3 * 3], bias[4];
static int32_t indices[2] = {0, 3};

/* x [1,3,8,8] -> conv (4 filters, bias) -> relu -> gather of two channels -> output "y" */
static mts_graph *sample(void)
{
    const mts_shape x = {4, {1, 3, 8, 8}}, w = {4, {4, 3, 3, 3}}, b = {1, {4}}, i = {1, {2}};
    mts_attrs attrs = {
        .conv = {.kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}, .pad = {1, 1, 1, 1}, .group = 1}};
    mts_graph *graph = mts_graph_create(&arena, "sample");
    uint32_t inputs[4] = {mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &x),
                          mts_graph_add_const(graph, "w", MTS_TYPE_FLOAT32, &w, weights), MTS_NONE,
                          mts_graph_add_const(graph, "b", MTS_TYPE_FLOAT32, &b, bias)};
    uint32_t value = MTS_NONE;
    assert_int_equal(mts_graph_add_node(graph, MTS_OP_CONV, "conv", inputs, 4, &attrs, &value, &error),
                     MTS_STATUS_OK);
    attrs = (mts_attrs){.unary = {.act = {.fn = MTS_FN_RELU}}};
    assert_int_equal(mts_graph_add_node(graph, MTS_OP_UNARY, "relu", &value, 1, &attrs, &value, &error),
                     MTS_STATUS_OK);
    attrs = (mts_attrs){.gather = {.axis = 1}};
    uint32_t pair[2] = {value, mts_graph_add_const(graph, "i", MTS_TYPE_INT32, &i, indices)};
    assert_int_equal(mts_graph_add_node(graph, MTS_OP_GATHER, "pick", pair, 2, &attrs, &value, &error),
                     MTS_STATUS_OK);
    assert_int_equal(
        mts_graph_add_output(graph, "y", value, MTS_TYPE_FLOAT32, &graph->values[value].shape, &error),
        MTS_STATUS_OK);
    return graph;
}

static int set_up(void **state)
{
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mts_arena_release(&arena);
    return 0;
}

static void a_built_graph_is_valid_and_printed(void **state)
{
    (void)state;
    mts_graph *graph = sample();
    mts_text text;
    assert_int_equal(mts_graph_verify(graph, &error), MTS_STATUS_OK);
    mts_text_init(&text, mts_allocator_default());
    graph_print(graph, &text);
    assert_non_null(strstr(mts_text_get(&text), "conv      conv(x, w, -, b)"));
    assert_non_null(strstr(mts_text_get(&text), "output y"));
    mts_text_release(&text);
    assert_true(mts_node_mul_adds(graph, &graph->nodes[0]) == 4 * 64 * 27);
    assert_true(mts_node_mul_adds(graph, &graph->nodes[2]) == 0);
    uint32_t uses[16];
    mts_graph_count_uses(graph, uses);
    assert_int_equal(uses[0], 1);
    assert_int_equal(uses[graph->outputs[0].value], 1);
}

static void a_node_that_does_not_fit_leaves_the_graph_as_it_was(void **state)
{
    (void)state;
    mts_graph *graph = sample();
    uint32_t nodes = graph->node_count, values = graph->value_count, value = 7, bad[2] = {0, 12345};
    const mts_attrs attrs = {0};
    assert_int_equal(mts_graph_add_node(graph, MTS_OP_BINARY, "bad", bad, 2, &attrs, &value, &error),
                     MTS_STATUS_MALFORMED);
    assert_int_equal(mts_graph_add_node(graph, MTS_OP_BINARY, "bad", bad, 1, &attrs, &value, &error),
                     MTS_STATUS_MALFORMED);
    assert_int_equal(graph->node_count, nodes);
    assert_int_equal(graph->value_count, values);
    assert_int_equal(value, 7);
}

static void names_of_values_stay_unique(void **state)
{
    (void)state;
    mts_graph *graph = mts_graph_create(&arena, NULL);
    const mts_shape shape = {1, {4}};
    uint32_t a = mts_graph_add_const(graph, "a", MTS_TYPE_FLOAT32, &shape, bias);
    uint32_t b = mts_graph_add_const(graph, "a", MTS_TYPE_FLOAT32, &shape, bias);
    uint32_t c = mts_graph_add_const(graph, NULL, MTS_TYPE_FLOAT32, &shape, bias);
    assert_string_not_equal(graph->values[a].name, graph->values[b].name);
    assert_string_not_equal(graph->values[c].name, graph->values[b].name);
    assert_true(mts_graph_name_value(graph, c, "a"));
    assert_string_not_equal(graph->values[c].name, "a");
    assert_true(mts_graph_name_value(graph, c, "c"));
    assert_string_equal(graph->values[c].name, "c");
}

static void operands_that_must_be_constant_are_refused_else(void **state)
{
    (void)state;
    mts_graph *graph = mts_graph_create(&arena, "g");
    const mts_shape x = {4, {1, 1, 3, 3}}, w = {4, {1, 1, 1, 1}}, half = {1, {4}};
    const mts_attrs conv = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    uint32_t value, inputs[2] = {mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &x),
                                 mts_graph_add_input(graph, "w", MTS_TYPE_FLOAT32, &w)};
    assert_int_equal(mts_graph_add_node(graph, MTS_OP_CONV, "c", inputs, 2, &conv, &value, &error),
                     MTS_STATUS_UNSUPPORTED);
    /* float16 is for weights only */
    const mts_attrs none = {0};
    uint32_t sixteen = mts_graph_add_const(graph, "h", MTS_TYPE_FLOAT16, &half, weights);
    assert_int_equal(mts_graph_add_node(graph, MTS_OP_UNARY, "u", &sixteen, 1, &none, &value, &error),
                     MTS_STATUS_MALFORMED);
}

static void constants_are_gathered_from_their_blocks(void **state)
{
    (void)state;
    const float left[4] = {1, 2, 5, 6}, right[4] = {3, 4, 7, 8}, low[4] = {9, 10, 11, 12};
    const uint16_t halves[4] = {0x3c00, 0x4000, 0xc000, 0x3800};
    mts_block_ref blocks[3] = {{0, 0, 2, 0, 2, left}, {1, 0, 2, 2, 2, right}, {2, 2, 1, 0, 4, low}};
    mts_value value = {
        .kind = MTS_VALUE_CONST, .shape = {4, {3, 4, 1, 1}}, .block_count = 3, .blocks = blocks};
    float out[12];
    mts_value_read_f32(&value, out);
    for (int i = 0; i < 12; i++) {
        assert_true(out[i] == (float)(i + 1));
    }
    mts_block_ref whole = {0, 0, 4, 0, 1, halves};
    value = (mts_value){.kind = MTS_VALUE_CONST,
                        .dtype = MTS_TYPE_FLOAT16,
                        .shape = {1, {4}},
                        .block_count = 1,
                        .blocks = &whole};
    mts_value_read_f32(&value, out);
    assert_true(out[0] == 1.0f && out[1] == 2.0f && out[2] == -2.0f && out[3] == 0.5f);
}

#define DAMAGE(statement)                                                                                    \
    do {                                                                                                     \
        mts_graph *g = sample();                                                                             \
        statement;                                                                                           \
        error.text[0] = '\0';                                                                                \
        assert_int_not_equal(mts_graph_verify(g, &error), MTS_STATUS_OK);                                    \
        assert_true(error.text[0] != '\0');                                                                  \
    } while (0)

static void damaged_indices_and_orders_are_found(void **state)
{
    (void)state;
    DAMAGE(g->nodes[1].inputs[0] = g->value_count);
    DAMAGE(g->nodes[1].inputs[0] = g->nodes[1].output); /* reads itself */
    DAMAGE(g->nodes[0].inputs[0] = g->nodes[1].output); /* reads a later node */
    DAMAGE(g->nodes[0].output = g->nodes[1].output);
    DAMAGE(g->nodes[0].output = MTS_NONE);
    DAMAGE(g->nodes[0].output = 0);
    DAMAGE(g->values[g->nodes[1].output].producer = 0);
    DAMAGE(g->values[g->nodes[1].output].producer = 99);
    DAMAGE(g->values[0].producer = 0);
    DAMAGE(g->outputs[0].value = g->value_count);
    DAMAGE(g->inputs[0].value = 1);
    DAMAGE(g->node_count = 2);
    DAMAGE(g->output_count = 0);
    DAMAGE(g->input_count = 0);
    DAMAGE(g->node_count = UINT32_MAX);
}

static void damaged_operators_and_attributes_are_found(void **state)
{
    (void)state;
    DAMAGE(g->nodes[0].op = MTS_OP_COUNT);
    DAMAGE(g->nodes[1].op = MTS_OP_CONV);
    DAMAGE(g->nodes[0].input_count = 1);
    DAMAGE(g->nodes[0].inputs[1] = MTS_NONE);
    DAMAGE(g->nodes[0].attrs.conv.stride[0] = 0);
    DAMAGE(g->nodes[0].attrs.conv.group = 0);
    DAMAGE(g->nodes[0].attrs.conv.act.fn = MTS_FN_COUNT);
    DAMAGE(g->nodes[1].attrs.unary.act.fn = MTS_FN_COUNT);
    DAMAGE(g->nodes[2].attrs.gather.axis = 9);
    DAMAGE(g->nodes[0].name = NULL);
}

static void a_constant_in_place_of_a_run_time_value_is_found(void **state)
{
    (void)state;
    const mts_shape shape = {4, {1, 4, 8, 8}};
    static const float zeros[256];
    DAMAGE(g->nodes[1].inputs[0] = mts_graph_add_const(g, "c", MTS_TYPE_FLOAT32, &shape, zeros));
    assert_non_null(strstr(error.text, "may not be a constant"));
    DAMAGE(g->nodes[2].inputs[0] = mts_graph_add_const(g, "c", MTS_TYPE_FLOAT32, &shape, zeros));
    assert_non_null(strstr(error.text, "may not be a constant"));
    for (int op = 0; op < MTS_OP_COUNT; op++) {
        const bool may = op == MTS_OP_BINARY || op == MTS_OP_CONCAT || op == MTS_OP_EXPAND ||
                         op == MTS_OP_MATMUL || op == MTS_OP_TAKE || op == MTS_OP_SAMPLE ||
                         op == MTS_OP_SELECT;
        assert_int_equal(mts_op_takes_constant((mts_op)op, 0), may);
    }
    assert_false(mts_op_takes_constant(MTS_OP_CONV, 4));
    assert_true(mts_op_takes_constant(MTS_OP_CONV, 1));
}

static void names_stay_unique_however_they_move(void **state)
{
    (void)state;
    const mts_shape shape = {1, {4}};
    mts_graph *g = mts_graph_create(&arena, "names");
    uint32_t ids[300];
    for (uint32_t i = 0; i < 300; i++) {
        /* every third without a name, every fifth with one that is taken */
        char name[16];
        (void)snprintf(name, sizeof(name), "n%u", i % 5 ? i : i / 2);
        ids[i] = mts_graph_add_const(g, i % 3 ? name : NULL, MTS_TYPE_FLOAT32, &shape, bias);
        assert_int_not_equal(ids[i], MTS_NONE);
    }
    assert_true(mts_graph_name_value(g, ids[0], "first"));
    assert_string_equal(g->values[ids[0]].name, "first");
    assert_true(mts_graph_name_value(g, ids[3], "first")); /* taken */
    assert_string_not_equal(g->values[ids[3]].name, "first");
    assert_true(mts_graph_name_value(g, ids[0], "second")); /* "first" is free again */
    assert_true(mts_graph_name_value(g, ids[3], "first"));
    assert_string_equal(g->values[ids[3]].name, "first");
    for (uint32_t i = 0; i < 300; i++) {
        for (uint32_t j = 0; j < i; j++) {
            assert_string_not_equal(g->values[ids[i]].name, g->values[ids[j]].name);
        }
    }
}

static void damaged_shapes_types_and_names_are_found(void **state)
{
    (void)state;
    DAMAGE(g->values[0].shape.dims[2] = 0);
    DAMAGE(g->values[0].shape.dims[2] = -8);
    DAMAGE(g->values[0].shape.rank = 7);
    DAMAGE(g->values[0].shape.dims[2] = (int64_t)1 << 40);
    DAMAGE(g->values[g->nodes[0].output].shape.dims[1] = 5); /* stored shape is not the inferred one */
    DAMAGE(g->values[g->nodes[0].output].dtype = MTS_TYPE_FLOAT16);
    DAMAGE(g->values[0].dtype = MTS_TYPE_COUNT);
    DAMAGE(g->values[1].dtype = MTS_TYPE_INT32);
    DAMAGE(g->values[1].dtype = MTS_TYPE_UINT8);
    DAMAGE(g->values[3].name = g->values[1].name);
    DAMAGE(g->values[3].name = NULL);
    DAMAGE(g->values[0].kind = (mts_value_kind)3);
    DAMAGE(g->outputs[0].dtype = MTS_TYPE_COUNT);
    DAMAGE(g->outputs[0].shape.dims[1] = 3);
    DAMAGE(g->outputs[0].name = NULL);
    DAMAGE(g->inputs[0].dtype = MTS_TYPE_UINT8);
}

static void gather_indices_outside_the_dimension_are_found(void **state)
{
    (void)state;
    static const int32_t high[2] = {0, 4}, negative[2] = {-1, 0};
    DAMAGE(g->values[g->nodes[2].inputs[1]].blocks[0].data = high);
    DAMAGE(g->values[g->nodes[2].inputs[1]].blocks[0].data = negative);
}

static void blocks_must_cover_the_matrix_exactly_once(void **state)
{
    (void)state;
    DAMAGE(g->values[1].block_count = 0);
    DAMAGE(g->values[1].blocks[0].data = NULL);
    DAMAGE(g->values[1].blocks[0].out_count = 3);
    DAMAGE(g->values[1].blocks[0].out_count = 5);
    DAMAGE(g->values[1].blocks[0].out_first = 1);
    DAMAGE(g->values[1].blocks[0].in_first = UINT32_MAX);
    DAMAGE(g->values[1].blocks[0].in_count = 0);
    DAMAGE(g->values[1].block_count = UINT32_MAX);
    mts_block_ref good[2] = {{0, 0, 4, 0, 1, weights}, {1, 0, 4, 1, 2, weights}};
    mts_block_ref overlap[2] = {{0, 0, 4, 0, 2, weights}, {1, 0, 2, 1, 2, weights}};
    mts_graph *g = sample();
    g->values[1].blocks = good;
    g->values[1].block_count = 2;
    assert_int_equal(mts_graph_verify(g, &error), MTS_STATUS_OK);
    g->values[1].blocks = overlap; /* of the right area */
    assert_int_equal(mts_graph_verify(g, &error), MTS_STATUS_MALFORMED);
    assert_non_null(strstr(error.text, "overlap"));
    /* only a convolution's weight may consist of several blocks */
    mts_block_ref halves[2] = {{0, 0, 2, 0, 1, bias}, {1, 2, 2, 0, 1, bias}};
    g = sample();
    g->values[2].blocks = halves;
    g->values[2].block_count = 2;
    assert_int_equal(mts_graph_verify(g, &error), MTS_STATUS_MALFORMED);
}

static void a_scatter_must_be_a_permutation(void **state)
{
    (void)state;
    static const uint32_t good[4] = {2, 0, 3, 1}, twice[4] = {2, 0, 2, 1}, high[4] = {0, 1, 2, 4};
    mts_graph *g = sample();
    g->nodes[0].scatter = good;
    assert_int_equal(mts_graph_verify(g, &error), MTS_STATUS_OK);
    g->nodes[0].scatter = twice;
    assert_int_equal(mts_graph_verify(g, &error), MTS_STATUS_MALFORMED);
    g->nodes[0].scatter = high;
    assert_int_equal(mts_graph_verify(g, &error), MTS_STATUS_MALFORMED);
    g->nodes[0].scatter = NULL;
    g->nodes[1].scatter = good;
    assert_int_equal(mts_graph_verify(g, &error), MTS_STATUS_MALFORMED);
}

static void ports_and_counts_beyond_their_limits_are_found(void **state)
{
    static const int32_t whole[256];
    const mts_shape shape = {4, {1, 2, 8, 8}};
    (void)state;
    DAMAGE(g->value_count = UINT32_MAX);
    DAMAGE(g->input_count = UINT32_MAX);
    DAMAGE(g->output_count = UINT32_MAX);
    DAMAGE(g->name = NULL);
    assert_string_equal(error.text, "a graph has no name");
    DAMAGE(g->output_count = 0);
    assert_string_equal(error.text, "a graph has no output");
    DAMAGE(g->nodes[1].inputs = NULL);
    DAMAGE(g->values[1].blocks = NULL);
    DAMAGE(g->outputs[0].value = mts_graph_add_const(g, "whole", MTS_TYPE_INT32, &shape, whole));
    assert_string_equal(error.text, "output 'y' does not fit its value");
    DAMAGE(g->outputs[0].shape.dims[0] = 0);
    mts_graph *g = sample();
    assert_int_equal(mts_graph_add_output(g, "z", 0, MTS_TYPE_FLOAT32, &g->values[0].shape, &error),
                     MTS_STATUS_OK);
    g->outputs[1].name = g->outputs[0].name;
    assert_int_equal(mts_graph_verify(g, &error), MTS_STATUS_MALFORMED);
    assert_string_equal(error.text, "output 'y' occurs twice");
    assert_int_equal(mts_graph_add_output(g, "y", 0, MTS_TYPE_FLOAT32, &g->values[0].shape, &error),
                     MTS_STATUS_MALFORMED);
    assert_int_equal(mts_graph_add_output(g, "no", 99, MTS_TYPE_FLOAT32, &shape, &error),
                     MTS_STATUS_MALFORMED);
    assert_int_equal(mts_graph_add_output(g, "no", 0, MTS_TYPE_FLOAT32, &shape, &error),
                     MTS_STATUS_MALFORMED);
    assert_string_equal(error.text, "output 'no' has another element count than its value");
    assert_true(mts_graph_name_value(g, 0, ""));
    assert_string_equal(mts_op_name(MTS_OP_COUNT), "unknown");
    g->nodes[0].name = "";
    assert_string_equal(mts_node_title(g, &g->nodes[0]), g->values[g->nodes[0].output].name);
    g->nodes[0].name = NULL;
    g->values[g->nodes[0].output].name = NULL;
    assert_string_equal(mts_node_title(g, &g->nodes[0]), "");
}

/* A transposed convolution that only moves elements, and each change of it that does more. */
static void only_windows_of_ones_that_meet_are_shuffles(void **state)
{
    static const float ones[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    float numbers[16];
    mts_block_ref block = {.out_count = 4, .in_count = 1, .data = numbers};
    const mts_value good = {
        .kind = MTS_VALUE_CONST, .shape = {4, {4, 1, 2, 2}}, .block_count = 1, .blocks = &block};
    const mts_node node = {
        .op = MTS_OP_DECONV,
        .input_count = 2,
        .attrs = {.conv = {.kernel = {2, 2}, .stride = {2, 2}, .dilation = {1, 1}, .group = 1}}};
    (void)state;
#define NO_SHUFFLE(change)                                                                                   \
    do {                                                                                                     \
        mts_node n = node;                                                                                   \
        mts_value w = good;                                                                                  \
        memcpy(numbers, ones, sizeof numbers);                                                               \
        assert_true(mts_deconv_is_shuffle(&n, &w));                                                          \
        change;                                                                                              \
        assert_false(mts_deconv_is_shuffle(&n, &w));                                                         \
    } while (0)
    NO_SHUFFLE(n.op = MTS_OP_CONV);
    NO_SHUFFLE(n.input_count = 3);
    NO_SHUFFLE(n.attrs.conv.act.fn = MTS_FN_RELU);
    NO_SHUFFLE(w.dtype = MTS_TYPE_FLOAT16);
    NO_SHUFFLE(w.kind = MTS_VALUE_NODE);
    NO_SHUFFLE(w.block_count = 2);
    NO_SHUFFLE(w.shape.dims[1] = 2);
    NO_SHUFFLE(w.shape.dims[0] = 8);
    NO_SHUFFLE(n.attrs.conv.stride[0] = 1);
    NO_SHUFFLE(n.attrs.conv.dilation[1] = 2);
    NO_SHUFFLE(n.attrs.conv.pad[0] = 1);
    NO_SHUFFLE(n.attrs.conv.pad[3] = 1);
    NO_SHUFFLE(n.attrs.conv.output_pad[1] = 1);
    NO_SHUFFLE(numbers[0] = 0.5f);
    NO_SHUFFLE(numbers[15] = 2.0f);
    NO_SHUFFLE(numbers[1] = 1.0f);
#undef NO_SHUFFLE
}

static void whole_numbers_are_read_as_they_are(void **state)
{
    static const int32_t numbers[4] = {0, -3, 70000, 5};
    mts_block_ref block = {.out_count = 4, .in_count = 1, .data = numbers};
    const mts_value value = {.kind = MTS_VALUE_CONST,
                             .dtype = MTS_TYPE_INT32,
                             .shape = {1, {4}},
                             .block_count = 1,
                             .blocks = &block};
    float out[4];
    (void)state;
    mts_value_read_f32(&value, out);
    for (int i = 0; i < 4; i++) {
        assert_true(out[i] == (float)numbers[i]);
    }
}

static void building_without_memory_fails_cleanly(void **state)
{
    (void)state;
    const mts_shape shape = {1, {4}};
    for (size_t n = 1; n < 40; n++) {
        mts_fault_allocator fault;
        mts_fault_allocator_init(&fault, n);
        mts_arena small;
        mts_arena_init(&small, &fault.allocator);
        mts_graph *graph = mts_graph_create(&small, "g");
        uint32_t value = graph ? mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &shape) : MTS_NONE;
        const mts_attrs attrs = {.unary = {.act = {.fn = MTS_FN_RELU}}};
        for (int i = 0; i < 200 && value != MTS_NONE; i++) {
            mts_status status =
                mts_graph_add_node(graph, MTS_OP_UNARY, "u", &value, 1, &attrs, &value, &error);
            assert_true(status == MTS_STATUS_OK || status == MTS_STATUS_OUT_OF_MEMORY);
            if (status != MTS_STATUS_OK) {
                break;
            }
        }
        mts_arena_release(&small);
        assert_int_equal(fault.alive, 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_built_graph_is_valid_and_printed),
        TEST(a_node_that_does_not_fit_leaves_the_graph_as_it_was),
        TEST(names_of_values_stay_unique),
        TEST(operands_that_must_be_constant_are_refused_else),
        TEST(constants_are_gathered_from_their_blocks),
        TEST(damaged_indices_and_orders_are_found),
        TEST(damaged_operators_and_attributes_are_found),
        TEST(a_constant_in_place_of_a_run_time_value_is_found),
        TEST(names_stay_unique_however_they_move),
        TEST(damaged_shapes_types_and_names_are_found),
        TEST(gather_indices_outside_the_dimension_are_found),
        TEST(blocks_must_cover_the_matrix_exactly_once),
        TEST(a_scatter_must_be_a_permutation),
        TEST(ports_and_counts_beyond_their_limits_are_found),
        TEST(only_windows_of_ones_that_meet_are_shuffles),
        TEST(whole_numbers_are_read_as_they_are),
        TEST(building_without_memory_fails_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
