/*
 * test_kernels_reduce.c: reduce, softmax and matmul agree with the reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/kernel_pair.h"

#define CASES 24
#define MEMBERS 3

/* Reduces a random set of dimensions, all of the plane in every third case. */
static void reduce_params(kernel_pair *pair, mts_reduce_params *r, uint32_t n)
{
    uint32_t dims[MTS_PARAM_RANK];
    kernel_pair_dims(pair, dims, 2, 40);
    const mts_view_params view = kernel_pair_operand(pair, dims, false, NULL);
    static const uint32_t kinds[] = {0,
                                     1,
                                     2,
                                     3,
                                     MTS_REDUCE_L1,
                                     MTS_REDUCE_L2,
                                     MTS_REDUCE_SUM_SQUARE,
                                     MTS_REDUCE_MEAN_SQUARE,
                                     MTS_REDUCE_LOG_SUM_EXP};
    r->kind = kinds[n % (sizeof kinds / sizeof kinds[0])];
    r->src = view;
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        const bool reduced = n % 3 == 0 ? i > 3 : kernel_pair_pick(pair, 0, 1) == 1;
        r->extent[i] = reduced ? dims[i] : 1;
        r->step[i] = reduced ? view.stride[i] : 0;
        r->src.stride[i] = reduced ? 0 : view.stride[i];
        dims[i] = reduced ? 1 : dims[i];
    }
    r->dest = kernel_pair_output(pair, dims);
}

