/*
 * Discovery finds planted sharing, and what a task computes stays the same.
 *
 * Families are built with weights that follow from the identities of channels (support/nets.h), so what can
 * be shared is known; outputs before and after are compared with a plain evaluator.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/models/bundle.h"
#include "compiler/passes/clone.h"
#include "compiler/passes/discover.h"
#include "compiler/passes/siblings.h"
#include "graph/align.h"
#include "support/eval.h"
#include "support/nets.h"

#define TASKS_MOST 8

static mts_archive *make_family(mts_net_build builder, const mts_net_plan *plan)
{
    static const char *const names[TASKS_MOST] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    mts_archive *archive = mts_archive_create(mts_allocator_default());
    assert_non_null(archive);
    archive->tasks = mts_arena_zero(&archive->arena, plan->tasks, sizeof(*archive->tasks));
    assert_non_null(archive->tasks);
    for (uint32_t t = 0; t < plan->tasks; t++) {
        mts_net net;
        mts_net_begin(&net, plan, &archive->arena, t);
        builder(&net);
        assert_false(net.failed);
        archive->tasks[t].name = names[t];
        archive->tasks[t].graph = net.graph;
        archive->tasks[t].preprocess = (mts_preprocess){.std = {1, 1, 1, 1}};
        archive->task_count++;
    }
    return archive;
}

static void compare_outputs(const mts_graph *before, const mts_graph *after)
{
    mts_arena arena;
    mts_arena_init(&arena, mts_allocator_default());
    const size_t count = mts_shape_count(&before->inputs[0].shape);
    float *x = mts_arena_zero(&arena, count, sizeof(*x));
    assert_non_null(x);
    for (size_t i = 0; i < count; i++) {
        x[i] = (float)((i * 37 + 11) % 101) / 50.0f - 1.0f;
    }
    const float *inputs[] = {x};
    float **a = mts_arena_zero(&arena, before->value_count, sizeof(*a));
    float **b = mts_arena_zero(&arena, after->value_count, sizeof(*b));
    assert_true(mts_eval(before, inputs, &arena, a) && mts_eval(after, inputs, &arena, b));
    const float *y = a[before->outputs[0].value], *z = b[after->outputs[0].value];
    const size_t outputs = mts_shape_count(&before->outputs[0].shape);
    float largest = 1e-3f;
    for (size_t i = 0; i < outputs; i++) {
        largest = fmaxf(largest, fabsf(y[i]));
    }
    for (size_t i = 0; i < outputs; i++) {
        assert_true(fabsf(y[i] - z[i]) <= 1e-4f * largest);
    }
    mts_arena_release(&arena);
}

/* Discovers, checks that every output stays and that the result is a valid bundle. */
static mts_discover_report discover_family(mts_net_build builder, const mts_net_plan *plan)
{
    mts_archive *archive = make_family(builder, plan);
    mts_graph *before[TASKS_MOST];
    mts_discover_options options = {0};
    mts_discover_report report;
    mts_error error = {0};
    for (uint32_t t = 0; t < plan->tasks; t++) {
        before[t] = mts_graph_clone(archive->tasks[t].graph, &archive->arena);
        assert_non_null(before[t]);
    }
    assert_int_equal(mts_discover(archive, &options, &report, &error), MTS_STATUS_OK);
    for (uint32_t t = 0; t < plan->tasks; t++) {
        assert_int_equal(mts_graph_verify(archive->tasks[t].graph, &error), MTS_STATUS_OK);
        compare_outputs(before[t], archive->tasks[t].graph);
    }
    mts_bundle_bytes bytes;
    mts_archive *again = NULL;
    assert_int_equal(mts_bundle_encode(archive, mts_allocator_default(), &bytes, &error), MTS_STATUS_OK);
    const mts_status status =
        mts_archive_read(bytes.data, bytes.size, "planted", NULL, mts_allocator_default(), &again, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, MTS_STATUS_OK);
    for (uint32_t t = 0; t < plan->tasks; t++) {
        compare_outputs(before[t], again->tasks[t].graph);
    }
    mts_archive_destroy(&again);
    mts_bundle_bytes_release(&bytes);
    mts_archive_destroy(&archive);
    return report;
}

