/*
 * test_kernels_mixed.c: members of different kernels in one launch of the combined
 * program have the bits of launches of their own. That each of its kernels alone has them
 * is part of the comparisons with the reference at 16 floats a vector (kernel_pair_run),
 * which GPUs do not make: there these mixes are all that is compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/kernel_pair.h"

#define CASES 8
#define MEMBERS 3

typedef struct parts {
    kernel_pair *pair;
    kernel_mix mix;
    /* Launches of their own. */
    const char *kernels[8];
    uint32_t first[8], grids[8][3], count;
} parts;

/* Adds a launch over members of `size` bytes that begin with a mts_dest_params. */
static void add(parts *p, const char *kernel, const void *params, size_t size)
{
    const uint32_t words = (uint32_t)(size / sizeof(uint32_t));
    uint32_t *grid = p->grids[p->count];
    grid[2] = MEMBERS;
    for (uint32_t m = 0; m < MEMBERS; m++) {
        mts_dest_params dest;
        memcpy(&dest, (const char *)params + m * size, sizeof dest);
        const uint32_t planes = dest.dims[0] * dest.dims[1] * dest.dims[2] * dest.dims[3];
        grid[0] = dest.pitch > grid[0] ? dest.pitch : grid[0];
        grid[1] = planes + 1 > grid[1] ? planes + 1 : grid[1];
    }
    grid[0] = (grid[0] + p->mix.local - 1) / p->mix.local * p->mix.local;
    p->kernels[p->count] = kernel;
    p->first[p->count] = kernel_pair_words(p->pair, params, MEMBERS * words);
    (void)kernel_pair_mixed_add(&p->mix, kernel, p->first[p->count], grid);
    p->count++;
}

static void add_copies(parts *p)
{
    mts_copy_params params[MEMBERS] = {0};
    for (int m = 0; m < MEMBERS; m++) {
        uint32_t dims[MTS_PARAM_RANK];
        kernel_pair_dims(p->pair, dims, 2, 20);
        params[m].src = kernel_pair_operand(p->pair, dims, false, &params[m].src_pool);
        for (int i = 0; i < MTS_PARAM_RANK; i++) {
            params[m].step[i] = (int32_t)params[m].src.stride[i];
        }
        params[m].dest = kernel_pair_output(p->pair, dims);
    }
    add(p, "copy_any__f32_planar", params, sizeof params[0]);
}

static void add_sums(parts *p)
{
    mts_binary_params params[MEMBERS] = {0};
    for (int m = 0; m < MEMBERS; m++) {
        uint32_t dims[MTS_PARAM_RANK];
        kernel_pair_dims(p->pair, dims, 2, 40);
        params[m].lhs = kernel_pair_operand(p->pair, dims, true, &params[m].lhs_pool);
        params[m].rhs = kernel_pair_operand(p->pair, dims, true, &params[m].rhs_pool);
        params[m].kind = MTS_BIN_ADD;
        params[m].fn = MTS_FN_RELU;
        params[m].dest = kernel_pair_output(p->pair, dims);
    }
    add(p, "binary_any__f32_planar", params, sizeof params[0]);
}

static void add_pools(parts *p)
{
    mts_pool_params params[MEMBERS] = {0};
    for (int m = 0; m < MEMBERS; m++) {
        uint32_t dims[MTS_PARAM_RANK];
        kernel_pair_dims(p->pair, dims, 2, 30);
        const mts_dest_params in = kernel_pair_place(p->pair, dims);
        params[m] = (mts_pool_params){.src = kernel_pair_view(&in),
                                      .in_h = dims[4],
                                      .in_w = dims[5],
                                      .window = {3, 3},
                                      .stride = {1, 1},
                                      .dilation = {1, 1},
                                      .pad = {1, 1, 1, 1},
                                      .kind = m % 2 ? MTS_POOL_AVG : MTS_POOL_MAX};
        params[m].dest = kernel_pair_output(p->pair, dims);
    }
    add(p, "pool_any__f32_planar", params, sizeof params[0]);
}

