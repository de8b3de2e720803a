/*
 * test_kernels_values.c: the reference kernels give values that are known from elsewhere: the examples of the
 * ONNX operator specification, or sums done by hand. This anchors the oracle that all other backends are
 * compared with.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/kernel_pair.h"

/* A dense tensor [1, 1, 1, channels, h, w] with these values. */
static mts_dest_params tensor(kernel_pair *pair, uint32_t channels, uint32_t h, uint32_t w,
                              const float *values)
{
    mts_dest_params t = {.dims = {1, 1, 1, channels, h, w}, .row = w, .pitch = h * w};
    t.base = kernel_pair_act(pair, channels * h * w);
    if (values) {
        memcpy(pair->act + t.base, values, channels * h * w * sizeof *values);
    }
    return t;
}

static const float *counting(float first)
{
    static float values[64];
    for (int i = 0; i < 64; i++) {
        values[i] = first + (float)i;
    }
    return values;
}

/* Runs one launch on the reference and compares the first `count` floats of its output. */
static void expect(kernel_pair *pair, const char *kernel, const void *params, size_t size,
                   const mts_dest_params *out, const float *values, uint32_t count)
{
    const uint32_t one[3] = {1, 1, 1};
    const uint32_t first = kernel_pair_words(pair, params, (uint32_t)(size / sizeof(uint32_t)));
    float *result = kernel_pair_result(pair, pair->devices[0], kernel, "", first, one, one);
    for (uint32_t i = 0; i < count; i++) {
        const float found = result[out->base + i];
        if (!(fabsf(found - values[i]) <= 2e-6f * fmaxf(1.0f, fabsf(values[i])))) {
            fail_msg("%s: value %u: expected %.9g, found %.9g", kernel, i, (double)values[i], (double)found);
        }
    }
    free(result);
}

/* ---- pool ---- */

static mts_pool_params pool_5x5(kernel_pair *pair, uint32_t kind, uint32_t include_pad)
{
    kernel_pair_clear(pair, 1);
    const mts_dest_params in = tensor(pair, 1, 5, 5, counting(1.0f));
    mts_pool_params r = {
        .in_h = 5, .in_w = 5, .window = {5, 5}, .stride = {1, 1}, .dilation = {1, 1}, .pad = {2, 2, 2, 2}};
    r.kind = kind;
    r.include_pad = include_pad;
    r.src = kernel_pair_view(&in);
    r.dest = tensor(pair, 1, 5, 5, NULL);
    return r;
}

static void an_average_without_padding_divides_by_the_elements_present(void **state)
{
    static const float values[] = {7, 7.5f, 8, 8.5f, 9, 9.5f, 10, 10.5f, 11, 11.5f};
    mts_pool_params r = pool_5x5(*state, MTS_POOL_AVG, 0);
    expect(*state, "pool_any__f32_planar", &r, sizeof r, &r.dest, values, 10);
}

static void an_average_with_padding_divides_by_the_window(void **state)
{
    static const float values[] = {2.52f, 3.6f, 4.8f, 4.08f, 3.24f, 4.56f, 6.4f, 8.4f, 7.04f, 5.52f};
    mts_pool_params r = pool_5x5(*state, MTS_POOL_AVG, 1);
    expect(*state, "pool_any__f32_planar", &r, sizeof r, &r.dest, values, 10);
}

static void a_maximum_ignores_padding(void **state)
{
    static const float values[] = {13, 14, 15, 15, 15, 18, 19, 20, 20, 20};
    mts_pool_params r = pool_5x5(*state, MTS_POOL_MAX, 0);
    expect(*state, "pool_any__f32_planar", &r, sizeof r, &r.dest, values, 10);
}

static void a_ceil_window_over_the_padded_end_divides_by_what_lies_in_it(void **state)
{
    /* 4x4 of 1..16, window 3, stride 2, no padding, ceil: the second window of a row has two columns */
    static const float values[] = {6, 7.5f, 12, 13.5f};
    kernel_pair *pair = *state;
    kernel_pair_clear(pair, 1);
    const mts_dest_params in = tensor(pair, 1, 4, 4, counting(1.0f));
    mts_pool_params r = {.in_h = 4, .in_w = 4, .window = {3, 3}, .stride = {2, 2}, .dilation = {1, 1}};
    r.kind = MTS_POOL_AVG;
    r.include_pad = 1;
    r.src = kernel_pair_view(&in);
    r.dest = tensor(pair, 1, 2, 2, NULL);
    expect(pair, "pool_any__f32_planar", &r, sizeof r, &r.dest, values, 4);
}

/* ---- resize ---- */

