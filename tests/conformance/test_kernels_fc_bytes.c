/*
 * test_kernels_fc_bytes.c: fully connected layers of 8-bit numbers agree with the reference; all sums are the same integers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/conv_image.h"

#define MEMBERS 3
#define CASES 40
#define STEP 0.125f /* of the input: its products with whole numbers are exact */
/* Of all numbers of a case so many may differ by a step: sums that lie on the border between two codes. */
#define BETWEEN 1000

/* The sum of each row, then words of four weights; every fifth case has the largest ones. */
static uint32_t weights(kernel_pair *pair, uint32_t words, uint32_t rows, bool most)
{
    const uint32_t at = kernel_pair_pool(pair, rows + words * rows);
    memset(pair->pool + at, 0, rows * sizeof *pair->pool);
    for (uint32_t n = 0; n < words * rows; n++) {
        const uint32_t word =
            most ? 0x7f7f7f7fu : kernel_pair_pick(pair, 0, 0xffff) << 16 | kernel_pair_pick(pair, 0, 0xffff);
        int8_t bytes[4];
        int32_t sum;
        memcpy(bytes, &word, sizeof bytes);
        memcpy(pair->pool + at + rows + n, &word, sizeof word);
        memcpy(&sum, pair->pool + at + n % rows, sizeof sum);
        sum += bytes[0] + bytes[1] + bytes[2] + bytes[3];
        memcpy(pair->pool + at + n % rows, &sum, sizeof sum);
    }
    return at;
}

/* Weights of channels that the input has not are 0. */
static void clear_beyond(kernel_pair *pair, const mts_segment_params *segment, uint32_t rows,
                         uint32_t channels)
{
    const uint32_t last = segment->count - 1, end = 4 * (segment->channel + segment->count);
    for (uint32_t r = 0; r < rows; r++) {
        float *at = pair->pool + segment->weight_a + rows + last * rows + r;
        int8_t bytes[4];
        int32_t sum;
        memcpy(bytes, at, sizeof bytes);
        memcpy(&sum, pair->pool + segment->weight_a + r, sizeof sum);
        for (uint32_t c = end > channels ? 4 - (end - channels) : 4; c < 4; c++) {
            sum -= bytes[c];
            bytes[c] = 0;
        }
        memcpy(at, bytes, sizeof bytes);
        memcpy(pair->pool + segment->weight_a + r, &sum, sizeof sum);
    }
}

static mts_fc_bytes_params job(kernel_pair *pair, bool most, bool sums)
{
    const conv_image pixel = {.h = 1, .w = 1, .row = 1, .pixels = 1};
    mts_fc_bytes_params r = {.rows = kernel_pair_pick(pair, 1, MTS_FC_BYTES_ROWS),
                             .in_pitch = kernel_pair_pick(pair, 0, 2) ? 1 : kernel_pair_pick(pair, 2, 9),
                             .channels = kernel_pair_pick(pair, 1, 700),
                             .segments = 2,
                             .epilogues = sums ? 1 : 2,
                             .inverse = 1.0f / STEP,
                             .least = -(float)kernel_pair_pick(pair, 0, 255)};
    const uint32_t rows = MTS_CODE_WORDS(r.rows) * MTS_WORD_CODES, words = MTS_CODE_WORDS(r.channels);
    const uint32_t cut = kernel_pair_pick(pair, 0, words - 1);
    mts_segment_params list[2] = {{.channel = cut, .count = words - cut}, {.channel = 0, .count = cut}};
    mts_epilogue_params e[2];
    r.in = kernel_pair_act(pair, r.channels * r.in_pitch);
    for (uint32_t c = 0; c < r.channels; c++) {
        pair->act[r.in + c * r.in_pitch] =
            STEP * (r.least + (most ? 255.0f : (float)kernel_pair_pick(pair, 0, 255)));
    }
    for (int s = 0; s < 2; s++) {
        list[s].weight_a = weights(pair, list[s].count, rows, most);
        list[s].weight_b = (uint32_t)(int32_t)-r.least;
        if (list[s].count > 0) {
            clear_beyond(pair, &list[s], rows, r.channels);
        }
        e[s] = conv_image_epilogue(pair, &pixel, r.rows);
        e[s].res = e[s].slope = e[s].last = MTS_PARAM_NONE;
        e[s].tail = 0;
        e[s].fn = sums ? MTS_FN_NONE : s == 0 ? MTS_FN_QUANT8 : MTS_FN_RELU;
        e[s].a = 0.5f;
        e[s].b = -100.0f;
    }
    if (sums) {
        e[0].scale = e[0].bias = MTS_PARAM_NONE;
    }
    r.segment = kernel_pair_words(pair, list, 2 * MTS_PARAM_WORDS(mts_segment_params));
    r.epilogue = kernel_pair_words(pair, e, r.epilogues * MTS_PARAM_WORDS(mts_epilogue_params));
    return r;
}

static void run_cases(kernel_pair *pair, bool sums)
{
    static const uint32_t grid[3] = {1, 1, MEMBERS}, local[3] = {1, 1, 1};
    for (uint32_t n = 0; n < CASES; n++) {
        mts_fc_bytes_params jobs[MEMBERS];
        uint32_t different = 0;
        kernel_pair_start(pair, n + 1);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            jobs[m] = job(pair, n % 5 == 4, sums);
        }
        const uint32_t first = kernel_pair_words(pair, jobs, MEMBERS * MTS_PARAM_WORDS(mts_fc_bytes_params));
        float *found[2];
        for (int d = 0; d < 2; d++) {
            found[d] = kernel_pair_result(pair, pair->devices[d], "fc_bytes__i32_words",
                                          kernel_pair_scalar(pair->devices[d]), first, grid, local);
        }
        for (uint32_t i = 0; i < pair->act_used; i++) {
            const float apart =
                found[0][i] < found[1][i] ? found[1][i] - found[0][i] : found[0][i] - found[1][i];
            const float size = found[0][i] < 0.0f ? -found[0][i] : found[0][i];
            if (memcmp(&found[0][i], &found[1][i], sizeof(float)) != 0 && !(apart <= 1e-5f * size + 1e-5f)) {
                different++;
                assert_true(!sums && apart < 0.51f);
            }
        }
        free(found[0]);
        free(found[1]);
        assert_in_range(different, 0, pair->act_used / BETWEEN);
    }
}

static void fc_bytes_agrees_for_rows_segments_zero_points_and_pitches(void **state)
{
    run_cases(*state, false);
}

static void sums_of_products_are_exact(void **state)
{
    run_cases(*state, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fc_bytes_agrees_for_rows_segments_zero_points_and_pitches),
        cmocka_unit_test(sums_of_products_are_exact),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
