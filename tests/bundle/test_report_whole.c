/*
 * The whole reports of one archive, word for word: three tasks that share layers, one of two inputs without
 * weights, and one that is a constant. Sizes, names and ranges at their limits stand below.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bundle/report.h"
#include "bundle/report_kinds.h"
#include "compiler/passes/discover.h"
#include "support/fault_each.h"
#include "support/sample_archive.h"

#include "bundle/report_expected.h"

/* left + right, and right as it came. */
static void fill_sum(mts_graph *graph)
{
    const mts_shape shape = mts_shape_make(2, (int64_t[]){1, 4});
    mts_attrs attrs;
    uint32_t sum = MTS_NONE;
    memset(&attrs, 0, sizeof attrs);
    attrs.binary.kind = MTS_BIN_ADD;
    const uint32_t left = mts_graph_add_input(graph, "left", MTS_TYPE_FLOAT32, &shape);
    const uint32_t right = mts_graph_add_input(graph, "right", MTS_TYPE_FLOAT16, &shape);
    assert_int_equal(
        mts_graph_add_node(graph, MTS_OP_BINARY, "", (uint32_t[]){left, right}, 2, &attrs, &sum, NULL),
        MTS_STATUS_OK);
    assert_int_equal(mts_graph_add_output(graph, "sum", sum, MTS_TYPE_FLOAT32, &shape, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_graph_add_output(graph, "same", right, MTS_TYPE_FLOAT32, &shape, NULL),
                     MTS_STATUS_OK);
}

static void fill_constant(mts_graph *graph)
{
    static const float numbers[] = {1, 2};
    const mts_shape shape = mts_shape_make(1, (int64_t[]){2});
    const uint32_t value = mts_graph_add_const(graph, "fixed", MTS_TYPE_FLOAT32, &shape, numbers);
    assert_int_equal(mts_graph_add_output(graph, "fixed", value, MTS_TYPE_FLOAT32, &shape, NULL),
                     MTS_STATUS_OK);
}

/* Names that a report must not take over as they are. */
static void name_nodes(mts_graph *graph)
{
    graph->nodes[0].name = "a_name_of_exactly_forty_characters_0123456";
    graph->nodes[0].name += 2;
    graph->nodes[1].name = "a \"quoted\" name\\with a tab\tand \x7f and \xc3\xbc and more than 48 bytes";
    graph->nodes[3].name = "__exactly_48_bytes_of_a_name_0123456789_01234567";
}

static mts_archive *make(const mts_allocator *allocator)
{
    const mts_discover_options options = {.tolerance = 0};
    mts_discover_report found;
    mts_archive *archive = mts_sample_archive(allocator);
    assert_non_null(archive);
    mts_task *tasks = mts_arena_zero(&archive->arena, 5, sizeof *tasks);
    memcpy(tasks, archive->tasks, 3 * sizeof *tasks);
    archive->tasks = tasks;
    archive->task_count = 5;
    tasks[3].name = "sum";
    tasks[3].graph = mts_graph_create(&archive->arena, "sum");
    fill_sum(tasks[3].graph);
    tasks[4].name = "constant";
    tasks[4].graph = mts_graph_create(&archive->arena, "constant");
    fill_constant(tasks[4].graph);
    for (uint32_t t = 3; t < 5; t++) {
        tasks[t].preprocess = (mts_preprocess){.std = {1, 1, 1, 1}};
    }
    assert_int_equal(mts_discover(archive, &options, &found, NULL), MTS_STATUS_OK);
    tasks[0].preprocess.fit = MTS_FIT_LETTERBOX;
    memcpy(tasks[0].preprocess.fill, (uint8_t[]){1, 20, 255, 0}, 4);
    tasks[0].preprocess.filter = MTS_FILTER_AREA;
    tasks[1].preprocess.color = MTS_COLOR_BGR;
    tasks[2].preprocess.color = MTS_COLOR_GREY;
    tasks[2].preprocess.fit = MTS_FIT_CROP;
    name_nodes(tasks[0].graph);
    archive->hash = 0x0123456789abcdef;
    return archive;
}

static void report(const mts_archive *archive, mts_report_kind kind, const char *expected)
{
    mts_text text;
    mts_text_init(&text, mts_allocator_default());
    assert_int_equal(mts_archive_report(archive, kind, mts_allocator_default(), &text, NULL), MTS_STATUS_OK);
    assert_string_equal(mts_text_get(&text), expected);
    mts_text_release(&text);
}

static void each_report_is_this_one(void **state)
{
    mts_archive *archive = make(mts_allocator_default());
    (void)state;
    report(archive, MTS_REPORT_KIND_TEXT, expected_text);
    report(archive, MTS_REPORT_KIND_JSON, expected_json);
    report(archive, MTS_REPORT_KIND_DOT, expected_dot);
    mts_archive_destroy(&archive);
}

/* ---- numbers and words at their limits ---- */

/* The text report of the archive with some of what was counted replaced. */
static void expect_cell(const mts_sharing *sharing, const char *expected)
{
    mts_text text;
    mts_text_init(&text, mts_allocator_default());
    mts_report_text(sharing, &text);
    if (!strstr(mts_text_get(&text), expected)) {
        fail_msg("no '%s' in\n%s", expected, mts_text_get(&text));
    }
    mts_text_release(&text);
}

static void sizes_change_their_unit_at_ten_thousand_and_ten_million(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *cell;
    } cells[] = {{0, " 0 B "},
                 {9999, " 9999 B "},
                 {10000, " 10.0 kB "},
                 {14449, " 14.4 kB "},
                 {9999999, " 10000.0 kB "},
                 {10000000, " 10.0 MB "},
                 {123456789, " 123.5 MB "}};
    mts_archive *archive = make(mts_allocator_default());
    mts_sharing sharing;
    (void)state;
    assert_int_equal(mts_sharing_find(archive, mts_allocator_default(), &sharing, NULL), MTS_STATUS_OK);
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        sharing.families[0].rows[0].bytes_stored = cells[i].bytes;
        expect_cell(&sharing, cells[i].cell);
    }
    sharing.bytes_stored = 1;
    sharing.bytes_unshared = 0;
    expect_cell(&sharing, "weights: 1 B stored, 0 B unshared (0.0 %)");
    mts_sharing_release(&sharing);
    mts_archive_destroy(&archive);
}

