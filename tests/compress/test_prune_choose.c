/*
 * test_prune_choose.c: which channels go, until a target is met.
 */
#include "prune_fixture.h"

/* ---- choice ---- */

typedef struct choice {
    mts_graph *graph;
    mts_channels channels;
    mts_cost cost;
    mts_choose_slot *slots;
    mts_choose_problem problem;
    uint64_t total; /* channels of slots */
} choice;

static choice start_choice(mts_net_build network, uint32_t seed)
{
    static const mts_net_plan plan = {.tasks = 1, .shared = 19, .exclusive = 4, .seed = 1};
    choice c = {0};
    mts_net net;
    mts_net_begin(&net, &plan, &arena, 0);
    network(&net);
    assert_false(net.failed);
    c.graph = net.graph;
    must(mts_channels_find(c.graph, &arena, &c.channels, &error));
    assert_true(mts_cost_make(c.graph, &c.channels, &arena, &c.cost));
    const bool *removable = mts_thin_removable(c.graph, &c.channels, &arena);
    c.slots = mts_arena_zero(&arena, c.channels.group_count, sizeof *c.slots);
    for (uint32_t g = 0; g < c.channels.group_count; g++) {
        if (!removable[g]) {
            continue;
        }
        mts_choose_slot *slot = &c.slots[c.problem.slot_count++];
        mts_choose_member *member = mts_arena_zero(&arena, 1, sizeof *member);
        double *importance = mts_arena_zero(&arena, c.channels.groups[g].channels, sizeof *importance);
        member->group = g;
        for (uint32_t i = 0; i < c.channels.groups[g].channels; i++) {
            importance[i] = 1.0 + (double)noise(&seed);
        }
        *slot = (mts_choose_slot){c.channels.groups[g].channels, 1, importance, member};
        c.total += slot->channels;
    }
    assert_true(c.problem.slot_count > 0);
    c.problem.task_count = 1;
    c.problem.round = 1;
    c.problem.slots = c.slots;
    return c;
}

static uint64_t work_of(const mts_graph *graph)
{
    uint64_t all = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        all += mts_node_mul_adds(graph, &graph->nodes[n]);
    }
    return all;
}

static uint64_t bytes_of(const mts_graph *graph)
{
    uint64_t all = 0;
    for (uint32_t v = 0; v < graph->value_count; v++) {
        size_t bytes = 0;
        if (graph->values[v].kind == MTS_VALUE_CONST) {
            assert_true(mts_shape_bytes(&graph->values[v].shape, graph->values[v].dtype, &bytes));
        }
        all += bytes;
    }
    return all;
}

/* Chooses and thins; counts[slot] receives what is kept. The costs are those of the thin graph. */
static mts_graph *choose(choice *c, uint32_t *counts)
{
    bool ***keep = NULL;
    mts_graph *thin = NULL;
    c->cost.channels = &c->channels; /* the choice was returned by value */
    c->problem.costs = &c->cost;
    must(mts_choose(&c->problem, &arena, &keep, &error));
    must(mts_thin(c->graph, &c->channels, (const bool *const *)keep[0], &arena, &thin, NULL, &error));
    uint32_t *kept = mts_arena_zero(&arena, c->channels.group_count, sizeof *kept);
    for (uint32_t g = 0; g < c->channels.group_count; g++) {
        kept[g] = c->channels.groups[g].channels;
    }
    for (uint32_t s = 0; s < c->problem.slot_count; s++) {
        const uint32_t g = c->slots[s].members[0].group;
        double least_kept = INFINITY, most_gone = -INFINITY;
        counts[s] = 0;
        for (uint32_t i = 0; i < c->slots[s].channels; i++) {
            const double importance = c->slots[s].importance[i];
            counts[s] += keep[0][g][i];
            least_kept = keep[0][g][i] ? fmin(least_kept, importance) : least_kept;
            most_gone = keep[0][g][i] ? most_gone : fmax(most_gone, importance);
        }
        assert_true(most_gone <= least_kept);
        kept[g] = counts[s];
    }
    mts_cost_settle(&c->cost, kept);
    assert_int_equal(mts_cost_work(&c->cost, kept), work_of(thin));
    assert_int_equal(mts_cost_bytes(&c->cost, kept), bytes_of(thin));
    return thin;
}

static const mts_net_build networks[] = {mts_net_build_chain, mts_net_build_residual, mts_net_build_concat,
                                         mts_net_build_flatten, mts_net_build_depthwise};
static const double ratios[] = {0.1, 0.3, 0.5, 0.77, 0.9};