/* At least `planted` weights of 4 bytes each are stored only once instead of `tasks` times. */
static void assert_saved(const mts_discover_report *report, uint64_t planted, uint32_t tasks)
{
    assert_int_equal(report->families, 1);
    assert_true(report->bytes_unshared - report->bytes >= planted * 4 * (tasks - 1));
}

static void shuffled_common_channels_of_a_chain_become_shared_blocks(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 4; seed++) {
        const mts_net_plan plan = {
            .tasks = 2 + seed * 2, .shared = 12, .exclusive = 1 + seed, .shuffled = true, .seed = seed};
        const mts_discover_report report = discover_family(mts_net_build_chain, &plan);
        assert_saved(&report, 12 * 3 * 9 + 2 * 12 * 12 * 9, plan.tasks);
    }
}

static void channels_in_order_already_need_no_shuffling(void **state)
{
    (void)state;
    const mts_net_plan plan = {.tasks = 4, .shared = 12, .exclusive = 4};
    const mts_discover_report report = discover_family(mts_net_build_chain, &plan);
    assert_saved(&report, 12 * 3 * 9 + 2 * 12 * 12 * 9, plan.tasks);
}

static void residual_networks_in_filters_form_share_whole_filters(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 3; seed++) {
        const mts_net_plan plan = {
            .tasks = 3 + seed, .shared = 10, .exclusive = 2, .shuffled = true, .filters = true, .seed = seed};
        const mts_discover_report report = discover_family(mts_net_build_residual, &plan);
        assert_saved(&report, 10 * 3 * 9 + 4 * 10 * 12 * 9, plan.tasks);
    }
}

static void residual_networks_with_common_channels_share_blocks(void **state)
{
    (void)state;
    const mts_net_plan plan = {.tasks = 4, .shared = 12, .exclusive = 3, .shuffled = true, .seed = 5};
    const mts_discover_report report = discover_family(mts_net_build_residual, &plan);
    assert_saved(&report, 12 * 3 * 9 + 4 * 12 * 12 * 9, plan.tasks);
}

static void common_channels_are_followed_through_concatenation(void **state)
{
    (void)state;
    const mts_net_plan plan = {.tasks = 3, .shared = 9, .exclusive = 2, .shuffled = true, .seed = 7};
    const mts_discover_report report = discover_family(mts_net_build_concat, &plan);
    assert_saved(&report, 9 * 3 * 9 + 9 * 9 + 9 * 9 + 9 * 9 * 9 + 9 * 18 * 9, plan.tasks);
}

static void common_channels_are_followed_through_flattening(void **state)
{
    (void)state;
    const mts_net_plan plan = {.tasks = 3, .shared = 10, .exclusive = 2, .shuffled = false, .seed = 8};
    const mts_discover_report report = discover_family(mts_net_build_flatten, &plan);
    assert_saved(&report, 10 * 9 + 10 * 10 * 9, plan.tasks);
    const mts_net_plan shuffled = {.tasks = 3, .shared = 10, .exclusive = 2, .shuffled = true, .seed = 8};
    const mts_discover_report other = discover_family(mts_net_build_flatten, &shuffled);
    assert_saved(&other, 10 * 9 + 10 * 10 * 9, plan.tasks);
}

static void common_channels_are_followed_through_depthwise_layers(void **state)
{
    (void)state;
    const mts_net_plan plan = {.tasks = 3, .shared = 16, .exclusive = 2, .shuffled = true, .seed = 9};
    const mts_discover_report report = discover_family(mts_net_build_depthwise, &plan);
    assert_saved(&report, 16 * 3 * 9 + 16 * 16, plan.tasks);
}

static void a_common_prefix_is_stored_once_whole(void **state)
{
    (void)state;
    const mts_net_plan plan = {.tasks = 5, .shared = 12, .exclusive = 0, .shuffled = false};
    const mts_discover_report report = discover_family(mts_net_build_prefix, &plan);
    assert_saved(&report, 12 * 3 * 9 + 12 * 12 * 9, plan.tasks);
}

