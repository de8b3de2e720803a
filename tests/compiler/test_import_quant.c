/*
 * The ONNX importer on quantised models: weights stay int8, activations are quantised as ONNX Runtime does.
 */
#include <stdlib.h>

#include "compiler/import_fixture.h"
#include "compiler/passes/fold.h"
#include "import_fault.h"
#include "support/net.h"

#include <math.h>

#define ONNX_INT32 6

static const int8_t codes[8] = {-128, -5, 0, 7, 127, 3, -1, 64};
static const uint8_t bytes[8] = {0, 123, 128, 135, 255, 131, 127, 192};

static void scalar(const char *name, float number)
{
    onnx_model_floats(&model, name, 0, NULL, &number);
}

static void zero_point(const char *name, int type, int number)
{
    const int8_t small = (int8_t)number;
    onnx_model_tensor(&model, name, type, 0, NULL, &small, 1);
}

/* y = Conv(x, dequantised w [2,2,1,2]); scales and zero points of w are entered by the test. */
static void begin_conv(int type, const void *weight)
{
    onnx_model_begin(&model, 21);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 2, 3, 4));
    onnx_model_tensor(&model, "w", type, INTS(2, 2, 1, 2), weight, 8);
}

static void end_conv(const char *inputs, int axis)
{
    onnx_model_node(&model, "DequantizeLinear", inputs, "wf");
    onnx_model_attr_int(&model, "axis", axis);
    onnx_model_node(&model, "Conv", "x,wf", "y");
    onnx_model_output(&model, "y");
}

/* The codes of a constant are read as what they are, also where its scale comes at run time. */
static void constants_with_run_time_scales_are_read_as_their_own_type(void **state)
{
    (void)state;
    onnx_model_begin(&model, 21);
    onnx_model_input(&model, "s", ONNX_FLOAT, 0, NULL);
    onnx_model_tensor(&model, "w", ONNX_INT8, 1, DIMS(8), codes, sizeof codes);
    onnx_model_node(&model, "DequantizeLinear", "w,s", "y");
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    for (uint32_t v = 0; v < graph->value_count; v++) {
        float numbers[8];
        const mts_value *value = &graph->values[v];
        if (value->block_count > 0 && mts_shape_count(&value->shape) == 8) {
            mts_value_read_f32(value, numbers);
            assert_float_equal(numbers[0], -128, 0);
            assert_float_equal(numbers[7], 64, 0);
        }
    }
}

static const mts_value *operand(const mts_graph *graph, const mts_node *node, uint32_t index)
{
    assert_true(index < node->input_count && node->inputs[index] != MTS_NONE);
    return &graph->values[node->inputs[index]];
}

/* What the convolution multiplies with: weight times scale, against scale * (code - zero). */
static void same_weights(const mts_graph *graph, const float *wanted)
{
    const mts_node *conv = node_of(graph, MTS_OP_CONV, 0);
    float weight[8], scale[2];
    mts_value_read_f32(operand(graph, conv, 1), weight);
    mts_value_read_f32(operand(graph, conv, 2), scale);
    for (int i = 0; i < 8; i++) {
        const float got = weight[i] * scale[i / 4];
        if (got < wanted[i] - 1e-6f || got > wanted[i] + 1e-6f) {
            fail_msg("weight %d is %g, not %g", i, (double)got, (double)wanted[i]);
        }
    }
}

static void weights_stay_int8_and_their_scales_multiply_channels(void **state)
{
    (void)state;
    static const float scales[2] = {0.5f, 0.25f};
    begin_conv(ONNX_INT8, codes);
    onnx_model_floats(&model, "s", INTS(2), scales);
    end_conv("w,s", 0);
    const mts_graph *graph = imported();
    assert_int_equal(operand(graph, node_of(graph, MTS_OP_CONV, 0), 1)->dtype, MTS_TYPE_INT8);
    assert_memory_equal(operand(graph, node_of(graph, MTS_OP_CONV, 0), 1)->blocks[0].data, codes, 8);
    float wanted[8];
    for (int i = 0; i < 8; i++) {
        wanted[i] = (float)codes[i] * scales[i / 4];
    }
    same_weights(graph, wanted);
}

