/*
 * test_fold_slope.c: PReLU and bounds that exporters write as several nodes join the convolution before them; taps that
 * never meet the image go. The numbers stay the same.
 */
#include "fold_fixture.h"

/* The constants of fold_fixture.h and those of this file. */
static void begin(int64_t height, int64_t width)
{
    begin_fold(height, width);
    onnx_model_floats(&model, "wide", INTS(4, 4, 5, 5), noise + 400);
    onnx_model_floats(&model, "each", INTS(4, 1, 3, 3), noise + 900);
    onnx_model_floats(&model, "slope", INTS(4, 1, 1), (const float[]){0.25f, -0.5f, 0.1f, 0.75f});
    onnx_model_floats(&model, "minus", INTS(4, 1, 1), (const float[]){-0.25f, 0.5f, -0.1f, -0.75f});
    number("fifth", 0.2f);
    number("half", 0.5f);
    number("low", -0.1f);
    number("high", 0.6f);
    number("zero", 0.0f);
}

static int set_up(void **state)
{
    (void)open_model(state);
    begin(6, 6);
    return 0;
}

/* Another image in place of that of set_up. */
static void begin_again(void **state, int64_t height, int64_t width)
{
    (void)close_model(state);
    (void)open_model(state);
    begin(height, width);
}

static void node(const char *op, const char *inputs, const char *output)
{
    onnx_model_node(&model, op, inputs, output);
}

/* Folds; the result has `nodes` nodes and equal numbers. The first of them. */
static const mts_node *folded_to(uint32_t nodes)
{
    onnx_model_output(&model, "y");
    fold();
    assert_int_equal(after->node_count, nodes);
    assert_equal_results();
    return &after->nodes[0];
}

/* ---- slopes ---- */

static void two_rectifiers_and_a_slope_are_prelu(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    node("Relu", "a", "above");
    node("Neg", "a", "n");
    node("Relu", "n", "r");
    node("Neg", "r", "below");
    node("Mul", "below,slope", "scaled");
    node("Add", "above,scaled", "y");
    assert_int_equal(folded_to(1)->attrs.conv.act.fn, MTS_FN_PRELU);
}

static void the_slope_may_carry_the_sign(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    node("Neg", "a", "n");
    node("Relu", "n", "r");
    node("Mul", "minus,r", "scaled");
    node("Relu", "a", "above");
    node("Add", "scaled,above", "y");
    assert_int_equal(folded_to(1)->attrs.conv.act.fn, MTS_FN_PRELU);
}

static void prelu_by_the_absolute_value(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    node("Relu", "a", "above");
    node("Abs", "a", "size");
    node("Sub", "a,size", "d");
    node("Mul", "d,slope", "scaled");
    node("Mul", "scaled,half", "h");
    node("Add", "above,h", "y");
    assert_int_equal(folded_to(1)->attrs.conv.act.fn, MTS_FN_PRELU);
}

static void the_larger_of_two_products_is_leaky(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    node("Mul", "a,fifth", "scaled");
    node("Max", "scaled,a", "y");
    const mts_act act = folded_to(1)->attrs.conv.act;
    assert_int_equal(act.fn, MTS_FN_LEAKY);
    assert_true(fabsf(act.a - 0.2f) < 1e-6f);
}

static void another_factor_above_zero_stays_as_it_is(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    node("Relu", "a", "above");
    node("Mul", "a,slope", "scaled");
    node("Add", "above,scaled", "y"); /* 1.25 x, 0.5 x, .. above 0 */
    (void)folded_to(4);
}

static void a_sum_with_a_bias_stays_as_it_is(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    node("Relu", "a", "above");
    node("Neg", "a", "n");
    node("Relu", "n", "r");
    node("Mul", "r,minus", "scaled");
    node("Add", "scaled,low", "t");
    node("Add", "above,t", "y");
    assert_true(folded_to(6)->attrs.conv.act.fn == MTS_FN_NONE);
}

