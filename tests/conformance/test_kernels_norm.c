/*
 * test_kernels_norm.c: normalisations agree with the reference for all kinds, sets, shares of the work and groups.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/kernel_pair.h"

#define CASES 10
#define MEMBERS 3

static uint32_t product(const uint32_t *numbers, int count)
{
    uint32_t n = 1;
    for (int i = 0; i < count; i++) {
        n *= numbers[i];
    }
    return n;
}

/* A scale or bias with some of the dimensions. */
static mts_view_params factor(kernel_pair *pair, const uint32_t *dims)
{
    mts_view_params view = {.base = MTS_PARAM_NONE};
    if (kernel_pair_pick(pair, 0, 3) == 0) {
        return view;
    }
    uint32_t count = 1;
    for (int d = MTS_PARAM_RANK - 1; d >= 0; d--) {
        const bool has = dims[d] > 1 && kernel_pair_pick(pair, 0, 1) == 1;
        view.stride[d] = has ? count : 0;
        count *= has ? dims[d] : 1;
    }
    /* along a line it is dense or one number */
    view.base = kernel_pair_pool(pair, count);
    return view;
}

static void norm_params(kernel_pair *pair, mts_norm_params *r, uint32_t n)
{
    uint32_t dims[MTS_PARAM_RANK];
    kernel_pair_dims(pair, dims, 2, n % 5 == 0 ? 4 : 9);
    dims[5] = n % 4 == 0 ? kernel_pair_pick(pair, 60, 150) : dims[5];
    dims[3] = dims[3] / 2 * 2 + 2;
    const bool groups = n % 3 == 0;
    const mts_dest_params from = kernel_pair_place(pair, dims);
    r->src = kernel_pair_view(&from);
    for (int d = 0; d < MTS_PARAM_RANK; d++) {
        const bool inside =
            n % 2 == 0 ? d == 5 || kernel_pair_pick(pair, 0, 1) : kernel_pair_pick(pair, 0, 1) == 1;
        r->lines[d] = inside ? dims[d] / (d == 3 && groups ? 2 : 1) : 1;
        r->sets[d] = dims[d] / r->lines[d];
    }
    r->kind = n % MTS_NORM_COUNT;
    r->epsilon = 1e-3f;
    r->scale = factor(pair, dims);
    r->bias = factor(pair, dims);
    r->fn = n % 7 == 0 ? MTS_FN_RELU : MTS_FN_NONE;
    r->batch = kernel_pair_pick(pair, 1, 4);
    const bool columns = r->lines[5] != dims[5];
    r->cut = columns ? kernel_pair_pick(pair, 1, 3) * 16 : dims[5];
    r->cuts = (dims[5] + r->cut - 1) / r->cut;
    r->dest = kernel_pair_output(pair, dims);
}

static void run(kernel_pair *pair, const mts_norm_params *params, uint32_t members)
{
    static const struct {
        const char *defines;
        uint32_t local;
    } builds[] = {{"-DVEC=16", 1}, {"-DVEC=4", 1}, {"-DVEC=1 -DGROUP=64", 64}, {"-DVEC=1 -DGROUP=256", 32}};
    const uint32_t first =
        kernel_pair_words(pair, params, members * (uint32_t)(sizeof params[0] / sizeof(uint32_t)));
    uint32_t units = 0;
    for (uint32_t m = 0; m < members; m++) {
        const mts_norm_params *r = &params[m];
        const uint32_t own = (product(r->sets, 5) + r->batch - 1) / r->batch * r->cuts;
        units = own > units ? own : units;
    }
    for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
        const uint32_t local[3] = {builds[i].local, 1, 1};
        /* one group more than there is work for */
        const uint32_t grid[3] = {(units + 1) * local[0], 1, members};
        kernel_pair_run(pair, "norm_any__f32_planar", builds[i].defines, first, grid, local);
    }
}

static void norm_agrees_for_every_kind_and_set(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_norm_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f; /* of sets of one or two elements the divisor is small */
        for (uint32_t m = 0; m < MEMBERS; m++) {
            norm_params(pair, &params[m], n + m);
        }
        run(pair, params, MEMBERS);
    }
}

/* Numbers whose squares are no float16, around a mean that is far from 0. */
static void norm_of_large_numbers_is_right_also_in_float16(void **state)
{
    kernel_pair *pair = *state;
    const uint32_t dims[MTS_PARAM_RANK] = {1, 1, 1, 2, 9, 37};
    kernel_pair_start(pair, 7);
    const mts_dest_params from = kernel_pair_place(pair, dims);
    mts_norm_params params = {.sets = {1, 1, 1, 2, 1, 1},
                              .lines = {1, 1, 1, 1, 9, 37},
                              .src = kernel_pair_view(&from),
                              .scale = {.base = MTS_PARAM_NONE},
                              .bias = {.base = MTS_PARAM_NONE},
                              .batch = 1,
                              .cuts = 1,
                              .cut = 37,
                              .epsilon = 1e-5f};
    params.dest = kernel_pair_output(pair, dims);
    for (uint32_t c = 0; c < 2; c++) {
        for (uint32_t i = 0; i < 9 * 37; i++) {
            pair->act[params.src.base + c * params.src.stride[3] + i / 37 * params.src.stride[4] + i % 37] =
                40000.0f + 500.0f * (float)(i % 19) - 9000.0f * (float)c;
        }
    }
    pair->tolerance = 1e-3f;
    run(pair, &params, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norm_agrees_for_every_kind_and_set),
        cmocka_unit_test(norm_of_large_numbers_is_right_also_in_float16),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
