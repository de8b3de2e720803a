/*
 * The fold pass on hand-made models: what is fused, what must not be, and that the numbers stay the same.
 */
#include "fold_fixture.h"

static void a_convolution_takes_up_normalisation_arithmetic_and_activation(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    onnx_model_node(&model, "BatchNormalization", "a,s,b,m,v", "n");
    onnx_model_node(&model, "Mul", "n,c", "p");
    onnx_model_node(&model, "Add", "c,p", "q");
    onnx_model_node(&model, "LeakyRelu", "q", "y");
    onnx_model_attr_float(&model, "alpha", 0.25f);
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_CONV);
    assert_int_equal(after->nodes[0].attrs.conv.act.fn, MTS_FN_LEAKY);
    assert_string_equal(after->values[after->nodes[0].output].name, "y");
    assert_ptr_equal(after->values[after->nodes[0].inputs[1]].blocks[0].data,
                     before->values[before->nodes[0].inputs[1]].blocks[0].data); /* the weight itself */
    assert_equal_results();
}

static void a_value_with_two_readers_is_not_fused_away(void **state)
{
    (void)state;
    conv("x,w", "a");
    onnx_model_node(&model, "Relu", "a", "r");
    onnx_model_node(&model, "Add", "a,r", "y");
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_CONV, MTS_OP_UNARY, MTS_OP_BINARY);
    assert_equal_results();
}

static void an_output_is_not_fused_away(void **state)
{
    (void)state;
    conv("x,w", "a");
    onnx_model_node(&model, "Relu", "a", "y");
    onnx_model_output(&model, "a");
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_CONV, MTS_OP_UNARY);
    assert_equal_results();
}

static void a_residual_joins_the_convolution_with_the_function_behind_it(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    onnx_model_node(&model, "BatchNormalization", "a,s,b,m,v", "n");
    conv("x,one", "short"); /* computed after the convolution that adds it */
    onnx_model_node(&model, "Relu", "short", "t");
    onnx_model_node(&model, "Add", "n,t", "u");
    onnx_model_node(&model, "Relu", "u", "y");
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_CONV, MTS_OP_CONV);
    assert_int_equal(after->nodes[1].inputs[4], after->nodes[0].output);
    assert_int_equal(after->nodes[1].attrs.conv.act.fn, MTS_FN_RELU);
    assert_equal_results();
}

static void what_follows_a_residual_is_no_longer_its_scale(void **state)
{
    (void)state;
    conv("x,w", "a");
    onnx_model_node(&model, "Add", "a,x", "u");
    onnx_model_node(&model, "BatchNormalization", "u,s,b,m,v", "y");
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_CONV, MTS_OP_SCALE);
    assert_equal_results();
}

static void an_activation_stands_between_a_convolution_and_a_scale(void **state)
{
    (void)state;
    conv("x,w", "a");
    onnx_model_node(&model, "Relu", "a", "r");
    onnx_model_node(&model, "BatchNormalization", "r,s,b,m,v", "n");
    onnx_model_node(&model, "BatchNormalization", "n,b,s,m,v", "y");
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_CONV, MTS_OP_SCALE); /* two scales became one */
    assert_equal_results();
}

static void subtraction_and_division_become_scales_either_way_round(void **state)
{
    (void)state;
    onnx_model_node(&model, "Sub", "x,c", "a");
    onnx_model_node(&model, "Div", "a,two", "d");
    onnx_model_node(&model, "Sub", "c,d", "y");
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_SCALE);
    float *b[64] = {0}, numbers[4];
    const float *inputs[1] = {noise + 1000};
    assert_true(mts_eval(after, inputs, &arena, b));
    memcpy(numbers, noise + 330, sizeof(numbers));
    for (size_t i = 0; i < 2 * 4 * 36; i++) {
        float c = numbers[i / 36 % 4], wanted = c - (noise[1000 + i] - c) / 2.0f;
        assert_true(fabsf(b[after->outputs[0].value][i] - wanted) < 1e-5f);
    }
}