static mts_resize_params resize(kernel_pair *pair, uint32_t in_size, uint32_t out_h, uint32_t out_w,
                                float scale)
{
    kernel_pair_clear(pair, 1);
    const mts_dest_params in = tensor(pair, 1, in_size, in_size, counting(1.0f));
    mts_resize_params r = {.in = {in_size, in_size}, .scale = {scale, scale}, .cubic_a = -0.75f};
    r.src = kernel_pair_view(&in);
    r.dest = tensor(pair, 1, out_h, out_w, NULL);
    return r;
}

static void linear_resize_doubles_with_half_pixel_centres(void **state)
{
    static const float values[] = {1,    1.25f, 1.75f, 2,    1.5f, 1.75f, 2.25f, 2.5f,
                                   2.5f, 2.75f, 3.25f, 3.5f, 3,    3.25f, 3.75f, 4};
    mts_resize_params r = resize(*state, 2, 4, 4, 2.0f);
    r.mode = MTS_RESIZE_LINEAR;
    expect(*state, "resize_any__f32_planar", &r, sizeof r, &r.dest, values, 16);
}

static void linear_resize_can_align_corners(void **state)
{
    static const float values[] = {1, 4 / 3.0f, 5 / 3.0f, 2, 5 / 3.0f, 2, 7 / 3.0f, 8 / 3.0f};
    mts_resize_params r = resize(*state, 2, 4, 4, 2.0f);
    r.mode = MTS_RESIZE_LINEAR;
    r.coord = MTS_COORD_ALIGN_CORNERS;
    expect(*state, "resize_any__f32_planar", &r, sizeof r, &r.dest, values, 8);
}

static void linear_resize_shrinks_without_smoothing(void **state)
{
    /* 4x4 of 1..16 by 0.6: source coordinates 0.333 and 2 */
    static const float values[] = {2.6666665f, 4.3333335f, 9.333333f, 11.0f};
    mts_resize_params r = resize(*state, 4, 2, 2, 0.6f);
    r.mode = MTS_RESIZE_LINEAR;
    expect(*state, "resize_any__f32_planar", &r, sizeof r, &r.dest, values, 4);
}

static void cubic_resize_doubles(void **state)
{
    static const float values[] = {0.47265625f, 0.76953125f, 1.24609375f, 1.875f,
                                   2.28125f,    2.91015625f, 3.38671875f, 3.68359375f};
    mts_resize_params r = resize(*state, 4, 8, 8, 2.0f);
    r.mode = MTS_RESIZE_CUBIC;
    expect(*state, "resize_any__f32_planar", &r, sizeof r, &r.dest, values, 8);
}

static void cubic_resize_can_leave_out_what_lies_outside(void **state)
{
    static const float values[] = {0.55882353f, 0.81494204f, 1.35698249f, 1.89705882f,
                                   2.39705882f, 2.93713516f, 3.47917561f, 3.73529412f};
    mts_resize_params r = resize(*state, 4, 8, 8, 2.0f);
    r.mode = MTS_RESIZE_CUBIC;
    r.cubic_a = -0.5f;
    r.exclude_outside = 1;
    expect(*state, "resize_any__f32_planar", &r, sizeof r, &r.dest, values, 8);
}

static void nearest_resize_rounds_half_down_or_up(void **state)
{
    /* asymmetric, 2 to 4 columns: source coordinates 0, 0.5, 1, 1.5 */
    static const float floor_values[] = {1, 1, 2, 2};
    static const float ceil_values[] = {1, 2, 2, 2};
    mts_resize_params r = resize(*state, 2, 1, 4, 2.0f);
    r.coord = MTS_COORD_ASYMMETRIC;
    r.round = MTS_ROUND_PREFER_FLOOR;
    expect(*state, "resize_any__f32_planar", &r, sizeof r, &r.dest, floor_values, 4);
    r.round = MTS_ROUND_PREFER_CEIL;
    expect(*state, "resize_any__f32_planar", &r, sizeof r, &r.dest, ceil_values, 4);
}

static void a_crop_that_leaves_the_image_takes_the_extrapolation_value(void **state)
{
    /* 4x4 of 1..16, rows 0.4 to 0.6, columns 0.6 to 1.7: columns from 3 on lie outside */
    static const float values[] = {7.6f, -1.0f, -1.0f, 8.8f, -1.0f, -1.0f, 10.0f, -1.0f, -1.0f};
    mts_resize_params r = resize(*state, 4, 3, 3, 0.75f);
    r.mode = MTS_RESIZE_LINEAR;
    r.coord = MTS_COORD_TF_CROP;
    r.roi_start[0] = 0.4f;
    r.roi_end[0] = 0.6f;
    r.roi_start[1] = 0.6f;
    r.roi_end[1] = 1.7f;
    r.extrapolation = -1.0f;
    expect(*state, "resize_any__f32_planar", &r, sizeof r, &r.dest, values, 9);
}

