/*
 * Export to ONNX: every operator goes to the standard form and back, names and types of the border stay.
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

static mts_arena arena;
static mts_error error;
static mts_graph *graph;
static uint32_t x; /* input [1,4,6,6] */
static float numbers[512];

static int set_up(void **state)
{
    (void)state;
    const mts_shape shape = SHAPE(1, 4, 6, 6);
    mts_arena_init(&arena, mts_allocator_default());
    for (int i = 0; i < 512; i++) {
        numbers[i] = (float)(i % 7) - 2.5f;
    }
    graph = mts_graph_create(&arena, "sample");
    x = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &shape);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mts_arena_release(&arena);
    return 0;
}

static uint32_t constant(mts_shape shape)
{
    return mts_graph_add_const(graph, NULL, MTS_TYPE_FLOAT32, &shape, numbers);
}

static uint32_t node(mts_op op, mts_attrs attrs, uint32_t count, const uint32_t *inputs)
{
    uint32_t value = MTS_NONE;
    if (mts_graph_add_node(graph, op, "node", inputs, count, &attrs, &value, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return value;
}
#define NODE(op, attrs, ...)                                                                                 \
    node(op, attrs, (uint32_t)(sizeof((uint32_t[]){__VA_ARGS__}) / 4), (const uint32_t[]){__VA_ARGS__})

static void output(const char *name, uint32_t value, mts_type dtype)
{
    assert_int_equal(mts_graph_add_output(graph, name, value, dtype, &graph->values[value].shape, &error),
                     MTS_STATUS_OK);
}

static mts_graph *there_and_back(void)
{
    void *data = NULL;
    size_t size = 0;
    mts_graph *back = NULL, *out = NULL;
    assert_int_equal(mts_graph_verify(graph, &error), MTS_STATUS_OK);
    if (mts_onnx_export(graph, mts_allocator_default(), &data, &size, &error) != MTS_STATUS_OK ||
        mts_import_memory(data, size, "exported", NULL, &arena, &back, &error) != MTS_STATUS_OK ||
        mts_fold(back, &arena, &out, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    mts_alloc_free(mts_allocator_default(), data);
    return out;
}

/* The last node of the way back has the attributes of the given one, `size` bytes of them. */
static const mts_node *same_attrs(uint32_t value, size_t size)
{
    output("y", value, MTS_TYPE_FLOAT32);
    const mts_graph *back = there_and_back();
    const mts_node *made = &graph->nodes[graph->values[value].producer];
    const mts_node *got = &back->nodes[back->node_count - 1];
    assert_string_equal(mts_op_name(got->op), mts_op_name(made->op));
    assert_memory_equal(&got->attrs, &made->attrs, size);
    assert_true(mts_shape_equal(&back->values[got->output].shape, &graph->values[value].shape));
    return got;
}

static const mts_attrs plain_conv = {
    .conv = {.kernel = {3, 3}, .stride = {1, 2}, .dilation = {2, 1}, .pad = {2, 1, 2, 0}, .group = 2}};

static void a_convolution_keeps_all_that_was_fused_into_it(void **state)
{
    (void)state;
    mts_attrs attrs = plain_conv;
    attrs.conv.act.fn = MTS_FN_PRELU;
    uint32_t w = constant(SHAPE(4, 2, 3, 3)), v = constant(SHAPE(4)), r = constant(SHAPE(4, 4, 1, 1));
    const mts_attrs one = {.conv = {.kernel = {1, 1}, .stride = {1, 2}, .dilation = {1, 1}, .group = 1}};
    uint32_t residual = NODE(MTS_OP_CONV, one, x, r);
    const mts_node *got = same_attrs(NODE(MTS_OP_CONV, attrs, x, w, v, v, residual, v), sizeof(attrs.conv));
    for (uint32_t i = 0; i < 6; i++) {
        assert_true(got->inputs[i] != MTS_NONE);
    }
}

static void scattered_blocks_become_one_dense_weight(void **state)
{
    (void)state;
    static const uint32_t scatter[3] = {2, 0, 1};
    float low[4] = {1, 2, 3, 4}, high[8] = {5, 6, 7, 8, 9, 10, 11, 12}, out[12];
    const mts_attrs attrs = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    uint32_t w = constant(SHAPE(3, 4, 1, 1));
    mts_block_ref blocks[2] = {{7, 0, 1, 0, 4, low}, {9, 1, 2, 0, 4, high}};
    graph->values[w].blocks = blocks;
    graph->values[w].block_count = 2;
    uint32_t y = NODE(MTS_OP_CONV, attrs, x, w);
    graph->nodes[0].scatter = scatter;
    output("y", y, MTS_TYPE_FLOAT32);
    const mts_graph *back = there_and_back();
    mts_value_read_f32(&back->values[back->nodes[0].inputs[1]], out);
    const float wanted[12] = {5, 6, 7, 8, 9, 10, 11, 12, 1, 2, 3, 4};
    assert_memory_equal(out, wanted, sizeof(wanted));
}

static void windows_and_products_return(void **state)
{
    (void)state;
    mts_attrs deconv = plain_conv;
    deconv.conv.output_pad[1] = 1;
    deconv.conv.act.fn = MTS_FN_RELU;
    (void)same_attrs(NODE(MTS_OP_DECONV, deconv, x, constant(SHAPE(4, 3, 3, 3)), constant(SHAPE(6))),
                     sizeof(deconv.conv));
    const mts_attrs pool = {.pool = {.kind = MTS_POOL_AVG,
                                     .kernel = {3, 2},
                                     .stride = {2, 2},
                                     .dilation = {1, 1},
                                     .pad = {1, 0, 1, 1},
                                     .include_pad = 1}};
    tear_down(NULL);
    set_up(NULL);
    (void)same_attrs(NODE(MTS_OP_POOL, pool, x), sizeof(pool.pool));
    const mts_attrs ceil = {
        .pool = {.kind = MTS_POOL_MAX, .kernel = {2, 2}, .stride = {3, 3}, .dilation = {2, 1}, .ceil = 1}};
    tear_down(NULL);
    set_up(NULL);
    (void)same_attrs(NODE(MTS_OP_POOL, ceil, x), sizeof(ceil.pool));
}

static void element_functions_return(void **state)
{
    (void)state;
    static const mts_act acts[] = {{MTS_FN_RELU, 0, 0},
                                   {MTS_FN_LEAKY, 0.1f, 0},
                                   {MTS_FN_LEAKY_BOUND, 0.1f, -0.4f},
                                   {MTS_FN_CLIP, -1, 6},
                                   {MTS_FN_SIGMOID, 0, 0},
                                   {MTS_FN_HARD_SIGMOID, 0.3f, 0.4f},
                                   {MTS_FN_HARD_SWISH, 0, 0},
                                   {MTS_FN_TANH, 0, 0},
                                   {MTS_FN_EXP, 0, 0},
                                   {MTS_FN_SQRT, 0, 0},
                                   {MTS_FN_SILU, 0, 0},
                                   {MTS_FN_TRUNC, 0, 0},
                                   {MTS_FN_ABS, 0, 0},
                                   {MTS_FN_NEG, 0, 0},
                                   {MTS_FN_FLOOR, 0, 0},
                                   {MTS_FN_CEIL, 0, 0},
                                   {MTS_FN_LOG, 0, 0},
                                   {MTS_FN_RECIPROCAL, 0, 0},
                                   {MTS_FN_NOT_ZERO, 0, 0},
                                   {MTS_FN_QUANT8, 0.02f, -128.0f},
                                   {MTS_FN_HARD_SWISH_LINE, -0.7f, 0.4f}};
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
        const mts_attrs attrs = {.unary = {.act = acts[i]}};
        (void)same_attrs(NODE(MTS_OP_UNARY, attrs, x), sizeof(attrs.unary));
        tear_down(NULL);
        set_up(NULL);
    }
}

static void binary_functions_return_with_what_is_fused(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < MTS_BIN_COUNT; kind++) {
        if (kind == MTS_BIN_MOD) {
            continue; /* of floats ONNX has only the other remainder */
        }
        const mts_attrs attrs = {.binary = {.kind = kind, .act = {.fn = MTS_FN_TANH}}};
        uint32_t other = constant(SHAPE(4, 1, 6)); /* no number a channel: it stays an operand */
        (void)same_attrs(NODE(MTS_OP_BINARY, attrs, x, other), sizeof(attrs.binary));
        tear_down(NULL);
        set_up(NULL);
    }
}

static void choices_return(void **state)
{
    (void)state;
    const mts_attrs attrs = {0}, positive = {.binary = {.kind = MTS_BIN_GREATER}};
    uint32_t other = constant(SHAPE(4, 1, 6));
    const uint32_t condition = NODE(MTS_OP_BINARY, positive, x, other);
    output("y", NODE(MTS_OP_SELECT, attrs, condition, x, other), MTS_TYPE_FLOAT32);
    const mts_graph *back = there_and_back();
    assert_int_equal(back->nodes[back->node_count - 1].op, MTS_OP_SELECT);
}

static void scales_return_bit_for_bit(void **state)
{
    (void)state;
    const mts_attrs attrs = {.unary = {.act = {.fn = MTS_FN_PRELU}}};
    uint32_t v = constant(SHAPE(4)), y = NODE(MTS_OP_SCALE, attrs, x, v, v, v);
    output("y", y, MTS_TYPE_FLOAT32);
    const mts_graph *back = there_and_back();
    float out[4];
    assert_int_equal(back->node_count, 1);
    for (uint32_t i = 1; i < 4; i++) {
        mts_value_read_f32(&back->values[back->nodes[0].inputs[i]], out);
        assert_memory_equal(out, numbers, sizeof(out));
    }
}

static void reductions_and_normalisations_return(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < MTS_REDUCE_COUNT; kind++) {
        if (MTS_REDUCE_IS_POSITION(kind)) {
            continue;
        }
        const mts_attrs attrs = {.reduce = {.kind = kind, .axes = 0xa, .keep = kind & 1u}};
        (void)same_attrs(NODE(MTS_OP_REDUCE, attrs, x), sizeof(attrs.reduce));
        tear_down(NULL);
        set_up(NULL);
    }
    const mts_attrs softmax = {.softmax = {.axis = 1, .log = 1}};
    (void)same_attrs(NODE(MTS_OP_SOFTMAX, softmax, x), sizeof(softmax.softmax));
    tear_down(NULL);
    set_up(NULL);
    const mts_attrs lrn = {.lrn = {.size = 3, .alpha = 0.5f, .beta = 0.25f, .bias = 2}};
    (void)same_attrs(NODE(MTS_OP_LRN, lrn, x), sizeof(lrn.lrn));
}

static void movements_return(void **state)
{
    (void)state;
    const mts_attrs slice = {.slice = {.start = {0, 3, 5, 0}, .step = {1, -1, -2, 2}, .size = {1, 4, 3, 3}}};
    (void)same_attrs(NODE(MTS_OP_SLICE, slice, x), sizeof(slice.slice));
    tear_down(NULL);
    set_up(NULL);
    const mts_attrs pad = {.pad = {.mode = MTS_PAD_REFLECT, .before = {0, 0, 2, 1}, .after = {0, 0, 1, -1}}};
    (void)same_attrs(NODE(MTS_OP_PAD, pad, x), sizeof(pad.pad));
    tear_down(NULL);
    set_up(NULL);
    const mts_attrs transpose = {.transpose = {.perm = {0, 2, 3, 1}}};
    (void)same_attrs(NODE(MTS_OP_TRANSPOSE, transpose, x), sizeof(transpose.transpose));
    tear_down(NULL);
    set_up(NULL);
    const mts_attrs reshape = {.reshape = {.shape = {3, {4, 6, 6}}}};
    (void)same_attrs(NODE(MTS_OP_RESHAPE, reshape, x), sizeof(reshape.reshape));
    tear_down(NULL);
    set_up(NULL);
    const mts_attrs expand = {.reshape = {.shape = {4, {3, 4, 6, 6}}}};
    (void)same_attrs(NODE(MTS_OP_EXPAND, expand, x), sizeof(expand.reshape));
    tear_down(NULL);
    set_up(NULL);
    const mts_attrs concat = {.concat = {.axis = 2}};
    (void)same_attrs(NODE(MTS_OP_CONCAT, concat, x, constant(SHAPE(1, 4, 2, 6)), x), sizeof(concat.concat));
}

static void gathers_return_with_indices_of_any_rank(void **state)
{
    (void)state;
    static const int32_t indices[4] = {3, 0, 2, 2}; /* one alone would return as a slice */
    const mts_shape shapes[2] = {SHAPE(4), SHAPE(2, 2)};
    for (size_t i = 0; i < 2; i++) {
        const mts_attrs attrs = {.gather = {.axis = 1}};
        uint32_t index = mts_graph_add_const(graph, "index", MTS_TYPE_INT32, &shapes[i], indices);
        (void)same_attrs(NODE(MTS_OP_GATHER, attrs, x, index), sizeof(attrs.gather));
        tear_down(NULL);
        set_up(NULL);
    }
}

/* Casts that return between them are not the graph's. */
static void positions_return_through_casts(void **state)
{
    (void)state;
    const mts_attrs attrs[] = {{.reduce = {.kind = MTS_REDUCE_ARG_MAX, .axes = 2, .keep = 1}},
                               {.reduce = {.kind = MTS_REDUCE_ARG_MIN, .axes = 8}},
                               {.reduce = {.kind = MTS_REDUCE_ARG_MAX_LAST, .axes = 4}},
                               {.reduce = {.kind = MTS_REDUCE_ARG_MIN_LAST, .axes = 2}},
                               {.order = {.count = 3, .largest = 1}},
                               {.order = {.count = 6}}};
    for (size_t i = 0; i < sizeof attrs / sizeof attrs[0]; i++) {
        const mts_op op = i < 4 ? MTS_OP_REDUCE : MTS_OP_ORDER;
        output("y", NODE(op, attrs[i], x), MTS_TYPE_FLOAT32);
        const mts_graph *back = there_and_back();
        assert_int_equal(back->node_count, 1);
        assert_int_equal(back->nodes[0].op, op);
        assert_memory_equal(&back->nodes[0].attrs, &attrs[i],
                            i < 4 ? sizeof(mts_attrs_reduce) : sizeof(mts_attrs_order));
        tear_down(NULL);
        set_up(NULL);
    }
}

static void scans_return_but_no_products(void **state)
{
    (void)state;
    void *data = NULL;
    size_t size = 1;
    mts_attrs attrs = {.scan = {.axis = 2, .exclusive = 1, .reverse = 1}};
    (void)same_attrs(NODE(MTS_OP_SCAN, attrs, x), sizeof(attrs.scan));
    tear_down(NULL);
    set_up(NULL);
    attrs.scan.kind = MTS_SCAN_PROD;
    output("y", NODE(MTS_OP_SCAN, attrs, x), MTS_TYPE_FLOAT32);
    assert_int_equal(mts_onnx_export(graph, mts_allocator_default(), &data, &size, &error),
                     MTS_STATUS_UNSUPPORTED);
    assert_null(data);
    assert_non_null(strstr(error.text, "scan"));
}

static void indices_return_as_whole_numbers_of_the_result_s_shape(void **state)
{
    (void)state;
    const mts_attrs rows = {.reshape = {.shape = {3, {4, 6, 6}}}}, none = {0};
    const uint32_t y = NODE(MTS_OP_TAKE, none, NODE(MTS_OP_RESHAPE, rows, x), constant(SHAPE(1, 5, 1)));
    output("y", y, MTS_TYPE_FLOAT32);
    const mts_graph *back = there_and_back();
    assert_int_equal(back->nodes[back->node_count - 1].op, MTS_OP_TAKE);
    assert_true(mts_shape_equal(&back->outputs[0].shape, &graph->outputs[0].shape));
}

static void resizes_return_by_scales_or_by_sizes(void **state)
{
    (void)state;
    mts_attrs attrs = {.resize = {.mode = MTS_RESIZE_CUBIC,
                                  .coord = MTS_COORD_ALIGN_CORNERS,
                                  .out = {9, 12},
                                  .scale = {1.6f, 2.0f},
                                  .roi_end = {1.0f, 1.0f},
                                  .cubic_a = -0.5f}};
    (void)same_attrs(NODE(MTS_OP_RESIZE, attrs, x), sizeof(attrs.resize));
    tear_down(NULL);
    set_up(NULL);
    attrs.resize.out[0] = 7;
    attrs.resize.scale[0] = (float)(7.0 / 6.0); /* floor(6 * scale) may be 6: then sizes are written */
    (void)same_attrs(NODE(MTS_OP_RESIZE, attrs, x), sizeof(attrs.resize));
    tear_down(NULL);
    set_up(NULL);
    attrs.resize.coord = MTS_COORD_TF_HALF_PIXEL;
    void *data = &attrs;
    size_t size = 1;
    output("y", NODE(MTS_OP_RESIZE, attrs, x), MTS_TYPE_FLOAT32);
    assert_int_equal(mts_onnx_export(graph, mts_allocator_default(), &data, &size, &error),
                     MTS_STATUS_UNSUPPORTED);
    assert_null(data);
    assert_non_null(strstr(error.text, "tf_half_pixel_for_nn"));
}

static void products_with_factors_return_the_same_values(void **state)
{
    (void)state;
    const mts_attrs attrs = {.matmul = {.alpha = 0.5f, .beta = 3.0f}};
    uint32_t y = NODE(MTS_OP_MATMUL, attrs, x, x, constant(SHAPE(6)));
    output("y", y, MTS_TYPE_FLOAT32);
    const mts_graph *back = there_and_back();
    assert_int_equal(back->nodes[0].op, MTS_OP_MATMUL);
    assert_true(mts_shape_equal(&back->outputs[0].shape, &graph->outputs[0].shape));
}

static void types_shapes_and_names_of_the_border_stay(void **state)
{
    (void)state;
    const mts_shape bytes = SHAPE(1, 4, 6, 6), flat = SHAPE(144);
    uint32_t b = mts_graph_add_input(graph, "bytes", MTS_TYPE_UINT8, &bytes);
    const mts_attrs add = {.binary = {.kind = MTS_BIN_ADD}}, relu = {.unary = {.act = {.fn = MTS_FN_RELU}}};
    uint32_t sum = NODE(MTS_OP_BINARY, add, x, b);
    uint32_t y = NODE(MTS_OP_UNARY, relu, sum);
    assert_true(mts_graph_name_value(graph, sum, "half")); /* an inner value has the name of an output */
    output("first", y, MTS_TYPE_FLOAT32);
    output("half", y, MTS_TYPE_FLOAT16);
    assert_int_equal(mts_graph_add_output(graph, "flat", y, MTS_TYPE_FLOAT32, &flat, &error), MTS_STATUS_OK);
    output("fixed", constant(SHAPE(4)), MTS_TYPE_INT64);
    output("x again", x, MTS_TYPE_FLOAT32);
    const mts_graph *back = there_and_back();
    assert_int_equal(back->input_count, 2);
    assert_int_equal(back->inputs[1].dtype, MTS_TYPE_UINT8);
    assert_string_equal(back->inputs[1].name, "bytes");
    assert_int_equal(back->output_count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_string_equal(back->outputs[i].name, graph->outputs[i].name);
        assert_int_equal(back->outputs[i].dtype, graph->outputs[i].dtype);
        assert_true(mts_shape_equal(&back->outputs[i].shape, &graph->outputs[i].shape));
    }
    assert_int_equal(back->outputs[0].value, back->outputs[1].value);
}

static void an_input_may_be_an_output_of_its_name_but_no_other_value_may(void **state)
{
    (void)state;
    const mts_shape bytes = SHAPE(1, 4, 6, 6);
    const mts_attrs relu = {.unary = {.act = {.fn = MTS_FN_RELU}}};
    uint32_t b = mts_graph_add_input(graph, "bytes", MTS_TYPE_UINT8, &bytes);
    void *data = NULL;
    size_t size = 0;
    output("bytes", b, MTS_TYPE_UINT8);
    const mts_graph *back = there_and_back();
    assert_int_equal(back->values[back->outputs[0].value].kind, MTS_VALUE_INPUT);
    output("x", NODE(MTS_OP_UNARY, relu, x), MTS_TYPE_FLOAT32);
    assert_int_equal(mts_onnx_export(graph, mts_allocator_default(), &data, &size, &error),
                     MTS_STATUS_UNSUPPORTED);
    assert_null(data);
}

/* Names that the export gives to values of its own. */
static void ports_may_have_any_name(void **state)
{
    (void)state;
    mts_attrs attrs = plain_conv;
    attrs.conv.act.fn = MTS_FN_SILU;
    uint32_t w = constant(SHAPE(4, 2, 3, 3)), v = constant(SHAPE(4));
    const uint32_t y = NODE(MTS_OP_CONV, attrs, x, w, v, v);
    const mts_attrs relu = {.unary = {.act = {.fn = MTS_FN_RELU}}};
    static char names[24][16];
    for (uint32_t i = 0; i < 24; i++) {
        (void)snprintf(names[i], sizeof names[i], "mts.%c%u", i % 2 ? 't' : 'v', i / 2);
        output(names[i], i == 0 ? y : NODE(MTS_OP_UNARY, relu, y), MTS_TYPE_FLOAT32);
    }
    const mts_graph *back = there_and_back();
    assert_int_equal(back->output_count, 24);
    for (uint32_t i = 0; i < 24; i++) {
        assert_string_equal(back->outputs[i].name, names[i]);
        const mts_value *value = &back->values[back->outputs[i].value];
        assert_int_equal(back->nodes[value->producer].op, i == 0 ? MTS_OP_CONV : MTS_OP_UNARY);
        for (uint32_t k = 0; k < i; k++) {
            assert_true(back->outputs[k].value != back->outputs[i].value);
        }
    }
}

static mts_status export_with(const mts_allocator *allocator, void *unused)
{
    (void)unused;
    void *bytes = NULL;
    size_t size = 0;
    const mts_status status = mts_onnx_export(graph, allocator, &bytes, &size, &error);
    assert_int_equal(bytes != NULL, status == MTS_STATUS_OK);
    mts_alloc_free(allocator, bytes);
    return status;
}

static void exporting_without_memory_fails_cleanly(void **state)
{
    (void)state;
    mts_attrs attrs = plain_conv;
    attrs.conv.act.fn = MTS_FN_SILU;
    uint32_t w = constant(SHAPE(4, 2, 3, 3)), v = constant(SHAPE(4));
    output("y", NODE(MTS_OP_CONV, attrs, x, w, v, v), MTS_TYPE_FLOAT16);
    mts_fault_each(export_with, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_convolution_keeps_all_that_was_fused_into_it),
        TEST(scattered_blocks_become_one_dense_weight),
        TEST(windows_and_products_return),
        TEST(element_functions_return),
        TEST(binary_functions_return_with_what_is_fused),
        TEST(choices_return),
        TEST(scales_return_bit_for_bit),
        TEST(reductions_and_normalisations_return),
        TEST(movements_return),
        TEST(gathers_return_with_indices_of_any_rank),
        TEST(positions_return_through_casts),
        TEST(scans_return_but_no_products),
        TEST(indices_return_as_whole_numbers_of_the_result_s_shape),
        TEST(resizes_return_by_scales_or_by_sizes),
        TEST(products_with_factors_return_the_same_values),
        TEST(types_shapes_and_names_of_the_border_stay),
        TEST(an_input_may_be_an_output_of_its_name_but_no_other_value_may),
        TEST(ports_may_have_any_name),
        TEST(exporting_without_memory_fails_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