static void channels_that_differ_are_told_as_a_range(void **state)
{
    mts_archive *archive = make(mts_allocator_default());
    mts_sharing sharing;
    (void)state;
    assert_int_equal(mts_sharing_find(archive, mts_allocator_default(), &sharing, NULL), MTS_STATUS_OK);
    mts_sharing_part *parts = sharing.families[0].rows[0].parts;
    parts[0].shared = parts[1].shared = parts[2].shared = 64;
    expect_cell(&sharing, "          64           0 ");
    parts[1].shared = 51;
    expect_cell(&sharing, "      51..64           0 ");
    parts[0].exclusive = 13;
    expect_cell(&sharing, "      51..64       0..13 ");
    parts[1].exclusive = parts[2].exclusive = 13;
    expect_cell(&sharing, "      51..64          13 ");
    mts_sharing_release(&sharing);
    mts_archive_destroy(&archive);
}

static void words_that_are_not_known_are_question_marks(void **state)
{
    static const char *const colors[] = {"none", "rgb", "bgr", "grey", "?"};
    static const char *const fits[] = {"", "stretch", "letterbox", "letterbox-corner", "crop", "?"};
    static const char *const filters[] = {"", "bilinear", "area", "?"};
    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        assert_string_equal(mts_report_color(i), colors[i]);
    }
    for (uint32_t i = 0; i < 6; i++) {
        assert_string_equal(mts_report_fit(i), fits[i]);
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_string_equal(mts_report_filter(i), filters[i]);
    }
}

static void nothing_is_told_of_nothing(void **state)
{
    mts_archive *empty = mts_archive_create(mts_allocator_default());
    (void)state;
    assert_non_null(empty);
    report(empty, (mts_report_kind)7, "");
    report(empty, MTS_REPORT_KIND_DOT,
           "digraph bundle {\n  rankdir=TB;\n  node [shape=box, style=filled, fontname=\"sans-serif\", "
           "fontsize=10];\n}\n");
    mts_archive_destroy(&empty);
}

