/*
 * test_kernels_depthwise.c: the kernels of depthwise convolutions agree with the reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/conv_image.h"

#define MEMBERS 3
/* A function that is not simple is applied to what was stored: x near -3 rounded to float16, times its slope.
 */
#define STORED_BEFORE_FUNCTION 1e-3f

static mts_depthwise_params depthwise_params(kernel_pair *pair)
{
    const conv_image i = conv_image_random(pair);
    const uint32_t inputs = kernel_pair_pick(pair, 1, 5);
    mts_depthwise_params r = {
        .multiplier = kernel_pair_pick(pair, 1, 2), .in_pitch = i.pitch, .pixels = i.pixels};
    r.channels = inputs * r.multiplier;
    r.taps = i.kernel * i.kernel;
    r.tap = conv_image_taps(pair, &i);
    r.in = conv_image_place(pair, &i, inputs);
    r.mask = conv_image_mask(pair, &i);
    r.weight = kernel_pair_pool(pair, r.channels * r.taps);
    r.epilogue = conv_image_epilogue(pair, &i, r.channels);
    return r;
}

static void depthwise_agrees_for_multipliers_and_grids(void **state)
{
    static const struct {
        const char *defines;
        uint32_t items;
    } builds[] = {{"-DVEC=16", 1}, {"-DVEC=4", 3}, {"-DVEC=1", 32}};
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 16; n++) {
        mts_depthwise_params params[MEMBERS];
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 3e-5f;
        pair->half_slack = STORED_BEFORE_FUNCTION;
        for (int m = 0; m < MEMBERS; m++) {
            params[m] = depthwise_params(pair);
        }
        const uint32_t first =
            kernel_pair_words(pair, params, MEMBERS * MTS_PARAM_WORDS(mts_depthwise_params));
        for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
            const uint32_t local[3] = {1, 1, 1};
            const uint32_t grid[3] = {builds[i].items, 10, MEMBERS};
            kernel_pair_run(pair, "depthwise_tile__f32_planar", builds[i].defines, first, grid, local);
        }
    }
}