/* ---- others ---- */

static void softmax_of_three_values(void **state)
{
    static const float in_values[] = {-1, 0, 1};
    static const float values[] = {0.09003057f, 0.24472848f, 0.66524094f};
    static const float log_values[] = {-2.40760596f, -1.40760596f, -0.40760596f};
    kernel_pair *pair = *state;
    kernel_pair_clear(pair, 1);
    const mts_dest_params in = tensor(pair, 1, 1, 3, in_values);
    mts_softmax_params r = {.axis = 5, .length = 3, .src = kernel_pair_view(&in)};
    r.dest = tensor(pair, 1, 1, 3, NULL);
    expect(pair, "softmax_any__f32_planar", &r, sizeof r, &r.dest, values, 3);
    r.log = 1;
    expect(pair, "softmax_any__f32_planar", &r, sizeof r, &r.dest, log_values, 3);
}

static void lrn_of_an_even_size_reaches_further_up(void **state)
{
    /* one pixel, channels 1 2 3, size 2: channel c sees c and c + 1; y = x / (1 + 2 / 2 * sum)^1 */
    static const float values[] = {1.0f / 6.0f, 2.0f / 14.0f, 3.0f / 10.0f};
    kernel_pair *pair = *state;
    kernel_pair_clear(pair, 1);
    const mts_dest_params in = tensor(pair, 3, 1, 1, counting(1.0f));
    mts_lrn_params r = {
        .channels = 3, .size = 2, .alpha = 2.0f, .beta = 1.0f, .bias = 1.0f, .src = kernel_pair_view(&in)};
    r.dest = tensor(pair, 3, 1, 1, NULL);
    expect(pair, "lrn_any__f32_planar", &r, sizeof r, &r.dest, values, 3);
}

static void deconv_spreads_each_input_over_its_window(void **state)
{
    static const float values[] = {0,  1,  3, 3,  2,  3,  8,  15, 12, 7,  9,  21, 36,
                                   27, 15, 9, 20, 33, 24, 13, 6,  13, 21, 15, 8};
    kernel_pair *pair = *state;
    kernel_pair_clear(pair, 1);
    const mts_dest_params in = tensor(pair, 1, 3, 3, counting(0.0f));
    mts_deconv_params r = {
        .in_channels = 1, .in_h = 3, .in_w = 3, .group = 1, .window = {3, 3}, .stride = {1, 1}};
    r.dilation[0] = r.dilation[1] = 1;
    r.bias = MTS_PARAM_NONE;
    r.weight = kernel_pair_pool(pair, 9);
    for (uint32_t k = 0; k < 9; k++) {
        pair->pool[r.weight + k] = 1.0f;
    }
    r.src = kernel_pair_view(&in);
    r.dest = tensor(pair, 1, 5, 5, NULL);
    expect(pair, "deconv_any__f32_planar", &r, sizeof r, &r.dest, values, 25);
}

static void matmul_scales_and_adds(void **state)
{
    /* 2 [1 2; 3 4] [1 2; 3 4] + 0.5 [1 2; 3 4] */
    static const float values[] = {14.5f, 21.0f, 31.5f, 46.0f};
    kernel_pair *pair = *state;
    kernel_pair_clear(pair, 1);
    const mts_dest_params in = tensor(pair, 1, 2, 2, counting(1.0f));
    mts_matmul_params r = {.depth = 2, .alpha = 2.0f, .beta = 0.5f};
    r.lhs = r.rhs = r.add = kernel_pair_view(&in);
    r.dest = tensor(pair, 1, 2, 2, NULL);
    expect(pair, "matmul_any__f32_planar", &r, sizeof r, &r.dest, values, 4);
}

static void reduce_gives_mean_sum_maximum_and_minimum_of_a_plane(void **state)
{
    static const float values[4][2] = {{2.5f, 6.5f}, {10, 26}, {4, 8}, {1, 5}};
    kernel_pair *pair = *state;
    kernel_pair_clear(pair, 1);
    const mts_dest_params in = tensor(pair, 2, 2, 2, counting(1.0f));
    mts_reduce_params r = {
        .extent = {1, 1, 1, 1, 2, 2}, .step = {0, 0, 0, 0, 2, 1}, .src = kernel_pair_view(&in)};
    r.src.stride[4] = r.src.stride[5] = 0;
    r.dest = tensor(pair, 2, 1, 1, NULL);
    for (uint32_t kind = 0; kind < 4; kind++) {
        r.kind = kind;
        expect(pair, "reduce_any__f32_planar", &r, sizeof r, &r.dest, values[kind], 2);
    }
}

