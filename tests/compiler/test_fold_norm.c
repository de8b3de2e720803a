/*
 * test_fold_norm.c: normalisations that exporters write as several nodes become one operator, and export finds its
 * way back.
 */
#include "compiler/emit/onnx.h"
#include "fold_fixture.h"

static float numbers[512];

static int set_up(void **state)
{
    (void)open_model(state);
    for (int i = 0; i < 512; i++) {
        numbers[i] = (float)(i % 11) / 4.0f + 0.25f;
    }
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4, 6, 6));
    onnx_model_floats(&model, "two", 0, NULL, (const float[]){2});
    onnx_model_floats(&model, "one", 0, NULL, (const float[]){1});
    onnx_model_floats(&model, "e", 0, NULL, (const float[]){1e-5f});
    onnx_model_floats(&model, "g", INTS(4, 1, 1), numbers);
    onnx_model_floats(&model, "b", INTS(4, 1, 1), numbers + 9);
    return 0;
}

/* The graph is one normalisation; what it has as scale and bias. */
static void assert_one_norm(uint32_t kind, uint32_t axes, uint32_t groups, bool scale, bool bias)
{
    const mts_node *node = &after->nodes[0];
    assert_int_equal(after->node_count, 1);
    assert_string_equal(mts_op_name(node->op), "norm");
    assert_int_equal(node->attrs.norm.kind, kind);
    assert_int_equal(node->attrs.norm.axes, axes);
    assert_int_equal(node->attrs.norm.groups, groups);
    assert_int_equal(node->input_count > 1 && node->inputs[1] != MTS_NONE, scale);
    assert_int_equal(node->input_count > 2 && node->inputs[2] != MTS_NONE, bias);
}

/* Exports the graph and reads it again: the same normalisation. */
static void assert_export_returns(void)
{
    const mts_node node = after->nodes[0];
    void *data = NULL;
    size_t size = 0;
    assert_int_equal(mts_onnx_export(after, mts_allocator_default(), &data, &size, &error), MTS_STATUS_OK);
    fold_file(data, size);
    mts_alloc_free(mts_allocator_default(), data);
    assert_int_equal(after->node_count, 1);
    assert_string_equal(mts_op_name(after->nodes[0].op), "norm");
    assert_memory_equal(&after->nodes[0].attrs.norm, &node.attrs.norm, sizeof node.attrs.norm);
}

static void reduce_over(const char *op, const char *input, const char *output, int count, const int64_t *axes)
{
    onnx_model_node(&model, op, input, output);
    onnx_model_attr_ints(&model, "axes", count, axes);
}

static void reduce(const char *op, const char *input, const char *output)
{
    reduce_over(op, input, output, INTS(2, 3));
}

/* d = x - mean, v = mean of d^2 */
static void centred(bool power, int count, const int64_t *axes)
{
    reduce_over("ReduceMean", "x", "m", count, axes);
    onnx_model_node(&model, "Sub", "x,m", "d");
    onnx_model_node(&model, power ? "Pow" : "Mul", power ? "d,two" : "d,d", "q");
    reduce_over("ReduceMean", "q", "v", count, axes);
    onnx_model_node(&model, "Add", "v,e", "w");
    onnx_model_node(&model, "Sqrt", "w", "s");
}

static void the_form_of_pytorch_becomes_one_operator(void **state)
{
    (void)state;
    centred(true, INTS(2, 3));
    onnx_model_node(&model, "Div", "d,s", "n");
    onnx_model_node(&model, "Mul", "n,g", "p");
    onnx_model_node(&model, "Add", "b,p", "r");
    onnx_model_node(&model, "Relu", "r", "y");
    onnx_model_output(&model, "y");
    fold();
    assert_one_norm(MTS_NORM_VARIANCE, 12, 1, true, true);
    assert_int_equal(after->nodes[0].attrs.norm.act.fn, MTS_FN_RELU);
}

static void the_form_of_tensorflow_becomes_one_operator(void **state)
{
    (void)state;
    onnx_model_floats(&model, "gamma", INTS(6), numbers);
    onnx_model_floats(&model, "beta", INTS(6), numbers + 9);
    centred(false, INTS(3));
    onnx_model_node(&model, "Reciprocal", "s", "i");
    onnx_model_node(&model, "Mul", "i,gamma", "k");
    onnx_model_node(&model, "Mul", "x,k", "xk");
    onnx_model_node(&model, "Mul", "m,k", "mk");
    onnx_model_node(&model, "Sub", "beta,mk", "c");
    onnx_model_node(&model, "Add", "xk,c", "y");
    onnx_model_output(&model, "y");
    fold();
    assert_one_norm(MTS_NORM_VARIANCE, 8, 1, true, true);
}

