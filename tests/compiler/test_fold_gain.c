/*
 * test_fold_gain.c: lines behind activations and x + x g: what is fused, what must not be, and that the numbers stay.
 */
#include <stdio.h>

#include "compiler/passes/fold_work.h"
#include "fold_fixture.h"

/* scale x + bias of two nodes. */
static void line(const char *x, float scale, float bias, const char *output)
{
    char inputs[64], between[32];
    number("scale", scale);
    number("bias", bias);
    (void)snprintf(between, sizeof between, "%s_scaled", output);
    (void)snprintf(inputs, sizeof inputs, "scale,%s", x);
    onnx_model_node(&model, "Mul", inputs, between);
    (void)snprintf(inputs, sizeof inputs, "%s,bias", between);
    onnx_model_node(&model, "Add", inputs, output);
}

/* PP-LCNetV3's layers: the convolution behind pads with zeros, which stay zeros. */
static void a_line_behind_hard_swish_is_part_of_it(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    onnx_model_node(&model, "HardSigmoid", "a", "g");
    onnx_model_attr_float(&model, "alpha", 1.0f / 6.0f);
    onnx_model_node(&model, "Mul", "a,g", "h");
    line("h", -0.7f, 0.3f, "l");
    conv("l,w", "y");
    onnx_model_output(&model, "y");
    fold();
    OPS(MTS_OP_CONV, MTS_OP_CONV);
    const mts_act *act = &after->nodes[0].attrs.conv.act;
    assert_int_equal(act->fn, MTS_FN_HARD_SWISH_LINE);
    assert_true(mts_fold_near(act->a, -0.7f) && mts_fold_near(act->b, 0.3f));
    assert_equal_results();
}

static void lines_behind_cuts_move_before_them(void **state)
{
    static const float scales[2] = {2.5f, -1.5f};
    (void)state;
    for (int i = 0; i < 6; i++) {
        (void)close_model(state);
        (void)open_fold(state);
        conv("x,w,b", "a");
        number("low", -0.25f);
        number("high", 0.5f);
        onnx_model_node(&model,
                        i < 2   ? "Relu"
                        : i < 4 ? "HardSigmoid"
                                : "Clip",
                        i < 4 ? "a" : "a,low,high", "h");
        line("h", scales[i % 2], 0.4f, "y");
        onnx_model_output(&model, "y");
        fold();
        OPS(MTS_OP_CONV);
        assert_int_equal(after->nodes[0].attrs.conv.act.fn, MTS_FN_CLIP);
        assert_equal_results();
    }
}

/* Behind a residual the convolution's own scale is not that of the sum; a scale of 0 has no place before a cut. */
static void lines_that_have_no_place_stay(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    onnx_model_node(&model, "Add", "a,x", "s1");
    onnx_model_node(&model, "Relu", "s1", "r");
    line("r", 2.0f, 1.0f, "y");
    conv("x,one,b", "d");
    onnx_model_node(&model, "Relu", "d", "e");
    number("zero", 0.0f);
    onnx_model_node(&model, "Mul", "e,zero", "z");
    onnx_model_output(&model, "y");
    onnx_model_output(&model, "z");
    fold();
    OPS(MTS_OP_CONV, MTS_OP_SCALE, MTS_OP_CONV, MTS_OP_SCALE);
    assert_equal_results();
}

static void assert_finite_numbers(void)
{
    for (uint32_t v = 0; v < after->value_count; v++) {
        const mts_value *value = &after->values[v];
        if (value->kind != MTS_VALUE_CONST || value->dtype != MTS_TYPE_FLOAT32) {
            continue;
        }
        float *data = mts_arena_zero(&arena, mts_shape_count(&value->shape), sizeof *data);
        assert_non_null(data);
        mts_value_read_f32(value, data);
        for (size_t i = 0; i < mts_shape_count(&value->shape); i++) {
            assert_true(isfinite(data[i]));
        }
    }
}