static void zero_points_are_subtracted_before_weights_are_stored(void **state)
{
    (void)state;
    float wanted[8];
    begin_conv(ONNX_UINT8, bytes);
    scalar("s", 0.5f);
    zero_point("z", ONNX_UINT8, 128);
    end_conv("w,s,z", 0);
    const mts_graph *graph = imported();
    assert_int_equal(operand(graph, node_of(graph, MTS_OP_CONV, 0), 1)->dtype, MTS_TYPE_INT8);
    assert_memory_equal(operand(graph, node_of(graph, MTS_OP_CONV, 0), 1)->blocks[0].data, codes, 8);
    onnx_model_end(&model);
    begin_conv(ONNX_UINT8, bytes); /* 255 does not fit int8: two bytes each */
    scalar("s", 0.5f);
    end_conv("w,s", 0);
    graph = imported();
    assert_int_equal(operand(graph, node_of(graph, MTS_OP_CONV, 0), 1)->dtype, MTS_TYPE_FLOAT16);
    for (int i = 0; i < 8; i++) {
        wanted[i] = (float)bytes[i] * 0.5f;
    }
    same_weights(graph, wanted);
}

static void scales_along_inputs_are_multiplied_in(void **state)
{
    (void)state;
    static const float scales[2] = {0.5f, 0.25f};
    begin_conv(ONNX_INT8, codes);
    onnx_model_floats(&model, "s", INTS(2), scales);
    end_conv("w,s", 1);
    const mts_graph *graph = imported();
    const mts_value *weight = operand(graph, node_of(graph, MTS_OP_CONV, 0), 1);
    float numbers[8];
    assert_int_equal(weight->dtype, MTS_TYPE_FLOAT32);
    mts_value_read_f32(weight, numbers);
    for (int i = 0; i < 8; i++) {
        const float wanted = (float)codes[i] * scales[i / 2 % 2];
        assert_true(numbers[i] >= wanted && numbers[i] <= wanted);
    }
}

static void columns_of_a_product_have_scales_of_their_own(void **state)
{
    (void)state;
    static const float scales[4] = {1, 2, 3, 4};
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 2));
    onnx_model_tensor(&model, "w", ONNX_INT8, INTS(2, 4), codes, 8);
    onnx_model_floats(&model, "s", INTS(4), scales);
    onnx_model_node(&model, "DequantizeLinear", "w,s", "wf");
    onnx_model_attr_int(&model, "axis", 1);
    onnx_model_node(&model, "MatMul", "x,wf", "y");
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    const mts_node *conv = node_of(graph, MTS_OP_CONV, 0);
    float scale[4];
    const int8_t *stored = operand(graph, conv, 1)->blocks[0].data;
    assert_int_equal(operand(graph, conv, 1)->dtype, MTS_TYPE_INT8);
    assert_int_equal(stored[0], -128); /* [O,K] */
    assert_int_equal(stored[1], 127);
    mts_value_read_f32(operand(graph, conv, 2), scale);
    assert_true(scale[3] > 511.0f && scale[3] < 513.0f && scale[0] > 127.0f && scale[0] < 129.0f);
}

static void equal_codes_are_stored_once_whatever_their_scales(void **state)
{
    (void)state;
    static const float steps[2] = {0.5f, 0.125f};
    mts_graph *graphs[2];
    for (int i = 0; i < 2; i++) {
        begin_conv(ONNX_INT8, codes);
        scalar("s", steps[i]);
        end_conv("w,s", 0);
        graphs[i] = imported();
        onnx_model_end(&model);
    }
    test_net net = {0};
    assert_int_equal(net_make((const mts_graph *const *)graphs, 2, 0.0f, &net, &error), MTS_STATUS_OK);
    uint32_t int8_blocks = 0;
    for (uint32_t b = 0; b < net.archive->block_count; b++) {
        int8_blocks += net.archive->blocks[b].dtype == MTS_TYPE_INT8;
    }
    assert_int_equal(int8_blocks, 1);
    net_release(&net);
}

/* ---- activations ---- */

