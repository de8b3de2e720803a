/*
 * test_packed.c: which values of a plan lie in packs of channels.
 *
 * What kernels compute of them is checked in tests/engine/test_packed.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/kernel.h"
#include "plan/plan.h"
#include "support/nets.h"

#define TASKS 2

/* A stem of stride 2, a residual block, and a depthwise convolution of its end, of which a mean is taken. */
static void build(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, 15);
    const mts_net_value stem = mts_net_conv(net, x, mts_net_channels(net, true), 3, 2, NULL);
    const mts_net_value wide = mts_net_conv(net, stem, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value sum = mts_net_conv(net, wide, stem, 3, 1, &stem);
    mts_net_end(net, mts_net_mean(net, mts_net_depthwise(net, sum)), 5);
}

/* A pool, twice its size, a sum and a scale per channel between convolutions. */
static void build_between(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, 16);
    const mts_net_value stem = mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL);
    const mts_net_value back = mts_net_double(net, mts_net_pool(net, stem));
    const mts_net_value sum = mts_net_scale(net, mts_net_add(net, back, stem));
    mts_net_end(net, mts_net_mean(net, mts_net_conv(net, sum, mts_net_channels(net, true), 1, 1, NULL)), 5);
}

/* Two branches joined by channels, and a slice of what they are, which lie in one storage. */
static void build_joined(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, 12);
    const mts_net_value a = mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL);
    const mts_net_value b = mts_net_conv(net, x, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value both = mts_net_concat(net, a, b);
    const mts_net_value part = mts_net_slice(net, both, 4, both.count - 4);
    mts_net_end(net, mts_net_mean(net, mts_net_conv(net, part, mts_net_channels(net, true), 3, 1, NULL)), 5);
}

/* A flattened image is read dense: its producer stores planes. */
static void build_flat(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, 6);
    const mts_net_value a = mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL);
    const mts_net_value b = mts_net_conv(net, a, mts_net_channels(net, true), 3, 1, NULL);
    mts_net_end(net, mts_net_flatten(net, b), 5);
}

/* Transposed convolutions, one of a filter a channel, and softmax along channels. One of a kernel below its
   stride has outputs that no tap reaches: it reads planes. */
static void build_turned(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, 8);
    const mts_net_value stem = mts_net_conv(net, x, mts_net_channels(net, true), 3, 2, NULL);
    const mts_net_value twice = mts_net_deconv(net, stem, mts_net_channels(net, true), 4, 2, 1);
    const mts_net_value soft = mts_net_softmax(net, mts_net_deconv(net, twice, twice, 3, 2, twice.count), 1);
    const mts_net_value last = mts_net_conv(net, soft, mts_net_channels(net, true), 1, 1, NULL);
    mts_net_end(net, mts_net_mean(net, mts_net_deconv(net, last, last, 3, 4, 1)), 5);
}

typedef struct counts {
    uint32_t packs, convolutions, space_to_depth;
    uint32_t parts; /* values in packs that lie in others */
    uint64_t zeros; /* before the arena's first tensor */
} counts;

/* Of a plan, and what is wrong with it: packs have no border and are whole, and no
   convolution of another variant touches any. */
static counts check_plan(const mts_plan *plan)
{
    const mts_stitched *s = plan->stitched;
    counts found = {.zeros = plan->input_floats};
    for (uint32_t m = 0; m < s->member_count; m++) {
        const mts_storage *out = &plan->storages[plan->value_storage[s->members[m].output]];
        const bool packed = plan->members[m].variant == MTS_VARIANT_PACKED;
        found.convolutions += packed ? 1 : 0;
        const bool takes = packed || plan->members[m].variant == MTS_VARIANT_NONE;
        found.packs += out->lanes > 0 ? 1 : 0;
        found.parts += out->lanes > 0 && out->host != MTS_NONE ? 1 : 0;
        assert_true(out->lanes == 0 || (takes && out->lanes == MTS_CHANNEL_PACK && out->gap == 0 &&
                                        out->floats >= (uint64_t)mts_storage_channels(out) * out->pitch &&
                                        out->region == MTS_REGION_TRANSIENT));
        for (uint32_t i = 0; i < s->members[m].input_count; i++) {
            const uint32_t value = s->members[m].inputs[i];
            assert_true(takes || value == MTS_NONE || plan->storages[plan->value_storage[value]].lanes == 0);
        }
    }
    for (uint32_t i = 0; i < plan->conversion_count; i++) {
        found.space_to_depth += plan->conversions[i].space_to_depth ? 1 : 0;
    }
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        if (plan->storages[i].region == MTS_REGION_INPUT && plan->storages[i].offset < found.zeros) {
            found.zeros = plan->storages[i].offset;
        }
    }
    return found;
}