static void what_only_some_tasks_share_is_found_too(void **state)
{
    (void)state;
    const mts_net_plan plan = {
        .tasks = 4, .shared = 8, .subset = 4, .exclusive = 2, .shuffled = true, .seed = 3};
    const mts_discover_report report = discover_family(mts_net_build_chain, &plan);
    assert_saved(&report, 8 * 3 * 9 + 2 * 8 * 8 * 9, plan.tasks);
    /* the subsets' own filters of the first layer, twice one copy less */
    const uint64_t all = (8 * 3 * 9 + 2 * 8 * 8 * 9) * 4 * 3;
    assert_true(report.bytes_unshared - report.bytes >= all + 2 * 4 * (4 * 3 * 9 + 2 * 4 * 12 * 9));
}

static void models_that_share_nothing_stay_as_they_are(void **state)
{
    (void)state;
    const mts_net_plan plan = {.tasks = 3, .shared = 0, .exclusive = 8, .shuffled = true};
    mts_archive *archive = make_family(mts_net_build_chain, &plan);
    mts_discover_options options = {0};
    mts_discover_report report;
    assert_int_equal(mts_discover(archive, &options, &report, NULL), MTS_STATUS_OK);
    assert_int_equal(report.families, 1);
    assert_true(report.bytes == report.bytes_unshared);
    for (uint32_t t = 0; t < 3; t++) {
        const mts_graph *graph = archive->tasks[t].graph;
        for (uint32_t v = 0; v < graph->value_count; v++) {
            assert_true(graph->values[v].block_count <= 1);
        }
    }
    mts_archive_destroy(&archive);
}

static void the_same_model_twice_is_stored_once_and_not_cut(void **state)
{
    (void)state;
    const mts_net_plan plan = {.tasks = 1, .shared = 8, .exclusive = 3, .shuffled = true};
    mts_archive *one = make_family(mts_net_build_residual, &plan),
                *two = make_family(mts_net_build_residual, &plan);
    mts_task *tasks = mts_arena_zero(&two->arena, 2, sizeof(*tasks));
    assert_non_null(tasks);
    tasks[0] = tasks[1] = two->tasks[0];
    tasks[1].graph = mts_graph_clone(two->tasks[0].graph, &two->arena);
    tasks[1].name = "again";
    two->tasks = tasks;
    two->task_count = 2;
    mts_discover_options options = {0};
    mts_discover_report single, both;
    assert_int_equal(mts_discover(one, &options, &single, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_discover(two, &options, &both, NULL), MTS_STATUS_OK);
    assert_true(both.bytes == single.bytes && both.bytes_unshared == 2 * single.bytes_unshared);
    const mts_graph *a = two->tasks[0].graph, *b = two->tasks[1].graph;
    for (uint32_t v = 0; v < a->value_count; v++) {
        assert_true(a->values[v].block_count <= 1);
        if (a->values[v].block_count == 1) {
            assert_int_equal(a->values[v].blocks[0].block, b->values[v].blocks[0].block);
        }
    }
    mts_archive_destroy(&one);
    mts_archive_destroy(&two);
}

static void weights_within_the_tolerance_merge_and_the_deviation_is_reported(void **state)
{
    (void)state;
    const mts_net_plan plan = {.tasks = 2, .shared = 12, .exclusive = 0};
    for (int with = 0; with < 2; with++) {
        mts_archive *archive = make_family(mts_net_build_prefix, &plan);
        mts_graph *graph = archive->tasks[1].graph;
        const mts_value *weight = &graph->values[graph->nodes[1].inputs[1]];
        float *data = (float *)(uintptr_t)weight->blocks[0].data;
        for (size_t i = 0; i < mts_shape_count(&weight->shape); i++) {
            data[i] += 1e-4f * (float)(i % 3);
        }
        mts_discover_options options = {.tolerance = with ? 1e-3f : 0};
        mts_discover_report report;
        assert_int_equal(mts_discover(archive, &options, &report, NULL), MTS_STATUS_OK);
        const uint64_t first = 12 * 3 * 9 * 4, second = 12 * 12 * 9 * 4;
        const uint64_t saved = report.bytes_unshared - report.bytes;
        if (with) {
            assert_true(saved >= first + second);
            assert_true(fabs(report.deviation - 2e-4) < 1e-6);
        } else {
            assert_true(saved >= first && saved < first + second);
            assert_true(report.deviation == 0);
        }
        mts_archive_destroy(&archive);
    }
}

static void equal_inputs_give_equal_bundles(void **state)
{
    (void)state;
    const mts_net_plan plan = {.tasks = 4, .shared = 8, .subset = 4, .exclusive = 2, .shuffled = true};
    mts_bundle_bytes bytes[2];
    for (int i = 0; i < 2; i++) {
        mts_archive *archive = make_family(mts_net_build_chain, &plan);
        mts_discover_options options = {0};
        mts_discover_report report;
        assert_int_equal(mts_discover(archive, &options, &report, NULL), MTS_STATUS_OK);
        assert_int_equal(mts_bundle_encode(archive, mts_allocator_default(), &bytes[i], NULL), MTS_STATUS_OK);
        mts_archive_destroy(&archive);
    }
    assert_int_equal(bytes[0].size, bytes[1].size);
    assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].size);
    mts_bundle_bytes_release(&bytes[0]);
    mts_bundle_bytes_release(&bytes[1]);
}

