/*
 * test_import.c: layers of imported models: convolutions, pools, products, normalisations, activations.
 */
#include "import_fixture.h"

/* ---- convolutions and pools ---- */

static void begin_conv(int64_t opset, int rank, const int64_t *x, const int64_t *weight)
{
    onnx_model_begin(&model, opset);
    onnx_model_input(&model, "x", ONNX_FLOAT, rank, x);
    onnx_model_floats(&model, "w", rank, weight, ramp);
    onnx_model_node(&model, "Conv", "x,w", "y");
}

static void conv_without_kernel_shape_takes_it_from_the_weight(void **state)
{
    (void)state;
    begin_conv(11, 4, DIMS(1, 2, 7, 9), DIMS(4, 2, 3, 5));
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_int_equal(graph->node_count, 1);
    assert_int_equal(graph->nodes[0].attrs.conv.kernel[0], 3);
    assert_int_equal(graph->nodes[0].attrs.conv.kernel[1], 5);
    assert_shape(&graph->outputs[0].shape, INTS(1, 4, 5, 5));
    assert_string_equal(graph->outputs[0].name, "y");
    assert_string_equal(graph->nodes[0].name, "Conv_y");
}

static void auto_pad_puts_the_odd_element_where_it_says(void **state)
{
    (void)state;
    static const char *const modes[] = {"SAME_UPPER", "SAME_LOWER", "VALID"};
    static const int32_t pads[3][4] = {{0, 1, 1, 1}, {1, 1, 0, 1}, {0, 0, 0, 0}};
    for (int i = 0; i < 3; i++) {
        begin_conv(11, 4, DIMS(1, 1, 6, 5), DIMS(1, 1, 3, 3));
        onnx_model_attr_ints(&model, "strides", INTS(2, 2));
        onnx_model_attr_text(&model, "auto_pad", modes[i]);
        onnx_model_output(&model, "y");
        const mts_graph *graph = imported();
        assert_memory_equal(graph->nodes[0].attrs.conv.pad, pads[i], sizeof(pads[i]));
        onnx_model_end(&model);
    }
}

static void one_dimensional_convolutions_get_a_height_of_one(void **state)
{
    (void)state;
    begin_conv(11, 3, DIMS(2, 4, 10), DIMS(6, 2, 3));
    onnx_model_attr_int(&model, "group", 2);
    onnx_model_attr_ints(&model, "pads", INTS(1, 2));
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    const mts_node *conv = node_of(graph, MTS_OP_CONV, 0);
    assert_shape(&graph->outputs[0].shape, INTS(2, 6, 11));
    assert_shape(&graph->values[conv->inputs[1]].shape, INTS(6, 2, 1, 3));
    const int32_t pads[4] = {0, 1, 0, 2};
    assert_memory_equal(conv->attrs.conv.pad, pads, sizeof(pads));
}

static void three_spatial_dimensions_are_refused_with_node_operator_and_opset(void **state)
{
    (void)state;
    begin_conv(11, 5, DIMS(1, 1, 4, 4, 4), DIMS(1, 1, 2, 2, 2));
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_UNSUPPORTED, "node 'Conv_y' (Conv, opset 11)");
}

static void a_weight_that_is_no_constant_is_refused(void **state)
{
    (void)state;
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 1, 4, 4));
    onnx_model_input(&model, "w", ONNX_FLOAT, INTS(1, 1, 2, 2));
    onnx_model_node(&model, "Conv", "x,w", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_UNSUPPORTED, "the weight must be a constant");
    const mts_host_tensor weight = {"w", MTS_TYPE_FLOAT32, {4, {1, 1, 2, 2}}, ramp};
    options.bindings = &weight;
    options.binding_count = 1;
    const mts_graph *graph = imported(); /* bound, it is one */
    assert_int_equal(graph->input_count, 1);
}

static void begin_rate(void)
{
    onnx_model_end(&model);
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
    onnx_model_input(&model, "rate", ONNX_INT64, INTS(1));
    onnx_model_node(&model, "Cast", "rate", "f");
    onnx_model_attr_int(&model, "to", ONNX_FLOAT);
    onnx_model_node(&model, "Mul", "x,f", "y");
    onnx_model_output(&model, "y");
}

static void an_input_with_a_value_becomes_a_constant(void **state)
{
    (void)state;
    mts_import_number number = {"rate", 16000};
    options.numbers = &number;
    options.number_count = 1;
    begin_rate();
    const mts_graph *graph = imported();
    assert_int_equal(graph->input_count, 1);
    assert_string_equal(graph->inputs[0].name, "x");
    number.number = 0.5;
    begin_rate();
    refused(MTS_STATUS_INVALID_ARGUMENT, "the value 0.5 of an input of type int64 is no whole number");
    number = (mts_import_number){"pitch", 1};
    begin_rate();
    refused(MTS_STATUS_INVALID_ARGUMENT, "there is no input 'pitch' to give a value to");
}