static counts plan_of(mts_net_build make, uint32_t shared, bool packed)
{
    const mts_net_plan family = {.tasks = TASKS, .shared = shared};
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
        make(&net);
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
    const mts_plan_request wanted = {.stitched = stitched, .packed = packed};
    assert_int_equal(mts_plan_create(&wanted, &arena, &plan, &error), MTS_STATUS_OK);
    const counts found = check_plan(plan);
    mts_arena_release(&arena);
    return found;
}

static void convolutions_and_what_stands_behind_them_touch_packs(void **state)
{
    (void)state;
    const counts found = plan_of(build, 8, true);
    assert_int_equal(found.convolutions, 4 * TASKS);
    assert_int_equal(found.packs, 4 * TASKS);  /* not the mean, which is one pixel */
    assert_int_equal(found.space_to_depth, 0); /* the stride is read in place */
    assert_true(found.zeros >= MTS_CHANNEL_PACK);
}

static void pools_resizes_sums_and_scales_take_packs(void **state)
{
    (void)state;
    assert_int_equal(plan_of(build_between, 8, true).packs, 6 * TASKS);
}

/* A scale of 7 channels would read beyond its vectors, and what it reads lies in planes then:
   the sum with both of its operands, because zeros of packs have to stay 0. */
static void lanes_beyond_the_channels_keep_elements_in_planes(void **state)
{
    (void)state;
    const counts found = plan_of(build_between, 7, true);
    assert_int_equal(found.convolutions, 2 * TASKS);
    assert_int_equal(found.packs, TASKS); /* what the last convolution stores for the mean */
}

static void parts_of_whole_packs_lie_in_one_storage(void **state)
{
    (void)state;
    const counts found = plan_of(build_joined, 8, true);
    assert_int_equal(found.packs, 5 * TASKS);
    assert_int_equal(found.parts, 3 * TASKS);
    assert_int_equal(plan_of(build_joined, 6, true).parts, 0);
}

static void what_is_read_dense_lies_in_planes(void **state)
{
    (void)state;
    assert_int_equal(plan_of(build_flat, 8, true).packs, TASKS);
}

static void transposed_convolutions_and_softmax_take_packs(void **state)
{
    (void)state;
    const counts found = plan_of(build_turned, 8, true);
    assert_int_equal(found.convolutions, 4 * TASKS);
    assert_int_equal(found.packs, 4 * TASKS); /* not what the last two store */
    assert_int_equal(plan_of(build_turned, 7, true).packs, 4 * TASKS);
}

static void values_that_would_be_mostly_zeros_stay_planes(void **state)
{
    (void)state;
    const counts found = plan_of(build, 5, true);    /* 8 lanes for 5 channels */
    assert_int_equal(found.convolutions, 3 * TASKS); /* without the depthwise one */
    assert_int_equal(found.packs, 0);
    assert_int_equal(plan_of(build, 6, true).packs, 4 * TASKS);
}

static void nothing_lies_in_packs_unless_the_request_says_so(void **state)
{
    (void)state;
    const counts found = plan_of(build, 8, false);
    assert_int_equal(found.convolutions, 0);
    assert_int_equal(found.packs, 0);
    assert_int_equal(found.space_to_depth, TASKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_and_what_stands_behind_them_touch_packs),
        cmocka_unit_test(pools_resizes_sums_and_scales_take_packs),
        cmocka_unit_test(lanes_beyond_the_channels_keep_elements_in_planes),
        cmocka_unit_test(parts_of_whole_packs_lie_in_one_storage),
        cmocka_unit_test(what_is_read_dense_lies_in_planes),
        cmocka_unit_test(transposed_convolutions_and_softmax_take_packs),
        cmocka_unit_test(values_that_would_be_mostly_zeros_stay_planes),
        cmocka_unit_test(nothing_lies_in_packs_unless_the_request_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