/* SqueezeNet's expand layers, the 1x1 or the 3x3 one first. */
static mts_graph *branches(mts_arena *arena, const mts_net_plan *plan, bool small_first)
{
    mts_net net;
    mts_net_begin(&net, plan, arena, 0);
    mts_net_value x = mts_net_input(&net, 3, 8);
    x = mts_net_conv(&net, x, mts_net_channels(&net, true), 1, 1, NULL);
    const mts_net_value one =
        mts_net_conv(&net, x, mts_net_channels(&net, true), small_first ? 1 : 3, 1, NULL);
    const mts_net_value two =
        mts_net_conv(&net, x, mts_net_channels(&net, true), small_first ? 3 : 1, 1, NULL);
    x = small_first ? mts_net_concat(&net, one, two) : mts_net_concat(&net, two, one);
    mts_net_end(&net, mts_net_mean(&net, x), 3);
    assert_false(net.failed);
    return net.graph;
}

static void branches_written_in_another_order_align_after_sorting(void **state)
{
    (void)state;
    const mts_net_plan plan = {.tasks = 1, .shared = 6};
    mts_arena arena;
    mts_arena_init(&arena, mts_allocator_default());
    mts_graph *graphs[2] = {branches(&arena, &plan, true), branches(&arena, &plan, false)};
    mts_graph *before = mts_graph_clone(graphs[1], &arena);
    mts_alignment rows;
    mts_error error = {0};
    assert_non_null(before);
    assert_int_equal(mts_graph_align((const mts_graph *const *)graphs, 2, &arena, &rows, &error),
                     MTS_STATUS_OK);
    assert_int_equal(rows.row_count, graphs[0]->node_count + 1);
    mts_graph_sort_siblings(graphs[0]);
    mts_graph_sort_siblings(graphs[1]);
    assert_int_equal(mts_graph_verify(graphs[1], &error), MTS_STATUS_OK);
    assert_int_equal(mts_graph_align((const mts_graph *const *)graphs, 2, &arena, &rows, &error),
                     MTS_STATUS_OK);
    assert_int_equal(rows.row_count, graphs[0]->node_count);
    compare_outputs(before, graphs[1]);
    mts_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_that_share_nothing_stay_as_they_are),
        cmocka_unit_test(the_same_model_twice_is_stored_once_and_not_cut),
        cmocka_unit_test(a_common_prefix_is_stored_once_whole),
        cmocka_unit_test(weights_within_the_tolerance_merge_and_the_deviation_is_reported),
        cmocka_unit_test(channels_in_order_already_need_no_shuffling),
        cmocka_unit_test(shuffled_common_channels_of_a_chain_become_shared_blocks),
        cmocka_unit_test(residual_networks_in_filters_form_share_whole_filters),
        cmocka_unit_test(residual_networks_with_common_channels_share_blocks),
        cmocka_unit_test(common_channels_are_followed_through_concatenation),
        cmocka_unit_test(common_channels_are_followed_through_flattening),
        cmocka_unit_test(common_channels_are_followed_through_depthwise_layers),
        cmocka_unit_test(what_only_some_tasks_share_is_found_too),
        cmocka_unit_test(equal_inputs_give_equal_bundles),
        cmocka_unit_test(branches_written_in_another_order_align_after_sorting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
