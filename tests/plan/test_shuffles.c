/*
 * test_shuffles.c: which channel shuffles have no launch, and where what is written instead lies.
 *
 * That the numbers are right is checked in tests/engine/test_shuffles.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "support/nets.h"

#define TASKS 2
#define PLANES_MOST 64

/* What is done without a launch, and copies of a concatenation's operands. */
typedef struct counts {
    uint32_t shuffles, launches, concats, copies;
} counts;

/* Every plane of a shuffle's result is written once: by a part of it that something writes, or by a copy. */
static void check_planes(const mts_plan *plan, const mts_member *member)
{
    const uint32_t host = plan->value_storage[member->output];
    const uint32_t count = mts_storage_planes(&plan->storages[host]);
    uint32_t written[PLANES_MOST] = {0};
    assert_in_range(count, 1, PLANES_MOST);
    for (uint32_t i = 0; i < plan->use_count; i++) {
        const mts_storage *part = &plan->storages[plan->uses[i].storage];
        if (part->host != host || !part->planes) {
            continue;
        }
        assert_true(plan->uses[i].writes);
        for (uint32_t p = 0; p < mts_storage_planes(part); p++) {
            const uint32_t plane = (uint32_t)(part->at / part->pitch) + part->planes[p];
            assert_in_range(plane, 0, count - 1);
            assert_true(part->planes[p] * (uint64_t)part->pitch < part->floats);
            written[plane]++;
        }
    }
    for (uint32_t p = 0; p < count; p++) {
        assert_int_equal(written[p], 1);
    }
}

static counts check_plan(const mts_plan *plan)
{
    const mts_stitched *s = plan->stitched;
    counts found = {0};
    for (uint32_t m = 0; m < s->member_count; m++) {
        const mts_op op = mts_member_node(s, &s->members[m])->op;
        found.shuffles += plan->members[m].shuffles ? 1 : 0;
        found.launches += op == MTS_OP_TRANSPOSE && !plan->members[m].in_place ? 1 : 0;
        found.concats += op == MTS_OP_CONCAT && !plan->members[m].in_place ? 1 : 0;
        if (plan->members[m].shuffles) {
            assert_true(op == MTS_OP_TRANSPOSE && plan->members[m].in_place);
            check_planes(plan, &s->members[m]);
        }
    }
    for (uint32_t i = 0; i < plan->conversion_count; i++) {
        found.copies += plan->conversions[i].part ? 1 : 0;
    }
    return found;
}

static counts plan_of(mts_net_build build)
{
    const mts_net_plan family = {.tasks = TASKS, .shared = 12};
    const mts_graph *graphs[TASKS];
    const uint32_t group_of[TASKS] = {0}, slots[TASKS] = {0, 1};
    const uint32_t *slot_of[TASKS];
    mts_arena arena;
    mts_stitched *stitched = NULL;
    mts_plan *plan = NULL;
    mts_error error = {0};
    mts_arena_init(&arena, mts_allocator_default());
    for (uint32_t t = 0; t < TASKS; t++) {
        mts_net net;
        mts_net_begin(&net, &family, &arena, t);
        build(&net);
        assert_false(net.failed);
        graphs[t] = net.graph;
        slot_of[t] = &slots[t];
    }
    const mts_stitch_request request = {.graphs = graphs,
                                        .graph_count = TASKS,
                                        .group_of = group_of,
                                        .group_count = 1,
                                        .slot_of = slot_of,
                                        .share = true};
    assert_int_equal(mts_stitch(&request, &arena, &stitched, &error), MTS_STATUS_OK);
    const mts_plan_request wanted = {.stitched = stitched};
    assert_int_equal(mts_plan_create(&wanted, &arena, &plan, &error), MTS_STATUS_OK);
    const counts found = check_plan(plan);
    mts_arena_release(&arena);
    return found;
}

static mts_net_value stem(mts_net *net)
{
    return mts_net_conv(net, mts_net_input(net, 3, 9), mts_net_channels(net, true), 3, 1, NULL);
}

/* Behind a convolution, a depthwise one, and a shuffle of a shuffle, which has a launch. */
static void build_convolutions(mts_net *net)
{
    const mts_net_value first = mts_net_shuffle(net, stem(net), 3);
    const mts_net_value second = mts_net_shuffle(net, mts_net_depthwise(net, first), 4);
    mts_net_end(net, mts_net_mean(net, mts_net_shuffle(net, second, 2)), 5);
}

static void convolutions_write_in_the_order_of_the_shuffle(void **state)
{
    (void)state;
    const counts found = plan_of(build_convolutions);
    assert_int_equal(found.shuffles, 2 * TASKS);
    assert_int_equal(found.launches, TASKS);
}

/* One half is another shuffle's, so it is copied; the second shuffle's are both convolutions'. */
static void build_concats(mts_net *net)
{
    const mts_net_value x = mts_net_shuffle(net, stem(net), 2);
    const mts_net_value low = mts_net_slice(net, x, 0, 6);
    const mts_net_value high = mts_net_conv(net, mts_net_slice(net, x, 6, 6), low, 1, 1, NULL);
    const mts_net_value y = mts_net_shuffle(net, mts_net_concat(net, low, high), 2);
    const mts_net_value a = mts_net_conv(net, y, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value b = mts_net_depthwise(net, y);
    mts_net_end(net, mts_net_mean(net, mts_net_shuffle(net, mts_net_concat(net, a, b), 2)), 5);
}

static void operands_of_a_concatenation_are_written_or_copied_there(void **state)
{
    (void)state;
    const counts found = plan_of(build_concats);
    assert_int_equal(found.shuffles, 3 * TASKS);
    assert_int_equal(found.launches, 0);
    assert_int_equal(found.concats, 0);
    assert_int_equal(found.copies, TASKS);
}

/* The order before the shuffle is read as well. */
static void build_read_twice(mts_net *net)
{
    const mts_net_value x = stem(net);
    const mts_net_value turned = mts_net_shuffle(net, x, 2);
    mts_net_end(net, mts_net_mean(net, mts_net_add(net, turned, x)), 5);
}

static void build_read_twice_behind_a_concat(mts_net *net)
{
    const mts_net_value x = stem(net);
    const mts_net_value both = mts_net_concat(net, mts_net_depthwise(net, x), x);
    const mts_net_value turned = mts_net_shuffle(net, both, 2);
    mts_net_end(net, mts_net_mean(net, mts_net_add(net, turned, both)), 5);
}

/* Its residual would be read in another order. */
static void build_sum(mts_net *net)
{
    const mts_net_value x = stem(net);
    const mts_net_value sum = mts_net_conv(net, x, x, 1, 1, &x);
    mts_net_end(net, mts_net_mean(net, mts_net_shuffle(net, sum, 2)), 5);
}

/* No convolution computes an operand: a launch for the shuffle costs no more than copies. */
static void build_pools(mts_net *net)
{
    const mts_net_value x = mts_net_pool(net, stem(net));
    mts_net_end(net,
                mts_net_mean(net, mts_net_shuffle(net, mts_net_concat(net, x, mts_net_scale(net, x)), 2)), 5);
}

static void others_have_a_launch(void **state)
{
    static const mts_net_build builds[] = {build_read_twice, build_read_twice_behind_a_concat, build_sum,
                                           build_pools};
    (void)state;
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++) {
        const counts found = plan_of(builds[i]);
        assert_int_equal(found.shuffles, 0);
        assert_int_equal(found.launches, TASKS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_write_in_the_order_of_the_shuffle),
        cmocka_unit_test(operands_of_a_concatenation_are_written_or_copied_there),
        cmocka_unit_test(others_have_a_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
