/*
 * test_row_lanes.c: lowering obeys the planner about blocks of channels: a layer with values in blocks gets kernels
 * that read them, whatever a configuration asks for, and a device without such kernels gets an error.
 *
 * Which values lie in blocks is checked in tests/plan/test_blocks.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lower/encode.h"
#include "plan/blocks.h"
#include "support/nets.h"

enum { CHANNELS = 128, TILE_ROWS = 13 };

typedef struct world {
    mts_arena arena;
    mts_net net;
    const mts_graph *graphs[1];
    mts_stitched *stitched;
    mts_plan *plan;
} world;

/* An inverted residual between layers of planes. */
static void build(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, 28);
    const mts_net_value stem =
        mts_net_pool(net, mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL));
    const mts_net_value wide = mts_net_conv(net, stem, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value inner = mts_net_depthwise(net, wide);
    const mts_net_value narrow = mts_net_conv(net, inner, mts_net_channels(net, true), 1, 1, NULL);
    mts_net_end(net, mts_net_mean(net, narrow), 5);
}

/* The stitched layers refer to the graphs. */
static void open(world *w, uint32_t tile_rows)
{
    static const mts_net_plan family = {.tasks = 1, .shared = CHANNELS, .seed = 1};
    const uint32_t group_of[] = {0}, slots[] = {0};
    const uint32_t *const slot_of[] = {slots};
    mts_error error = {0};
    mts_arena_init(&w->arena, mts_allocator_default());
    mts_net_begin(&w->net, &family, &w->arena, 0);
    build(&w->net);
    assert_false(w->net.failed);
    w->graphs[0] = w->net.graph;
    const mts_stitch_request request = {
        .graphs = w->graphs, .graph_count = 1, .group_of = group_of, .group_count = 1, .slot_of = slot_of};
    assert_int_equal(mts_stitch(&request, &w->arena, &w->stitched, &error), MTS_STATUS_OK);
    const mts_plan_request wanted = {
        .stitched = w->stitched, .depthwise_rows = true, .spread_planes = true, .tile_rows = tile_rows};
    assert_int_equal(mts_plan_create(&wanted, &w->arena, &w->plan, &error), MTS_STATUS_OK);
}

static mts_device_info processor(bool row_lanes)
{
    return (mts_device_info){.vector_floats = 16,
                             .compute_units = 2,
                             .work_group_size = 4096,
                             .ready_kernels = true,
                             .row_lanes = row_lanes};
}

/* Launches by kernel. */
typedef struct counts {
    uint32_t tiles, blocks, products, depthwise_blocks;
} counts;

static mts_status lower(world *w, const mts_device_info *device, mts_precision precision,
                        const mts_kernel_config *forced, counts *found, mts_error *error)
{
    const mts_kernel_configs configs = {.forced = forced};
    mts_encoding encoding = {.plan = w->plan,
                             .stitched = w->stitched,
                             .device = device,
                             .precision = precision,
                             .configs = forced ? &configs : NULL,
                             .arena = &w->arena,
                             .strings = &w->arena,
                             .error = error};
    *found = (counts){0};
    mts_param_buffer_init(&encoding.params, w->arena.allocator);
    mts_weights_init(&encoding.pool, precision, w->arena.allocator);
    const mts_status status = mts_encode_steps(&encoding);
    for (size_t i = 0; i < encoding.launch_count; i++) {
        const char *kernel = encoding.launches[i].kernel;
        found->tiles += strcmp(kernel, "conv_tile__f32_planar") == 0 ? 1 : 0;
        found->blocks += strcmp(kernel, "conv_block__f32_planar") == 0 ? 1 : 0;
        found->products += strcmp(kernel, "gemm__f32") == 0 ? 1 : 0;
        found->depthwise_blocks += strcmp(kernel, "depthwise_rows__f32_blocks") == 0 ? 1 : 0;
    }
    mts_encoding_release(&encoding);
    return status;
}

/* The first layer that stores blocks: a 1x1 convolution. */
static uint32_t first_in_blocks(const world *w)
{
    uint32_t layer = 0;
    while (
        w->plan
            ->storages[w->plan->value_storage[w->stitched->members[w->stitched->layers[layer].first].output]]
            .lanes == 0) {
        layer++;
    }
    return layer;
}

