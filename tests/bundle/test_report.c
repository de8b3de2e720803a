/*
 * The reports of a bundle against counts made here in the plainest way, and the limits of what a task may
 * say: changes of one character that no other test noticed (toolchains/host mutate).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bundle/check.h"
#include "bundle/report.h"
#include "bundle/sharing.h"
#include "compiler/passes/discover.h"
#include "support/sample_archive.h"

static mts_archive *sample_discovered(void)
{
    const mts_discover_options options = {.tolerance = 0};
    mts_discover_report report;
    mts_archive *archive = mts_sample_archive(mts_allocator_default());
    assert_non_null(archive);
    assert_int_equal(mts_discover(archive, &options, &report, NULL), MTS_STATUS_OK);
    return archive;
}

static bool refers(const mts_graph *graph, uint32_t block)
{
    for (uint32_t v = 0; v < graph->value_count; v++) {
        for (uint32_t b = 0; b < graph->values[v].block_count; b++) {
            if (graph->values[v].blocks[b].block == block) {
                return true;
            }
        }
    }
    return false;
}

static uint32_t users_of(const mts_archive *archive, uint32_t block)
{
    uint32_t users = 0;
    for (uint32_t t = 0; t < archive->task_count; t++) {
        users += refers(archive->tasks[t].graph, block) ? 1 : 0;
    }
    return users;
}

/* Bytes of a row's constants, and of those in blocks of several tasks. */
static void row_bytes(const mts_archive *archive, const mts_sharing_row *row, uint64_t *all, uint64_t *common)
{
    *all = *common = 0;
    for (uint32_t p = 0; p < row->part_count; p++) {
        const mts_graph *graph = archive->tasks[row->parts[p].task].graph;
        const mts_node *node = &graph->nodes[row->parts[p].node];
        for (uint32_t i = 0; i < node->input_count; i++) {
            if (node->inputs[i] == MTS_NONE) {
                continue;
            }
            const mts_value *value = &graph->values[node->inputs[i]];
            for (uint32_t b = 0; b < value->block_count; b++) {
                const uint64_t size = archive->blocks[value->blocks[b].block].size;
                *all += size;
                *common += users_of(archive, value->blocks[b].block) > 1 ? size : 0;
            }
        }
    }
}

static void a_rows_bytes_are_those_of_its_blocks(void **state)
{
    mts_archive *archive = sample_discovered();
    mts_sharing sharing;
    uint64_t shared_by_two = 0;
    (void)state;
    assert_int_equal(mts_sharing_find(archive, mts_allocator_default(), &sharing, NULL), MTS_STATUS_OK);
    for (uint32_t f = 0; f < sharing.family_count; f++) {
        for (uint32_t r = 0; r < sharing.families[f].row_count; r++) {
            uint64_t all = 0;
            uint64_t common = 0;
            row_bytes(archive, &sharing.families[f].rows[r], &all, &common);
            assert_int_equal(sharing.families[f].rows[r].bytes_unshared, all);
            assert_int_equal(sharing.families[f].rows[r].bytes_common, common);
        }
    }
    for (uint32_t b = 0; b < archive->block_count; b++) {
        shared_by_two += users_of(archive, b) == 2 ? archive->blocks[b].size : 0;
    }
    assert_true(shared_by_two > 0); /* or "more than one" and "more than two" would be the same here */
    mts_sharing_release(&sharing);
    mts_archive_destroy(&archive);
}

static void the_bytes_of_a_graphs_blocks_count_each_once(void **state)
{
    mts_archive *archive = sample_discovered();
    uint32_t *seen = calloc(archive->block_count, sizeof *seen);
    uint64_t bytes[3] = {0};
    (void)state;
    assert_non_null(seen);
    for (uint32_t t = 0; t < archive->task_count; t++) {
        for (uint32_t b = 0; b < archive->block_count; b++) {
            bytes[t] += refers(archive->tasks[t].graph, b) ? archive->blocks[b].size : 0;
        }
        assert_int_equal(mts_archive_block_bytes(archive, archive->tasks[t].graph, 4, true, seen, t + 1),
                         bytes[t]);
        assert_int_equal(mts_archive_block_bytes(archive, archive->tasks[t].graph, 4, true, seen, t + 1), 0);
    }
    free(seen);
    mts_archive_destroy(&archive);
}

