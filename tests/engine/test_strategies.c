/*
 * test_strategies.c: the four strategies give equal outputs on every kind of family, and `mts` and `netfuse`
 * cost what their methods cost.
 *
 * `sequential` is the measure here; that it is right is shown by test_random_nets.c and test_planted.c.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "support/net.h"
#include "support/nets.h"
#include "support/random_net.h"
#include "support/synth.h"

#define TASKS_MOST 8
#define TOLERANCE 1e-4 /* of an output's largest magnitude */
#define STRATEGIES 4
#define SIDE 24 /* of a frame */

static mts_device *devices[2];
static const char *const strategy_names[STRATEGIES] = {"sequential", "compact", "netfuse", "dense"};

/* Outputs of all tasks, one after another, and the engine's numbers. */
typedef struct result {
    float *outputs;
    size_t count;
    mts_session_stats stats;
    double predicted_ms;
} result;

static void set_inputs(mts_engine *engine, const mts_archive *archive, bool separate)
{
    for (uint32_t t = 0; t < archive->task_count; t++) {
        const mts_graph *graph = archive->tasks[t].graph;
        for (uint32_t i = 0; i < graph->input_count && (separate || t == 0); i++) {
            const size_t count = mts_shape_count(&graph->inputs[i].shape);
            float *data = calloc(count, sizeof *data);
            mts_error error = {0};
            assert_non_null(data);
            for (size_t k = 0; k < count; k++) {
                const size_t words[3] = {t, i, k};
                data[k] = (float)(mts_hash(words, sizeof words, 5) >> 40) / (float)(1u << 23) - 1.0f;
            }
            test_must(mts_engine_set_input(engine, t, i, data, count * sizeof *data, &error), &error,
                      "input");
            free(data);
        }
    }
}

static void set_frame(mts_engine *engine)
{
    static uint8_t pixels[SIDE * SIDE * 3];
    mts_error error = {0};
    for (size_t i = 0; i < sizeof pixels; i++) {
        pixels[i] = (uint8_t)(i * 37 % 251);
    }
    const mts_frame frame = {
        .size = sizeof frame, .data = pixels, .width = SIDE, .height = SIDE, .format = MTS_PIXEL_FORMAT_RGB};
    mts_frame_view view;
    assert_int_equal(mts_frame_view_make(&frame, &view, &error), MTS_STATUS_OK);
    test_must(mts_engine_set_frame(engine, MTS_NONE, &view, &error), &error, "frame");
}

static void fetch(const mts_engine *engine, const mts_archive *archive, result *out)
{
    for (uint32_t t = 0; t < archive->task_count; t++) {
        for (uint32_t o = 0; o < archive->tasks[t].graph->output_count; o++) {
            const void *data = NULL;
            size_t size = 0;
            mts_error error = {0};
            test_must(mts_engine_output(engine, t, o, &data, &size, &error), &error, "output");
            out->outputs = realloc(out->outputs, (out->count + 1) * sizeof(float) + size);
            assert_non_null(out->outputs);
            memcpy(out->outputs + out->count, data, size);
            out->count += size / sizeof(float);
        }
    }
}

typedef enum inputs { SEPARATE, COMMON, FRAME } inputs;

static result run(const mts_archive *archive, int device, mts_strategy strategy, inputs how,
                  mts_grouping grouping)
{
    const mts_engine_options options = {.strategy = strategy, .separate_inputs = how == SEPARATE};
    const mts_planning_options planning = {.grouping = grouping};
    mts_planning_report report;
    mts_engine *engine = NULL;
    mts_error error = {0};
    result out = {0};
    test_must(
        mts_planned_engine_create(devices[device], archive, &options, &planning, &engine, &report, &error),
        &error, strategy_names[strategy]);
    for (int round = 0; round < 2; round++) { /* the second round finds what the first left behind */
        out.count = 0;
        if (how == FRAME) {
            set_frame(engine);
        } else {
            set_inputs(engine, archive, how == SEPARATE);
        }
        test_must(mts_engine_submit(engine, &error), &error, "submit");
        test_must(mts_engine_wait(engine, &error), &error, "wait");
        fetch(engine, archive, &out);
    }
    mts_engine_stats_get(engine, &out.stats);
    out.predicted_ms = report.predicted_ms;
    mts_planning_report_release(&report);
    mts_engine_destroy(&engine);
    return out;
}

