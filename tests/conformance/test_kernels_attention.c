/*
 * test_kernels_attention.c: attention agrees with the reference for all numbers of heads,
 * channels and tokens, with and without a mask.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/kernel_pair.h"

#define CASES 6
#define MEMBERS 2

/* Tokens: below a vector, more than a block of queries, more than two blocks of keys. */
static const uint32_t queries[CASES] = {3, 17, 70, 130, 64, 9}, keys[CASES] = {5, 64, 65, 150, 1, 131};

static mts_view_params image(kernel_pair *pair, uint32_t images, uint32_t channels, uint32_t tokens)
{
    const uint32_t dims[MTS_PARAM_RANK] = {1, 1, images, channels, 1, tokens};
    const mts_dest_params placed = kernel_pair_place(pair, dims);
    return kernel_pair_view(&placed);
}

static void attention_params(kernel_pair *pair, mts_attention_params *r, uint32_t n)
{
    const uint32_t images = kernel_pair_pick(pair, 1, 2), width = kernel_pair_pick(pair, 1, 19);
    r->heads = kernel_pair_pick(pair, 1, 3);
    r->depth = kernel_pair_pick(pair, 1, 20);
    r->keys = keys[n % CASES];
    r->scale = 0.5f;
    r->q = image(pair, images, r->heads * r->depth, queries[n % CASES]);
    r->k = image(pair, images, r->heads * r->depth, r->keys);
    r->v = image(pair, images, r->heads * width, r->keys);
    r->mask_pool = MTS_PARAM_NONE;
    if (n % 3 != 0) {
        const uint32_t scores[MTS_PARAM_RANK] = {1, 1, images, r->heads, queries[n % CASES], r->keys};
        r->mask = kernel_pair_operand(pair, scores, true, &r->mask_pool);
    }
    const uint32_t dims[MTS_PARAM_RANK] = {1, 1, images, r->heads * width, 1, queries[n % CASES]};
    r->dest = kernel_pair_output(pair, dims);
}

static void run(kernel_pair *pair, const mts_attention_params *params, uint32_t members)
{
    static const struct {
        const char *defines;
        uint32_t queries, local;
    } builds[] = {
        {"-DVEC=16 -DDEPTH=20", 64, 1}, {"-DVEC=4 -DDEPTH=20", 16, 1}, {"-DVEC=1 -DDEPTH=20", 4, 16}};
    const uint32_t first =
        kernel_pair_words(pair, params, members * (uint32_t)(sizeof params[0] / sizeof(uint32_t)));
    uint32_t tokens = 1, heads = 1;
    for (uint32_t m = 0; m < members; m++) {
        const uint32_t own = params[m].dest.dims[2] * params[m].heads;
        tokens = params[m].dest.dims[5] > tokens ? params[m].dest.dims[5] : tokens;
        heads = own > heads ? own : heads;
    }
    for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
        const uint32_t local[3] = {builds[i].local, 1, 1};
        const uint32_t groups = (tokens + builds[i].queries - 1) / builds[i].queries;
        const uint32_t grid[3] = {groups * local[0], heads + 1, members};
        kernel_pair_run(pair, "attention_any__f32_planar", builds[i].defines, first, grid, local);
    }
}

static void attention_agrees_for_every_number_of_tokens(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_attention_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-5f;
        for (uint32_t m = 0; m < MEMBERS; m++) {
            attention_params(pair, &params[m], n + m);
        }
        run(pair, params, MEMBERS);
    }
}

/* A first block of keys that all are masked by -infinity has no weight. */
static void keys_that_are_masked_have_no_weight(void **state)
{
    kernel_pair *pair = *state;
    mts_attention_params r = {.heads = 2, .depth = 8, .keys = 100, .scale = 1.0f};
    const uint32_t scores[MTS_PARAM_RANK] = {1, 1, 1, 1, 1, 100}, dims[MTS_PARAM_RANK] = {1, 1, 1, 16, 1, 20};
    kernel_pair_start(pair, 3);
    pair->tolerance = 1e-5f;
    r.q = image(pair, 1, 16, 20);
    r.k = image(pair, 1, 16, 100);
    r.v = image(pair, 1, 16, 100);
    const mts_dest_params mask = kernel_pair_place(pair, scores);
    r.mask = kernel_pair_view(&mask);
    r.mask.stride[2] = r.mask.stride[3] = r.mask.stride[4] = 0;
    for (uint32_t j = 0; j < 70; j++) {
        pair->act[r.mask.base + j] = -INFINITY;
    }
    r.dest = kernel_pair_output(pair, dims);
    run(pair, &r, 1);
}

/* A query all of whose keys have the lowest number, as exporters of PyTorch write masks, takes
   the mean: its scores are alike. */
static void a_query_that_masks_every_key_alike_takes_the_mean(void **state)
{
    kernel_pair *pair = *state;
    mts_attention_params r = {.heads = 2, .depth = 8, .keys = 100, .scale = 1.0f};
    const uint32_t scores[MTS_PARAM_RANK] = {1, 1, 1, 1, 20, 100},
                   dims[MTS_PARAM_RANK] = {1, 1, 1, 16, 1, 20};
    kernel_pair_start(pair, 4);
    pair->tolerance = 1e-5f;
    r.q = image(pair, 1, 16, 20);
    r.k = image(pair, 1, 16, 100);
    r.v = image(pair, 1, 16, 100);
    const mts_dest_params mask = kernel_pair_place(pair, scores);
    r.mask = kernel_pair_view(&mask);
    r.mask.stride[2] = r.mask.stride[3] = 0;
    for (uint32_t i = 0; i < 20; i++) {
        for (uint32_t j = 0; i % 3 == 0 && j < 100; j++) {
            pair->act[r.mask.base + i * r.mask.stride[4] + j] = -FLT_MAX;
        }
    }
    r.dest = kernel_pair_output(pair, dims);
    run(pair, &r, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_agrees_for_every_number_of_tokens),
        cmocka_unit_test(keys_that_are_masked_have_no_weight),
        cmocka_unit_test(a_query_that_masks_every_key_alike_takes_the_mean),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
