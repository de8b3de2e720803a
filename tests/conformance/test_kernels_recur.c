/*
 * test_kernels_recur.c: recurrent layers agree with the reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/kernel_pair.h"

#define CASES 24
#define MEMBERS 3

static void recur_member(kernel_pair *pair, uint32_t kind, mts_recur_params *r)
{
    static const uint32_t gates[MTS_RECUR_COUNT] = {4, 3, 3, 1}, vectors[MTS_RECUR_COUNT] = {2, 3, 1, 1};
    const uint32_t hidden = kernel_pair_pick(pair, 1, 37), rows = kernel_pair_pick(pair, 1, 3);
    const uint32_t length = kernel_pair_pick(pair, 1, 6);
    const uint32_t in[MTS_PARAM_RANK] = {1, 1, 1, length, rows, gates[kind] * hidden};
    const uint32_t state[MTS_PARAM_RANK] = {1, 1, 1, 1, rows, hidden};
    const uint32_t out[MTS_PARAM_RANK] = {1, 1, 1, length, rows, vectors[kind] * hidden};
    r->kind = kind;
    r->length = length;
    r->hidden = hidden;
    r->reverse = kernel_pair_pick(pair, 0, 1);
    r->states = kernel_pair_pick(pair, 0, kind == MTS_RECUR_LSTM ? 3 : 1);
    r->src = kernel_pair_operand(pair, in, false, NULL);
    r->h = kernel_pair_operand(pair, state, false, &r->h_pool);
    r->c = kernel_pair_operand(pair, state, false, &r->c_pool);
    r->weight = kernel_pair_pool(pair, gates[kind] * hidden * hidden);
    r->bias = kind == MTS_RECUR_GRU_AFTER && kernel_pair_pick(pair, 0, 1) ? kernel_pair_pool(pair, hidden)
                                                                          : MTS_PARAM_NONE;
    r->dest = kernel_pair_output(pair, out);
}

static void recur_agrees_for_every_kind_direction_and_state(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_recur_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        pair->half_slack = 1.0f / 64.0f; /* states are rounded between steps, those of the reference are not */
        for (uint32_t m = 0; m < MEMBERS; m++) {
            recur_member(pair, (n + m) % MTS_RECUR_COUNT, &params[m]);
        }
        kernel_pair_run_dest(pair, "recur_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recur_agrees_for_every_kind_direction_and_state),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