static void a_value_that_is_read_elsewhere_keeps_its_convolution(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    node("Mul", "a,fifth", "scaled");
    node("Max", "a,scaled", "bound");
    conv("a,one", "other");
    node("Add", "bound,other", "y");
    (void)folded_to(3);
}

/* ---- bounds ---- */

static void bounds_by_a_number_join_the_convolution(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    node("Max", "a,low", "bound");
    node("Min", "bound,high", "y");
    const mts_act act = folded_to(1)->attrs.conv.act;
    assert_int_equal(act.fn, MTS_FN_CLIP);
    assert_true(fabsf(act.a + 0.1f) < 1e-6f && fabsf(act.b - 0.6f) < 1e-6f);
}

static void a_bound_behind_a_rectifier_joins_it(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    node("Relu", "a", "r");
    node("Min", "high,r", "bound");
    node("Max", "bound,low", "y"); /* without effect */
    const mts_act act = folded_to(1)->attrs.conv.act;
    assert_int_equal(act.fn, MTS_FN_CLIP);
    assert_true(fabsf(act.a) <= 0.0f && fabsf(act.b - 0.6f) < 1e-6f);
}

static void a_maximum_with_zero_is_a_rectifier(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    node("Max", "a,low", "bound");
    node("Max", "bound,zero", "n");
    node("Relu", "n", "y");
    assert_int_equal(folded_to(1)->attrs.conv.act.fn, MTS_FN_RELU);
}

static void a_bound_behind_a_leaky_rectifier_joins_it(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    node("LeakyRelu", "a", "l");
    onnx_model_attr_float(&model, "alpha", 0.25f);
    node("Max", "l,low", "y");
    const mts_act act = folded_to(1)->attrs.conv.act;
    assert_int_equal(act.fn, MTS_FN_LEAKY_BOUND);
    assert_true(fabsf(act.a - 0.25f) < 1e-6f && fabsf(act.b + 0.1f) < 1e-6f);
}

static void a_bound_that_is_not_a_number_stays(void **state)
{
    (void)state;
    onnx_model_floats(&model, "nan", 0, NULL, (const float[]){NAN});
    conv("x,w,b", "a");
    node("Max", "a,nan", "bound");
    node("Min", "bound,nan", "y");
    onnx_model_output(&model, "y");
    fold();
    assert_int_equal(after->node_count, 3);
    assert_int_equal(after->nodes[0].attrs.conv.act.fn, MTS_FN_NONE);
    assert_int_equal(after->nodes[2].op, MTS_OP_BINARY);
}

/* The product of the two factors is infinite: 0 times it is no number, but 0 times one and then the other is 0. */
static void factors_whose_product_is_infinite_stay_apart(void **state)
{
    (void)state;
    onnx_model_floats(&model, "large", 0, NULL, (const float[]){3e30f});
    conv("x,w,b", "a");
    node("Relu", "a", "above");
    node("Neg", "a", "n");
    node("Relu", "n", "r");
    node("Mul", "r,large", "scaled");
    node("Mul", "scaled,large", "t");
    node("Sub", "above,t", "y");
    onnx_model_output(&model, "y");
    fold();
    const mts_node *last = &after->nodes[after->node_count - 1];
    assert_int_equal(last->op, MTS_OP_BINARY);
    assert_int_equal(last->attrs.binary.kind, MTS_BIN_SUB);
    for (uint32_t n = 0, scales = 0; n < after->node_count; n++) {
        scales += after->nodes[n].op == MTS_OP_SCALE;
        assert_true(n + 1 < after->node_count || scales == 2);
    }
}

static void a_bound_above_a_leaky_rectifier_stays(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    node("LeakyRelu", "a", "l");
    node("Min", "l,high", "y");
    assert_int_equal(folded_to(2)->attrs.conv.act.fn, MTS_FN_LEAKY);
}

/* ---- taps ---- */

