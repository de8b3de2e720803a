/*
 * The ONNX importer on hand-made models: how operators are lowered, what is folded, what is refused and how.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/import/import.h"
#include "support/onnx_model.h"

#define DIMS(...)                                                                                            \
    (const int64_t[])                                                                                        \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define COUNT(...) (int)(sizeof(DIMS(__VA_ARGS__)) / sizeof(int64_t))
#define INTS(...) COUNT(__VA_ARGS__), DIMS(__VA_ARGS__)

static mts_arena arena;
static mts_error error;
static onnx_model model;
static mts_import_options options;
static float ramp[1024];

static int set_up(void **state)
{
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    error = (mts_error){0};
    options = mts_import_options_default();
    for (int i = 0; i < 1024; i++) {
        ramp[i] = (float)i;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    onnx_model_end(&model);
    mts_arena_release(&arena);
    return 0;
}

static mts_status import_model(mts_graph **graph)
{
    const onnx_bytes *file = onnx_model_file(&model);
    return mts_import_memory(file->data, file->size, "hand.onnx", &options, &arena, graph, &error);
}

static mts_graph *imported(void)
{
    mts_graph *graph = NULL;
    mts_status code = import_model(&graph);
    if (code != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(mts_graph_verify(graph, &error), MTS_STATUS_OK);
    return graph;
}

static void refused(mts_status code, const char *part)
{
    mts_graph *graph = (mts_graph *)&arena;
    assert_int_equal(import_model(&graph), code);
    assert_null(graph);
    assert_int_equal(strncmp(error.text, "hand.onnx: ", 11), 0);
    if (!strstr(error.text, part)) {
        fail_msg("'%s' does not tell '%s'", error.text, part);
    }
}

static void assert_shape(const mts_shape *shape, int rank, const int64_t *dims)
{
    char a[96], b[96];
    const mts_shape wanted = mts_shape_make((uint32_t)rank, dims);
    assert_string_equal(mts_shape_text(shape, a, sizeof(a)), mts_shape_text(&wanted, b, sizeof(b)));
}

/* The first output is a constant of these numbers. */
static void assert_numbers(const mts_graph *graph, int count, const double *numbers)
{
    float out[1024];
    const mts_value *value = &graph->values[graph->outputs[0].value];
    assert_int_equal(value->kind, MTS_VALUE_CONST);
    assert_int_equal(mts_shape_count(&value->shape), count);
    mts_value_read_f32(value, out);
    for (int i = 0; i < count; i++) {
        if (out[i] < (float)numbers[i] || out[i] > (float)numbers[i]) {
            fail_msg("element %d is %g, not %g", i, (double)out[i], numbers[i]);
        }
    }
}
#define NUMBERS(graph, ...)                                                                                  \
    assert_numbers(graph, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)),                           \
                   (const double[]){__VA_ARGS__})

static const mts_node *node_of(const mts_graph *graph, mts_op op, uint32_t index)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i].op == op && index-- == 0) {
            return &graph->nodes[i];
        }
    }
    fail_msg("there is no such %s node", mts_op_name(op));
    return NULL;
}

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

static void dropout_and_identity_leave_no_node(void **state)
{
    (void)state;
    onnx_model_begin(&model, 12);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(4));
    onnx_model_node(&model, "Relu", "x", "a");
    onnx_model_node(&model, "Dropout", "a", "b,mask");
    onnx_model_node(&model, "Identity", "b", "y");
    onnx_model_node(&model, "NoSuchOperator", "x", "unused");
    onnx_model_output(&model, "y");
    assert_int_equal(imported()->node_count, 1); /* an operator that no output needs is not even looked at */
}

static void casts_of_run_time_values_truncate_or_test(void **state)
{
    (void)state;
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_UINT8, INTS(4));
    onnx_model_node(&model, "Cast", "x", "f");
    onnx_model_attr_int(&model, "to", ONNX_FLOAT);
    onnx_model_node(&model, "Sqrt", "f", "g");
    onnx_model_node(&model, "Cast", "g", "y");
    onnx_model_attr_int(&model, "to", ONNX_INT64);
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_int_equal(graph->node_count, 2); /* uint8 to float happens at the border */
    assert_int_equal(graph->inputs[0].dtype, MTS_TYPE_UINT8);
    assert_int_equal(graph->nodes[1].attrs.unary.act.fn, MTS_FN_TRUNC);
    assert_int_equal(graph->outputs[0].dtype, MTS_TYPE_INT64);
}

