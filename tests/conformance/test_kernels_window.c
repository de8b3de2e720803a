/*
 * test_kernels_window.c: pool, lrn and deconv agree with the reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/kernel_pair.h"

#define CASES 24
#define MEMBERS 3

/* An image of random size and its dims [1, 1, N, C, H, W]. */
static void image_dims(kernel_pair *pair, uint32_t *dims, uint32_t most)
{
    dims[0] = dims[1] = 1;
    dims[2] = kernel_pair_pick(pair, 1, 2);
    dims[3] = kernel_pair_pick(pair, 1, 5);
    dims[4] = kernel_pair_pick(pair, 1, most);
    dims[5] = kernel_pair_pick(pair, 1, most);
}

/* Output size of a window, in ceil mode where `ceil` is 1; at least one. */
static uint32_t pool_size(const mts_pool_params *r, int axis, uint32_t in, uint32_t ceil)
{
    const int32_t reach = (int32_t)((r->window[axis] - 1) * r->dilation[axis] + 1);
    const int32_t stride = (int32_t)r->stride[axis];
    const int32_t room = (int32_t)in + r->pad[axis] + r->pad[axis + 2] - reach + (ceil ? stride - 1 : 0);
    return room < 0 ? 1 : (uint32_t)(room / stride) + 1;
}

static void pool_params(kernel_pair *pair, mts_pool_params *r, uint32_t n)
{
    uint32_t dims[MTS_PARAM_RANK];
    image_dims(pair, dims, 45);
    r->src = kernel_pair_operand(pair, dims, false, NULL);
    r->in_h = dims[4];
    r->in_w = dims[5];
    r->kind = n % 2;
    r->include_pad = kernel_pair_pick(pair, 0, 1);
    for (int i = 0; i < 2; i++) {
        /* sometimes far larger than the image */
        r->window[i] = kernel_pair_pick(pair, 1, kernel_pair_pick(pair, 0, 4) ? 4 : 90);
        r->stride[i] = kernel_pair_pick(pair, 1, 3);
        r->dilation[i] = kernel_pair_pick(pair, 0, 3) ? 1 : 2;
        r->pad[i] = (int32_t)kernel_pair_pick(pair, 0, r->window[i] - 1);
        r->pad[i + 2] = (int32_t)kernel_pair_pick(pair, 0, r->window[i] - 1);
    }
    const uint32_t ceil = kernel_pair_pick(pair, 0, 1);
    dims[4] = pool_size(r, 0, r->in_h, ceil);
    dims[5] = pool_size(r, 1, r->in_w, ceil);
    r->dest = kernel_pair_output(pair, dims);
}

/* One window, or few, as large as the image: a work-item goes along its rows. */
static void pool_of_whole_planes_agrees(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_pool_params r = {.kind = n % 2, .include_pad = n / 2 % 2};
        uint32_t dims[MTS_PARAM_RANK] = {1, 1, 1, 3, kernel_pair_pick(pair, 1, 20), n % 3 ? 7 + n : 40 + n};
        kernel_pair_start(pair, n + 1);
        r.in_h = dims[4];
        r.in_w = dims[5];
        r.src = kernel_pair_operand(pair, dims, false, NULL);
        for (int i = 0; i < 2; i++) {
            const uint32_t more = kernel_pair_pick(pair, 0, 2);
            r.window[i] = dims[4 + i];
            r.dilation[i] = 1;
            r.stride[i] = 1 + n / 4 % 2;
            r.pad[i] = r.pad[2 + i] = (int32_t)(more < dims[4 + i] ? more : 0);
            dims[4 + i] = 2 * (uint32_t)r.pad[i] / r.stride[i] + 1;
        }
        r.dest = kernel_pair_output(pair, dims);
        kernel_pair_run_dest(pair, "pool_any__f32_planar", &r, 1, sizeof r);
    }
}