static void a_product_with_the_gate_of_itself_is_one_function(void **state)
{
    (void)state;
    conv("x,w", "a");
    onnx_model_node(&model, "Sigmoid", "a", "g");
    onnx_model_node(&model, "Mul", "g,a", "r");
    conv("r,w", "n");
    onnx_model_node(&model, "HardSigmoid", "n", "h");
    onnx_model_attr_float(&model, "alpha", 1.0f / 6.0f);
    onnx_model_node(&model, "Mul", "n,h", "y");
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_CONV, MTS_OP_CONV);
    assert_int_equal(after->nodes[0].attrs.conv.act.fn, MTS_FN_SILU);
    assert_int_equal(after->nodes[1].attrs.conv.act.fn, MTS_FN_HARD_SWISH);
}

/* A convolution and what is Gelu if `root` is that of 2, as PyTorch exports it before opset 20. */
static void conv_and_gelu(float root, const char *output)
{
    number("root", root);
    number("half", 0.5f);
    number("unit", 1.0f);
    conv("x,w", "a");
    onnx_model_node(&model, "Div", "a,root", "d");
    onnx_model_node(&model, "Erf", "d", "e");
    onnx_model_node(&model, "Add", "e,unit", "g");
    onnx_model_node(&model, "Mul", "a,g", "p");
    onnx_model_node(&model, "Mul", "p,half", output);
}

/* With the half at the end, then at the first factor, then at the second. A convolution can end with it. */
static void gelu_of_several_nodes_is_one_function(void **state)
{
    (void)state;
    conv_and_gelu(1.41421354f, "k");
    onnx_model_node(&model, "Div", "k,root", "d1");
    onnx_model_node(&model, "Erf", "d1", "e1");
    onnx_model_node(&model, "Add", "e1,unit", "g1");
    onnx_model_node(&model, "Mul", "half,g1", "h1");
    onnx_model_node(&model, "Mul", "k,h1", "n");
    onnx_model_node(&model, "Div", "n,root", "d2");
    onnx_model_node(&model, "Erf", "d2", "e2");
    onnx_model_node(&model, "Add", "unit,e2", "g2");
    onnx_model_node(&model, "Mul", "half,n", "h2");
    onnx_model_node(&model, "Mul", "h2,g2", "y");
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_CONV, MTS_OP_UNARY, MTS_OP_UNARY);
    assert_int_equal(after->nodes[0].attrs.conv.act.fn, MTS_FN_GELU);
    assert_int_equal(after->nodes[1].attrs.unary.act.fn, MTS_FN_GELU);
    assert_int_equal(after->nodes[2].attrs.unary.act.fn, MTS_FN_GELU);
}

/* Of a sequence, whose second dimension is no channel: each factor is a node of its own. */
static void gelu_of_a_sequence_is_one_function(void **state)
{
    (void)state;
    number("root", 1.41421354f);
    number("half", 0.5f);
    number("unit", 1.0f);
    onnx_model_input(&model, "q", ONNX_FLOAT, INTS(2, 3, 5));
    onnx_model_node(&model, "Div", "q,root", "d");
    onnx_model_node(&model, "Erf", "d", "e");
    onnx_model_node(&model, "Add", "e,unit", "g");
    onnx_model_node(&model, "Mul", "half,g", "h");
    onnx_model_node(&model, "Mul", "q,h", "y");
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_UNARY);
    assert_int_equal(after->nodes[0].attrs.unary.act.fn, MTS_FN_GELU);
}

/* x clip(x + 3, 0, 6) / 6, which a convolution can end with, the sixth at the product and at its second factor. */
static void hard_swish_of_several_nodes_is_one_function(void **state)
{
    (void)state;
    number("three", 3.0f);
    number("low", 0.0f);
    number("six", 6.0f);
    conv("x,w", "a");
    onnx_model_node(&model, "Add", "a,three", "d");
    onnx_model_node(&model, "Clip", "d,low,six", "g");
    onnx_model_node(&model, "Mul", "a,g", "p");
    onnx_model_node(&model, "Div", "p,six", "y");
    conv("y,w", "a2");
    onnx_model_node(&model, "Add", "a2,three", "d2");
    onnx_model_node(&model, "Clip", "d2,low,six", "g2");
    onnx_model_node(&model, "Div", "g2,six", "h2");
    onnx_model_node(&model, "Mul", "a2,h2", "z");
    onnx_model_output(&model, "z");
    fold();
    OPS(MTS_OP_CONV, MTS_OP_CONV);
    assert_int_equal(after->nodes[0].attrs.conv.act.fn, MTS_FN_HARD_SWISH);
    assert_int_equal(after->nodes[1].attrs.conv.act.fn, MTS_FN_HARD_SWISH);
    assert_equal_results();
}

