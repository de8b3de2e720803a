/*
 * test_fuse.c: every convolution of a plan that fuses what it can is computed by one step,
 * and the search for layouts ends where nothing fits.
 *
 * What the device's kernels compute of it is checked in tests/engine/test_fused.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "support/nets.h"

#define TASKS 2

static const char *refuses_none(void *context, const mts_stitched *stitched, const mts_fused_layers *layers)
{
    (void)context, (void)stitched, (void)layers;
    return NULL;
}

static const char *refuses_triples(void *context, const mts_stitched *stitched,
                                   const mts_fused_layers *layers)
{
    (void)context, (void)stitched;
    return layers->expand != MTS_NONE ? "only pairs are fused" : NULL;
}

static const char *refuses_pairs(void *context, const mts_stitched *stitched, const mts_fused_layers *layers)
{
    (void)context, (void)stitched;
    return layers->expand == MTS_NONE ? "only whole blocks are fused" : NULL;
}

/* No block fits. The search for layouts asks once for each block and layer, so that it ends
   after fewer answers than the context allows. */
static bool fits_none(void *context, const mts_plan *plan, uint32_t layer)
{
    uint32_t *left = context;
    (void)plan, (void)layer;
    assert_true((*left)-- > 0);
    return false;
}

/* Leaves the layer apart that the context numbers. */
static bool fits_but_one(void *context, const mts_plan *plan, uint32_t layer)
{
    (void)plan;
    return layer != *(const uint32_t *)context;
}

/* A chain as that of MobileNetV1, then an inverted residual behind it. */
static void build_chain(mts_net *net)
{
    mts_net_value x = mts_net_input(net, 3, 20);
    x = mts_net_conv(net, x, mts_net_channels(net, true), 3, 2, NULL);
    for (int i = 0; i < 3; i++) {
        x = mts_net_conv(net, mts_net_depthwise(net, x), mts_net_channels(net, true), 1, 1, NULL);
    }
    const mts_net_value wide = mts_net_conv(net, x, mts_net_channels(net, true), 1, 1, NULL);
    x = mts_net_conv(net, mts_net_depthwise(net, wide), mts_net_channels(net, true), 1, 1, NULL);
    mts_net_end(net, mts_net_mean(net, x), 5);
}

/* Steps that compute a layer: its own, or that of the block which names it. */
static uint32_t computed_by(const mts_plan *plan, uint32_t layer)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const mts_step *step = &plan->steps[i];
        if (step->kind == MTS_STEP_LAYER) {
            const mts_fusion *fusion = &plan->fusions[step->first];
            const bool block = mts_plan_fuses(plan, step->first);
            count += step->first == layer ? 1 : 0;
            count += block && (fusion->depthwise == layer || fusion->expand == layer) ? 1 : 0;
        }
    }
    return count;
}

/* Returns the number of blocks. */
static uint32_t check_plan(const mts_plan *plan)
{
    const mts_stitched *s = plan->stitched;
    uint32_t blocks = 0;
    for (uint32_t l = 0; l < s->layer_count; l++) {
        const mts_fusion *fusion = &plan->fusions[l];
        blocks += mts_plan_fuses(plan, l) ? 1 : 0;
        if (s->layers[l].op == MTS_OP_CONV) {
            assert_int_equal(computed_by(plan, l), 1);
        }
        if (fusion->into != MTS_NONE) {
            assert_false(mts_plan_fuses(plan, l));
            assert_true(mts_plan_fuses(plan, fusion->into));
            assert_true(plan->fusions[fusion->into].depthwise == l ||
                        plan->fusions[fusion->into].expand == l);
        }
        for (uint32_t m = s->layers[l].first; m < s->layers[l].first + s->layers[l].count; m++) {
            assert_int_equal(plan->members[m].fused, fusion->into != MTS_NONE);
        }
    }
    return blocks;
}