static void compare(const mts_archive *archive, const result *want, const result *got, const char *how)
{
    size_t at = 0;
    assert_int_equal(want->count, got->count);
    for (uint32_t t = 0; t < archive->task_count; t++) {
        for (uint32_t o = 0; o < archive->tasks[t].graph->output_count; o++) {
            const size_t count = mts_shape_count(&archive->tasks[t].graph->outputs[o].shape);
            double most = 1e-3;
            for (size_t i = 0; i < count; i++) {
                most = fmax(most, fabs((double)want->outputs[at + i]));
            }
            for (size_t i = 0; i < count; i++) {
                const double a = (double)want->outputs[at + i];
                const double b = (double)got->outputs[at + i];
                if (!(fabs(a - b) <= TOLERANCE * most)) {
                    print_error("%s, task %u, output %u: [%zu] is %g instead of %g\n", how, t, o, i, b, a);
                    fail();
                }
            }
            at += count;
        }
    }
}

/* Runs all strategies and compares; stats may be NULL. */
static void agree(const mts_archive *archive, int device, inputs how, mts_session_stats *stats)
{
    result first = run(archive, device, MTS_STRATEGY_SEQUENTIAL, how, MTS_GROUPING_FAMILY);
    for (uint32_t s = 1; s < STRATEGIES; s++) {
        result other = run(archive, device, (mts_strategy)s, how, MTS_GROUPING_FAMILY);
        compare(archive, &first, &other, strategy_names[s]);
        if (stats) {
            stats[s] = other.stats;
        }
        free(other.outputs);
    }
    if (stats) {
        stats[0] = first.stats;
    }
    free(first.outputs);
}

/* ---- synthetic families ---- */

/* Multiply-adds of the convolutions if all tasks stand in one dense matrix: shared rows once, others apart.
 */
static uint64_t dense_mul_adds(const mts_archive *archive)
{
    const mts_graph *graph = archive->tasks[0].graph;
    uint64_t *total = calloc(graph->value_count, sizeof *total);
    uint64_t sum = 0;
    assert_non_null(total);
    total[graph->inputs[0].value] = (uint64_t)graph->inputs[0].shape.dims[1];
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const mts_node *node = &graph->nodes[n];
        total[node->output] = total[node->inputs[0]];
        if (node->op != MTS_OP_CONV) {
            continue;
        }
        const mts_value *weight = &graph->values[node->inputs[1]];
        const mts_graph *other = archive->tasks[1].graph;
        const mts_value *theirs = &other->values[other->nodes[n].inputs[1]];
        const bool shares = weight->blocks[0].block == theirs->blocks[0].block;
        const uint64_t shared = shares ? weight->blocks[0].out_count : 0;
        const uint64_t own = (uint64_t)weight->shape.dims[0] - shared;
        const int64_t *out = graph->values[node->output].shape.dims;
        total[node->output] = shared + own * archive->task_count;
        sum += archive->task_count * total[node->output] * total[node->inputs[0]] *
               (uint64_t)(weight->shape.dims[2] * weight->shape.dims[3] * out[2] * out[3]);
    }
    free(total);
    return sum;
}

static void pruned_resnets_agree_and_mts_costs_the_dense_product(void **state)
{
    (void)state;
    const double prune = 0.9;
    test_synth b;
    mts_session_stats stats[STRATEGIES];
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 4, &prune, 1, 0.9);
    test_synth_open(&b, &o);
    for (int d = 0; d < 2 && devices[d]; d++) {
        agree(b.archive, d, SEPARATE, stats);
        assert_int_equal(stats[MTS_STRATEGY_DENSE].groups, 1);
        assert_int_equal(stats[MTS_STRATEGY_DENSE].mul_adds, dense_mul_adds(b.archive));
        assert_int_equal(stats[MTS_STRATEGY_NETFUSE].mul_adds, stats[0].mul_adds);
        assert_int_equal(stats[MTS_STRATEGY_NETFUSE].weight_bytes, stats[0].weight_bytes);
        assert_true(stats[MTS_STRATEGY_NETFUSE].launches >= stats[MTS_STRATEGY_COMPACT].launches);
        assert_true(stats[MTS_STRATEGY_DENSE].weight_bytes > stats[MTS_STRATEGY_COMPACT].weight_bytes);
    }
    agree(b.archive, 0, COMMON, NULL);
    agree(b.archive, 0, FRAME, NULL);
    test_synth_close(&b);
}