/* y = Dequantize(Quantize(Relu(Conv(x)))) with the given zero point. */
static void quantised_relu(int zero)
{
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 2, 3, 4));
    onnx_model_floats(&model, "w", INTS(2, 2, 1, 2), ramp);
    scalar("s", 0.25f);
    zero_point("z", ONNX_INT8, zero);
    onnx_model_node(&model, "Conv", "x,w", "c");
    onnx_model_node(&model, "Relu", "c", "r");
    onnx_model_node(&model, "QuantizeLinear", "r,s,z", "q");
    onnx_model_node(&model, "DequantizeLinear", "q,s,z", "y");
    onnx_model_output(&model, "y");
}

static void quantising_ends_a_convolution_and_makes_its_relu_needless(void **state)
{
    (void)state;
    mts_graph *folded = NULL;
    quantised_relu(-128);
    assert_int_equal(mts_fold(imported(), &arena, &folded, &error), MTS_STATUS_OK);
    assert_int_equal(folded->node_count, 1);
    const mts_act act = folded->nodes[0].attrs.conv.act;
    assert_int_equal(act.fn, MTS_FN_QUANT8);
    assert_true(act.a > 0.249f && act.a < 0.251f && act.b >= 0.0f && act.b <= 0.0f);
    onnx_model_end(&model);
    quantised_relu(0); /* negative numbers have codes of their own: the relu stays */
    assert_int_equal(mts_fold(imported(), &arena, &folded, &error), MTS_STATUS_OK);
    assert_int_equal(folded->node_count, 2);
    assert_int_equal(folded->nodes[0].attrs.conv.act.fn, MTS_FN_RELU);
}

/* Two values with grids of their own, rounded alike before the larger one is taken. */
static void extremes_are_rounded_once(void **state)
{
    (void)state;
    mts_graph *folded = NULL;
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 2, 3, 4));
    onnx_model_input(&model, "u", ONNX_FLOAT, INTS(1, 2, 3, 4));
    scalar("s", 0.25f);
    zero_point("z", ONNX_INT8, 3);
    onnx_model_node(&model, "QuantizeLinear", "x,s,z", "xq");
    onnx_model_node(&model, "DequantizeLinear", "xq,s,z", "xr");
    onnx_model_node(&model, "QuantizeLinear", "u,s,z", "uq");
    onnx_model_node(&model, "DequantizeLinear", "uq,s,z", "ur");
    onnx_model_node(&model, "Max", "xr,ur", "m");
    onnx_model_node(&model, "QuantizeLinear", "m,s,z", "mq"); /* once more, which changes nothing */
    onnx_model_node(&model, "DequantizeLinear", "mq,s,z", "y");
    onnx_model_output(&model, "y");
    assert_int_equal(mts_fold(imported(), &arena, &folded, &error), MTS_STATUS_OK);
    assert_int_equal(folded->node_count, 1);
    assert_int_equal(folded->nodes[0].attrs.binary.kind, MTS_BIN_MAX);
    assert_int_equal(folded->nodes[0].attrs.binary.act.fn, MTS_FN_QUANT8);
    onnx_model_node(&model, "Add", "y,xr", "sum"); /* which reads the rounded number too */
    onnx_model_output(&model, "sum");
    assert_int_equal(mts_fold(imported(), &arena, &folded, &error), MTS_STATUS_OK);
    assert_int_equal(folded->node_count, 3);
}

static void other_parameters_dequantise_the_integers(void **state)
{
    (void)state;
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
    scalar("s", 0.25f);
    scalar("t", 0.5f);
    onnx_model_node(&model, "QuantizeLinear", "x,s", "q");
    onnx_model_node(&model, "DequantizeLinear", "q,t", "y");
    onnx_model_output(&model, "y");
    mts_graph *folded = NULL;
    assert_int_equal(mts_fold(imported(), &arena, &folded, &error), MTS_STATUS_OK);
    const mts_node *divide = node_of(folded, MTS_OP_BINARY, 0);
    assert_int_equal(divide->attrs.binary.kind, MTS_BIN_DIV);
    assert_int_equal(divide->attrs.binary.act.fn, MTS_FN_QUANT8);
    assert_true(divide->attrs.binary.act.a >= 1.0f && divide->attrs.binary.act.a <= 1.0f);
}