/* What a stitched graph refers to lives as long as the program. */
static const mts_stitched *make_stitched(mts_arena *arena)
{
    static const uint32_t group_of[TASKS] = {0, 0}, slots[TASKS] = {0, 1};
    static const uint32_t *const slot_of[TASKS] = {&slots[0], &slots[1]};
    static const mts_graph *graphs[TASKS];
    const mts_net_plan family = {.tasks = TASKS, .shared = 6, .exclusive = 2, .seed = 3};
    mts_error error = {0};
    mts_stitched *stitched = NULL;
    for (uint32_t t = 0; t < TASKS; t++) {
        mts_net net;
        mts_net_begin(&net, &family, arena, t);
        build_chain(&net);
        assert_false(net.failed);
        graphs[t] = net.graph;
    }
    const mts_stitch_request request = {.graphs = graphs,
                                        .graph_count = TASKS,
                                        .group_of = group_of,
                                        .group_count = 1,
                                        .slot_of = slot_of,
                                        .share = true};
    assert_int_equal(mts_stitch(&request, arena, &stitched, &error), MTS_STATUS_OK);
    return stitched;
}

static mts_plan *make_plan(const mts_stitched *stitched, const mts_plan_fuse *fuse, mts_arena *arena)
{
    mts_error error = {0};
    mts_plan *plan = NULL;
    const mts_plan_request wanted = {.stitched = stitched, .depthwise_rows = true, .fuse = fuse};
    assert_int_equal(mts_plan_create(&wanted, arena, &plan, &error), MTS_STATUS_OK);
    return plan;
}

static void every_layer_is_computed_once(void **state)
{
    (void)state;
    mts_arena arena;
    mts_arena_init(&arena, mts_allocator_default());
    const mts_stitched *stitched = make_stitched(&arena);
    for (uint32_t large = 0; large <= stitched->layer_count; large++) { /* then none is too large */
        const mts_plan_fuse fuse = {.refuses = refuses_none, .fits = fits_but_one, .context = &large};
        const uint32_t blocks = check_plan(make_plan(stitched, &fuse, &arena));
        assert_in_range(blocks, 3, 4);
        assert_true(large < stitched->layer_count || blocks == 4);
    }
    mts_arena_release(&arena);
}

static void blocks_of_which_none_fits_are_apart(void **state)
{
    (void)state;
    const char *(*const policies[])(void *, const mts_stitched *, const mts_fused_layers *) = {
        refuses_none, refuses_triples, refuses_pairs};
    mts_arena arena;
    mts_arena_init(&arena, mts_allocator_default());
    const mts_stitched *stitched = make_stitched(&arena);
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        uint32_t left = 2 * stitched->layer_count;
        const mts_plan_fuse fuse = {.refuses = policies[i], .fits = fits_none, .context = &left};
        const mts_plan *plan = make_plan(stitched, &fuse, &arena);
        assert_int_equal(check_plan(plan), 0);
        for (uint32_t l = 0; l < stitched->layer_count; l++) {
            const mts_fusion *fusion = &plan->fusions[l];
            assert_int_equal(fusion->expand, MTS_NONE);
            assert_true(fusion->depthwise == MTS_NONE || fusion->reason);
        }
    }
    mts_arena_release(&arena);
}

static void a_caller_who_wants_only_pairs_gets_pairs(void **state)
{
    (void)state;
    mts_arena arena;
    uint32_t none = UINT32_MAX;
    mts_arena_init(&arena, mts_allocator_default());
    const mts_stitched *stitched = make_stitched(&arena);
    const mts_plan_fuse fuse = {.refuses = refuses_triples, .fits = fits_but_one, .context = &none};
    const mts_plan *plan = make_plan(stitched, &fuse, &arena);
    assert_int_equal(check_plan(plan), 4);
    for (uint32_t l = 0; l < stitched->layer_count; l++) {
        assert_int_equal(plan->fusions[l].expand, MTS_NONE);
    }
    mts_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layer_is_computed_once),
        cmocka_unit_test(blocks_of_which_none_fits_are_apart),
        cmocka_unit_test(a_caller_who_wants_only_pairs_gets_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