/* A factor, a bias or a bound would be infinite, which it was not before. */
static void lines_whose_joined_numbers_would_be_infinite_stay(void **state)
{
    static const float scales[2] = {3e30f, 3e38f}, biases[2] = {3e38f, 0.0f};
    (void)state;
    for (int i = 0; i < 6; i++) {
        (void)close_model(state);
        (void)open_fold(state);
        conv("x,w,b", "a");
        number("low", -0.25f);
        number("high", 0.5f);
        const bool swish = i / 2 == 1;
        onnx_model_node(&model,
                        i < 2   ? "Relu"
                        : swish ? "HardSigmoid"
                                : "Clip",
                        i < 4 ? "a" : "a,low,high", swish ? "g" : "h");
        if (swish) {
            onnx_model_attr_float(&model, "alpha", 1.0f / 6.0f);
            onnx_model_node(&model, "Mul", "a,g", "h");
        }
        line("h", scales[i % 2], biases[i % 2], "l");
        number("more", 3e38f);
        onnx_model_node(&model, "Mul", "l,more", "y");
        onnx_model_output(&model, "y");
        fold();
        OPS(MTS_OP_CONV, MTS_OP_SCALE);
        const mts_act *act = &after->nodes[0].attrs.conv.act;
        assert_true(isfinite(act->a) && (isfinite(act->b) || i < 2));
        assert_finite_numbers();
    }
}

/* Squeeze and excite beside the value itself. */
static void gated(const char *sum)
{
    conv("x,w,b", "a");
    onnx_model_node(&model, "GlobalAveragePool", "a", "p");
    onnx_model_node(&model, "Conv", "p,one,b", "f");
    onnx_model_node(&model, "HardSigmoid", "f", "g");
    onnx_model_node(&model, "Mul", "a,g", "q");
    onnx_model_node(&model, "Add", sum, "y");
    onnx_model_output(&model, "y");
}

static void a_value_and_its_gated_self_are_one_product(void **state)
{
    static const char *const sums[2] = {"a,q", "q,a"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        (void)close_model(state);
        (void)open_fold(state);
        gated(sums[i]);
        fold();
        OPS(MTS_OP_CONV, MTS_OP_REDUCE, MTS_OP_CONV, MTS_OP_BINARY);
        assert_int_equal(after->nodes[2].attrs.conv.act.fn, MTS_FN_CLIP);
        assert_int_equal(after->nodes[3].attrs.binary.kind, MTS_BIN_MUL);
        assert_equal_results();
    }
}

/* Another value is added, or the product is an output too. */
static void other_sums_of_products_stay(void **state)
{
    (void)state;
    gated("q,x");
    fold();
    OPS(MTS_OP_CONV, MTS_OP_REDUCE, MTS_OP_CONV, MTS_OP_BINARY, MTS_OP_BINARY);
    assert_equal_results();
    (void)close_model(state);
    (void)open_fold(state);
    gated("a,q");
    onnx_model_output(&model, "q");
    fold();
    OPS(MTS_OP_CONV, MTS_OP_REDUCE, MTS_OP_CONV, MTS_OP_BINARY, MTS_OP_BINARY);
    assert_equal_results();
}

/* A bias, and a function behind another one, which stays with its sum. */
static void a_sum_behind_a_product_is_its_third_operand(void **state)
{
    (void)state;
    onnx_model_floats(&model, "r", INTS(6, 5), noise + 400);
    onnx_model_floats(&model, "t", INTS(5), noise + 500);
    onnx_model_node(&model, "MatMul", "x,r", "a");
    onnx_model_node(&model, "Add", "t,a", "y");
    onnx_model_node(&model, "MatMul", "x,r", "e");
    onnx_model_node(&model, "Add", "e,t", "f");
    onnx_model_node(&model, "Tanh", "f", "z");
    onnx_model_output(&model, "y");
    onnx_model_output(&model, "z");
    fold();
    OPS(MTS_OP_MATMUL, MTS_OP_MATMUL, MTS_OP_BINARY);
    assert_true(after->nodes[0].attrs.matmul.beta > 0.0f && after->nodes[0].input_count == 3);
    assert_equal_results();
}

static void folding_without_memory_fails_cleanly(void **state)
{
    (void)state;
    gated("a,q");
    fold();
    mts_fault_each(fold_with, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fold, close_model)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_line_behind_hard_swish_is_part_of_it),
        TEST(lines_behind_cuts_move_before_them),
        TEST(lines_that_have_no_place_stay),
        TEST(lines_whose_joined_numbers_would_be_infinite_stay),
        TEST(a_value_and_its_gated_self_are_one_product),
        TEST(other_sums_of_products_stay),
        TEST(a_sum_behind_a_product_is_its_third_operand),
        TEST(folding_without_memory_fails_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