/* x times a constant matrix of `columns` columns, or of one for each of two images. */
static void fill_product(mts_graph *graph, const float *numbers, bool batched)
{
    const mts_shape x =
        batched ? mts_shape_make(3, (int64_t[]){2, 1, 4}) : mts_shape_make(2, (int64_t[]){1, 4});
    const mts_shape w =
        batched ? mts_shape_make(3, (int64_t[]){2, 4, 3}) : mts_shape_make(2, (int64_t[]){4, 3});
    const mts_attrs attrs = {.matmul = {.alpha = 1.0f, .beta = 1.0f}};
    uint32_t value = MTS_NONE;
    const uint32_t inputs[2] = {mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &x),
                                mts_graph_add_const(graph, "w", MTS_TYPE_FLOAT32, &w, numbers)};
    assert_int_equal(mts_graph_add_node(graph, MTS_OP_MATMUL, "product", inputs, 2, &attrs, &value, NULL),
                     MTS_STATUS_OK);
    assert_int_equal(
        mts_graph_add_output(graph, "y", value, MTS_TYPE_FLOAT32, &graph->values[value].shape, NULL),
        MTS_STATUS_OK);
}

static mts_archive *products(bool batched)
{
    static const float numbers[2][24] = {{1, 2, 3, 4, 5, 6, 7}, {3, 1, 4, 1, 5}};
    static const char *const names[] = {"one", "same", "other"};
    const mts_discover_options options = {.tolerance = 0};
    mts_discover_report found;
    mts_archive *archive = mts_archive_create(mts_allocator_default());
    assert_non_null(archive);
    archive->tasks = mts_arena_zero(&archive->arena, 3, sizeof *archive->tasks);
    archive->task_count = 3;
    for (uint32_t t = 0; t < 3; t++) {
        archive->tasks[t].name = names[t];
        archive->tasks[t].graph = mts_graph_create(&archive->arena, names[t]);
        fill_product(archive->tasks[t].graph, numbers[t / 2], batched);
    }
    assert_int_equal(mts_discover(archive, &options, &found, NULL), MTS_STATUS_OK);
    return archive;
}

/* A matrix product has its output channels along the second dimension, a batch of them has no common matrix. */
static void channels_of_products_are_columns(void **state)
{
    (void)state;
    for (int batched = 0; batched < 2; batched++) {
        const uint32_t channels = batched ? 2 : 3;
        mts_archive *archive = products(batched != 0);
        mts_sharing sharing;
        uint32_t shared[3] = {0};
        assert_int_equal(mts_sharing_find(archive, mts_allocator_default(), &sharing, NULL), MTS_STATUS_OK);
        for (uint32_t f = 0; f < sharing.family_count; f++) {
            const mts_sharing_row *row = &sharing.families[f].rows[0];
            for (uint32_t p = 0; p < row->part_count; p++) {
                shared[row->parts[p].task] = row->parts[p].shared;
                assert_int_equal(row->parts[p].shared + row->parts[p].exclusive, channels);
            }
        }
        assert_int_equal(shared[0], channels);
        assert_int_equal(shared[1], channels);
        assert_int_equal(shared[2], 0);
        mts_sharing_release(&sharing);
        mts_archive_destroy(&archive);
    }
}

static void report(const mts_archive *archive, mts_report_kind kind, mts_text *text)
{
    mts_text_init(text, mts_allocator_default());
    assert_int_equal(mts_archive_report(archive, kind, mts_allocator_default(), text, NULL), MTS_STATUS_OK);
}

/* A crop may end where a coordinate is 0 and be of any width: both reports tell it by its width. */
static void the_reports_tell_what_part_of_a_frame_a_task_sees(void **state)
{
    mts_archive *archive = sample_discovered();
    mts_text text;
    (void)state;
    report(archive, MTS_REPORT_KIND_TEXT, &text);
    assert_non_null(strstr(text.data, "frames of gender: crop 0.25,0,0.5,0.5\n"));
    assert_null(strstr(text.data, "frames of age"));
    mts_text_release(&text);
    report(archive, MTS_REPORT_KIND_JSON, &text);
    assert_non_null(strstr(text.data, "\"crop\": [0.25, 0, 0.5, 0.5]"));
    mts_text_release(&text);
    mts_archive_destroy(&archive);
}