/* The root of another number. */
static void what_is_no_gelu_stays(void **state)
{
    (void)state;
    conv_and_gelu(1.5f, "y");
    onnx_model_output(&model, "y");
    fold();
    assert_int_equal(after->node_count, 5);
}

static void a_product_with_another_gate_stays(void **state)
{
    (void)state;
    conv("x,w", "a");
    onnx_model_node(&model, "Sigmoid", "x", "g");
    onnx_model_node(&model, "Mul", "g,a", "y");
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_CONV, MTS_OP_UNARY, MTS_OP_BINARY);
}

static void slopes_of_channels_join_the_convolution(void **state)
{
    (void)state;
    conv("x,w", "a");
    onnx_model_node(&model, "PRelu", "a,c", "y");
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_CONV);
    assert_int_equal(after->nodes[0].attrs.conv.act.fn, MTS_FN_PRELU);
    assert_true(after->nodes[0].inputs[5] != MTS_NONE);
    float **b = mts_arena_zero(&arena, after->value_count, sizeof(*b));
    float **a = mts_arena_zero(&arena, before->value_count, sizeof(*a));
    const float *inputs[1] = {noise + 1000};
    before->output_count = 0; /* the oracle knows no PRELU node: only the convolution before it is wanted */
    before->node_count = 1;
    assert_true(mts_eval(before, inputs, &arena, a) && mts_eval(after, inputs, &arena, b));
    const float *x = a[before->nodes[0].output], *y = b[after->nodes[0].output];
    for (size_t i = 0; i < 2 * 4 * 36; i++) {
        float wanted = x[i] > 0 ? x[i] : x[i] * noise[330 + i / 36 % 4];
        assert_true(fabsf(y[i] - wanted) < 1e-6f);
    }
}

static void zero_padding_goes_into_the_convolution(void **state)
{
    (void)state;
    onnx_model_ints(&model, "p", INTS(0, 0, 1, 2, 0, 0, 3, 0));
    onnx_model_node(&model, "Pad", "x,p", "a");
    conv("a,w", "y");
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_CONV);
    const int32_t pads[4] = {2, 3, 4, 1};
    assert_memory_equal(after->nodes[0].attrs.conv.pad, pads, sizeof(pads));
    assert_true(mts_shape_equal(&before->outputs[0].shape, &after->outputs[0].shape));
}

static void zero_padding_goes_into_each_of_several_convolutions(void **state)
{
    (void)state;
    onnx_model_ints(&model, "p", INTS(0, 0, 1, 2, 0, 0, 3, 0));
    onnx_model_node(&model, "Pad", "x,p", "a");
    conv("a,w", "y");
    conv("a,w", "z");
    onnx_model_output(&model, "y");
    onnx_model_output(&model, "z");
    fold();
    OPS(MTS_OP_CONV, MTS_OP_CONV);
    assert_int_equal(after->nodes[0].attrs.conv.pad[1], 3);
    assert_int_equal(after->nodes[1].attrs.conv.pad[1], 3);
}

static void padding_that_is_not_zero_or_not_of_the_image_stays(void **state)
{
    (void)state;
    onnx_model_ints(&model, "p", INTS(0, 0, 1, 1, 0, 0, 1, 1));
    onnx_model_ints(&model, "q", INTS(1, 0, 0, 0, 0, 0, 0, 0));
    onnx_model_node(&model, "Pad", "x,p,two", "a");
    onnx_model_node(&model, "Pad", "a,q", "e");
    conv("e,w", "y");
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_PAD, MTS_OP_PAD, MTS_OP_CONV);
}

