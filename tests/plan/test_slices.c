/*
 * test_slices.c: slices bound what a layer touches and what a plan needs, and lose nothing.
 *
 * That a sliced plan never reads what was overwritten is the business of test_memory.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "plan/slices.h"
#include "support/random_net.h"

#define TASKS 5
#define FAMILIES 60

typedef struct world {
    mts_arena arena;
    const mts_graph *graphs[TASKS];
    mts_stitched *stitched;
    uint32_t layers; /* before slicing */
} world;

static void world_open(world *w, uint32_t seed, bool common)
{
    const random_family family = {.seed = seed, .tasks = TASKS, .steps = 4 + seed % 6, .common = common};
    static const uint32_t groups[TASKS] = {0};
    uint32_t slots[TASKS];
    const uint32_t *slot_of[TASKS];
    mts_error error = {0};
    mts_arena_init(&w->arena, mts_allocator_default());
    for (uint32_t t = 0; t < TASKS; t++) {
        w->graphs[t] = random_net(&family, t, &w->arena);
        assert_non_null(w->graphs[t]);
        slots[t] = common ? 0 : t;
        slot_of[t] = &slots[t];
    }
    const mts_stitch_request request = {.graphs = w->graphs,
                                        .graph_count = TASKS,
                                        .group_of = groups,
                                        .group_count = 1,
                                        .slot_of = slot_of,
                                        .share = true};
    assert_int_equal(mts_stitch(&request, &w->arena, &w->stitched, &error), MTS_STATUS_OK);
    w->layers = w->stitched->layer_count;
}

static uint64_t peak_of(world *w, uint64_t target)
{
    mts_plan *plan = NULL;
    mts_error error = {0};
    uint8_t *zero_copy = mts_arena_zero(&w->arena, w->stitched->value_count, 1);
    assert_non_null(zero_copy);
    memset(zero_copy, MTS_INPUT_ZERO_COPY, w->stitched->value_count);
    assert_int_equal(mts_slices_cut(w->stitched, target, &w->arena, &error), MTS_STATUS_OK);
    const mts_plan_request request = {.stitched = w->stitched, .inputs = zero_copy};
    assert_int_equal(mts_plan_create(&request, &w->arena, &plan, &error), MTS_STATUS_OK);
    return plan->arena_floats;
}

static void no_target_and_a_huge_one_leave_every_layer_whole(void **state)
{
    static const uint64_t targets[] = {0, UINT64_MAX / 4};
    (void)state;
    for (uint32_t i = 0; i < FAMILIES; i++) {
        world w;
        mts_error error = {0};
        world_open(&w, 100 + i, i % 2 == 0);
        assert_int_equal(mts_slices_cut(w.stitched, targets[i / 2 % 2], &w.arena, &error), MTS_STATUS_OK);
        assert_int_equal(w.stitched->layer_count, w.layers);
        mts_arena_release(&w.arena);
    }
}

/* With a target that nothing keeps, every layer of tasks that share no product runs task by task. */
static void the_smallest_target_slices_down_to_single_tasks(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < FAMILIES; i++) {
        world w;
        mts_error error = {0};
        world_open(&w, 300 + i, false);
        assert_int_equal(mts_slices_cut(w.stitched, 1, &w.arena, &error), MTS_STATUS_OK);
        for (uint32_t l = 0; l < w.stitched->layer_count; l++) {
            assert_int_equal(w.stitched->layers[l].count, 1);
        }
        mts_arena_release(&w.arena);
    }
}

static void producers_come_before_their_readers(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < FAMILIES; i++) {
        world w;
        mts_error error = {0};
        world_open(&w, 500 + i, i % 2 == 0);
        bool *done = mts_arena_zero(&w.arena, w.stitched->member_count, sizeof *done);
        uint32_t members = 0;
        assert_non_null(done);
        assert_int_equal(mts_slices_cut(w.stitched, 1000u << i % 6, &w.arena, &error), MTS_STATUS_OK);
        for (uint32_t l = 0; l < w.stitched->layer_count; l++) {
            const mts_layer *layer = &w.stitched->layers[l];
            for (uint32_t m = layer->first; m < layer->first + layer->count; m++, members++) {
                const mts_member *member = &w.stitched->members[m];
                for (uint32_t k = 0; k < member->input_count; k++) {
                    const uint32_t value = member->inputs[k];
                    const uint32_t from = value == MTS_NONE ? MTS_NONE : w.stitched->values[value].member;
                    assert_true(from == MTS_NONE || done[from]);
                }
            }
            for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
                assert_false(done[m]);
                done[m] = true;
            }
        }
        assert_int_equal(members, w.stitched->member_count);
        mts_arena_release(&w.arena);
    }
}

/* Over many families: a plan of small slices needs at most half of the memory, and rarely more than whole
 * layers. */
static void smaller_slices_need_less_memory(void **state)
{
    uint64_t whole = 0;
    uint64_t sliced = 0;
    uint32_t worse = 0;
    (void)state;
    for (uint32_t i = 0; i < FAMILIES; i++) {
        world w;
        world_open(&w, 700 + i, false);
        const uint64_t before = peak_of(&w, 0);
        const uint64_t after = peak_of(&w, 1);
        whole += before;
        sliced += after;
        worse += after > before ? 1 : 0;
        mts_arena_release(&w.arena);
    }
    assert_true(sliced * 10 < whole * 6);
    assert_true(worse * 10 <= FAMILIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_target_and_a_huge_one_leave_every_layer_whole),
        cmocka_unit_test(the_smallest_target_slices_down_to_single_tasks),
        cmocka_unit_test(producers_come_before_their_readers),
        cmocka_unit_test(smaller_slices_need_less_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