/* ---- shapes, constants ---- */

static void reshapes_know_zero_and_minus_one(void **state)
{
    (void)state;
    onnx_model_begin(&model, 14);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2, 3, 4));
    onnx_model_ints(&model, "s", INTS(0, -1, 2));
    onnx_model_node(&model, "Reshape", "x,s", "y");
    onnx_model_output(&model, "y");
    assert_shape(&imported()->outputs[0].shape, INTS(2, 6, 2));
    onnx_model_end(&model);
    onnx_model_begin(&model, 14);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2, 3, 4));
    onnx_model_ints(&model, "s", INTS(5, -1));
    onnx_model_node(&model, "Reshape", "x,s", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "do not fill");
}

static void shape_arithmetic_is_folded_away(void **state)
{
    (void)state;
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2, 3, 4, 5));
    onnx_model_ints(&model, "zero", INTS(0));
    onnx_model_ints(&model, "minus", INTS(-1));
    onnx_model_node(&model, "Shape", "x", "shape");
    onnx_model_node(&model, "Gather", "shape,zero", "first");
    onnx_model_node(&model, "Cast", "first", "float");
    onnx_model_attr_int(&model, "to", ONNX_FLOAT);
    onnx_model_node(&model, "Floor", "float", "floor");
    onnx_model_node(&model, "Cast", "floor", "int");
    onnx_model_attr_int(&model, "to", ONNX_INT64);
    onnx_model_node(&model, "Concat", "int,minus", "new");
    onnx_model_attr_int(&model, "axis", 0);
    onnx_model_node(&model, "Reshape", "x,new", "y");
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_int_equal(graph->node_count, 1);
    assert_shape(&graph->outputs[0].shape, INTS(2, 60));
}

static void slice_constant(int64_t start, int64_t end, int64_t step)
{
    onnx_model_begin(&model, 13);
    onnx_model_floats(&model, "x", INTS(6), ramp);
    onnx_model_ints(&model, "s", INTS(start));
    onnx_model_ints(&model, "e", INTS(end));
    onnx_model_ints(&model, "a", INTS(-1));
    onnx_model_ints(&model, "t", INTS(step));
    onnx_model_node(&model, "Slice", "x,s,e,a,t", "y");
    onnx_model_output(&model, "y");
}

static void slices_clamp_and_run_backwards(void **state)
{
    (void)state;
    slice_constant(1, INT64_MAX, 2);
    NUMBERS(imported(), 1, 3, 5);
    onnx_model_end(&model);
    slice_constant(-1, INT64_MIN, -1);
    NUMBERS(imported(), 5, 4, 3, 2, 1, 0);
    onnx_model_end(&model);
    slice_constant(INT64_MAX, 0, -2);
    NUMBERS(imported(), 5, 3, 1);
    onnx_model_end(&model);
    slice_constant(-100, -4, 1);
    NUMBERS(imported(), 0, 1);
    onnx_model_end(&model);
    slice_constant(0, 6, INT64_MIN);
    refused(MTS_STATUS_MALFORMED, "output 'y'"); /* nothing is left */
    onnx_model_end(&model);
    slice_constant(0, 6, 0);
    refused(MTS_STATUS_MALFORMED, "step");
}

static void split_takes_parts_from_attribute_input_or_evenly(void **state)
{
    (void)state;
    for (int form = 0; form < 3; form++) {
        onnx_model_begin(&model, form == 1 ? 13 : 11);
        onnx_model_floats(&model, "x", INTS(6), ramp);
        onnx_model_ints(&model, "p", INTS(2, 4));
        onnx_model_node(&model, "Split", form == 1 ? "x,p" : "x", "a,y");
        if (form == 0) {
            onnx_model_attr_ints(&model, "split", INTS(2, 4));
        }
        onnx_model_output(&model, "y");
        const mts_graph *graph = imported();
        if (form == 2) {
            NUMBERS(graph, 3, 4, 5);
        } else {
            NUMBERS(graph, 2, 3, 4, 5);
        }
        onnx_model_end(&model);
    }
}

static void integers_are_computed_as_integers(void **state)
{
    (void)state;
    onnx_model_begin(&model, 13);
    onnx_model_ints(&model, "a", INTS(7, -7, 5, 9007199254740993));
    onnx_model_ints(&model, "b", INTS(2, 2, 0, 9007199254740992));
    onnx_model_node(&model, "Sub", "a,b", "d");
    onnx_model_node(&model, "Div", "a,b", "q");
    onnx_model_node(&model, "Add", "d,q", "y");
    onnx_model_output(&model, "y");
    NUMBERS(imported(), 5 + 3, -9 - 3, 5 + 0, 1 + 1);
}

