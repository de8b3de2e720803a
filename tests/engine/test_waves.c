/*
 * test_waves.c: what sessions of unlike networks promise on a device whose launches cost time: memory, budgets,
 * priorities. That sets of tasks keep their bits there is part of test_control_sets.c; which schedules are found of
 * tests/plan/test_waves.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "support/net.h"
#include "support/nets.h"
#include "support/random_net.h"

#define WORLDS 40u
#define TASKS_MOST 6u
#define LAUNCH_NS 20000u

typedef struct world {
    test_net net;
    uint32_t group_of[TASKS_MOST];
    const uint32_t *priorities;
} world;

static mts_device *device;

/* Networks of different seeds, which align nowhere; each is a group of its own. */
static void world_open(world *w, uint32_t seed)
{
    const mts_graph *graphs[TASKS_MOST];
    const uint32_t count = 2 + seed % (TASKS_MOST - 1);
    mts_error error = {0};
    mts_arena arena;
    mts_arena_init(&arena, mts_allocator_default());
    *w = (world){.priorities = NULL};
    for (uint32_t t = 0; t < count; t++) {
        const random_family family = {.seed = 700 + 10 * seed + t, .tasks = 1, .steps = 4 + (seed + t) % 8};
        graphs[t] = random_net(&family, 0, &arena);
        assert_non_null(graphs[t]);
        w->group_of[t] = t;
    }
    assert_int_equal(net_make(graphs, count, 0.0f, &w->net, &error), MTS_STATUS_OK);
    mts_arena_release(&arena);
}

static mts_status footprint(const world *w, mts_strategy strategy, uint64_t budget, mts_session_stats *stats)
{
    const mts_engine_options options = {.strategy = strategy,
                                        .separate_inputs = true,
                                        .memory_budget = {.bytes = budget},
                                        .priorities = w->priorities};
    const mts_decision decision = {.group_of = w->group_of};
    mts_error error = {0};
    return mts_engine_footprint(device, w->net.archive, &options, &decision, stats, &error);
}

/* Alignment counts more in small networks, hence the 4 KiB. */
static void unlike_networks_take_a_tenth_more_memory_than_one_by_one_at_most(void **state)
{
    uint32_t one_by_one = 0, joined = 0;
    (void)state;
    for (uint32_t seed = 0; seed < WORLDS; seed++) {
        mts_session_stats apart = {0}, together = {0};
        world w;
        world_open(&w, seed);
        assert_int_equal(footprint(&w, MTS_STRATEGY_SEQUENTIAL, 0, &apart), MTS_STATUS_OK);
        assert_int_equal(footprint(&w, MTS_STRATEGY_COMPACT, 0, &together), MTS_STATUS_OK);
        assert_true(together.peak_bytes <= apart.peak_bytes + apart.peak_bytes / 10 + 4096);
        assert_true(together.launches <= apart.launches);
        one_by_one += apart.launches;
        joined += together.launches;
        net_release(&w.net);
    }
    assert_true(3 * joined < 2 * one_by_one);
}

/* A budget without room for waves gives a session without them. */
static void the_smallest_budget_is_not_above_what_sequential_takes(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < WORLDS; seed++) {
        mts_session_stats apart = {0}, together = {0}, least = {0};
        world w;
        world_open(&w, seed);
        assert_int_equal(footprint(&w, MTS_STRATEGY_SEQUENTIAL, 0, &apart), MTS_STATUS_OK);
        assert_int_equal(footprint(&w, MTS_STRATEGY_COMPACT, 0, &together), MTS_STATUS_OK);
        assert_int_equal(footprint(&w, MTS_STRATEGY_COMPACT, apart.peak_bytes, &least), MTS_STATUS_OK);
        assert_true(least.peak_bytes <= apart.peak_bytes);
        assert_true(together.peak_bytes <= apart.peak_bytes || least.launches >= together.launches);
        net_release(&w.net);
    }
}

/* Launches of a higher priority would have to wait for those that share a wave with them. */
static void tasks_of_different_priorities_have_no_waves(void **state)
{
    static const uint32_t priorities[TASKS_MOST] = {0, 0, 3, 3, 3, 3}, equal[TASKS_MOST] = {3, 3, 3, 3, 3, 3};
    (void)state;
    for (uint32_t seed = 4; seed < WORLDS; seed += TASKS_MOST - 1) { /* six tasks each */
        mts_session_stats free = {0}, alike = {0}, ranked = {0}, waves = {0};
        world w;
        world_open(&w, seed);
        assert_int_equal(footprint(&w, MTS_STRATEGY_COMPACT, 0, &waves), MTS_STATUS_OK);
        w.priorities = equal;
        assert_int_equal(footprint(&w, MTS_STRATEGY_COMPACT, 0, &alike), MTS_STATUS_OK);
        w.priorities = priorities;
        assert_int_equal(footprint(&w, MTS_STRATEGY_COMPACT, 0, &ranked), MTS_STATUS_OK);
        device->info.launch_ns = 0;
        w.priorities = NULL;
        assert_int_equal(footprint(&w, MTS_STRATEGY_COMPACT, 0, &free), MTS_STATUS_OK);
        device->info.launch_ns = LAUNCH_NS;
        assert_int_equal(alike.launches, waves.launches);
        assert_int_equal(ranked.launches, free.launches);
        assert_true(waves.launches < free.launches);
        net_release(&w.net);
    }
}

/* As in an Inception block: one network, a common input, branches of different widths. */
static void branches_of_one_network_share_a_launch(void **state)
{
    static const mts_net_plan plan = {.tasks = 1, .shared = 8, .seed = 5};
    static const uint32_t branches = 4;
    mts_session_stats waves = {0}, apart = {0};
    mts_error error = {0};
    mts_arena arena;
    mts_net net;
    world w = {.priorities = NULL};
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    mts_net_begin(&net, &plan, &arena, 0);
    const mts_net_value x =
        mts_net_conv(&net, mts_net_input(&net, 3, 32), mts_net_channels(&net, true), 3, 1, NULL);
    mts_net_value joined = mts_net_conv(&net, x, mts_net_channels(&net, true), 3, 1, NULL);
    for (uint32_t i = 1; i < branches; i++) {
        joined =
            mts_net_concat(&net, joined, mts_net_conv(&net, x, mts_net_channels(&net, true), 3, 1, NULL));
    }
    mts_net_end(&net, mts_net_mean(&net, joined), 3);
    assert_false(net.failed);
    const mts_graph *graph = net.graph;
    assert_int_equal(net_make_as_is(&graph, 1, &w.net, &error), MTS_STATUS_OK);
    mts_arena_release(&arena);
    assert_int_equal(footprint(&w, MTS_STRATEGY_COMPACT, 0, &waves), MTS_STATUS_OK);
    device->info.launch_ns = 0;
    assert_int_equal(footprint(&w, MTS_STRATEGY_COMPACT, 0, &apart), MTS_STATUS_OK);
    device->info.launch_ns = LAUNCH_NS;
    assert_true(waves.launches + branches - 1 <= apart.launches);
    net_release(&w.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unlike_networks_take_a_tenth_more_memory_than_one_by_one_at_most),
        cmocka_unit_test(the_smallest_budget_is_not_above_what_sequential_takes),
        cmocka_unit_test(tasks_of_different_priorities_have_no_waves),
        cmocka_unit_test(branches_of_one_network_share_a_launch),
    };
    mts_error error = {0};
    if (net_device_open("null", NULL, &device, &error) != MTS_STATUS_OK) {
        return 1;
    }
    device->info.launch_ns = LAUNCH_NS;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mts_device_destroy(&device);
    return failed;
}