static void rows_of_no_task_are_left_out(void **state)
{
    mts_archive *archive = make(mts_allocator_default());
    mts_sharing sharing;
    mts_text text;
    (void)state;
    assert_int_equal(mts_sharing_find(archive, mts_allocator_default(), &sharing, NULL), MTS_STATUS_OK);
    sharing.families[0].rows[0].part_count = 0;
    mts_text_init(&text, mts_allocator_default());
    mts_report_text(&sharing, &text);
    mts_report_json(&sharing, &text);
    assert_int_equal(mts_report_dot(&sharing, &text, NULL), MTS_STATUS_OK);
    assert_null(strstr(mts_text_get(&text), "name_of_exactly_forty"));
    assert_null(strstr(mts_text_get(&text), "f0r0 [label"));
    mts_text_release(&text);
    mts_sharing_release(&sharing);
    mts_archive_destroy(&archive);
}

/* Nodes of one row may have other numbers in other tasks. */
static void a_row_is_called_as_its_first_task_calls_it(void **state)
{
    mts_archive *archive = make(mts_allocator_default());
    mts_sharing sharing;
    mts_text text;
    (void)state;
    assert_int_equal(mts_sharing_find(archive, mts_allocator_default(), &sharing, NULL), MTS_STATUS_OK);
    sharing.families[0].rows[0].parts[1].node = sharing.families[0].rows[0].parts[2].node = 5;
    expect_cell(&sharing, "\nname_of_exactly_forty_characters_0123456 conv          3 ");
    mts_text_init(&text, mts_allocator_default());
    assert_int_equal(mts_report_dot(&sharing, &text, NULL), MTS_STATUS_OK);
    mts_report_json(&sharing, &text);
    assert_non_null(
        strstr(mts_text_get(&text), "f0r0 [label=\"name_of_exactly_forty_characters_0123456\\nconv, 3 of"));
    assert_non_null(strstr(mts_text_get(&text),
                           "\"layer\": \"name_of_exactly_forty_characters_0123456\", \"op\": \"conv\""));
    mts_text_release(&text);
    mts_sharing_release(&sharing);
    mts_archive_destroy(&archive);
}

static mts_status report_with(const mts_allocator *allocator, void *data)
{
    mts_status status = MTS_STATUS_OK;
    for (int kind = MTS_REPORT_KIND_TEXT; kind <= MTS_REPORT_KIND_DOT && status == MTS_STATUS_OK; kind++) {
        mts_text text;
        mts_error error = {0};
        mts_text_init(&text, allocator);
        status = mts_archive_report(data, (mts_report_kind)kind, allocator, &text, &error);
        status = status == MTS_STATUS_OK && text.failed ? MTS_STATUS_OUT_OF_MEMORY : status;
        mts_text_release(&text);
    }
    return status;
}

static void short_memory_is_told_and_leaks_nothing(void **state)
{
    mts_archive *archive = make(mts_allocator_default());
    (void)state;
    mts_fault_each(report_with, archive);
    mts_archive_destroy(&archive);
}

/* With each number of tasks, other arrays are those for which the arena needs a block more. */
static void short_memory_of_many_tasks_is_told(void **state)
{
    enum { MOST = 24, BLOCKS = 5000 };
    mts_archive *archive = make(mts_allocator_default());
    (void)state;
    mts_task *tasks = mts_arena_zero(&archive->arena, MOST, sizeof *tasks);
    assert_non_null(tasks);
    for (uint32_t t = 0; t < MOST; t++) {
        tasks[t] = archive->tasks[t < 5 ? t : t % 4];
    }
    archive->tasks = tasks;
    mts_block *blocks = mts_arena_zero(&archive->arena, BLOCKS, sizeof *blocks);
    assert_non_null(blocks);
    memcpy(blocks, archive->blocks, archive->block_count * sizeof *blocks);
    archive->blocks = blocks;
    archive->block_count = BLOCKS; /* so many that each array of them needs a block of its own */
    for (archive->task_count = 6; archive->task_count <= MOST; archive->task_count += 3) {
        mts_fault_each(report_with, archive);
    }
    mts_archive_destroy(&archive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_report_is_this_one),
        cmocka_unit_test(sizes_change_their_unit_at_ten_thousand_and_ten_million),
        cmocka_unit_test(channels_that_differ_are_told_as_a_range),
        cmocka_unit_test(words_that_are_not_known_are_question_marks),
        cmocka_unit_test(nothing_is_told_of_nothing),
        cmocka_unit_test(rows_of_no_task_are_left_out),
        cmocka_unit_test(a_row_is_called_as_its_first_task_calls_it),
        cmocka_unit_test(short_memory_is_told_and_leaks_nothing),
        cmocka_unit_test(short_memory_of_many_tasks_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