static void add_functions(parts *p)
{
    mts_unary_params params[MEMBERS] = {0};
    for (int m = 0; m < MEMBERS; m++) {
        uint32_t dims[MTS_PARAM_RANK];
        kernel_pair_dims(p->pair, dims, 2, 60);
        const mts_dest_params in = kernel_pair_place(p->pair, dims);
        params[m] = (mts_unary_params){.src = kernel_pair_view(&in), .fn = MTS_FN_SIGMOID};
        params[m].dest = kernel_pair_output(p->pair, dims);
    }
    add(p, "unary_any__f32_planar", params, sizeof params[0]);
}

/* Launch by launch, each on what the one before left. */
static float *run_apart(const parts *p, mts_device *device, const char *defines)
{
    const uint32_t local[3] = {p->mix.local, 1, 1};
    kernel_pair own = *p->pair;
    float *result = NULL;
    for (uint32_t i = 0; i < p->count; i++) {
        float *next =
            kernel_pair_result(&own, device, p->kernels[i], defines, p->first[i], p->grids[i], local);
        free(result);
        own.act = result = next;
    }
    return result;
}

static void launches_of_several_kernels_have_the_bits_of_their_own(void **state)
{
    static const struct {
        const char *defines;
        uint32_t local;
    } builds[] = {{"-DVEC=16", 1}, {"-DVEC=1", 64}};
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        kernel_pair_start(pair, n + 1);
        const bool compiled = strcmp(pair->devices[1]->info.backend, "cpu") == 0; /* it has no such kernel */
        parts p = {.pair = pair, .mix = {.local = builds[n % 2].local}};
        add_copies(&p);
        add_sums(&p);
        add_pools(&p);
        add_functions(&p);
        for (int d = 0; d < (compiled ? 1 : 2); d++) {
            float *apart = run_apart(&p, pair->devices[d], builds[n % 2].defines);
            float *mixed = kernel_pair_mixed_result(pair, pair->devices[d], &p.mix, builds[n % 2].defines);
            assert_memory_equal(apart, mixed, KERNEL_PAIR_ACT * sizeof *mixed);
            free(apart);
            free(mixed);
        }
    }
}

static void the_reference_refuses_entries_of_no_kernel_and_no_groups(void **state)
{
    kernel_pair *pair = *state;
    const mts_kernel_desc desc = {"mixed_any__f32_planar", ""};
    const mts_mixed_params wrong[] = {{.number = 99, .width = 1}, {.number = 1, .width = 0}};
    kernel_pair_clear(pair, 1);
    for (int i = 0; i < 3; i++) {
        const uint32_t words[5] = {i < 2 ? 1u : 1u << 30, i < 2 ? wrong[i].number : 1, 0, 0,
                                   i < 2 ? wrong[i].width : 1};
        mts_device *device = pair->devices[0];
        mts_buffer *buffer = NULL;
        mts_kernel *kernel = NULL;
        mts_command_list *list = NULL;
        mts_error error = {0};
        assert_int_equal(mts_buffer_create(device, sizeof words, &buffer, &error), MTS_STATUS_OK);
        assert_int_equal(mts_buffer_write(buffer, 0, words, sizeof words, &error), MTS_STATUS_OK);
        assert_int_equal(mts_kernel_create(device, &desc, &kernel, &error), MTS_STATUS_OK);
        const mts_launch launch = {.kernel = kernel,
                                   .act = buffer,
                                   .pool = buffer,
                                   .params = buffer,
                                   .global = {1, 1, 1},
                                   .local = {1, 1, 1},
                                   .label = "wrong"};
        assert_int_equal(mts_command_list_create(device, &launch, 1, &list, &error), MTS_STATUS_OK);
        assert_int_equal(mts_command_list_submit(list, &error), MTS_STATUS_DEVICE);
        mts_command_list_destroy(&list);
        mts_kernel_destroy(&kernel);
        mts_buffer_destroy(&buffer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_of_several_kernels_have_the_bits_of_their_own),
        cmocka_unit_test(the_reference_refuses_entries_of_no_kernel_and_no_groups),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
