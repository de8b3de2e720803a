/*
 * test_cost.c: the model of a group's time: terms of sets, and constants that measurements determine.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "plan/cost.h"
#include "support/synth.h"

static double chance(uint32_t a, uint32_t b)
{
    const uint32_t words[2] = {a, b};
    return (double)(mts_hash(words, sizeof words, 3) >> 11) / (double)(UINT64_C(1) << 53);
}

static void the_fit_finds_the_constants_of_a_device_that_obeys_the_model(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 20; seed++) {
        mts_cost_model truth = {{0}, 0.0};
        mts_cost_sample samples[24];
        mts_cost_model found;
        for (uint32_t k = 0; k < MTS_COST_TERMS; k++) {
            truth.constant[k] = seed % 5 == k ? 0.0 : 0.1 + chance(seed, k);
        }
        for (uint32_t i = 0; i < 24; i++) {
            for (uint32_t k = 0; k < MTS_COST_TERMS; k++) {
                samples[i].set.term[k] = chance(1000 + seed * 64 + i, k);
            }
            samples[i].ms = mts_cost_predict(&truth, &samples[i].set);
        }
        mts_cost_fit(samples, 24, &found);
        assert_true(found.error < 0.01);
        for (uint32_t k = 0; k < MTS_COST_TERMS; k++) {
            assert_true(found.constant[k] >= 0.0);
            assert_true(fabs(found.constant[k] - truth.constant[k]) < 0.05);
        }
    }
}

static void noise_makes_no_constant_negative(void **state)
{
    (void)state;
    mts_cost_sample samples[6];
    mts_cost_model found;
    for (uint32_t i = 0; i < 6; i++) {
        for (uint32_t k = 0; k < MTS_COST_TERMS; k++) {
            samples[i].set.term[k] = chance(i, k);
        }
        samples[i].ms = 0.5 + chance(i, 77);
    }
    mts_cost_fit(samples, 6, &found);
    for (uint32_t k = 0; k < MTS_COST_TERMS; k++) {
        assert_true(found.constant[k] >= 0.0 && isfinite(found.constant[k]));
    }
    mts_cost_fit(samples, 0, &found);
    assert_true(mts_cost_predict(&found, &samples[0].set) == 0.0);
}

/* A clock may be too coarse for a fast device. */
static void what_took_no_time_does_not_count(void **state)
{
    (void)state;
    mts_cost_sample samples[6];
    mts_cost_model with, without;
    for (uint32_t i = 0; i < 6; i++) {
        for (uint32_t k = 0; k < MTS_COST_TERMS; k++) {
            samples[i].set.term[k] = chance(i, k);
        }
        samples[i].ms = i < 5 ? 0.5 + chance(i, 77) : 0.0;
    }
    mts_cost_fit(samples, 6, &with);
    mts_cost_fit(samples, 5, &without);
    assert_memory_equal(&with, &without, sizeof with);
    mts_cost_fit(&samples[5], 1, &with);
    assert_true(with.error == 0.0 && mts_cost_predict(&with, &samples[0].set) == 0.0);
}

/* The table of a family whose tasks see the same or different inputs. */
static const mts_cost_table *table_of(const test_synth *s, bool common, mts_strategy strategy,
                                      mts_arena *arena)
{
    const mts_graph *graphs[8];
    uint32_t groups[8] = {0};
    uint32_t slots[8];
    const uint32_t *slot_of[8];
    mts_stitched *stitched = NULL;
    const mts_cost_table *table = NULL;
    mts_error error = {0};
    for (uint32_t t = 0; t < s->archive->task_count; t++) {
        graphs[t] = s->archive->tasks[t].graph;
        slots[t] = common ? 0 : t;
        slot_of[t] = &slots[t];
    }
    const mts_stitch_request request = {.graphs = graphs,
                                        .graph_count = s->archive->task_count,
                                        .group_of = groups,
                                        .group_count = 1,
                                        .slot_of = slot_of,
                                        .share = true};
    test_must(mts_stitch(&request, arena, &stitched, &error), &error, "stitch");
    test_must(mts_cost_table_make(stitched, strategy, arena, &table, &error), &error, "table");
    return table;
}

static void sets_cost_the_sum_of_their_tasks_but_for_launches(void **state)
{
    const double prune[3] = {0.9, 0.8, 0.7};
    static const uint32_t all[3] = {0, 1, 2};
    test_synth s;
    mts_arena arena;
    mts_cost_set alone[3], together;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 3, prune, 3, 0.5);
    (void)state;
    test_synth_open(&s, &o);
    mts_arena_init(&arena, mts_allocator_default());
    const mts_cost_table *table = table_of(&s, false, MTS_STRATEGY_COMPACT, &arena);
    double work = 0.0;
    for (uint32_t t = 0; t < 3; t++) {
        mts_cost_of(table, &t, 1, &alone[t]);
        work += alone[t].term[MTS_COST_WORK];
        assert_true(t == 0 || alone[t].term[MTS_COST_WORK] > alone[t - 1].term[MTS_COST_WORK]);
        assert_true(alone[t].term[MTS_COST_LAUNCHES] > 0.1);
    }
    mts_cost_of(table, all, 3, &together);
    assert_true(fabs(together.term[MTS_COST_WORK] - work) < 1e-9);
    assert_true(together.term[MTS_COST_LAUNCHES] == alone[0].term[MTS_COST_LAUNCHES]);
    const mts_cost_table *padded = table_of(&s, false, MTS_STRATEGY_NETFUSE, &arena);
    mts_cost_of(padded, all, 3, &together);
    assert_true(fabs(together.term[MTS_COST_WORK] - 3.0 * alone[2].term[MTS_COST_WORK]) < 1e-9);
    mts_arena_release(&arena);
    test_synth_close(&s);
}

/* With share 1 and one frame, everything but the tasks' own scales and classifiers is one computation. */
static void what_tasks_have_in_common_counts_once(void **state)
{
    const double prune = 0.9;
    static const uint32_t all[2] = {0, 1};
    test_synth s;
    mts_arena arena;
    mts_cost_set apart, common;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 2, &prune, 1, 1.0);
    (void)state;
    test_synth_open(&s, &o);
    mts_arena_init(&arena, mts_allocator_default());
    mts_cost_of(table_of(&s, false, MTS_STRATEGY_COMPACT, &arena), all, 2, &apart);
    mts_cost_of(table_of(&s, true, MTS_STRATEGY_COMPACT, &arena), all, 2, &common);
    assert_true(common.term[MTS_COST_WORK] <= apart.term[MTS_COST_WORK]);
    assert_true(common.term[MTS_COST_LAUNCHES] == apart.term[MTS_COST_LAUNCHES]);
    mts_arena_release(&arena);
    test_synth_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fit_finds_the_constants_of_a_device_that_obeys_the_model),
        cmocka_unit_test(noise_makes_no_constant_negative),
        cmocka_unit_test(what_took_no_time_does_not_count),
        cmocka_unit_test(sets_cost_the_sum_of_their_tasks_but_for_launches),
        cmocka_unit_test(what_tasks_have_in_common_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
