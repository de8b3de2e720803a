/*
 * test_fold_resize.c: 1x1 convolutions move before the enlarging that they read: when, when not, and
 * that the numbers stay.
 */
#include <stdio.h>

#include "fold_fixture.h"

enum { CHANNELS = 24 };

/* `images` images x of 24 channels, weights and vectors for as many. */
static int open_images(int64_t images)
{
    (void)open_model(NULL);
    draw_noise();
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(images, CHANNELS, 5, 4));
    onnx_model_floats(&model, "w", INTS(CHANNELS, CHANNELS, 1, 1), noise);
    onnx_model_floats(&model, "wide", INTS(3, CHANNELS, 3, 3), noise);
    onnx_model_floats(&model, "few", INTS(2, CHANNELS, 1, 1), noise + 100);
    onnx_model_floats(&model, "b", INTS(CHANNELS), noise + 700);
    onnx_model_floats(&model, "s", INTS(CHANNELS, 1, 1), noise + 800);
    onnx_model_floats(&model, "half", INTS(CHANNELS, CHANNELS / 2, 1, 1), noise + 900);
    float numbers[CHANNELS * CHANNELS];
    memcpy(numbers, noise, sizeof numbers);
    numbers[3] = -INFINITY;
    onnx_model_floats(&model, "endless", INTS(CHANNELS, CHANNELS, 1, 1), numbers);
    onnx_model_floats(&model, "endless_b", INTS(CHANNELS), numbers);
    return 0;
}

static int open_image(void **state)
{
    (void)state;
    return open_images(1);
}

static void resize_images(const char *input, const char *mode, const char *coord, int64_t images,
                          int64_t high, int64_t wide, const char *output)
{
    char inputs[64], name[32];
    (void)snprintf(name, sizeof name, "%s_sizes", output);
    (void)snprintf(inputs, sizeof inputs, "%s,%s_roi,,%s", input, output, name);
    onnx_model_ints(&model, name, INTS(images, CHANNELS, high, wide));
    (void)snprintf(name, sizeof name, "%s_roi", output);
    onnx_model_floats(&model, name, INTS(8), (const float[]){0, 0, 0.1f, 0.1f, 1, 1, 1.5f, 1.5f});
    onnx_model_node(&model, "Resize", inputs, output);
    onnx_model_attr_text(&model, "mode", mode);
    onnx_model_attr_text(&model, "coordinate_transformation_mode", coord);
}

static void resize(const char *input, const char *mode, const char *coord, int64_t high, int64_t wide,
                   const char *output)
{
    resize_images(input, mode, coord, 1, high, wide, output);
}

static void folded(void)
{
    onnx_model_output(&model, "y");
    fold();
}