static void pool_agrees_with_padding_dilation_and_ceil_windows(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 2 * CASES; n++) {
        mts_pool_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            pool_params(pair, &params[m], n + m);
        }
        kernel_pair_run_dest(pair, "pool_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

/* Windows of 2 x 2 side by side have a way of their own where all of them lie in the image. */
static void pool_of_windows_of_2x2_agrees(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 2 * CASES; n++) {
        mts_pool_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            mts_pool_params *r = &params[m];
            uint32_t dims[MTS_PARAM_RANK];
            image_dims(pair, dims, n % 2 ? 12 : 70);
            r->src = kernel_pair_operand(pair, dims, false, NULL);
            r->in_h = dims[4];
            r->in_w = dims[5];
            r->kind = (n + m) % 4 == 3; /* MAX, and some that are not */
            r->window[0] = r->window[1] = r->stride[0] = r->stride[1] = 2;
            r->dilation[0] = r->dilation[1] = 1;
            r->pad[0] = r->pad[1] = 0;
            const uint32_t ceil = kernel_pair_pick(pair, 0, 3) == 0;
            dims[4] = pool_size(r, 0, r->in_h, ceil);
            dims[5] = pool_size(r, 1, r->in_w, ceil);
            r->dest = kernel_pair_output(pair, dims);
        }
        kernel_pair_run_dest(pair, "pool_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

static void lrn_agrees_for_odd_and_even_windows(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES / 2; n++) {
        mts_lrn_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (int m = 0; m < MEMBERS; m++) {
            mts_lrn_params *r = &params[m];
            uint32_t dims[MTS_PARAM_RANK];
            image_dims(pair, dims, 24);
            r->src = kernel_pair_operand(pair, dims, false, NULL);
            r->dest = kernel_pair_output(pair, dims);
            r->channels = dims[3];
            r->size = kernel_pair_pick(pair, 1, 6);
            r->alpha = kernel_pair_float(pair, 1e-4f, 0.5f);
            r->beta = kernel_pair_float(pair, 0.5f, 1.0f);
            r->bias = kernel_pair_float(pair, 1.0f, 2.0f);
        }
        kernel_pair_run_dest(pair, "lrn_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

static void deconv_params(kernel_pair *pair, mts_deconv_params *r)
{
    uint32_t dims[MTS_PARAM_RANK];
    image_dims(pair, dims, 16);
    dims[5] = kernel_pair_pick(pair, 0, 3) ? dims[5]
                                           : kernel_pair_pick(pair, 40, 150); /* several vectors of a phase */
    r->group = kernel_pair_pick(pair, 1, 2);
    dims[3] = r->group * kernel_pair_pick(pair, 1, 4);
    r->in_channels = dims[3];
    r->in_h = dims[4];
    r->in_w = dims[5];
    r->src = kernel_pair_operand(pair, dims, false, NULL);
    const uint32_t outs = kernel_pair_pick(pair, 1, 10); /* some kernels compute four together */
    for (int i = 0; i < 2; i++) {
        r->window[i] = kernel_pair_pick(pair, 1, 4);
        r->stride[i] = kernel_pair_pick(pair, 1, 3);
        r->dilation[i] = kernel_pair_pick(pair, 0, 3) ? 1 : 2;
        const uint32_t reach = (r->window[i] - 1) * r->dilation[i];
        r->pad[i] = (int32_t)kernel_pair_pick(pair, 0, reach);
        const uint32_t whole = (dims[4 + i] - 1) * r->stride[i] + reach + 1 + kernel_pair_pick(pair, 0, 2);
        dims[4 + i] = whole > (uint32_t)r->pad[i] ? whole - (uint32_t)r->pad[i] : 1;
    }
    dims[3] = outs * r->group;
    r->weight = kernel_pair_pool(pair, r->in_channels * outs * r->window[0] * r->window[1]);
    r->bias = kernel_pair_pick(pair, 0, 1) ? kernel_pair_pool(pair, dims[3]) : MTS_PARAM_NONE;
    r->fn = kernel_pair_pick(pair, 0, 1) ? MTS_FN_RELU : MTS_FN_NONE;
    r->dest = kernel_pair_output(pair, dims);
}

static void deconv_agrees_with_groups_strides_and_dilation(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_deconv_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 3e-5f; /* sums of a hundred products in two orders */
        for (int m = 0; m < MEMBERS; m++) {
            deconv_params(pair, &params[m]);
        }
        kernel_pair_run_dest(pair, "deconv_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_of_whole_planes_agrees),
        cmocka_unit_test(pool_agrees_with_padding_dilation_and_ceil_windows),
        cmocka_unit_test(pool_of_windows_of_2x2_agrees),
        cmocka_unit_test(lrn_agrees_for_odd_and_even_windows),
        cmocka_unit_test(deconv_agrees_with_groups_strides_and_dilation),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
