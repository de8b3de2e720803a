/*
 * test_kernels_index.c: take, scan, order, sample, and positions and products of reductions agree with the
 * reference.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/kernel_pair.h"

#define CASES 18
#define MEMBERS 3

typedef float make_value(kernel_pair *pair, uint32_t limit);

/* Writes every element of a view, in whichever buffer it lies. */
static void fill(kernel_pair *pair, const mts_view_params *view, const uint32_t *dims, uint32_t in_pool,
                 make_value *value, uint32_t limit)
{
    uint32_t count = 1;
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        count *= dims[i];
    }
    for (uint32_t n = 0; n < count; n++) {
        uint32_t rest = n, offset = view->base;
        for (int i = MTS_PARAM_RANK - 1; i >= 0; i--) {
            offset += rest % dims[i] * view->stride[i];
            rest /= dims[i];
        }
        (in_pool ? pair->pool : pair->act)[offset] = value(pair, limit);
    }
}

/* Also positions from the end, and some that do not exist. */
static float position(kernel_pair *pair, uint32_t length)
{
    const uint32_t odd = kernel_pair_pick(pair, 0, 40);
    if (odd < 3) {
        return odd == 0 ? NAN : odd == 1 ? 1e30f : -1e30f;
    }
    return (float)kernel_pair_pick(pair, 0, 2 * length + 3) - (float)length - 2.0f;
}

static void take_record(kernel_pair *pair, mts_take_params *r)
{
    uint32_t dims[MTS_PARAM_RANK];
    kernel_pair_dims(pair, dims, 3, 30);
    r->length = dims[4];
    r->src = kernel_pair_operand(pair, dims, false, &r->src_pool);
    dims[4] = kernel_pair_pick(pair, 1, 30);
    r->index = kernel_pair_operand(pair, dims, true, &r->index_pool);
    fill(pair, &r->index, dims, r->index_pool, position, r->length);
    r->dest = kernel_pair_output(pair, dims);
}

static void take_never_leaves_its_operand_whatever_the_index_is(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_take_params records[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (int m = 0; m < MEMBERS; m++) {
            take_record(pair, &records[m]);
        }
        kernel_pair_run_dest(pair, "take_any__f32_planar", records, MEMBERS, sizeof records[0]);
    }
}

static float near_one(kernel_pair *pair, uint32_t limit)
{
    (void)limit;
    return kernel_pair_float(pair, 0.8f, 1.2f);
}

static void scan_record(kernel_pair *pair, mts_scan_params *r, uint32_t axis, uint32_t modes)
{
    uint32_t dims[MTS_PARAM_RANK];
    kernel_pair_dims(pair, dims, 1, 20);
    dims[axis] = kernel_pair_pick(pair, 1, axis == 5 ? 80 : 9);
    r->src = kernel_pair_operand(pair, dims, false, NULL);
    r->axis = axis;
    r->length = dims[axis];
    r->kind = modes & 1;
    r->exclusive = modes >> 1 & 1;
    r->reverse = modes >> 2 & 1;
    if (r->kind == MTS_SCAN_PROD) {
        fill(pair, &r->src, dims, 0, near_one, 0);
    }
    r->dest = kernel_pair_output(pair, dims);
}

static void scan_agrees_along_every_axis_in_every_mode(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 24; n++) {
        mts_scan_params records[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f;
        for (uint32_t m = 0; m < MEMBERS; m++) {
            scan_record(pair, &records[m], (n + m) % MTS_PARAM_RANK, n / 3 + m);
        }
        kernel_pair_run_dest(pair, "scan_any__f32_planar", records, MEMBERS, sizeof records[0]);
    }
}

/* Some of them equal, so that the first of equals has to come first. */
static float coarse(kernel_pair *pair, uint32_t limit)
{
    const uint32_t odd = kernel_pair_pick(pair, 0, 60);
    if (odd < 4) {
        return odd == 0 ? INFINITY : odd == 1 ? -INFINITY : odd == 2 ? -0.0f : NAN;
    }
    return (float)kernel_pair_pick(pair, 0, limit) * 0.25f - 2.0f;
}