/* Runs one launch of a program that is built for one function or kind, on both devices; the values are exact. */
static void expect_exactly(kernel_pair *pair, const char *kernel, const char *define, const void *params,
                           size_t size, const mts_dest_params *out, const float *values, uint32_t count)
{
    const uint32_t grid[3] = {16, 2, 1}, local[3] = {16, 1, 1};
    const uint32_t first = kernel_pair_words(pair, params, (uint32_t)(size / sizeof(uint32_t)));
    for (int d = 0; d < 2; d++) {
        float *result = kernel_pair_result(pair, pair->devices[d], kernel, define, first, grid, local);
        for (uint32_t i = 0; i < count; i++) {
            const float found = result[out->base + i];
            if (!(found >= values[i] && found <= values[i]) && !(isnan(values[i]) && isnan(found))) {
                fail_msg("%s, device %d, value %u: expected %.9g, found %.9g", kernel, d, i,
                         (double)values[i], (double)found);
            }
        }
        free(result);
    }
}

static void the_sign_of_not_a_number_is_not_a_number(void **state)
{
    static const float values[8] = {NAN, -INFINITY, INFINITY, 0.0f, 1e-30f, -1e-30f, 5.0f, -5.0f};
    static const float signs[8] = {NAN, -1, 1, 0, 1, -1, 1, -1};
    kernel_pair *pair = *state;
    char define[32];
    kernel_pair_start(pair, 1);
    const mts_dest_params in = tensor(pair, 1, 1, 8, values);
    mts_unary_params r = {.src = kernel_pair_view(&in), .fn = MTS_FN_SIGN};
    r.dest = tensor(pair, 1, 1, 8, NULL);
    (void)snprintf(define, sizeof define, "%s -DFN=%u", kernel_pair_scalar(pair->devices[1]), MTS_FN_SIGN);
    expect_exactly(pair, "unary_any__f32_planar", define, &r, sizeof r, &r.dest, signs, 8);
}

/* The product of a remainder and a divisor of 1e-30 is 0. */
static void a_tiny_remainder_has_the_sign_of_its_divisor(void **state)
{
    static const float dividends[6] = {1e-30f, -1e-30f, 1e-30f, -5.0f, 5.0f, 1e30f};
    static const float divisors[6] = {-4e-30f, 4e-30f, 4e-30f, 3.0f, -3.0f, INFINITY};
    static const float rests[6] = {1e-30f - 4e-30f, 4e-30f - 1e-30f, 1e-30f, 1.0f, -1.0f, 1e30f};
    kernel_pair *pair = *state;
    char define[32];
    kernel_pair_start(pair, 1);
    const mts_dest_params lhs = tensor(pair, 1, 1, 6, dividends), rhs = tensor(pair, 1, 1, 6, divisors);
    mts_binary_params r = {
        .lhs = kernel_pair_view(&lhs), .rhs = kernel_pair_view(&rhs), .kind = MTS_BIN_MOD, .fn = MTS_FN_NONE};
    r.dest = tensor(pair, 1, 1, 6, NULL);
    (void)snprintf(define, sizeof define, "%s -DKIND=%u", kernel_pair_scalar(pair->devices[1]), MTS_BIN_MOD);
    expect_exactly(pair, "binary_any__f32_planar", define, &r, sizeof r, &r.dest, rests, 6);
}

static void pad_reflects_without_repeating_the_edge(void **state)
{
    static const float reflect[] = {3, 2, 1, 2, 3, 2};
    static const float edge[] = {1, 1, 1, 2, 3, 3};
    kernel_pair *pair = *state;
    kernel_pair_clear(pair, 1);
    const mts_dest_params in = tensor(pair, 1, 1, 3, counting(1.0f));
    mts_pad_params r = {
        .src_dims = {1, 1, 1, 1, 1, 3}, .before = {0, 0, 0, 0, 0, 2}, .mode = MTS_PAD_REFLECT};
    r.src = kernel_pair_view(&in);
    r.dest = tensor(pair, 1, 1, 6, NULL);
    expect(pair, "pad_any__f32_planar", &r, sizeof r, &r.dest, reflect, 6);
    r.mode = MTS_PAD_EDGE;
    expect(pair, "pad_any__f32_planar", &r, sizeof r, &r.dest, edge, 6);
}