static void nothing_or_everything_shared_agrees(void **state)
{
    (void)state;
    const double prune = 0.9;
    for (int share = 0; share < 2; share++) {
        test_synth b;
        mts_session_stats stats[STRATEGIES];
        const mtsc_synth_options o = test_synth_options(MTSC_ARCH_VGG16, 3, &prune, 1, (double)share);
        test_synth_open(&b, &o);
        agree(b.archive, 0, SEPARATE, stats);
        assert_int_equal(stats[MTS_STRATEGY_DENSE].mul_adds, dense_mul_adds(b.archive));
        test_synth_close(&b);
    }
}

static void netfuse_pads_to_the_widest_and_the_statistics_show_it(void **state)
{
    (void)state;
    const double prune[2] = {0.9, 0.8};
    test_synth b;
    mts_session_stats stats[STRATEGIES];
    const uint32_t wide = 1;
    const mts_engine_options options = {
        .strategy = MTS_STRATEGY_SEQUENTIAL, .separate_inputs = true, .tasks = &wide, .task_count = 1};
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 4, prune, 2, 0.9);
    mts_engine *engine = NULL;
    mts_error error = {0};
    mts_session_stats alone;
    test_synth_open(&b, &o);
    agree(b.archive, 0, SEPARATE, stats);
    test_must(mts_planned_engine_create(devices[0], b.archive, &options, NULL, &engine, NULL, &error), &error,
              "the widest alone");
    mts_engine_stats_get(engine, &alone);
    mts_engine_destroy(&engine);
    assert_int_equal(stats[MTS_STRATEGY_NETFUSE].mul_adds, 4 * alone.mul_adds);
    assert_true(stats[MTS_STRATEGY_NETFUSE].mul_adds > stats[0].mul_adds * 3 / 2);
    assert_true(stats[MTS_STRATEGY_NETFUSE].weight_bytes > stats[0].weight_bytes * 3 / 2);
    assert_int_equal(stats[MTS_STRATEGY_NETFUSE].groups, 1);
    assert_int_equal(stats[MTS_STRATEGY_DENSE].groups, 1);
    test_synth_close(&b);
}

static void unequal_batches_agree_and_netfuse_does_not_group_them(void **state)
{
    (void)state;
    const double prune = 0.9;
    const uint32_t batch[2] = {1, 3};
    test_synth b;
    mts_session_stats stats[STRATEGIES];
    mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 4, &prune, 1, 0.9);
    o.batch = batch;
    o.batch_count = 2;
    test_synth_open(&b, &o);
    agree(b.archive, 0, SEPARATE, stats);
    assert_int_equal(stats[MTS_STRATEGY_NETFUSE].groups, 2);
    assert_int_equal(stats[MTS_STRATEGY_DENSE].groups, 1);
    test_synth_close(&b);
}

static void measured_groups_agree(void **state)
{
    (void)state;
    const double prune = 0.95;
    test_synth b;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 3, &prune, 1, 0.5);
    test_synth_open(&b, &o);
    result first = run(b.archive, 0, MTS_STRATEGY_SEQUENTIAL, SEPARATE, MTS_GROUPING_FAMILY);
    for (uint32_t s = 1; s < STRATEGIES; s++) {
        result other = run(b.archive, 0, (mts_strategy)s, SEPARATE, MTS_GROUPING_MEASURED);
        compare(b.archive, &first, &other, strategy_names[s]);
        assert_true(other.predicted_ms > 0.0);
        free(other.outputs);
    }
    free(first.outputs);
    test_synth_close(&b);
}

