/*
 * test_kernels_elementwise.c: unary, binary and scale agree with the reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/kernel_pair.h"

#define CASES 24
#define MEMBERS 3

/* The functions that may end a convolution but for PRELU, which needs a slope vector. */
static uint32_t fused_functions(uint32_t *out)
{
    uint32_t count = 0;
    for (uint32_t fn = 0; fn < MTS_FN_COUNT; fn++) {
        if (!mts_fn_is_alone(fn) && fn != MTS_FN_PRELU) {
            out[count++] = fn;
        }
    }
    return count;
}

static void unary_agrees_for_every_function_and_layout(void **state)
{
    kernel_pair *pair = *state;
    uint32_t fused[MTS_FN_COUNT];
    const uint32_t count = fused_functions(fused);
    for (uint32_t n = 0; n < CASES * 2; n++) {
        mts_unary_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (int m = 0; m < MEMBERS; m++) {
            uint32_t dims[MTS_PARAM_RANK];
            kernel_pair_dims(pair, dims, m == 0 ? 0 : 2, 40);
            params[m].src = kernel_pair_operand(pair, dims, m == 1, NULL);
            params[m].dest = kernel_pair_output(pair, dims);
            params[m].fn = fused[(n + (uint32_t)m * 7) % count];
            params[m].a = kernel_pair_float(pair, -1.0f, 0.5f);
            params[m].b = kernel_pair_float(pair, 0.5f, 1.0f);
            if (params[m].fn == MTS_FN_QUANT8 || params[m].fn == MTS_FN_QUANT16) {
                params[m].a = 1.0f / 64.0f;
                params[m].b = -40.0f;
            }
        }
        kernel_pair_run_dest(pair, "unary_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

/* Each has a program of its own. */
static void unary_agrees_for_functions_with_a_program_of_their_own(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t fn = MTS_FN_ALONE; fn < MTS_FN_COUNT; fn++) {
        if (!mts_fn_is_alone(fn)) {
            continue;
        }
        mts_unary_params params[MEMBERS] = {0};
        char define[32];
        kernel_pair_start(pair, fn + 1);
        for (int m = 0; m < MEMBERS; m++) {
            uint32_t dims[MTS_PARAM_RANK];
            kernel_pair_dims(pair, dims, m == 0 ? 0 : 2, 40);
            params[m].src = kernel_pair_operand(pair, dims, m == 1, NULL);
            params[m].dest = kernel_pair_output(pair, dims);
            params[m].fn = fn;
            params[m].a = kernel_pair_float(pair, -1.0f, 0.5f);
            params[m].b = kernel_pair_float(pair, 0.5f, 1.0f);
        }
        (void)snprintf(define, sizeof define, " -DFN=%u", fn);
        const kernel_pair_members all = {params, MEMBERS, sizeof params[0]};
        kernel_pair_run_dest_once(pair, "unary_any__f32_planar", define, fn, &all);
    }
}

/* The slope b makes what is lost near 0 visible, where exp(x) - 1 has no digits left. */
static void elu_and_softplus_agree_near_zero_and_far_from_it(void **state)
{
    static const float values[] = {0.0f,   -1e-6f, -3e-7f, -0.1f,   -0.34f, -0.36f, -1.0f,
                                   -20.0f, -90.0f, -2e2f,  -1e-30f, 5e-7f,  0.3f,   60.0f};
    enum { COUNT = sizeof values / sizeof values[0] };
    static const uint32_t functions[] = {MTS_FN_ELU, MTS_FN_SOFTPLUS, MTS_FN_MISH};
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 3 * 4; n++) {
        const uint32_t fn = functions[n / 4];
        const uint32_t dims[MTS_PARAM_RANK] = {1, 1, 1, 1, 1, COUNT};
        mts_unary_params params = {.fn = fn, .a = 1.0f, .b = 1e6f};
        char define[32];
        kernel_pair_start(pair, n + 1);
        params.src = kernel_pair_operand(pair, dims, false, NULL);
        params.dest = kernel_pair_output(pair, dims);
        for (uint32_t i = 0; i < COUNT; i++) {
            pair->act[params.src.base + i * params.src.stride[5]] = values[i];
        }
        (void)snprintf(define, sizeof define, " -DFN=%u", fn);
        const kernel_pair_members all = {&params, 1, sizeof params};
        kernel_pair_run_dest_once(pair, "unary_any__f32_planar", define, n % 4 + 1, &all);
    }
}

static void unary_may_work_in_place(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 4; n++) {
        uint32_t dims[MTS_PARAM_RANK];
        mts_unary_params params = {.fn = MTS_FN_NEG};
        kernel_pair_start(pair, n + 77);
        kernel_pair_dims(pair, dims, 2, 50);
        params.dest = kernel_pair_output(pair, dims);
        params.src = kernel_pair_view(&params.dest);
        kernel_pair_run_dest(pair, "unary_any__f32_planar", &params, 1, sizeof params);
    }
}

