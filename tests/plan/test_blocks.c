/*
 * test_blocks.c: which values of a plan lie in blocks of channels.
 *
 * What kernels compute of them is checked in tests/engine/test_channel_blocks.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "support/nets.h"

#define TASKS_MOST 2
#define TILE_ROWS 13 /* of the tiles of processors that have blocks */

/* What else reads the second depthwise convolution. */
typedef enum other_reader { READER_NONE, READER_POOL, READER_WIDE } other_reader;

/* Two inverted residuals, the second one with a residual, on 14 x 14 pixels. */
static void build(mts_net *net, other_reader other)
{
    const mts_net_value x = mts_net_input(net, 3, 28);
    /* behind a pool, no convolution's border reaches */
    const mts_net_value stem =
        mts_net_pool(net, mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL));
    const mts_net_value first = mts_net_conv(net, stem, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value narrow =
        mts_net_conv(net, mts_net_depthwise(net, first), mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value wide = mts_net_conv(net, narrow, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value inner = mts_net_depthwise(net, wide);
    const mts_net_value sum = mts_net_conv(net, inner, narrow, 1, 1, &narrow);
    mts_net_value last = mts_net_conv(net, sum, mts_net_channels(net, true), 1, 1, NULL);
    if (other == READER_POOL) {
        last = mts_net_concat(net, mts_net_pool(net, last), mts_net_pool(net, inner));
    } else if (other == READER_WIDE) {
        last = mts_net_add(net, last, mts_net_conv(net, inner, last, 3, 1, NULL));
    }
    mts_net_end(net, mts_net_mean(net, last), 5);
}

/* Values in blocks, and what is wrong with them: nothing else than convolutions of 1 x 1 and depthwise
   ones touches them. */
static uint32_t count_blocks(const mts_plan *plan)
{
    const mts_stitched *s = plan->stitched;
    uint32_t count = 0;
    for (uint32_t m = 0; m < s->member_count; m++) {
        const mts_storage *out = &plan->storages[plan->value_storage[s->members[m].output]];
        const mts_node *node = mts_member_node(s, &s->members[m]);
        bool blocks = out->lanes > 0;
        count += blocks ? 1 : 0;
        for (uint32_t i = 0; i < s->members[m].input_count; i++) {
            const uint32_t value = s->members[m].inputs[i];
            blocks = blocks || (value != MTS_NONE && plan->storages[plan->value_storage[value]].lanes > 0);
        }
        assert_true(!blocks || node->op == MTS_OP_CONV);
        assert_true(!blocks || node->attrs.conv.kernel[0] == 1 || node->attrs.conv.group > 1);
        assert_true(out->lanes == 0 || (out->gap == 0 && out->row == out->dims[5] && out->dims[3] % 16 == 0 &&
                                        out->region == MTS_REGION_TRANSIENT));
    }
    return count;
}

/* Of networks of a family each: families[task]. */
static uint32_t blocks_of_families(const mts_net_plan *const *families, uint32_t tasks, other_reader other,
                                   bool asked)
{
    const uint32_t group_of[TASKS_MOST] = {0, 0}, slots[TASKS_MOST] = {0, 1};
    const uint32_t *const slot_of[TASKS_MOST] = {&slots[0], &slots[1]};
    const mts_graph *graphs[TASKS_MOST];
    mts_arena arena;
    mts_error error = {0};
    mts_stitched *stitched = NULL;
    mts_plan *plan = NULL;
    mts_arena_init(&arena, mts_allocator_default());
    for (uint32_t t = 0; t < tasks; t++) {
        mts_net net;
        mts_net_begin(&net, families[t], &arena, t);
        build(&net, other);
        assert_false(net.failed);
        graphs[t] = net.graph;
    }
    const mts_stitch_request request = {.graphs = graphs,
                                        .graph_count = tasks,
                                        .group_of = group_of,
                                        .group_count = 1,
                                        .slot_of = slot_of,
                                        .share = true};
    assert_int_equal(mts_stitch(&request, &arena, &stitched, &error), MTS_STATUS_OK);
    const mts_plan_request wanted = {.stitched = stitched,
                                     .depthwise_rows = true,
                                     .spread_planes = true,
                                     .tile_rows = asked ? TILE_ROWS : 0};
    assert_int_equal(mts_plan_create(&wanted, &arena, &plan, &error), MTS_STATUS_OK);
    const uint32_t count = count_blocks(plan);
    mts_arena_release(&arena);
    return count;
}

static uint32_t blocks_of(const mts_net_plan *family, other_reader other, bool asked)
{
    const mts_net_plan *const families[TASKS_MOST] = {family, family};
    return blocks_of_families(families, family->tasks, other, asked);
}

/* first, its depthwise one, narrow, wide, inner and sum */
enum { ALL = 6 };

static void inverted_residuals_lie_in_blocks_on_devices_that_have_them(void **state)
{
    (void)state;
    const mts_net_plan family = {.tasks = 1, .shared = 128, .seed = 1};
    if (!MTS_HAS_ROW_LANES) {
        skip();
    }
    assert_int_equal(blocks_of(&family, READER_NONE, true), ALL);
    assert_int_equal(blocks_of(&family, READER_NONE, false), 0);
}

static void what_others_read_lies_in_planes_with_what_has_to_lie_alike(void **state)
{
    (void)state;
    const mts_net_plan family = {.tasks = 1, .shared = 128, .seed = 1};
    if (!MTS_HAS_ROW_LANES) {
        skip();
    }
    /* wide and inner do not */
    assert_int_equal(blocks_of(&family, READER_POOL, true), ALL - 2);
    /* a convolution of 3 x 3 taps wants a border around inner, so that sum and its residual, narrow, lie in planes:
       the two that are left would gain less than narrow pays to turn what it stores */
    assert_int_equal(blocks_of(&family, READER_WIDE, true), 0);
}

static void channels_that_fill_no_blocks_lie_in_planes(void **state)
{
    (void)state;
    const mts_net_plan odd = {.tasks = 1, .shared = 120, .seed = 1};
    assert_int_equal(blocks_of(&odd, READER_NONE, true), 0);
}

static void tasks_with_weights_of_one_block_lie_in_blocks(void **state)
{
    (void)state;
    const mts_net_plan shared = {.tasks = 2, .shared = 128, .seed = 1};
    const mts_net_plan own = {.tasks = 2, .exclusive = 128, .seed = 1};
    if (!MTS_HAS_ROW_LANES) {
        skip();
    }
    assert_int_equal(blocks_of(&shared, READER_NONE, true), 2 * ALL);
    assert_int_equal(blocks_of(&own, READER_NONE, true), 2 * ALL);
}

/* All members of a layer count. The 16 channels of the first task alone would lie in planes. */
static void the_order_of_tasks_changes_nothing(void **state)
{
    (void)state;
    const mts_net_plan few = {.tasks = 1, .exclusive = 16, .seed = 1};
    const mts_net_plan many = {.tasks = 1, .exclusive = 128, .seed = 1};
    const mts_net_plan *const ascending[] = {&few, &many}, *const descending[] = {&many, &few};
    if (!MTS_HAS_ROW_LANES) {
        skip();
    }
    assert_int_equal(blocks_of(&few, READER_NONE, true), 0);
    assert_int_equal(blocks_of_families(ascending, 2, READER_NONE, true), 2 * ALL);
    assert_int_equal(blocks_of_families(descending, 2, READER_NONE, true), 2 * ALL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverted_residuals_lie_in_blocks_on_devices_that_have_them),
        cmocka_unit_test(what_others_read_lies_in_planes_with_what_has_to_lie_alike),
        cmocka_unit_test(channels_that_fill_no_blocks_lie_in_planes),
        cmocka_unit_test(tasks_with_weights_of_one_block_lie_in_blocks),
        cmocka_unit_test(the_order_of_tasks_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