/* What models one by one need is enough for every strategy: at worst each task is a group. */
static void a_memory_budget_of_sequential_is_kept(void **state)
{
    (void)state;
    const double prune[2] = {0.95, 0.9};
    for (uint32_t kinds = 1; kinds <= 2; kinds++) { /* equal tasks, unequal ones */
        test_synth b;
        const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 4, prune, kinds, 0.5);
        test_synth_open(&b, &o);
        result first = run(b.archive, 0, MTS_STRATEGY_SEQUENTIAL, SEPARATE, MTS_GROUPING_FAMILY);
        for (uint32_t s = 1; s < STRATEGIES; s++) {
            const mts_engine_options options = {.strategy = (mts_strategy)s,
                                                .separate_inputs = true,
                                                .memory_budget = {first.stats.peak_bytes}};
            const mts_planning_options planning = {.grouping = MTS_GROUPING_MEASURED};
            mts_engine *engine = NULL;
            mts_session_stats stats;
            mts_error error = {0};
            test_must(
                mts_planned_engine_create(devices[0], b.archive, &options, &planning, &engine, NULL, &error),
                &error, strategy_names[s]);
            mts_engine_stats_get(engine, &stats);
            assert_true(stats.peak_bytes <= first.stats.peak_bytes);
            mts_engine_destroy(&engine);
        }
        free(first.outputs);
        test_synth_close(&b);
    }
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* A layer of a dense network of everything needs a larger buffer than the device has; smaller groups do not. */
static void measured_groups_fit_the_devices_buffers(void **state)
{
    (void)state;
    const double prune = 0.9;
    test_synth b;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 4, &prune, 1, 0.0);
    const uint64_t before = devices[0]->info.buffer_bytes;
    mts_engine_options options = {.strategy = MTS_STRATEGY_DENSE, .separate_inputs = true};
    mts_engine *engine = NULL;
    mts_error error = {0};
    test_synth_open(&b, &o);
    result alone = run(b.archive, 0, MTS_STRATEGY_SEQUENTIAL, SEPARATE, MTS_GROUPING_FAMILY);
    /* a layer of one network fits, but not the one that is 4 x 4 of them */
    devices[0]->info.buffer_bytes =
        larger(alone.stats.weight_bytes / 12, alone.stats.activation_bytes * 3 / 2);
    assert_int_equal(mts_planned_engine_create(devices[0], b.archive, &options, NULL, &engine, NULL, &error),
                     MTS_STATUS_LIMIT);
    result groups = run(b.archive, 0, MTS_STRATEGY_DENSE, SEPARATE, MTS_GROUPING_MEASURED);
    devices[0]->info.buffer_bytes = before;
    compare(b.archive, &alone, &groups, "mts in groups");
    assert_true(groups.stats.groups > 1);
    free(alone.outputs);
    free(groups.outputs);
    test_synth_close(&b);
}

/* ---- families with planted sharing ---- */

static void set_act(mts_graph *graph, const mts_act *act)
{
    for (uint32_t n = 0; n + 1 < graph->node_count; n++) {
        if (graph->nodes[n].op == MTS_OP_CONV) {
            graph->nodes[n].attrs.conv.act = *act;
        }
    }
}

static mts_session_stats planted(mts_net_build build, const mts_net_plan *plan, mts_act act)
{
    mts_arena arena;
    mts_error error = {0};
    test_net net;
    const mts_graph *graphs[TASKS_MOST];
    mts_session_stats stats[STRATEGIES];
    mts_arena_init(&arena, mts_allocator_default());
    for (uint32_t t = 0; t < plan->tasks; t++) {
        mts_net made;
        mts_net_begin(&made, plan, &arena, t);
        build(&made);
        assert_false(made.failed);
        set_act(made.graph, &act);
        graphs[t] = made.graph;
    }
    test_must(net_make(graphs, plan->tasks, 0.0f, &net, &error), &error, "bundle");
    agree(net.archive, 0, SEPARATE, stats);
    agree(net.archive, 0, COMMON, NULL);
    net_release(&net);
    mts_arena_release(&arena);
    return stats[MTS_STRATEGY_DENSE];
}

static void planted_families_agree_under_any_activation(void **state)
{
    (void)state;
    static const mts_net_build builds[] = {mts_net_build_chain,  mts_net_build_residual,
                                           mts_net_build_concat, mts_net_build_flatten,
                                           mts_net_build_prefix, mts_net_build_depthwise};
    static const mts_act functions[] = {{.fn = MTS_FN_RELU},
                                        {.fn = MTS_FN_SIGMOID},
                                        {.fn = MTS_FN_NONE},
                                        {.fn = MTS_FN_LEAKY_BOUND, .a = 0.1f, .b = 0.5f},
                                        {.fn = MTS_FN_HARD_SWISH_LINE, .a = 0.7f, .b = 0.9f}};
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
            const mts_net_plan plan = {
                .tasks = 3, .shared = 8, .subset = 2, .exclusive = 3, .shuffled = true, .seed = (uint32_t)i};
            assert_int_equal(planted(builds[i], &plan, functions[f]).groups, 1);
        }
    }
}