/* Sizes 3 and 5, strides 1 and 2, planes of fewer rows than a block and of rows shorter than a vector. */
static mts_depthwise_rows_params depthwise_rows_params(kernel_pair *pair, uint32_t *parts)
{
    conv_image i = conv_image_random(pair);
    const uint32_t kind = kernel_pair_pick(pair, 0, 2);
    const bool narrow = kind == 1; /* planes so narrow that vectors are filled with channels */
    const uint32_t inputs = narrow ? kernel_pair_pick(pair, 16, 40) : kernel_pair_pick(pair, 1, 5);
    const uint32_t size = kernel_pair_pick(pair, 0, 1) ? 3 : 5;
    const uint32_t stride = kernel_pair_pick(pair, 1, 2);
    if (kind != 2) {
        if (narrow) { /* at times in rows that have room for a reader's wide padding */
            i.row = (i.w = kernel_pair_pick(pair, 1, 8)) + kernel_pair_pick(pair, 0, 3);
            i.h = kernel_pair_pick(pair, 1, 8);
            if (kernel_pair_pick(pair, 0, 1)) {
                i.row += kernel_pair_pick(pair, 16, 36);
                i.h = kernel_pair_pick(pair, 5, 8);
            }
        } else { /* long rows, and many of them */
            i.row = (i.w = kernel_pair_pick(pair, 16, 50)) + kernel_pair_pick(pair, 0, 3);
            i.h = kernel_pair_pick(pair, 15, 40);
        }
        i.gap = conv_align(i.pad * (i.row + 1));
        i.pixels = conv_align(i.h * i.row);
        i.pitch = i.gap + i.pixels;
        i.tail = i.gap + CONV_VECTOR;
    }
    mts_depthwise_rows_params r = {
        .multiplier = narrow ? 1 : kernel_pair_pick(pair, 1, 2),
        .each = narrow ? 64 : kernel_pair_pick(pair, 1, 4),
        .size = size,
        .stride = stride,
        .dilation = stride == 1 && i.w > CONV_VECTOR && kernel_pair_pick(pair, 0, 2) == 0
                        ? kernel_pair_pick(pair, 2, 3)
                        : 1,
        .h = i.h,
        .w = i.w,
        .row = i.row,
        .part = !narrow && i.row >= CONV_VECTOR && i.h % CONV_VECTOR >= 4 ? CONV_VECTOR : i.h,
        .room = i.pixels};
    r.top = kernel_pair_pick(pair, 0, (size - 1) * r.dilation);
    r.left = kernel_pair_pick(pair, 0, (size - 1) * r.dilation);
    /* what the taps reach, less what may lie in the padding behind it or more than they reach */
    r.in_h = (i.h - 1) * stride + 1 + kernel_pair_pick(pair, 0, 2 * size);
    r.in_w = (i.w - 1) * stride + 1 + kernel_pair_pick(pair, 0, 2 * size);
    r.in_h -= r.in_h > size ? kernel_pair_pick(pair, 0, size - 1) : 0;
    r.in_w -= r.in_w > size ? kernel_pair_pick(pair, 0, size - 1) : 0;
    r.in_row = r.in_w + (kernel_pair_pick(pair, 0, 1) ? 0 : kernel_pair_pick(pair, 1, narrow ? 36 : 5));
    r.channels = inputs * r.multiplier;
    r.in_pitch = r.in_h * r.in_row + kernel_pair_pick(pair, 0, 3);
    r.zeros = kernel_pair_act(pair, MTS_ROW_ZEROS);
    memset(pair->act + r.zeros, 0, MTS_ROW_ZEROS * sizeof *pair->act);
    r.in = kernel_pair_act(pair, inputs * r.in_pitch + 2 * r.row + r.in_row + 4 * CONV_VECTOR);
    do {
        r.mask = conv_image_mask(pair, &i);
    } while (r.mask == MTS_PARAM_NONE && i.row > i.w);
    r.weight = kernel_pair_pool(pair, r.channels * size * size);
    r.epilogue = conv_image_epilogue(pair, &i, r.channels);
    if (narrow && kernel_pair_pick(pair, 0, 3)) { /* else they are computed by rows */
        r.epilogue.res = MTS_PARAM_NONE;
        r.epilogue.slope = MTS_PARAM_NONE;
        r.epilogue.fn = kernel_pair_pick(pair, 0, 1) ? MTS_FN_RELU : MTS_FN_SILU;
    }
    *parts = (i.h + r.part - 1) / r.part;
    return r;
}

static void depthwise_by_rows_agrees_for_sizes_strides_and_parts(void **state)
{
    static const char *const builds[] = {"-DVEC=1", "-DVEC=4", "-DVEC=16"};
    kernel_pair *pair = *state;
    kernel_pair_needs_both(pair);
    /* No GPU runs it, and the emulated one compiles wide vectors for minutes. */
    const size_t build_count = pair->devices[1]->info.is_gpu ? 1 : sizeof builds / sizeof builds[0];
    for (uint32_t n = 0; n < 30; n++) {
        mts_depthwise_rows_params params[MEMBERS];
        uint32_t most = 1;
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 3e-5f;
        pair->half_slack = STORED_BEFORE_FUNCTION;
        for (int m = 0; m < MEMBERS; m++) {
            uint32_t parts = 0;
            params[m] = depthwise_rows_params(pair, &parts);
            most = parts > most ? parts : most;
        }
        const uint32_t first =
            kernel_pair_words(pair, params, MEMBERS * MTS_PARAM_WORDS(mts_depthwise_rows_params));
        for (size_t i = 0; i < build_count; i++) {
            const uint32_t local[3] = {1, 1, 1};
            const uint32_t grid[3] = {most, 10, MEMBERS};
            kernel_pair_run(pair, "depthwise_rows__f32_planar", builds[i], first, grid, local);
        }
    }
}