static void padding_goes_into_a_maximum_only_where_nothing_is_negative(void **state)
{
    (void)state;
    onnx_model_ints(&model, "p", INTS(0, 0, 1, 1, 0, 0, 0, 0));
    onnx_model_node(&model, "Pad", "x,p", "a");
    onnx_model_node(&model, "MaxPool", "a", "d");
    onnx_model_attr_ints(&model, "kernel_shape", INTS(2, 2));
    onnx_model_node(&model, "Relu", "d", "r");
    onnx_model_node(&model, "Pad", "r,p", "e");
    onnx_model_node(&model, "MaxPool", "e", "y");
    onnx_model_attr_ints(&model, "kernel_shape", INTS(2, 2));
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_PAD, MTS_OP_POOL, MTS_OP_UNARY, MTS_OP_POOL);
    assert_int_equal(after->nodes[3].attrs.pool.pad[0], 1);
}

static void an_average_over_padding_counts_it(void **state)
{
    (void)state;
    onnx_model_ints(&model, "p", INTS(0, 0, 1, 1, 0, 0, 1, 1));
    onnx_model_node(&model, "Pad", "x,p", "a");
    onnx_model_node(&model, "AveragePool", "a", "y");
    onnx_model_attr_ints(&model, "kernel_shape", INTS(2, 2));
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_POOL);
    assert_int_equal(after->nodes[0].attrs.pool.include_pad, 1);
}

static void layers_of_a_classifier_keep_the_form_of_convolutions(void **state)
{
    (void)state;
    onnx_model_floats(&model, "f", INTS(5, 144), noise);
    onnx_model_floats(&model, "g", INTS(3, 5), noise + 50);
    onnx_model_node(&model, "Flatten", "x", "a");
    onnx_model_node(&model, "Gemm", "a,f", "d");
    onnx_model_attr_int(&model, "transB", 1);
    onnx_model_node(&model, "Relu", "d", "r");
    onnx_model_node(&model, "Gemm", "r,g", "y");
    onnx_model_attr_int(&model, "transB", 1);
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_RESHAPE, MTS_OP_CONV, MTS_OP_CONV, MTS_OP_RESHAPE);
    assert_int_equal(after->nodes[1].attrs.conv.act.fn, MTS_FN_RELU);
    assert_string_equal(after->outputs[0].name, "y");
    assert_equal_results();
}

/* A channel shuffle that was exported with rows and columns joined: [C, H W]. */
static void a_shuffle_of_channels_keeps_rows_and_columns_apart(void **state)
{
    (void)state;
    onnx_model_ints(&model, "pairs", INTS(2, 2, 2, 36));
    onnx_model_ints(&model, "image", INTS(2, 4, 6, 6));
    onnx_model_node(&model, "Reshape", "x,pairs", "a");
    onnx_model_node(&model, "Transpose", "a", "t");
    onnx_model_attr_ints(&model, "perm", INTS(0, 2, 1, 3));
    onnx_model_node(&model, "Reshape", "t,image", "y");
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_RESHAPE, MTS_OP_TRANSPOSE, MTS_OP_RESHAPE);
    for (uint32_t n = 0; n < 2; n++) {
        const mts_shape *shape = &after->values[after->nodes[n].output].shape;
        assert_int_equal(shape->rank, 5);
        assert_int_equal(shape->dims[3], 6);
    }
    const uint32_t perm[] = {0, 2, 1, 3, 4};
    assert_memory_equal(after->nodes[1].attrs.transpose.perm, perm, sizeof perm);
}