static void families_of_whole_filters_agree(void **state)
{
    (void)state;
    const mts_net_plan plan = {
        .tasks = 4, .shared = 10, .exclusive = 2, .shuffled = true, .filters = true, .seed = 1};
    (void)planted(mts_net_build_residual, &plan, (mts_act){.fn = MTS_FN_RELU});
    (void)planted(mts_net_build_chain, &plan, (mts_act){.fn = MTS_FN_SIGMOID});
}

static void tasks_of_different_structure_agree_in_groups_of_their_own(void **state)
{
    (void)state;
    static const mts_net_build builds[] = {mts_net_build_chain, mts_net_build_residual, mts_net_build_chain};
    const mts_net_plan plan = {.tasks = 3, .shared = 8, .exclusive = 2, .shuffled = true, .seed = 3};
    mts_arena arena;
    mts_error error = {0};
    test_net net;
    const mts_graph *graphs[3];
    mts_session_stats stats[STRATEGIES];
    mts_arena_init(&arena, mts_allocator_default());
    for (uint32_t t = 0; t < 3; t++) {
        mts_net made;
        mts_net_begin(&made, &plan, &arena, t);
        builds[t](&made);
        assert_false(made.failed);
        graphs[t] = made.graph;
    }
    test_must(net_make(graphs, 3, 0.0f, &net, &error), &error, "bundle");
    agree(net.archive, 0, SEPARATE, stats);
    assert_int_equal(stats[MTS_STRATEGY_DENSE].groups, 2);
    net_release(&net);
    mts_arena_release(&arena);
}

static void random_families_agree(void **state)
{
    (void)state;
    uint32_t stitched = 0;
    for (uint32_t seed = 0; seed < 60; seed++) {
        const random_family family = {.seed = 7000 + seed,
                                      .tasks = 2 + seed % 3,
                                      .steps = 3 + seed % 5,
                                      .common = seed % 2 == 1,
                                      .equal = seed % 3 == 0};
        mts_arena arena;
        mts_error error = {0};
        test_net net;
        const mts_graph *graphs[TASKS_MOST];
        mts_session_stats stats[STRATEGIES];
        mts_arena_init(&arena, mts_allocator_default());
        for (uint32_t t = 0; t < family.tasks; t++) {
            graphs[t] = random_net(&family, t, &arena);
            assert_non_null(graphs[t]);
        }
        test_must(net_make(graphs, family.tasks, 0.0f, &net, &error), &error, "bundle");
        agree(net.archive, 0, family.common ? COMMON : SEPARATE, stats);
        stitched += stats[MTS_STRATEGY_DENSE].groups < family.tasks ? 1 : 0;
        net_release(&net);
        mts_arena_release(&arena);
    }
    assert_true(stitched >= 5); /* else this tested nothing */
}

int main(void)
{
    static const char *const names[2] = {"reference", "opencl"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pruned_resnets_agree_and_mts_costs_the_dense_product),
        cmocka_unit_test(nothing_or_everything_shared_agrees),
        cmocka_unit_test(netfuse_pads_to_the_widest_and_the_statistics_show_it),
        cmocka_unit_test(unequal_batches_agree_and_netfuse_does_not_group_them),
        cmocka_unit_test(measured_groups_agree),
        cmocka_unit_test(a_memory_budget_of_sequential_is_kept),
        cmocka_unit_test(measured_groups_fit_the_devices_buffers),
        cmocka_unit_test(planted_families_agree_under_any_activation),
        cmocka_unit_test(families_of_whole_filters_agree),
        cmocka_unit_test(tasks_of_different_structure_agree_in_groups_of_their_own),
        cmocka_unit_test(random_families_agree),
    };
    mts_error error = {0};
    for (int d = 0; d < 2; d++) {
        if (net_device_open(names[d], NULL, &devices[d], &error) != MTS_STATUS_OK) {
            printf("%s: %s\n", names[d], error.text);
        }
    }
    const int failed = devices[0] ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    for (int d = 0; d < 2; d++) {
        mts_device_destroy(&devices[d]);
    }
    return failed;
}
