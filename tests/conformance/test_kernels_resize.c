/*
 * test_kernels_resize.c: resize agrees with the reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/kernel_pair.h"

#define MEMBERS 3

static void resize_params(kernel_pair *pair, mts_resize_params *r, uint32_t mode, uint32_t coord)
{
    uint32_t dims[MTS_PARAM_RANK];
    kernel_pair_dims(pair, dims, 2, 24);
    r->src = kernel_pair_operand(pair, dims, false, NULL);
    r->mode = mode;
    r->coord = coord;
    r->round = kernel_pair_pick(pair, 0, 3);
    r->exclude_outside = kernel_pair_pick(pair, 0, 1);
    r->cubic_a = kernel_pair_pick(pair, 0, 1) ? -0.75f : -0.5f;
    r->extrapolation = 7.5f;
    for (int i = 0; i < 2; i++) {
        r->in[i] = dims[4 + i];
        dims[4 + i] = kernel_pair_pick(pair, 0, 2) ? kernel_pair_pick(pair, 1, 50) : r->in[i] * 2;
        r->scale[i] = (float)dims[4 + i] / (float)r->in[i];
        r->roi_start[i] = kernel_pair_float(pair, -0.3f, 0.4f);
        r->roi_end[i] = kernel_pair_float(pair, 0.5f, 1.3f);
    }
    r->dest = kernel_pair_output(pair, dims);
}

static void resize_agrees_in_every_mode_and_coordinate_system(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 36; n++) {
        mts_resize_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f; /* a coordinate's last bit times the slope of neighbouring pixels */
        for (uint32_t m = 0; m < MEMBERS; m++) {
            resize_params(pair, &params[m], n % 3, n / 3 % 6);
        }
        kernel_pair_run_dest(pair, "resize_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

/* Images of one column and of many, nearest and linear, with their sum. */
static void sums_of_images_of_twice_the_size_agree(void **state)
{
    kernel_pair *pair = *state;
    if (!pair->devices[1] || !pair->devices[1]->info.ready_kernels) {
        skip(); /* plans ask no driver for it, and each would compile it a dozen times */
    }
    for (uint32_t n = 0; n < 24; n++) {
        mts_resize_sum_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f;
        for (uint32_t m = 0; m < MEMBERS; m++) {
            mts_resize_params *r = &params[m].resize;
            uint32_t dims[MTS_PARAM_RANK];
            kernel_pair_dims(pair, dims, 2, n % 3 ? 20 : 40);
            r->src = kernel_pair_operand(pair, dims, false, NULL);
            r->mode = n % 2 ? MTS_RESIZE_LINEAR : MTS_RESIZE_NEAREST;
            r->coord = n % 2 ? MTS_COORD_HALF_PIXEL : MTS_COORD_ASYMMETRIC;
            r->round = MTS_ROUND_FLOOR;
            for (int i = 0; i < 2; i++) {
                r->in[i] = dims[4 + i];
                dims[4 + i] *= 2;
                r->scale[i] = 2.0f;
            }
            params[m].addend.other = kernel_pair_operand(pair, dims, false, NULL);
            params[m].addend.fn = n % 4 < 2 ? MTS_FN_NONE : MTS_FN_RELU;
            r->dest = kernel_pair_output(pair, dims);
        }
        kernel_pair_run_dest(pair, "resize_sum__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

/* Rows that are longer than what a work-item keeps of them, twice as wide and else. */
static void wide_rows_agree(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 8; n++) {
        mts_resize_params r = {.mode = n % 2, .coord = n / 2 % 4, .round = n % 3};
        uint32_t dims[MTS_PARAM_RANK] = {1, 1, 1, 2, 3, 590 + n};
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f;
        r.src = kernel_pair_operand(pair, dims, false, NULL);
        for (int i = 0; i < 2; i++) {
            r.in[i] = dims[4 + i];
            dims[4 + i] = n < 4 ? 2 * r.in[i] : 5 + 1100 * (uint32_t)i;
            r.scale[i] = (float)dims[4 + i] / (float)r.in[i];
        }
        r.dest = kernel_pair_output(pair, dims);
        kernel_pair_run_dest(pair, "resize_any__f32_planar", &r, 1, sizeof r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resize_agrees_in_every_mode_and_coordinate_system),
        cmocka_unit_test(sums_of_images_of_twice_the_size_agree),
        cmocka_unit_test(wide_rows_agree),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