static void taps_over_one_pixel_are_one_tap(void **state)
{
    begin_again(state, 1, 1);
    conv("x,w,b", "y");
    const mts_attrs_conv *attrs = &folded_to(1)->attrs.conv;
    assert_int_equal(attrs->kernel[0] * attrs->kernel[1], 1);
    assert_int_equal(attrs->pad[0] + attrs->pad[1] + attrs->pad[2] + attrs->pad[3], 0);
}

static void one_tap_of_each_channel_is_a_scale(void **state)
{
    begin_again(state, 1, 1);
    node("Conv", "x,each,b", "a");
    onnx_model_attr_int(&model, "group", 4);
    onnx_model_attr_ints(&model, "pads", INTS(1, 1, 1, 1));
    node("Relu", "a", "y");
    assert_string_equal(mts_op_name(folded_to(1)->op), "scale");
}

/* 3 x 3 taps of each channel have kernels of their own, 2 x 2 have none. */
static void taps_of_each_channel_keep_a_form_that_has_kernels(void **state)
{
    begin_again(state, 2, 2);
    node("Conv", "x,each,b", "y");
    onnx_model_attr_int(&model, "group", 4);
    onnx_model_attr_ints(&model, "pads", INTS(1, 1, 1, 1));
    onnx_model_attr_ints(&model, "strides", INTS(2, 2));
    const mts_attrs_conv *attrs = &folded_to(1)->attrs.conv;
    assert_int_equal(attrs->kernel[0], 3);
    assert_int_equal(attrs->kernel[1], 3);
    assert_int_equal(attrs->pad[0], 1);
}

static void only_taps_outside_of_the_image_go(void **state)
{
    begin_again(state, 2, 6);
    conv_padded("x,wide,b", "y", 2);
    const mts_attrs_conv *attrs = &folded_to(1)->attrs.conv;
    assert_int_equal(attrs->kernel[0], 3);
    assert_int_equal(attrs->kernel[1], 5);
    assert_int_equal(attrs->pad[0], 1);
    assert_int_equal(attrs->pad[1], 2);
}

static void strides_and_uneven_borders_keep_their_pixels(void **state)
{
    begin_again(state, 2, 2);
    node("Conv", "x,wide,b", "y");
    onnx_model_attr_ints(&model, "pads", INTS(0, 3, 3, 2));
    onnx_model_attr_ints(&model, "strides", INTS(2, 2));
    (void)folded_to(1);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    conv("x,w,b", "a");
    node("Relu", "a", "above");
    node("Neg", "a", "n");
    node("Relu", "n", "r");
    node("Mul", "minus,r", "scaled");
    node("Add", "scaled,above", "p");
    node("Max", "p,low", "y");
    (void)folded_to(2);
    mts_fault_each(fold_with, NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, close_model)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(two_rectifiers_and_a_slope_are_prelu),
        CASE(the_slope_may_carry_the_sign),
        CASE(prelu_by_the_absolute_value),
        CASE(the_larger_of_two_products_is_leaky),
        CASE(another_factor_above_zero_stays_as_it_is),
        CASE(a_sum_with_a_bias_stays_as_it_is),
        CASE(a_value_that_is_read_elsewhere_keeps_its_convolution),
        CASE(bounds_by_a_number_join_the_convolution),
        CASE(a_bound_behind_a_rectifier_joins_it),
        CASE(a_maximum_with_zero_is_a_rectifier),
        CASE(a_bound_behind_a_leaky_rectifier_joins_it),
        CASE(a_bound_that_is_not_a_number_stays),
        CASE(factors_whose_product_is_infinite_stay_apart),
        CASE(a_bound_above_a_leaky_rectifier_stays),
        CASE(taps_over_one_pixel_are_one_tap),
        CASE(one_tap_of_each_channel_is_a_scale),
        CASE(taps_of_each_channel_keep_a_form_that_has_kernels),
        CASE(only_taps_outside_of_the_image_go),
        CASE(strides_and_uneven_borders_keep_their_pixels),
        CASE(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