static void ranges_comparisons_and_choices_are_constants(void **state)
{
    (void)state;
    const float two[1] = {2};
    onnx_model_begin(&model, 13);
    onnx_model_floats(&model, "start", 0, NULL, ramp);
    onnx_model_floats(&model, "limit", 0, NULL, ramp + 5);
    onnx_model_floats(&model, "delta", 0, NULL, ramp + 1);
    onnx_model_floats(&model, "two", INTS(1), two);
    onnx_model_node(&model, "Range", "start,limit,delta", "r");
    onnx_model_node(&model, "Greater", "r,two", "more");
    onnx_model_node(&model, "Where", "more,r,two", "y");
    onnx_model_output(&model, "y");
    NUMBERS(imported(), 2, 2, 2, 3, 4);
}

static void transposes_expands_and_tiles_of_constants_are_computed(void **state)
{
    (void)state;
    onnx_model_begin(&model, 13);
    onnx_model_floats(&model, "x", INTS(2, 2), ramp);
    onnx_model_ints(&model, "repeats", INTS(1, 2));
    onnx_model_ints(&model, "shape", INTS(2, 1, 1));
    onnx_model_node(&model, "Transpose", "x", "t");
    onnx_model_node(&model, "Tile", "t,repeats", "u");
    onnx_model_node(&model, "Expand", "u,shape", "y");
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_shape(&graph->outputs[0].shape, INTS(2, 2, 4));
    NUMBERS(graph, 0, 2, 0, 2, 1, 3, 1, 3, 0, 2, 0, 2, 1, 3, 1, 3);
}

static void resize_reads_scales_or_sizes_and_upsample_is_asymmetric(void **state)
{
    (void)state;
    const float scales[4] = {1, 1, 2, 3};
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 2, 4, 5));
    onnx_model_ints(&model, "sizes", INTS(1, 2, 8, 7));
    onnx_model_node(&model, "Resize", "x,,,sizes", "y");
    onnx_model_attr_text(&model, "mode", "linear");
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_shape(&graph->outputs[0].shape, INTS(1, 2, 8, 7));
    assert_int_equal(graph->nodes[0].attrs.resize.coord, MTS_COORD_HALF_PIXEL);
    onnx_model_end(&model);
    onnx_model_begin(&model, 9);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 2, 4, 5));
    onnx_model_floats(&model, "scales", INTS(4), scales);
    onnx_model_node(&model, "Upsample", "x,scales", "y");
    onnx_model_output(&model, "y");
    graph = imported();
    assert_shape(&graph->outputs[0].shape, INTS(1, 2, 8, 15));
    assert_int_equal(graph->nodes[0].attrs.resize.coord, MTS_COORD_ASYMMETRIC);
    assert_int_equal(graph->nodes[0].attrs.resize.round, MTS_ROUND_FLOOR);
}

/* ---- inputs ---- */

static void open_dimensions_are_given_by_the_caller(void **state)
{
    (void)state;
    mts_import_shape shape = {NULL, {4, {1, 3, 16, 24}}};
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(-1, 3, -1, -1));
    onnx_model_node(&model, "Relu", "x", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_INVALID_ARGUMENT, "input 'x': dimension 2 is open");
    options.shapes = &shape;
    options.shape_count = 1;
    assert_shape(&imported()->outputs[0].shape, INTS(1, 3, 16, 24));
    shape.input = "x";
    assert_shape(&imported()->outputs[0].shape, INTS(1, 3, 16, 24));
    shape.shape.dims[1] = 4;
    refused(MTS_STATUS_INVALID_ARGUMENT, "dimension 1 is 3 in the model, 4 was given");
    shape.input = "z";
    refused(MTS_STATUS_INVALID_ARGUMENT, "dimension 2 is open");
    shape = (mts_import_shape){"x", {4, {1, 3, 0, 24}}};
    refused(MTS_STATUS_MALFORMED, "not positive");
}