/* Each row with weights has a line in the text, from the first one on. */
static void the_text_has_a_line_for_each_row_with_weights(void **state)
{
    mts_archive *archive = sample_discovered();
    mts_sharing sharing;
    mts_text text;
    uint32_t rows = 0;
    uint32_t lines = 0;
    (void)state;
    assert_int_equal(mts_sharing_find(archive, mts_allocator_default(), &sharing, NULL), MTS_STATUS_OK);
    report(archive, MTS_REPORT_KIND_TEXT, &text);
    for (uint32_t f = 0; f < sharing.family_count; f++) {
        for (uint32_t r = 0; r < sharing.families[f].row_count; r++) {
            rows += sharing.families[f].rows[r].bytes_unshared > 0 ? 1 : 0;
        }
    }
    for (const char *at = strstr(text.data, "\nfamily "); at && *at; at = strchr(at + 1, '\n')) {
        lines +=
            at[1] && strncmp(at, "\nfamily ", 8) != 0 && strncmp(at, "\nlayer ", 7) != 0 && at[1] != '\n';
    }
    assert_true(rows > 0);
    assert_int_equal(lines, rows);
    mts_text_release(&text);
    mts_sharing_release(&sharing);
    mts_archive_destroy(&archive);
}

static void every_class_maps_to_a_label_the_first_too(void **state)
{
    mts_archive *archive = sample_discovered();
    uint32_t classes[4] = {0, 1, 4, 4};
    mts_error error = {0};
    (void)state;
    archive->tasks[0].class_map = classes;
    assert_int_equal(mts_task_check(&archive->tasks[0], &error), MTS_STATUS_OK);
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t before = classes[i];
        classes[i] = archive->tasks[0].label_count;
        assert_int_equal(mts_task_check(&archive->tasks[0], &error), MTS_STATUS_MALFORMED);
        assert_non_null(strstr(error.text, "maps to label 5 of 5"));
        classes[i] = before;
    }
    mts_archive_destroy(&archive);
}

static void a_crop_has_width_and_height_and_begins_inside(void **state)
{
    static const float good[][4] = {{0}, {0, 0, 1, 1}, {0.5f, 0.25f, 0.5f, 0.75f}, {0.4f, 0, 0.6f, 1}};
    static const float bad[][4] = {{0, 0, 1, 0},        {0, 0, 0, 1},        {0.5f, 0, 0, 1},
                                   {0, 0.5f, 1, 0},     {1, 0, 1e-7f, 1},    {0, 1, 1, 1e-7f},
                                   {0.5f, 0, 0.75f, 1}, {0, 0.5f, 1, 0.75f}, {0, 0, -1, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(mts_preprocess_crop_valid(good[i]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(mts_preprocess_crop_valid(bad[i]));
    }
}

static void the_limits_are_those_of_the_format(void **state)
{
    const mts_archive_limits limits = mts_archive_limits_default();
    (void)state;
    assert_int_equal(limits.file_bytes, 68719476736);
    assert_int_equal(limits.tasks, 1024);
    assert_int_equal(limits.nodes_per_task, 65536);
    assert_int_equal(limits.values_per_task, 262144);
    assert_int_equal(limits.blocks, 1048576);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rows_bytes_are_those_of_its_blocks),
        cmocka_unit_test(the_bytes_of_a_graphs_blocks_count_each_once),
        cmocka_unit_test(channels_of_products_are_columns),
        cmocka_unit_test(the_reports_tell_what_part_of_a_frame_a_task_sees),
        cmocka_unit_test(the_text_has_a_line_for_each_row_with_weights),
        cmocka_unit_test(every_class_maps_to_a_label_the_first_too),
        cmocka_unit_test(a_crop_has_width_and_height_and_begins_inside),
        cmocka_unit_test(the_limits_are_those_of_the_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