static void reduce_agrees_for_every_kind_and_set_of_dimensions(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 2 * CASES; n++) {
        mts_reduce_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f; /* float sums of some thousand values that cancel */
        for (uint32_t m = 0; m < MEMBERS; m++) {
            reduce_params(pair, &params[m], n + m);
        }
        kernel_pair_run_dest(pair, "reduce_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

static uint32_t most_planes(uint32_t most, const mts_dest_params *dest)
{
    const uint32_t own = dest->dims[0] * dest->dims[1] * dest->dims[2] * dest->dims[3];
    return own > most ? own : most;
}

/* In groups of one work-item and more, two for each plane. */
static void run_in_groups(kernel_pair *pair, const char *kernel, uint32_t first, uint32_t planes)
{
    for (uint32_t local = 1; local <= 64; local *= 8) {
        kernel_pair_run(pair, kernel, "-DVEC=1", first, (const uint32_t[]){2 * local, planes + 1, MEMBERS},
                        (const uint32_t[]){local, 1, 1});
    }
}

/* Work-items share the elements of an output: planes of few outputs, and of many. */
static void reduce_in_groups_agrees_for_every_kind(void **state)
{
    static const uint32_t kinds[] = {MTS_REDUCE_MEAN, MTS_REDUCE_SUM,        MTS_REDUCE_MAX,
                                     MTS_REDUCE_MIN,  MTS_REDUCE_PROD,       MTS_REDUCE_L1,
                                     MTS_REDUCE_L2,   MTS_REDUCE_SUM_SQUARE, MTS_REDUCE_MEAN_SQUARE};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 2 * KINDS; n++) {
        mts_reduce_params params[MEMBERS] = {0};
        uint32_t planes = 0;
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f;
        for (uint32_t m = 0; m < MEMBERS; m++) {
            reduce_params(pair, &params[m], n + m);
            params[m].kind = kinds[(n + m) % KINDS];
            planes = most_planes(planes, &params[m].dest);
        }
        const uint32_t first = kernel_pair_words(pair, params, MEMBERS * MTS_PARAM_WORDS(mts_reduce_params));
        run_in_groups(pair, "reduce_group__f32_planar", first, planes);
    }
}

static void softmax_agrees_along_every_axis(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_softmax_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            mts_softmax_params *r = &params[m];
            uint32_t dims[MTS_PARAM_RANK];
            kernel_pair_dims(pair, dims, 0, 20);
            r->axis = (n + m) % MTS_PARAM_RANK;
            dims[r->axis] = kernel_pair_pick(pair, 1, r->axis < 3 ? 3 : 30);
            r->src = kernel_pair_operand(pair, dims, false, NULL);
            r->dest = kernel_pair_output(pair, dims);
            r->length = dims[r->axis];
            r->log = n % 2;
        }
        kernel_pair_run_dest(pair, "softmax_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

/* Large values must not overflow: exp(x - max) and not exp(x). */
static void softmax_is_finite_for_large_values(void **state)
{
    kernel_pair *pair = *state;
    const uint32_t dims[MTS_PARAM_RANK] = {1, 1, 1, 1, 3, 37};
    mts_softmax_params params = {.axis = 5, .length = 37};
    kernel_pair_start(pair, 5);
    params.src = kernel_pair_operand(pair, dims, false, NULL);
    params.dest = kernel_pair_output(pair, dims);
    for (uint32_t y = 0; y < 3; y++) {
        for (uint32_t x = 0; x < 37; x++) {
            pair->act[params.src.base + y * params.src.stride[4] + x] = 200.0f * (float)x - 3000.0f;
        }
    }
    kernel_pair_run_dest(pair, "softmax_any__f32_planar", &params, 1, sizeof params);
}

/* An operand of matmul stored transposed: `dims` are those it is used with. */
static mts_view_params transposed(kernel_pair *pair, const uint32_t *dims, uint32_t *in_pool)
{
    uint32_t own[MTS_PARAM_RANK];
    memcpy(own, dims, sizeof own);
    own[4] = dims[5];
    own[5] = dims[4];
    mts_view_params view = kernel_pair_operand(pair, own, false, in_pool);
    const uint32_t swap = view.stride[4];
    view.stride[4] = view.stride[5];
    view.stride[5] = swap;
    return view;
}

static mts_view_params matrix(kernel_pair *pair, const uint32_t *dims, uint32_t *in_pool)
{
    return kernel_pair_pick(pair, 0, 1) ? transposed(pair, dims, in_pool)
                                        : kernel_pair_operand(pair, dims, false, in_pool);
}

static void matmul_params(kernel_pair *pair, mts_matmul_params *r)
{
    uint32_t dims[MTS_PARAM_RANK];
    kernel_pair_dims(pair, dims, 2, 30);
    dims[5] = kernel_pair_pick(pair, 1, 150);
    r->depth = kernel_pair_pick(pair, 1, 60);
    const uint32_t left[MTS_PARAM_RANK] = {dims[0], dims[1], dims[2], dims[3], dims[4], r->depth};
    const uint32_t right[MTS_PARAM_RANK] = {dims[0], dims[1], dims[2], dims[3], r->depth, dims[5]};
    r->lhs = matrix(pair, left, &r->lhs_pool);
    r->rhs = matrix(pair, right, &r->rhs_pool);
    r->add = kernel_pair_operand(pair, dims, true, &r->add_pool);
    r->alpha = kernel_pair_float(pair, -1.0f, 1.0f);
    r->beta = kernel_pair_pick(pair, 0, 1) ? 0.0f : kernel_pair_float(pair, -1.0f, 1.0f);
    r->dest = kernel_pair_output(pair, dims);
}

static void matmul_agrees_for_transposed_broadcast_and_constant_operands(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_matmul_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 3e-5f; /* sums of sixty products in two orders */
        for (int m = 0; m < MEMBERS; m++) {
            matmul_params(pair, &params[m]);
        }
        kernel_pair_run_dest(pair, "matmul_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

/* Groups that share tiles, of several sizes: tiles that are cut, and more tiles than groups. */
static void matmul_in_blocks_agrees_for_transposed_broadcast_and_constant_operands(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES / 2; n++) {
        mts_matmul_params params[MEMBERS] = {0};
        uint32_t planes = 0;
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 3e-5f;
        for (int m = 0; m < MEMBERS; m++) {
            matmul_params(pair, &params[m]);
            planes = most_planes(planes, &params[m].dest);
        }
        const uint32_t first = kernel_pair_words(pair, params, MEMBERS * MTS_PARAM_WORDS(mts_matmul_params));
        run_in_groups(pair, "matmul_block__f32_planar", first, planes);
        if (pair->devices[1]->info.matrix_units) {
            kernel_pair_run(pair, "matmul_block__f32_planar", "-DVEC=1 -DMATRIX=1", first,
                            (const uint32_t[]){2 * 64, planes + 1, MEMBERS}, (const uint32_t[]){64, 1, 1});
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduce_agrees_for_every_kind_and_set_of_dimensions),
        cmocka_unit_test(reduce_in_groups_agrees_for_every_kind),
        cmocka_unit_test(softmax_agrees_along_every_axis),
        cmocka_unit_test(softmax_is_finite_for_large_values),
        cmocka_unit_test(matmul_agrees_for_transposed_broadcast_and_constant_operands),
        cmocka_unit_test(matmul_in_blocks_agrees_for_transposed_broadcast_and_constant_operands),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