static void a_convolution_moves_before_linear_enlarging_and_its_function_does_not(void **state)
{
    static const char *const coords[] = {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"};
    for (int i = 0; i < 4; i++) {
        (void)close_model(state);
        (void)open_image(state);
        resize("x", "linear", coords[i], 15, 9, "r");
        onnx_model_node(&model, "Conv", "r,w,b", "c");
        onnx_model_node(&model, "Relu", "c", "y");
        folded();
        assert_equal_results();
        OPS(MTS_OP_CONV, MTS_OP_RESIZE, MTS_OP_UNARY);
        const mts_shape *between = &after->values[after->nodes[0].output].shape;
        assert_int_equal(between->dims[2], 5);
        assert_int_equal(between->dims[3], 4);
        assert_string_not_equal(after->values[after->nodes[0].output].name, "r");
        assert_string_equal(after->values[after->nodes[1].output].name, "c");
    }
}

static void a_slope_for_each_channel_stays_behind_too(void **state)
{
    (void)state;
    resize("x", "linear", "half_pixel", 15, 9, "r");
    onnx_model_node(&model, "Conv", "r,w,b", "c");
    onnx_model_node(&model, "PRelu", "c,s", "y");
    folded();
    assert_equal_results();
    OPS(MTS_OP_CONV, MTS_OP_RESIZE, MTS_OP_BINARY);
}

static void a_scale_and_a_function_go_along_before_the_nearest_pixel(void **state)
{
    (void)state;
    resize("x", "nearest", "asymmetric", 10, 8, "r");
    onnx_model_node(&model, "Conv", "r,w,b", "c");
    onnx_model_node(&model, "Mul", "c,s", "d");
    onnx_model_node(&model, "PRelu", "d,s", "y");
    folded();
    assert_equal_results();
    OPS(MTS_OP_CONV, MTS_OP_RESIZE);
    assert_int_equal(after->nodes[0].attrs.conv.act.fn, MTS_FN_PRELU);
}

static void a_sum_stays_behind_the_enlarging(void **state)
{
    (void)state;
    resize("x", "linear", "half_pixel", 15, 9, "r");
    onnx_model_node(&model, "Conv", "r,w,b", "c");
    resize("x", "nearest", "half_pixel", 15, 9, "z");
    onnx_model_node(&model, "Add", "z,c", "y");
    folded();
    assert_equal_results();
    OPS(MTS_OP_CONV, MTS_OP_RESIZE, MTS_OP_RESIZE, MTS_OP_BINARY);
}

/* Fewer channels cost less to enlarge. */
static void without_a_function_few_channels_are_enough(void **state)
{
    (void)state;
    resize("x", "linear", "half_pixel", 6, 4, "r");
    onnx_model_node(&model, "Conv", "r,few", "y");
    folded();
    assert_equal_results();
    OPS(MTS_OP_CONV, MTS_OP_RESIZE);
}

/* Each with the reason why the convolution stays where it is. */
static void a_convolution_stays_where_moving_would_change_numbers_or_cost_more(void **state)
{
    static const struct {
        const char *mode, *coord, *weights, *reader;
        int64_t high, wide;
    } cases[] = {
        {"linear", "tf_crop_and_resize", "w", NULL, 15, 9}, /* a number from outside */
        {"cubic", "half_pixel", "w", NULL, 15, 9},
        {"linear", "half_pixel", "wide", NULL, 15, 9},        /* neighbours */
        {"linear", "half_pixel", "w", NULL, 3, 2},            /* smaller */
        {"linear", "half_pixel", "w", "Relu", 6, 4},          /* hardly larger, a pass more */
        {"linear", "half_pixel", "w", "again", 15, 9},        /* the enlarged image is an output */
        {"linear", "half_pixel", "w,endless_b", NULL, 15, 9}, /* 0 * -infinity */
        {"linear", "half_pixel", "endless", NULL, 15, 9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char inputs[32];
        (void)close_model(state);
        (void)open_image(state);
        resize("x", cases[i].mode, cases[i].coord, cases[i].high, cases[i].wide, "r");
        (void)snprintf(inputs, sizeof inputs, "r,%s", cases[i].weights);
        const bool again = cases[i].reader && strcmp(cases[i].reader, "again") == 0;
        onnx_model_node(&model, "Conv", inputs, cases[i].reader && !again ? "c" : "y");
        if (again) {
            onnx_model_output(&model, "r");
        } else if (cases[i].reader) {
            onnx_model_node(&model, cases[i].reader, "c", "y");
        }
        folded();
        if (after->nodes[0].op != MTS_OP_RESIZE) {
            fail_msg("case %zu begins with %s", i, mts_op_name(after->nodes[0].op));
        }
    }
}

static void a_convolution_with_an_infinite_bias_moves_before_the_nearest_pixel(void **state)
{
    (void)state;
    resize("x", "nearest", "asymmetric", 10, 8, "r");
    onnx_model_node(&model, "Conv", "r,w,endless_b", "y");
    folded();
    OPS(MTS_OP_CONV, MTS_OP_RESIZE);
}

/* 1x1 convolutions whose attributes matter: a border and a stride keep them behind, groups do not. */
static void attributes_of_a_1x1_convolution_are_looked_at(void **state)
{
    static const struct {
        int64_t pads[4], stride, group;
        bool moves;
    } cases[] = {
        {{0, 0, 0, 0}, 1, 1, true},  {{1, 1, 1, 1}, 1, 1, false}, {{0, 0, 0, 1}, 1, 1, false},
        {{0, 0, 0, 0}, 2, 1, false}, {{0, 0, 0, 0}, 1, 2, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)close_model(state);
        (void)open_image(state);
        resize("x", "linear", "half_pixel", 15, 9, "r");
        onnx_model_node(&model, "Conv", cases[i].group == 2 ? "r,half,b" : "r,w,b", "y");
        onnx_model_attr_ints(&model, "pads", 4, cases[i].pads);
        onnx_model_attr_ints(&model, "strides", INTS(cases[i].stride, cases[i].stride));
        onnx_model_attr_int(&model, "group", cases[i].group);
        folded();
        assert_equal_results();
        if ((after->nodes[0].op == MTS_OP_CONV) != cases[i].moves) {
            fail_msg("case %zu begins with %s", i, mts_op_name(after->nodes[0].op));
        }
    }
}

static void images_of_a_batch_keep_apart(void **state)
{
    static const char *const modes[] = {"linear", "nearest"};
    for (int i = 0; i < 2; i++) {
        (void)close_model(state);
        (void)open_images(2);
        resize_images("x", modes[i], "half_pixel", 2, 15, 9, "r");
        onnx_model_node(&model, "Conv", "r,w,b", "y");
        folded();
        assert_equal_results();
        OPS(MTS_OP_CONV, MTS_OP_RESIZE);
        assert_int_equal(after->values[after->nodes[0].output].shape.dims[0], 2);
    }
}

/* Convolutions of 8 bits read what is known to be rounded, and a resize would hide that. */
static void a_convolution_with_rounded_numbers_stays_behind(void **state)
{
    static const uint8_t zero[1] = {128};
    (void)state;
    number("t", 0.05f);
    onnx_model_tensor(&model, "z", ONNX_UINT8, 0, NULL, zero, 1);
    resize("x", "nearest", "asymmetric", 10, 8, "r");
    onnx_model_node(&model, "Conv", "r,w,b", "c");
    onnx_model_node(&model, "QuantizeLinear", "c,t,z", "q");
    onnx_model_node(&model, "DequantizeLinear", "q,t,z", "y");
    folded();
    OPS(MTS_OP_RESIZE, MTS_OP_CONV);
    assert_int_equal(after->nodes[1].attrs.conv.act.fn, MTS_FN_QUANT8);
}

static void memory_runs_out_anywhere(void **state)
{
    (void)state;
    resize("x", "linear", "half_pixel", 15, 9, "r");
    onnx_model_node(&model, "Conv", "r,w,b", "c");
    onnx_model_node(&model, "Relu", "c", "y");
    folded();
    mts_fault_each(fold_with, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_image, close_model)
        TEST(a_convolution_moves_before_linear_enlarging_and_its_function_does_not),
        TEST(a_slope_for_each_channel_stays_behind_too),
        TEST(a_scale_and_a_function_go_along_before_the_nearest_pixel),
        TEST(a_sum_stays_behind_the_enlarging),
        TEST(without_a_function_few_channels_are_enough),
        TEST(a_convolution_stays_where_moving_would_change_numbers_or_cost_more),
        TEST(a_convolution_with_an_infinite_bias_moves_before_the_nearest_pixel),
        TEST(attributes_of_a_1x1_convolution_are_looked_at),
        TEST(images_of_a_batch_keep_apart),
        TEST(a_convolution_with_rounded_numbers_stays_behind),
        TEST(memory_runs_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