/* ---- blocks of channels ---- */

static mts_depthwise_blocks_params depthwise_blocks_params(kernel_pair *pair)
{
    conv_image i = {.h = kernel_pair_pick(pair, 1, 8), .w = kernel_pair_pick(pair, 1, 8)};
    mts_depthwise_blocks_params r = {.blocks = kernel_pair_pick(pair, 1, 2),
                                     .each = kernel_pair_pick(pair, 1, 3),
                                     .size = kernel_pair_pick(pair, 0, 1) ? 3 : 5,
                                     .stride = kernel_pair_pick(pair, 1, 2),
                                     .h = i.h,
                                     .w = i.w};
    uint32_t weight[2];
    i.row = i.w;
    i.pixels = i.h * i.w;
    i.pitch = i.pixels + kernel_pair_pick(pair, 0, 3);
    r.top = kernel_pair_pick(pair, 0, r.size - 1);
    r.left = kernel_pair_pick(pair, 0, r.size - 1);
    /* what the taps reach, less what may lie in the padding behind it or more than they reach */
    r.in_h = (i.h - 1) * r.stride + 1 + kernel_pair_pick(pair, 0, r.size);
    r.in_w = (i.w - 1) * r.stride + 1 + kernel_pair_pick(pair, 0, r.size);
    r.in_h -= r.in_h > r.size ? kernel_pair_pick(pair, 0, r.size - 1) : 0;
    r.in_w -= r.in_w > r.size ? kernel_pair_pick(pair, 0, r.size - 1) : 0;
    r.in_pitch = r.in_h * r.in_w + kernel_pair_pick(pair, 0, 3);
    r.zeros = kernel_pair_act(pair, MTS_CHANNEL_BLOCK);
    memset(pair->act + r.zeros, 0, MTS_CHANNEL_BLOCK * sizeof *pair->act);
    r.in = kernel_pair_act(pair, r.blocks * MTS_CHANNEL_BLOCK * r.in_pitch);
    for (uint32_t b = 0; b < r.blocks; b++) {
        weight[b] = kernel_pair_pool(pair, r.size * r.size * MTS_CHANNEL_BLOCK);
    }
    r.weight = kernel_pair_words(pair, weight, r.blocks);
    r.epilogue = conv_image_epilogue(pair, &i, r.blocks * MTS_CHANNEL_BLOCK);
    r.epilogue.res = MTS_PARAM_NONE;
    return r;
}

static void depthwise_of_blocks_agrees_for_sizes_strides_and_paddings(void **state)
{
    static const char *const builds[] = {"-DVEC=4", "-DVEC=16", "-DVEC=1"};
    kernel_pair *pair = *state;
    kernel_pair_needs_both(pair);
    /* No GPU runs it. */
    const size_t build_count = pair->devices[1]->info.is_gpu ? 1 : sizeof builds / sizeof builds[0];
    for (uint32_t n = 0; n < 30; n++) {
        mts_depthwise_blocks_params params[MEMBERS];
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 3e-5f;
        pair->half_slack = STORED_BEFORE_FUNCTION;
        for (int m = 0; m < MEMBERS; m++) {
            params[m] = depthwise_blocks_params(pair);
        }
        const uint32_t first =
            kernel_pair_words(pair, params, MEMBERS * MTS_PARAM_WORDS(mts_depthwise_blocks_params));
        for (size_t i = 0; i < build_count; i++) {
            const uint32_t local[3] = {1, 1, 1};
            const uint32_t grid[3] = {1, 2, MEMBERS};
            kernel_pair_run(pair, "depthwise_rows__f32_blocks", builds[i], first, grid, local);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(depthwise_agrees_for_multipliers_and_grids),
        cmocka_unit_test(depthwise_by_rows_agrees_for_sizes_strides_and_parts),
        cmocka_unit_test(depthwise_of_blocks_agrees_for_sizes_strides_and_paddings),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