static void integers_are_an_output_of_their_type(void **state)
{
    (void)state;
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
    scalar("s", 0.25f);
    zero_point("z", ONNX_INT8, 3);
    onnx_model_node(&model, "QuantizeLinear", "x,s,z", "y");
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_int_equal(graph->outputs[0].dtype, MTS_TYPE_INT8);
    assert_int_equal(node_of(graph, MTS_OP_BINARY, 1)->attrs.binary.kind, MTS_BIN_ADD);
}

static void constants_are_quantised_with_halves_to_even(void **state)
{
    (void)state;
    static const float numbers[6] = {0.5f, 1.5f, 2.5f, -0.5f, 1000.0f, -1000.0f};
    onnx_model_begin(&model, 13);
    onnx_model_floats(&model, "x", INTS(6), numbers);
    scalar("s", 1.0f);
    zero_point("z", ONNX_INT8, 10);
    onnx_model_node(&model, "QuantizeLinear", "x,s,z", "q");
    onnx_model_node(&model, "DequantizeLinear", "q,s,z", "y");
    onnx_model_output(&model, "y");
    NUMBERS(imported(), 0, 2, 2, 0, 117, -138);
}

/* ---- refused ---- */

static void parameters_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const float bad[3] = {-1.0f, NAN, INFINITY};
    begin_conv(ONNX_INT8, codes);
    onnx_model_floats(&model, "s", INTS(3), ramp);
    end_conv("w,s", 0);
    refused(MTS_STATUS_MALFORMED, "3 scales and 0 zero points do not fit dimension 0");
    onnx_model_end(&model);
    begin_conv(ONNX_INT8, codes);
    onnx_model_floats(&model, "s", INTS(2), ramp + 1);
    zero_point("z", ONNX_INT8, 0);
    end_conv("w,s,z", 0);
    refused(MTS_STATUS_MALFORMED, "2 scales and 1 zero points");
    for (int i = 0; i < 3; i++) {
        onnx_model_end(&model);
        begin_conv(ONNX_INT8, codes);
        scalar("s", bad[i]);
        end_conv("w,s", 0);
        refused(MTS_STATUS_MALFORMED, "of channel 0 is out of range");
    }
    onnx_model_end(&model);
    begin_conv(ONNX_INT8, codes);
    scalar("s", 1.0f);
    static const int32_t far = 1 << 30;
    onnx_model_tensor(&model, "z", ONNX_INT32, 0, NULL, &far, 4);
    end_conv("w,s,z", 0);
    refused(MTS_STATUS_MALFORMED, "zero point 1073741824");
    onnx_model_end(&model);
    begin_conv(ONNX_INT8, codes);
    onnx_model_floats(&model, "s", INTS(2), ramp + 1);
    end_conv("w,s", 7);
    refused(MTS_STATUS_MALFORMED, "axis 7");
}

static void blocks_and_narrow_types_are_refused_by_name(void **state)
{
    (void)state;
    begin_conv(ONNX_INT8, codes);
    onnx_model_floats(&model, "s", INTS(2, 1, 1, 2), ramp + 1);
    onnx_model_node(&model, "DequantizeLinear", "w,s", "wf");
    onnx_model_attr_int(&model, "block_size", 2);
    onnx_model_node(&model, "Conv", "x,wf", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_UNSUPPORTED, "(DequantizeLinear, opset 21): quantisation in blocks (block_size 2)");
    onnx_model_end(&model);
    onnx_model_begin(&model, 21);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
    scalar("s", 1.0f);
    onnx_model_node(&model, "QuantizeLinear", "x,s", "y");
    onnx_model_attr_int(&model, "output_dtype", 22);
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_UNSUPPORTED, "quantisation to int4");
    onnx_model_end(&model);
    onnx_model_begin(&model, 21);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
    scalar("s", 1.0f);
    onnx_model_node(&model, "QuantizeLinear", "x,s", "y");
    onnx_model_attr_int(&model, "output_dtype", ONNX_INT64);
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_UNSUPPORTED, "quantisation to int64");
}

