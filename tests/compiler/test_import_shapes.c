/*
 * test_import_shapes.c: shapes, constants, inputs and outputs of imported models.
 */
#include "import_fixture.h"

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

/* Networks with standardised weights normalise them so. */
static void a_normalisation_of_a_constant_is_computed(void **state)
{
    (void)state;
    const float scale[2] = {2, 3}, bias[2] = {1, -1}, mean[2] = {0, 1}, variance[2] = {1, 4};
    onnx_model_begin(&model, 15);
    onnx_model_floats(&model, "x", INTS(1, 2, 2), ramp);
    onnx_model_floats(&model, "s", INTS(2), scale);
    onnx_model_floats(&model, "b", INTS(2), bias);
    onnx_model_floats(&model, "m", INTS(2), mean);
    onnx_model_floats(&model, "v", INTS(2), variance);
    onnx_model_node(&model, "BatchNormalization", "x,s,b,m,v", "y");
    onnx_model_attr_float(&model, "epsilon", 0);
    onnx_model_output(&model, "y");
    NUMBERS(imported(), 1, 3, 0.5, 2);
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
        TEST(dropout_and_identity_leave_no_node),
        TEST(casts_of_run_time_values_truncate_or_test),
        TEST(reshapes_know_zero_and_minus_one),
        TEST(shape_arithmetic_is_folded_away),
        TEST(slices_clamp_and_run_backwards),
        TEST(split_takes_parts_from_attribute_input_or_evenly),
        TEST(integers_are_computed_as_integers),
        TEST(ranges_comparisons_and_choices_are_constants),
        TEST(transposes_expands_and_tiles_of_constants_are_computed),
        TEST(a_normalisation_of_a_constant_is_computed),
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