static void a_ratio_of_layers_is_met_in_every_group(void **state)
{
    (void)state;
    EACH(n, networks) EACH(r, ratios)
    {
        uint32_t counts[16];
        choice c = start_choice(networks[n], 3);
        c.problem.target = MTSZ_TARGET_LAYER;
        c.problem.ratio = ratios[r];
        (void)choose(&c, counts);
        for (uint32_t s = 0; s < c.problem.slot_count; s++) {
            const double wanted = c.slots[s].channels * (1.0 - ratios[r]);
            assert_true(fabs(counts[s] - wanted) <= 0.5 || counts[s] == 1);
        }
    }
}

static void a_ratio_of_all_channels_is_met_within_one(void **state)
{
    (void)state;
    EACH(n, networks) EACH(r, ratios)
    {
        uint32_t counts[16];
        uint64_t left = 0;
        choice c = start_choice(networks[n], 7);
        c.problem.target = MTSZ_TARGET_GLOBAL;
        c.problem.ratio = ratios[r];
        (void)choose(&c, counts);
        for (uint32_t s = 0; s < c.problem.slot_count; s++) {
            left += counts[s];
        }
        assert_true(fabs((double)left - (double)c.total * (1.0 - ratios[r])) <= 1.0);
    }
}

/* Less than wanted is left, and with one channel more of any layer it might be too much. */
static void expect_cost(mtsz_target target)
{
    uint64_t (*const of)(const mts_graph *) = target == MTSZ_TARGET_FLOPS ? work_of : bytes_of;
    EACH(n, networks) EACH(r, ratios)
    {
        uint32_t counts[16];
        double step = 0;
        choice c = start_choice(networks[n], 11);
        c.problem.target = target;
        c.problem.ratio = ratios[r];
        const double all = (double)of(c.graph), wanted = all * (1.0 - ratios[r]);
        const double left = (double)of(choose(&c, counts));
        for (uint32_t s = 0; s < c.problem.slot_count; s++) {
            step = fmax(step, all / counts[s]);
        }
        assert_true(left <= wanted + 1.0);
        assert_true(left + step >= wanted);
    }
}

static void a_ratio_of_multiply_adds_is_met_within_one_channel(void **state)
{
    (void)state;
    expect_cost(MTSZ_TARGET_FLOPS);
}

static void a_ratio_of_bytes_is_met_within_one_channel(void **state)
{
    (void)state;
    expect_cost(MTSZ_TARGET_BYTES);
}

static void channels_kept_are_a_multiple_of_round_where_there_are_as_many(void **state)
{
    (void)state;
    for (int target = MTSZ_TARGET_LAYER; target <= MTSZ_TARGET_BYTES; target++) {
        uint32_t counts[16];
        choice c = start_choice(mts_net_build_residual, 5);
        c.problem.target = (mtsz_target)target;
        c.problem.ratio = 0.4;
        c.problem.round = 4;
        (void)choose(&c, counts);
        bool changed = false;
        for (uint32_t s = 0; s < c.problem.slot_count; s++) {
            assert_true(counts[s] % 4 == 0 || counts[s] == c.slots[s].channels);
            changed = changed || counts[s] < c.slots[s].channels;
        }
        assert_true(changed);
        c.problem.round = 64; /* more than any has: then any count will do */
        (void)choose(&c, counts);
        for (uint32_t s = 0; s < c.problem.slot_count && target == MTSZ_TARGET_LAYER; s++) {
            assert_int_equal(counts[s], c.slots[s].channels - 9);
        }
    }
}

static void a_target_that_cannot_be_met_says_how_far_it_can(void **state)
{
    (void)state;
    bool ***keep = NULL;
    choice c = start_choice(mts_net_build_flatten, 5);
    c.cost.channels = &c.channels; /* the choice was returned by value */
    c.problem.costs = &c.cost;
    c.problem.target = MTSZ_TARGET_GLOBAL;
    c.problem.ratio = 0.99;
    assert_int_equal(mts_choose(&c.problem, &arena, &keep, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_null(keep);
    assert_non_null(strstr(error.text, "99.0 % of the channels cannot be removed"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_ratio_of_layers_is_met_in_every_group),
        TEST(a_ratio_of_all_channels_is_met_within_one),
        TEST(a_ratio_of_multiply_adds_is_met_within_one_channel),
        TEST(a_ratio_of_bytes_is_met_within_one_channel),
        TEST(channels_kept_are_a_multiple_of_round_where_there_are_as_many),
        TEST(a_target_that_cannot_be_met_says_how_far_it_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