/* The error names the layer. */
static void expect_refusal(world *w, const mts_device_info *device, mts_precision precision, uint32_t layer)
{
    counts found;
    char beginning[64];
    mts_error error = {0};
    assert_int_equal(lower(w, device, precision, NULL, &found, &error), MTS_STATUS_INTERNAL);
    snprintf(beginning, sizeof beginning, "layer %u has values in blocks of channels", layer);
    assert_int_equal(strncmp(error.text, beginning, strlen(beginning)), 0);
}

static void a_device_without_rows_as_lanes_refuses_blocks(void **state)
{
    const mts_device_info with = processor(true), without = processor(false);
    counts found;
    mts_error error = {0};
    world w;
    (void)state;
    if (!MTS_HAS_ROW_LANES) {
        skip();
    }
    open(&w, TILE_ROWS);
    assert_int_equal(lower(&w, &with, MTS_PRECISION_FLOAT32, NULL, &found, &error), MTS_STATUS_OK);
    assert_int_equal(found.depthwise_blocks, 1);
    expect_refusal(&w, &without, MTS_PRECISION_FLOAT32, first_in_blocks(&w));
    expect_refusal(&w, &with, MTS_PRECISION_FLOAT16, first_in_blocks(&w));
    mts_arena_release(&w.arena);
    open(&w, 0);
    assert_int_equal(lower(&w, &without, MTS_PRECISION_FLOAT32, NULL, &found, &error), MTS_STATUS_OK);
    assert_int_equal(found.depthwise_blocks, 0);
    mts_arena_release(&w.arena);
}

/* What the planner never makes, so that kernels never read blocks as planes. */
static void a_depthwise_convolution_of_two_layouts_is_refused(void **state)
{
    const mts_device_info device = processor(true);
    world w;
    (void)state;
    if (!MTS_HAS_ROW_LANES) {
        skip();
    }
    open(&w, TILE_ROWS);
    const uint32_t before = first_in_blocks(&w);
    for (uint32_t m = 0; m < w.stitched->member_count; m++) {
        if (w.plan->members[m].variant == MTS_VARIANT_DEPTHWISE) {
            w.plan->storages[w.plan->value_storage[w.stitched->members[m].output]].lanes = 0;
        }
    }
    expect_refusal(&w, &device, MTS_PRECISION_FLOAT32, before + 1);
    mts_arena_release(&w.arena);
}

static void configurations_of_planes_leave_blocks_to_tiles(void **state)
{
    static const mts_kernel_config block = {
        .kernel = MTS_KERNEL_CONFIG_BLOCK, .rows = 32, .vectors = 64, .local = 128, .depth = 8, .parts = 1};
    static const mts_kernel_config product = {
        .kernel = MTS_KERNEL_CONFIG_GEMM, .rows = 8, .vectors = 48, .local = 1};
    mts_device_info device = processor(true);
    counts planes, blocks;
    mts_error error = {0};
    world w;
    (void)state;
    if (!MTS_HAS_ROW_LANES) {
        skip();
    }
    device.gemm = true;
    open(&w, 0);
    assert_int_equal(lower(&w, &device, MTS_PRECISION_FLOAT32, &product, &planes, &error), MTS_STATUS_OK);
    assert_int_equal(planes.products, 3); /* both 1x1 convolutions and the classifier */
    mts_arena_release(&w.arena);
    open(&w, TILE_ROWS);
    assert_int_equal(lower(&w, &device, MTS_PRECISION_FLOAT32, &product, &blocks, &error), MTS_STATUS_OK);
    assert_int_equal(blocks.products, 1);
    assert_int_equal(blocks.tiles, planes.tiles + 2);
    /* conv_block is a GPU's, which has no rows as lanes yet */
    device.is_gpu = true;
    device.gemm = false;
    device.local_bytes = 1 << 15;
    assert_int_equal(lower(&w, &device, MTS_PRECISION_FLOAT32, &block, &blocks, &error), MTS_STATUS_OK);
    assert_int_equal(blocks.blocks, 1); /* the first layer, of planes */
    assert_int_equal(blocks.tiles, 2);
    mts_arena_release(&w.arena);
}

static void rows_become_lanes_where_they_save_more_than_a_sixteenth(void **state)
{
    (void)state;
    assert_true(mts_pointwise_prefers_rows(149, 160));
    assert_false(mts_pointwise_prefers_rows(150, 160));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_without_rows_as_lanes_refuses_blocks),
        cmocka_unit_test(a_depthwise_convolution_of_two_layouts_is_refused),
        cmocka_unit_test(configurations_of_planes_leave_blocks_to_tiles),
        cmocka_unit_test(rows_become_lanes_where_they_save_more_than_a_sixteenth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