/* Parameters that point outside are an error with a text, never an access. */
static void parameters_that_leave_the_arena_are_refused(void **state)
{
    kernel_pair *pair = *state;
    kernel_pair_clear(pair, 1);
    mts_unary_params r = {.dest = tensor(pair, 1, 4, 4, NULL)};
    r.src = kernel_pair_view(&r.dest);
    r.src.base = KERNEL_PAIR_ACT - 15;
    const uint32_t first = kernel_pair_words(pair, &r, MTS_PARAM_WORDS(mts_unary_params));
    mts_device *device = pair->devices[0];
    const mts_kernel_desc desc = {.name = "unary_any__f32_planar", .defines = ""};
    mts_buffer *act = NULL;
    mts_buffer *table = NULL;
    mts_kernel *kernel = NULL;
    mts_command_list *list = NULL;
    mts_error error = {0};
    assert_int_equal(mts_buffer_create(device, KERNEL_PAIR_ACT * sizeof(float), &act, &error), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_create(device, KERNEL_PAIR_TABLE * sizeof(float), &table, &error),
                     MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(table, 0, pair->table, KERNEL_PAIR_TABLE * sizeof(float), &error),
                     MTS_STATUS_OK);
    assert_int_equal(mts_kernel_create(device, &desc, &kernel, &error), MTS_STATUS_OK);
    const mts_launch launch = {.kernel = kernel,
                               .act = act,
                               .pool = act,
                               .params = table,
                               .first = first,
                               .global = {1, 1, 1},
                               .local = {1, 1, 1},
                               .label = "bad"};
    assert_int_equal(mts_command_list_create(device, &launch, 1, &list, &error), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_submit(list, &error), MTS_STATUS_DEVICE);
    assert_non_null(strstr(error.text, "bad"));
    mts_command_list_destroy(&list);
    mts_kernel_destroy(&kernel);
    mts_buffer_destroy(&table);
    mts_buffer_destroy(&act);
}

/* Every operator of the manifest exists in plain C; the probe measures and is no operator. */
static void the_reference_has_every_kernel_of_the_manifest(void **state)
{
#define KERNEL(folder, name, params_type, walk, made_for) {#name, #walk},
    static const struct {
        const char *name, *walk;
    } rows[] = {
#include "kernels/manifest.def"
    };
#undef KERNEL
    kernel_pair *pair = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const mts_kernel_desc desc = {.name = rows[i].name, .defines = ""};
        mts_kernel *kernel = NULL;
        mts_error error = {0};
        const mts_status status = mts_kernel_create(pair->devices[0], &desc, &kernel, &error);
        assert_non_null(mts_kernel_find(rows[i].name));
        const bool none = strcmp(rows[i].walk, "probe") == 0 || strcmp(rows[i].walk, "persist") == 0;
        assert_int_equal(status, none ? MTS_STATUS_UNSUPPORTED : MTS_STATUS_OK);
        mts_kernel_destroy(&kernel);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_average_without_padding_divides_by_the_elements_present),
        cmocka_unit_test(an_average_with_padding_divides_by_the_window),
        cmocka_unit_test(a_maximum_ignores_padding),
        cmocka_unit_test(a_ceil_window_over_the_padded_end_divides_by_what_lies_in_it),
        cmocka_unit_test(linear_resize_doubles_with_half_pixel_centres),
        cmocka_unit_test(linear_resize_can_align_corners),
        cmocka_unit_test(linear_resize_shrinks_without_smoothing),
        cmocka_unit_test(cubic_resize_doubles),
        cmocka_unit_test(cubic_resize_can_leave_out_what_lies_outside),
        cmocka_unit_test(nearest_resize_rounds_half_down_or_up),
        cmocka_unit_test(a_crop_that_leaves_the_image_takes_the_extrapolation_value),
        cmocka_unit_test(softmax_of_three_values),
        cmocka_unit_test(lrn_of_an_even_size_reaches_further_up),
        cmocka_unit_test(deconv_spreads_each_input_over_its_window),
        cmocka_unit_test(matmul_scales_and_adds),
        cmocka_unit_test(reduce_gives_mean_sum_maximum_and_minimum_of_a_plane),
        cmocka_unit_test(the_sign_of_not_a_number_is_not_a_number),
        cmocka_unit_test(a_tiny_remainder_has_the_sign_of_its_divisor),
        cmocka_unit_test(pad_reflects_without_repeating_the_edge),
        cmocka_unit_test(parameters_that_leave_the_arena_are_refused),
        cmocka_unit_test(the_reference_has_every_kernel_of_the_manifest),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