static void float16_weights_stay_float16_and_the_border_says_so(void **state)
{
    (void)state;
    const uint16_t halves[4] = {0x3c00, 0x4000, 0x4200, 0x4400};
    onnx_model_begin(&model, 7);
    onnx_model_input(&model, "x", ONNX_FLOAT16, INTS(1, 1, 4, 4));
    onnx_model_tensor(&model, "w", ONNX_FLOAT16, INTS(1, 1, 2, 2), halves, sizeof(halves));
    onnx_model_tensor(&model, "b", ONNX_FLOAT16, INTS(1), halves + 1, 2);
    onnx_model_node(&model, "Conv", "x,w,b", "y");
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    float numbers[4];
    assert_int_equal(graph->inputs[0].dtype, MTS_TYPE_FLOAT16);
    assert_int_equal(graph->outputs[0].dtype, MTS_TYPE_FLOAT16);
    assert_int_equal(graph->values[graph->nodes[0].inputs[1]].dtype, MTS_TYPE_FLOAT16);
    assert_int_equal(graph->values[graph->nodes[0].inputs[3]].dtype, MTS_TYPE_FLOAT32);
    mts_value_read_f32(&graph->values[graph->nodes[0].inputs[1]], numbers);
    assert_true(numbers[3] == 4.0f);
    mts_value_read_f32(&graph->values[graph->nodes[0].inputs[3]], numbers);
    assert_true(numbers[0] == 2.0f);
}

static void pools_keep_ceil_mode_and_whether_padding_counts(void **state)
{
    (void)state;
    onnx_model_begin(&model, 10);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 3, 8, 8));
    onnx_model_node(&model, "MaxPool", "x", "a");
    onnx_model_attr_ints(&model, "kernel_shape", INTS(3, 3));
    onnx_model_attr_ints(&model, "strides", INTS(2, 2));
    onnx_model_attr_int(&model, "ceil_mode", 1);
    onnx_model_node(&model, "AveragePool", "a", "y");
    onnx_model_attr_ints(&model, "kernel_shape", INTS(3, 3));
    onnx_model_attr_ints(&model, "pads", INTS(0, 0, 1, 1));
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_int_equal(graph->nodes[0].attrs.pool.kind, MTS_POOL_MAX);
    assert_int_equal(graph->nodes[0].attrs.pool.ceil, 1);
    assert_int_equal(graph->nodes[1].attrs.pool.kind, MTS_POOL_AVG);
    assert_int_equal(graph->nodes[1].attrs.pool.include_pad, 0);
    assert_shape(&graph->outputs[0].shape, INTS(1, 3, 3, 3));
}

static void the_indices_of_max_pool_are_refused_only_if_read(void **state)
{
    (void)state;
    for (int read = 0; read < 2; read++) {
        onnx_model_begin(&model, 12);
        onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 1, 4, 4));
        onnx_model_node(&model, "MaxPool", "x", "y,z");
        onnx_model_attr_ints(&model, "kernel_shape", INTS(2, 2));
        onnx_model_output(&model, "y");
        if (read) {
            onnx_model_output(&model, "z");
            refused(MTS_STATUS_UNSUPPORTED, "indices");
        } else {
            (void)imported();
        }
        onnx_model_end(&model);
    }
}

/* ---- matrices ---- */

static void gemm(int64_t trans_b, const int64_t *b, float alpha, float beta)
{
    onnx_model_begin(&model, 9);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2, 3));
    onnx_model_floats(&model, "b", 2, b, ramp + 1);
    onnx_model_floats(&model, "c", 1, DIMS(2), ramp + 1);
    onnx_model_node(&model, "Gemm", "x,b,c", "y");
    onnx_model_attr_int(&model, "transB", trans_b);
    onnx_model_attr_float(&model, "alpha", alpha);
    onnx_model_attr_float(&model, "beta", beta);
    onnx_model_output(&model, "y");
}

static void gemm_becomes_a_convolution_with_the_same_weights_either_way_round(void **state)
{
    (void)state;
    float numbers[6];
    for (int64_t trans = 0; trans < 2; trans++) {
        gemm(trans, trans ? DIMS(2, 3) : DIMS(3, 2), 0.5f, 2.0f);
        const mts_graph *graph = imported();
        const mts_node *conv = node_of(graph, MTS_OP_CONV, 0);
        const mts_value *weight = &graph->values[conv->inputs[1]];
        assert_shape(&weight->shape, INTS(2, 3, 1, 1));
        assert_shape(&graph->outputs[0].shape, INTS(2, 2));
        mts_value_read_f32(weight, numbers);
        assert_true(numbers[1] == (trans ? 2.0f : 3.0f)); /* not multiplied by alpha: that is the scale */
        mts_value_read_f32(&graph->values[conv->inputs[2]], numbers);
        assert_true(numbers[0] == 0.5f && numbers[1] == 0.5f);
        mts_value_read_f32(&graph->values[conv->inputs[3]], numbers);
        assert_true(numbers[0] == 2.0f && numbers[1] == 4.0f);
        onnx_model_end(&model);
    }
}