static void order_record(kernel_pair *pair, mts_order_params *r, uint32_t n)
{
    uint32_t dims[MTS_PARAM_RANK];
    kernel_pair_dims(pair, dims, 2, 8);
    dims[5] = kernel_pair_pick(pair, 1, 90);
    r->src = kernel_pair_operand(pair, dims, false, NULL);
    fill(pair, &r->src, dims, 0, coarse, n % 3 == 0 ? 0 : 20);
    r->length = dims[5];
    r->largest = n % 2;
    dims[5] = kernel_pair_pick(pair, 1, dims[5]);
    r->dest = kernel_pair_output(pair, dims);
}

static void order_puts_the_first_of_equal_elements_first(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_order_params records[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            order_record(pair, &records[m], n + m);
        }
        kernel_pair_run_dest(pair, "order_any__f32_planar", records, MEMBERS, sizeof records[0]);
    }
}

static float coordinate(kernel_pair *pair, uint32_t limit)
{
    (void)limit;
    return kernel_pair_float(pair, -1.7f, 1.7f);
}

static void sample_record(kernel_pair *pair, mts_sample_params *r, uint32_t n)
{
    uint32_t image[MTS_PARAM_RANK], dims[MTS_PARAM_RANK], grid[MTS_PARAM_RANK] = {1, 1, 1, 1, 1, 2};
    kernel_pair_dims(pair, image, 2, 15);
    kernel_pair_dims(pair, dims, 2, 15);
    dims[2] = grid[2] = image[2];
    dims[3] = image[3];
    grid[3] = dims[4];
    grid[4] = dims[5];
    r->src = kernel_pair_operand(pair, image, false, &r->src_pool);
    r->grid = kernel_pair_operand(pair, grid, false, &r->grid_pool);
    fill(pair, &r->grid, grid, r->grid_pool, coordinate, 0);
    r->in_h = image[4];
    r->in_w = image[5];
    r->mode = n % 3;
    r->padding = n / 3 % 3;
    r->align = n / 9 % 2;
    r->dest = kernel_pair_output(pair, dims);
}

static void sample_agrees_in_every_mode(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_sample_params records[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f;
        for (uint32_t m = 0; m < MEMBERS; m++) {
            sample_record(pair, &records[m], n + 5 * m);
        }
        kernel_pair_run_dest(pair, "sample_any__f32_planar", records, MEMBERS, sizeof records[0]);
    }
}

static void reduce_record(kernel_pair *pair, mts_reduce_params *r, uint32_t kind, uint32_t axis)
{
    uint32_t dims[MTS_PARAM_RANK];
    kernel_pair_dims(pair, dims, 2, 24);
    r->src = kernel_pair_operand(pair, dims, false, NULL);
    fill(pair, &r->src, dims, 0, kind == MTS_REDUCE_PROD ? near_one : coarse, 20);
    r->kind = kind;
    for (uint32_t i = 0; i < MTS_PARAM_RANK; i++) {
        const bool reduced = i == axis;
        r->extent[i] = reduced ? dims[i] : 1;
        r->step[i] = reduced ? r->src.stride[i] : 0;
        r->src.stride[i] = reduced ? 0 : r->src.stride[i];
        dims[i] = reduced ? 1 : dims[i];
    }
    r->dest = kernel_pair_output(pair, dims);
}

static void reductions_find_positions_and_products(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_reduce_params records[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f;
        for (uint32_t m = 0; m < MEMBERS; m++) {
            reduce_record(pair, &records[m], MTS_REDUCE_PROD + (n + m) % 5, 2 + (n + 2 * m) % 4);
        }
        kernel_pair_run_dest(pair, "reduce_any__f32_planar", records, MEMBERS, sizeof records[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(take_never_leaves_its_operand_whatever_the_index_is),
        cmocka_unit_test(scan_agrees_along_every_axis_in_every_mode),
        cmocka_unit_test(order_puts_the_first_of_equal_elements_first),
        cmocka_unit_test(sample_agrees_in_every_mode),
        cmocka_unit_test(reductions_find_positions_and_products),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