static void binary_agrees_for_every_kind_broadcast_and_constant(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_binary_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (int m = 0; m < MEMBERS; m++) {
            mts_binary_params *r = &params[m];
            uint32_t dims[MTS_PARAM_RANK];
            kernel_pair_dims(pair, dims, m == 0 ? 0 : 2, 40);
            r->lhs = kernel_pair_operand(pair, dims, m == 1, &r->lhs_pool);
            r->rhs = kernel_pair_operand(pair, dims, m > 0, &r->rhs_pool);
            r->dest = kernel_pair_output(pair, dims);
            r->kind = (n + (uint32_t)m) % MTS_BIN_ALONE;
            r->fn = n % 3 == 0 ? MTS_FN_NONE : n % 3 == 1 ? MTS_FN_RELU : MTS_FN_SIGMOID;
        }
        kernel_pair_run_dest(pair, "binary_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

/* Small whole numbers, so that operands are often equal; a remainder's divisor is never 0. */
static void whole_numbers(kernel_pair *pair)
{
    for (size_t i = 0; i < KERNEL_PAIR_ACT; i++) {
        pair->act[i] = (float)(int)(pair->act[i] * 4.0f) + 0.5f;
    }
    for (size_t i = 0; i < KERNEL_PAIR_POOL; i++) {
        pair->pool[i] = (float)(int)(pair->pool[i] * 4.0f) + 0.5f;
    }
}

static void binary_agrees_for_kinds_with_a_program_of_their_own(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t kind = MTS_BIN_ALONE; kind < MTS_BIN_COUNT; kind++) {
        mts_binary_params params[MEMBERS] = {0};
        char define[48];
        kernel_pair_start(pair, kind + 1);
        whole_numbers(pair);
        const uint32_t fn = kind % 2 ? MTS_FN_IS_ZERO : MTS_FN_SIGMOID;
        for (int m = 0; m < MEMBERS; m++) {
            mts_binary_params *r = &params[m];
            uint32_t dims[MTS_PARAM_RANK];
            kernel_pair_dims(pair, dims, m == 0 ? 0 : 2, 40);
            r->lhs = kernel_pair_operand(pair, dims, m == 1, &r->lhs_pool);
            r->rhs = kernel_pair_operand(pair, dims, m > 0, &r->rhs_pool);
            r->dest = kernel_pair_output(pair, dims);
            r->kind = kind;
            r->fn = fn;
        }
        const int length = snprintf(define, sizeof define, " -DKIND=%u", kind);
        if (mts_fn_is_alone(fn)) {
            (void)snprintf(define + length, sizeof define - (size_t)length, " -DFN=%u", fn);
        }
        const kernel_pair_members all = {params, MEMBERS, sizeof params[0]};
        kernel_pair_run_dest_once(pair, "binary_any__f32_planar", define, kind, &all);
    }
}

static void binary_sum_agrees_for_every_kind_and_broadcast(void **state)
{
    kernel_pair *pair = *state;
    if (!pair->devices[1] || !pair->devices[1]->info.ready_kernels) {
        skip(); /* plans ask no driver for it, and each would compile it a dozen times */
    }
    for (uint32_t n = 0; n < CASES; n++) {
        mts_binary_sum_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (int m = 0; m < MEMBERS; m++) {
            mts_binary_sum_params *r = &params[m];
            uint32_t dims[MTS_PARAM_RANK];
            kernel_pair_dims(pair, dims, m == 0 ? 0 : 2, 40);
            r->binary.lhs = kernel_pair_operand(pair, dims, m == 1, &r->binary.lhs_pool);
            r->binary.rhs = kernel_pair_operand(pair, dims, m > 0, &r->binary.rhs_pool);
            r->addend.other = kernel_pair_operand(pair, dims, n % 2, &r->addend.other_pool);
            r->binary.dest = kernel_pair_output(pair, dims);
            r->binary.kind = (n + (uint32_t)m) % MTS_BIN_ALONE;
            r->binary.fn = n % 3 == 0 ? MTS_FN_NONE : n % 3 == 1 ? MTS_FN_RELU : MTS_FN_SIGMOID;
            r->addend.fn = n % 2 ? MTS_FN_NONE : MTS_FN_RELU;
        }
        kernel_pair_run_dest(pair, "binary_sum__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

static void select_agrees_for_every_broadcast_and_constant(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 8; n++) {
        mts_select_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (size_t i = 0; i < KERNEL_PAIR_ACT; i += 3) {
            pair->act[i] = 0.0f;
        }
        for (int m = 0; m < MEMBERS; m++) {
            uint32_t dims[MTS_PARAM_RANK];
            kernel_pair_dims(pair, dims, m == 0 ? 0 : 2, 40);
            for (uint32_t i = 0; i < 3; i++) {
                params[m].in[i] = kernel_pair_operand(pair, dims, ((n + (uint32_t)m) >> i & 1u) != 0,
                                                      &params[m].in_pool[i]);
            }
            params[m].dest = kernel_pair_output(pair, dims);
        }
        kernel_pair_run_dest(pair, "select_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

static void scale_agrees_with_and_without_its_vectors(void **state)
{
    static const uint32_t functions[] = {MTS_FN_NONE, MTS_FN_PRELU, MTS_FN_LEAKY_BOUND, MTS_FN_TANH,
                                         MTS_FN_CLIP};
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_scale_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            mts_scale_params *r = &params[m];
            uint32_t dims[MTS_PARAM_RANK];
            kernel_pair_dims(pair, dims, 2, 40);
            dims[3] = kernel_pair_pick(pair, 1, 9);
            r->src = kernel_pair_operand(pair, dims, false, NULL);
            r->dest = kernel_pair_output(pair, dims);
            r->channel[1] = 1;
            r->fn = functions[(n + m) % 5];
            r->scale = kernel_pair_pick(pair, 0, 3) ? kernel_pair_pool(pair, dims[3]) : MTS_PARAM_NONE;
            r->bias = kernel_pair_pick(pair, 0, 3) ? kernel_pair_pool(pair, dims[3]) : MTS_PARAM_NONE;
            r->slope = r->fn == MTS_FN_PRELU ? kernel_pair_pool(pair, dims[3]) : MTS_PARAM_NONE;
            r->a = -0.5f;
            r->b = r->fn == MTS_FN_LEAKY_BOUND ? -0.1f : 0.75f;
        }
        kernel_pair_run_dest(pair, "scale_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

/* Channels of one pixel, which are columns: more and fewer than a vector's, and several
   runs of a row. */
static void scale_agrees_where_channels_are_columns(void **state)
{
    static const uint32_t functions[] = {MTS_FN_NONE, MTS_FN_CLIP, MTS_FN_TANH};
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_scale_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            mts_scale_params *r = &params[m];
            const uint32_t channels = kernel_pair_pick(pair, 1, n % 3 == 0 ? 700 : 40);
            const uint32_t dims[MTS_PARAM_RANK] = {1, 1, 1, kernel_pair_pick(pair, 1, 4), 1, channels};
            r->src = kernel_pair_operand(pair, dims, false, NULL);
            r->dest = kernel_pair_output(pair, dims);
            r->fn = functions[(n + m) % 3];
            r->scale = kernel_pair_pool(pair, channels);
            r->bias = kernel_pair_pool(pair, channels);
            r->slope = MTS_PARAM_NONE;
            r->channel[2] = 1;
            r->a = -0.5f;
            r->b = 0.75f;
        }
        kernel_pair_run_dest(pair, "scale_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

/* Channels of packs: four columns of each of some planes, or planes of planes. */
static void scale_agrees_where_channels_are_lanes(void **state)
{
    static const uint32_t functions[] = {MTS_FN_PRELU, MTS_FN_RELU, MTS_FN_PRELU, MTS_FN_NONE};
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_scale_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            mts_scale_params *r = &params[m];
            const uint32_t packs = kernel_pair_pick(pair, 1, 5), pixels = kernel_pair_pick(pair, 1, 40);
            const bool split = (n + m) % 3 == 0;
            const uint32_t dims[MTS_PARAM_RANK] = {
                1, 1, packs, split ? MTS_CHANNEL_PACK : 3, pixels, split ? 5 : MTS_CHANNEL_PACK};
            r->src = kernel_pair_operand(pair, dims, false, NULL);
            r->dest = kernel_pair_output(pair, dims);
            r->fn = functions[(n + m) % 4];
            r->channel[0] = MTS_CHANNEL_PACK;
            r->channel[split ? 1 : 2] = 1;
            r->scale = kernel_pair_pick(pair, 0, 3) ? kernel_pair_pool(pair, 4 * packs) : MTS_PARAM_NONE;
            r->bias = kernel_pair_pick(pair, 0, 3) ? kernel_pair_pool(pair, 4 * packs) : MTS_PARAM_NONE;
            r->slope = r->fn == MTS_FN_PRELU ? kernel_pair_pool(pair, 4 * packs) : MTS_PARAM_NONE;
        }
        kernel_pair_run_dest(pair, "scale_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_agrees_for_every_function_and_layout),
        cmocka_unit_test(unary_agrees_for_functions_with_a_program_of_their_own),
        cmocka_unit_test(elu_and_softplus_agree_near_zero_and_far_from_it),
        cmocka_unit_test(unary_may_work_in_place),
        cmocka_unit_test(binary_agrees_for_every_kind_broadcast_and_constant),
        cmocka_unit_test(binary_agrees_for_kinds_with_a_program_of_their_own),
        cmocka_unit_test(binary_sum_agrees_for_every_kind_and_broadcast),
        cmocka_unit_test(select_agrees_for_every_broadcast_and_constant),
        cmocka_unit_test(scale_agrees_with_and_without_its_vectors),
        cmocka_unit_test(scale_agrees_where_channels_are_columns),
        cmocka_unit_test(scale_agrees_where_channels_are_lanes),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