static void products_of_vectors_lose_the_dimension_again(void **state)
{
    (void)state;
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "a", ONNX_FLOAT, INTS(5, 3, 4));
    onnx_model_input(&model, "b", ONNX_FLOAT, INTS(4));
    onnx_model_node(&model, "MatMul", "a,b", "y");
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_shape(&graph->outputs[0].shape, INTS(5, 3));
    assert_shape(&graph->values[node_of(graph, MTS_OP_MATMUL, 0)->inputs[1]].shape, INTS(4, 1));
}

/* ---- normalisation, activations ---- */

static void batch_norm_becomes_scale_and_bias_beside_the_weights(void **state)
{
    (void)state;
    const float scale[2] = {2, 3}, bias[2] = {1, 1}, mean[2] = {4, 5}, variance[2] = {3, 8};
    float numbers[2];
    onnx_model_begin(&model, 9);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 2));
    onnx_model_floats(&model, "s", INTS(2), scale);
    onnx_model_floats(&model, "b", INTS(2), bias);
    onnx_model_floats(&model, "m", INTS(2), mean);
    onnx_model_floats(&model, "v", INTS(2), variance);
    onnx_model_node(&model, "BatchNormalization", "x,s,b,m,v", "y");
    onnx_model_attr_float(&model, "epsilon", 1.0f);
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_int_equal(graph->nodes[0].op, MTS_OP_SCALE);
    mts_value_read_f32(&graph->values[graph->nodes[0].inputs[1]], numbers);
    assert_true(numbers[0] == 1.0f && numbers[1] == 1.0f); /* 2 / sqrt(4), 3 / sqrt(9) */
    mts_value_read_f32(&graph->values[graph->nodes[0].inputs[2]], numbers);
    assert_true(numbers[0] == -3.0f && numbers[1] == -4.0f);
}

static void softmax_flattens_before_opset_13_and_not_after(void **state)
{
    (void)state;
    for (int64_t opset = 12; opset < 14; opset++) {
        onnx_model_begin(&model, opset);
        onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2, 3, 4));
        onnx_model_node(&model, "Softmax", "x", "y");
        onnx_model_attr_int(&model, "axis", 1);
        onnx_model_output(&model, "y");
        const mts_graph *graph = imported();
        const mts_node *softmax = node_of(graph, MTS_OP_SOFTMAX, 0);
        if (opset == 12) {
            assert_shape(&graph->values[softmax->output].shape, INTS(2, 12));
        } else {
            assert_shape(&graph->values[softmax->output].shape, INTS(2, 3, 4));
        }
        assert_int_equal(softmax->attrs.softmax.axis, 1);
        assert_shape(&graph->outputs[0].shape, INTS(2, 3, 4));
        onnx_model_end(&model);
    }
}

static void clip_takes_bounds_from_attributes_or_inputs(void **state)
{
    (void)state;
    onnx_model_begin(&model, 6);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(4));
    onnx_model_node(&model, "Clip", "x", "y");
    onnx_model_attr_float(&model, "max", 6.0f);
    onnx_model_attr_float(&model, "min", 0.0f);
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_true(graph->nodes[0].attrs.unary.act.a == 0.0f && graph->nodes[0].attrs.unary.act.b == 6.0f);
    onnx_model_end(&model);
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(4));
    onnx_model_floats(&model, "max", 0, NULL, ramp + 6);
    onnx_model_node(&model, "Clip", "x,,max", "y");
    onnx_model_output(&model, "y");
    graph = imported();
    assert_true(graph->nodes[0].attrs.unary.act.a < -1e38f && graph->nodes[0].attrs.unary.act.b == 6.0f);
}

static void a_slope_of_rank_one_may_mean_the_channels(void **state)
{
    (void)state;
    onnx_model_begin(&model, 9);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 3, 4, 5));
    onnx_model_floats(&model, "s", INTS(3), ramp);
    onnx_model_node(&model, "PRelu", "x,s", "y");
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_int_equal(graph->nodes[0].attrs.binary.kind, MTS_BIN_PRELU);
    assert_shape(&graph->values[graph->nodes[0].inputs[1]].shape, INTS(3, 1, 1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(conv_without_kernel_shape_takes_it_from_the_weight),
        TEST(auto_pad_puts_the_odd_element_where_it_says),
        TEST(one_dimensional_convolutions_get_a_height_of_one),
        TEST(three_spatial_dimensions_are_refused_with_node_operator_and_opset),
        TEST(a_weight_that_is_no_constant_is_refused),
        TEST(an_input_with_a_value_becomes_a_constant),
        TEST(float16_weights_stay_float16_and_the_border_says_so),
        TEST(pools_keep_ceil_mode_and_whether_padding_counts),
        TEST(the_indices_of_max_pool_are_refused_only_if_read),
        TEST(gemm_becomes_a_convolution_with_the_same_weights_either_way_round),
        TEST(products_of_vectors_lose_the_dimension_again),
        TEST(batch_norm_becomes_scale_and_bias_beside_the_weights),
        TEST(softmax_flattens_before_opset_13_and_not_after),
        TEST(clip_takes_bounds_from_attributes_or_inputs),
        TEST(a_slope_of_rank_one_may_mean_the_channels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