/* ---- damage ---- */

static const onnx_bytes *sample(void)
{
    static const float scales[2] = {0.5f, 0.25f};
    begin_conv(ONNX_INT8, codes);
    onnx_model_floats(&model, "s", INTS(2), scales);
    scalar("t", 0.5f);
    zero_point("z", ONNX_INT8, 3);
    onnx_model_node(&model, "QuantizeLinear", "x,t,z", "q");
    onnx_model_node(&model, "DequantizeLinear", "q,t,z", "r");
    onnx_model_node(&model, "DequantizeLinear", "w,s", "wf");
    onnx_model_attr_int(&model, "axis", 0);
    onnx_model_node(&model, "Conv", "r,wf", "v");
    onnx_model_node(&model, "QuantizeLinear", "v,t", "y");
    onnx_model_output(&model, "y");
    return onnx_model_file(&model);
}

static void a_flipped_bit_never_does_more_than_fail(void **state)
{
    (void)state;
    const onnx_bytes *file = sample();
    unsigned char *copy = malloc(file->size);
    options.bytes_most = 1 << 20;
    for (size_t i = 0; i < file->size * 8; i++) {
        mts_graph *graph = NULL;
        memcpy(copy, file->data, file->size);
        copy[i / 8] ^= (unsigned char)(1u << i % 8);
        const mts_status got =
            mts_import_memory(copy, file->size, "bad.onnx", &options, &arena, &graph, &error);
        assert_true((got == MTS_STATUS_OK) == (graph != NULL));
        mts_arena_release(&arena);
        mts_arena_init(&arena, mts_allocator_default());
    }
    free(copy);
}

static void each_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    onnx_bytes file = *sample();
    fault_each_import(file.data, file.size);
}

/* An int8 constant is a weight only; a scale must have a number for each channel. */
static void graphs_with_misplaced_int8_are_refused(void **state)
{
    (void)state;
    static const float scales[2] = {0.5f, 0.25f};
    begin_conv(ONNX_INT8, codes);
    onnx_model_floats(&model, "s", INTS(2), scales);
    end_conv("w,s", 0);
    mts_graph *graph = imported();
    const mts_node *conv = node_of(graph, MTS_OP_CONV, 0);
    mts_value *scale = &graph->values[conv->inputs[2]];
    scale->dtype = MTS_TYPE_INT8;
    assert_int_equal(mts_graph_verify(graph, &error), MTS_STATUS_MALFORMED);
    assert_non_null(strstr(error.text, "may not be of type int8"));
    scale->dtype = MTS_TYPE_FLOAT32;
    scale->shape.dims[0] = 1;
    assert_int_not_equal(mts_graph_verify(graph, &error), MTS_STATUS_OK);
    scale->shape.dims[0] = 2;
    graph->values[conv->inputs[1]].dtype = MTS_TYPE_UINT8;
    assert_int_equal(mts_graph_verify(graph, &error), MTS_STATUS_MALFORMED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(constants_with_run_time_scales_are_read_as_their_own_type),
        TEST(weights_stay_int8_and_their_scales_multiply_channels),
        TEST(zero_points_are_subtracted_before_weights_are_stored),
        TEST(scales_along_inputs_are_multiplied_in),
        TEST(columns_of_a_product_have_scales_of_their_own),
        TEST(equal_codes_are_stored_once_whatever_their_scales),
        TEST(extremes_are_rounded_once),
        TEST(quantising_ends_a_convolution_and_makes_its_relu_needless),
        TEST(other_parameters_dequantise_the_integers),
        TEST(integers_are_an_output_of_their_type),
        TEST(constants_are_quantised_with_halves_to_even),
        TEST(parameters_that_do_not_fit_are_refused),
        TEST(blocks_and_narrow_types_are_refused_by_name),
        TEST(a_flipped_bit_never_does_more_than_fail),
        TEST(each_failing_allocation_is_reported_and_leaks_nothing),
        TEST(graphs_with_misplaced_int8_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