/* Each with the reason why rows and columns stay joined. */
static void a_reshape_around_a_transpose_stays_where_rows_and_columns_do_not(void **state)
{
    static const struct {
        int64_t rows, perm[4], last[4]; /* of 36 pixels; of the second reshape */
        bool again;
    } cases[] = {
        /* the last dimension moves */
        {6, {0, 1, 3, 2}, {2, 4, 6, 6}, false},
        {6, {0, 3, 2, 1}, {2, 4, 6, 6}, false},
        /* what is joined has a second reader */
        {6, {0, 2, 1, 3}, {2, 4, 6, 6}, true},
        /* other rows and columns afterwards */
        {6, {0, 2, 1, 3}, {2, 4, 4, 9}, false},
        /* nothing to part */
        {1, {0, 2, 1, 3}, {2, 4, 1, 36}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)close_model(state);
        (void)open_model(state);
        begin_fold(cases[i].rows, 36 / cases[i].rows);
        onnx_model_ints(&model, "pairs", INTS(2, 2, 2, 36));
        onnx_model_ints(&model, "image", 4, cases[i].last);
        onnx_model_node(&model, "Reshape", "x,pairs", "a");
        onnx_model_node(&model, "Transpose", "a", "t");
        onnx_model_attr_ints(&model, "perm", 4, cases[i].perm);
        onnx_model_node(&model, "Reshape", "t,image", "y");
        if (cases[i].again) {
            onnx_model_node(&model, "Relu", "a", "z");
            onnx_model_output(&model, "z");
        }
        onnx_model_output(&model, "y");
        fold();
        const mts_shape *joined = &after->values[after->nodes[0].output].shape;
        if (joined->rank != 4 || joined->dims[3] != 36) {
            fail_msg("case %zu: rows and columns came apart", i);
        }
    }
}

static void transposes_that_cancel_or_move_nothing_go(void **state)
{
    (void)state;
    onnx_model_node(&model, "Transpose", "x", "a");
    onnx_model_attr_ints(&model, "perm", INTS(0, 2, 3, 1));
    onnx_model_node(&model, "Transpose", "a", "d");
    onnx_model_attr_ints(&model, "perm", INTS(0, 3, 1, 2));
    onnx_model_node(&model, "GlobalAveragePool", "d", "e");
    onnx_model_node(&model, "Transpose", "e", "y");
    onnx_model_attr_ints(&model, "perm", INTS(0, 2, 3, 1));
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_REDUCE, MTS_OP_RESHAPE);
}

static void folding_without_memory_fails_cleanly(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    onnx_model_node(&model, "BatchNormalization", "a,s,b,m,v", "n");
    onnx_model_node(&model, "Add", "n,x", "u");
    onnx_model_node(&model, "Relu", "u", "y");
    onnx_model_output(&model, "y");
    fold();
    mts_fault_each(fold_with, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fold, close_model)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_convolution_takes_up_normalisation_arithmetic_and_activation),
        TEST(a_value_with_two_readers_is_not_fused_away),
        TEST(an_output_is_not_fused_away),
        TEST(a_residual_joins_the_convolution_with_the_function_behind_it),
        TEST(what_follows_a_residual_is_no_longer_its_scale),
        TEST(an_activation_stands_between_a_convolution_and_a_scale),
        TEST(subtraction_and_division_become_scales_either_way_round),
        TEST(a_product_with_the_gate_of_itself_is_one_function),
        TEST(a_product_with_another_gate_stays),
        TEST(gelu_of_several_nodes_is_one_function),
        TEST(gelu_of_a_sequence_is_one_function),
        TEST(hard_swish_of_several_nodes_is_one_function),
        TEST(what_is_no_gelu_stays),
        TEST(slopes_of_channels_join_the_convolution),
        TEST(zero_padding_goes_into_the_convolution),
        TEST(zero_padding_goes_into_each_of_several_convolutions),
        TEST(padding_that_is_not_zero_or_not_of_the_image_stays),
        TEST(padding_goes_into_a_maximum_only_where_nothing_is_negative),
        TEST(an_average_over_padding_counts_it),
        TEST(layers_of_a_classifier_keep_the_form_of_convolutions),
        TEST(a_shuffle_of_channels_keeps_rows_and_columns_apart),
        TEST(a_reshape_around_a_transpose_stays_where_rows_and_columns_do_not),
        TEST(transposes_that_cancel_or_move_nothing_go),
        TEST(folding_without_memory_fails_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