static void a_root_mean_square_with_a_reciprocal_becomes_one_operator(void **state)
{
    (void)state;
    onnx_model_node(&model, "Pow", "x,two", "q");
    reduce("ReduceMean", "q", "v");
    onnx_model_node(&model, "Add", "v,e", "w");
    onnx_model_node(&model, "Sqrt", "w", "s");
    onnx_model_node(&model, "Div", "one,s", "i");
    onnx_model_node(&model, "Mul", "x,i", "n");
    onnx_model_node(&model, "Mul", "g,n", "y");
    onnx_model_output(&model, "y");
    fold();
    assert_one_norm(MTS_NORM_RMS, 12, 1, true, false);
    assert_export_returns();
}

static void a_division_by_a_norm_becomes_one_operator(void **state)
{
    (void)state;
    reduce("ReduceL2", "x", "l");
    onnx_model_node(&model, "Clip", "l,e", "w");
    onnx_model_node(&model, "Div", "x,w", "y");
    onnx_model_output(&model, "y");
    fold();
    assert_one_norm(MTS_NORM_L2, 12, 1, false, false);
    assert_export_returns();
}

static void groups_written_as_reshapes_become_one_operator(void **state)
{
    (void)state;
    onnx_model_floats(&model, "ones", INTS(2), (const float[]){1, 1});
    onnx_model_floats(&model, "zeros", INTS(2), (const float[]){0, 0});
    onnx_model_ints(&model, "three", 3, (const int64_t[]){0, 2, -1});
    onnx_model_ints(&model, "four", 4, (const int64_t[]){1, 4, 6, 6});
    onnx_model_node(&model, "Reshape", "x,three", "t");
    onnx_model_node(&model, "InstanceNormalization", "t,ones,zeros", "n");
    onnx_model_node(&model, "Reshape", "n,four", "u");
    onnx_model_node(&model, "Mul", "u,g", "p");
    onnx_model_node(&model, "Add", "p,b", "y");
    onnx_model_output(&model, "y");
    fold();
    assert_one_norm(MTS_NORM_VARIANCE, 14, 2, true, true);
    assert_export_returns();
}

/* Another divisor, another mean: nothing is fused that is not the same. */
static void what_only_looks_like_a_normalisation_stays(void **state)
{
    (void)state;
    reduce("ReduceMean", "x", "m");
    onnx_model_node(&model, "ReduceMean", "x", "m2");
    onnx_model_attr_ints(&model, "axes", INTS(1));
    onnx_model_node(&model, "Sub", "x,m", "d");
    onnx_model_node(&model, "Sub", "x,m2", "d2");
    onnx_model_node(&model, "Mul", "d2,d2", "q");
    reduce("ReduceMean", "q", "v");
    onnx_model_node(&model, "Add", "v,e", "w");
    onnx_model_node(&model, "Sqrt", "w", "s");
    onnx_model_node(&model, "Div", "d,s", "y");
    onnx_model_output(&model, "y");
    fold();
    for (uint32_t i = 0; i < after->node_count; i++) {
        assert_string_not_equal(mts_op_name(after->nodes[i].op), "norm");
    }
}

/* The mean is an output too: it is still computed. */
static void values_that_others_read_are_still_computed(void **state)
{
    (void)state;
    centred(true, INTS(2, 3));
    onnx_model_node(&model, "Div", "d,s", "y");
    onnx_model_output(&model, "y");
    onnx_model_output(&model, "m");
    fold();
    assert_int_equal(after->node_count, 2);
    assert_int_equal(after->output_count, 2);
}

static void squares_and_absolute_values_are_summed_at_once(void **state)
{
    (void)state;
    onnx_model_node(&model, "Mul", "x,x", "q");
    onnx_model_node(&model, "ReduceSum", "q", "v");
    onnx_model_node(&model, "Sqrt", "v", "y");
    onnx_model_output(&model, "y");
    onnx_model_node(&model, "Abs", "x", "a");
    onnx_model_node(&model, "ReduceSum", "a", "z");
    onnx_model_output(&model, "z");
    fold();
    assert_int_equal(after->node_count, 2);
    assert_int_equal(after->nodes[0].attrs.reduce.kind, MTS_REDUCE_L2);
    assert_int_equal(after->nodes[1].attrs.reduce.kind, MTS_REDUCE_L1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, close_model)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_form_of_pytorch_becomes_one_operator),
        TEST(the_form_of_tensorflow_becomes_one_operator),
        TEST(a_root_mean_square_with_a_reciprocal_becomes_one_operator),
        TEST(a_division_by_a_norm_becomes_one_operator),
        TEST(groups_written_as_reshapes_become_one_operator),
        TEST(what_only_looks_like_a_normalisation_stays),
        TEST(values_that_others_read_are_still_computed),
        TEST(squares_and_absolute_values_are_summed_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