static void a_batch_of_one_is_another_if_the_caller_says_so_and_the_graph_allows(void **state)
{
    (void)state;
    mts_import_shape shape = {NULL, {2, {4, 5}}};
    static float weights[25];
    options.shapes = &shape;
    options.shape_count = 1;
    for (int fixed = 0; fixed < 2; fixed++) {
        onnx_model_begin(&model, 11);
        onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 5));
        if (fixed) {
            onnx_model_ints(&model, "rows", INTS(1, -1));
        } else {
            onnx_model_ints(&model, "rows", INTS(-1, 5));
        }
        onnx_model_floats(&model, "w", INTS(5, 5), weights);
        onnx_model_node(&model, "Reshape", "x,rows", "r");
        onnx_model_node(&model, "MatMul", "r,w", "y");
        onnx_model_output(&model, "y");
        if (fixed) {
            refused(MTS_STATUS_MALFORMED, "MatMul");
        } else {
            assert_shape(&imported()->outputs[0].shape, INTS(4, 5));
        }
        onnx_model_end(&model);
    }
}

static void an_open_batch_becomes_one(void **state)
{
    (void)state;
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(-1, 7));
    onnx_model_node(&model, "Relu", "x", "y");
    onnx_model_output(&model, "y");
    assert_shape(&imported()->outputs[0].shape, INTS(1, 7));
}

static void initialisers_listed_as_inputs_are_constants(void **state)
{
    (void)state;
    onnx_model_begin(&model, 8);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2));
    onnx_model_input(&model, "c", ONNX_FLOAT, INTS(2));
    onnx_model_floats(&model, "c", INTS(2), ramp);
    onnx_model_node(&model, "Add", "x,c", "y");
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_int_equal(graph->input_count, 1);
    assert_int_equal(graph->values[graph->nodes[0].inputs[1]].kind, MTS_VALUE_CONST);
}

static void nodes_may_come_in_any_order(void **state)
{
    (void)state;
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2));
    onnx_model_node(&model, "Neg", "a", "y");
    onnx_model_node(&model, "Relu", "x", "a");
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_int_equal(graph->nodes[0].attrs.unary.act.fn, MTS_FN_RELU);
    assert_int_equal(graph->nodes[1].attrs.unary.act.fn, MTS_FN_NEG);
}

static void several_outputs_keep_their_names_and_may_be_inputs(void **state)
{
    (void)state;
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2));
    onnx_model_node(&model, "Relu", "x", "a");
    onnx_model_node(&model, "Neg", "a", "b");
    onnx_model_output(&model, "b");
    onnx_model_output(&model, "a");
    onnx_model_output(&model, "x");
    const mts_graph *graph = imported();
    assert_int_equal(graph->output_count, 3);
    assert_string_equal(graph->outputs[0].name, "b");
    assert_string_equal(graph->values[graph->outputs[1].value].name, "a");
    assert_int_equal(graph->values[graph->outputs[2].value].kind, MTS_VALUE_INPUT);
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
        TEST(float16_weights_stay_float16_and_the_border_says_so),
        TEST(pools_keep_ceil_mode_and_whether_padding_counts),
        TEST(the_indices_of_max_pool_are_refused_only_if_read),
        TEST(gemm_becomes_a_convolution_with_the_same_weights_either_way_round),
        TEST(products_of_vectors_lose_the_dimension_again),
        TEST(batch_norm_becomes_scale_and_bias_beside_the_weights),
        TEST(softmax_flattens_before_opset_13_and_not_after),
        TEST(clip_takes_bounds_from_attributes_or_inputs),
        TEST(a_slope_of_rank_one_may_mean_the_channels),
        TEST(dropout_and_identity_leave_no_node),
        TEST(casts_of_run_time_values_truncate_or_test),
        TEST(reshapes_know_zero_and_minus_one),
        TEST(shape_arithmetic_is_folded_away),
        TEST(slices_clamp_and_run_backwards),
        TEST(split_takes_parts_from_attribute_input_or_evenly),
        TEST(integers_are_computed_as_integers),
        TEST(ranges_comparisons_and_choices_are_constants),
        TEST(transposes_expands_and_tiles_of_constants_are_computed),
        TEST(resize_reads_scales_or_sizes_and_upsample_is_asymmetric),
        TEST(open_dimensions_are_given_by_the_caller),
        TEST(a_batch_of_one_is_another_if_the_caller_says_so_and_the_graph_allows),
        TEST(an_open_batch_becomes_one),
        TEST(initialisers_listed_as_inputs_are_constants),
        TEST(nodes_may_come_in_any_order),
        TEST(several_outputs_keep_their_names_and_may_be_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
