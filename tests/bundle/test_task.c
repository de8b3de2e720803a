/*
 * What a task says of its input: which preprocessing is possible, which inputs are equal, which names may be.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bundle/check.h"
#include "support/sample_archive.h"

static mts_archive *archive;
static mts_error error;

static int open_sample(void **state)
{
    (void)state;
    archive = mts_sample_archive(mts_allocator_default());
    return archive ? 0 : -1;
}

static int close_sample(void **state)
{
    (void)state;
    mts_archive_destroy(&archive);
    mts_archive_destroy(&archive); /* there is none any more */
    mts_archive_destroy(NULL);
    return 0;
}

static mts_status check(void)
{
    error.text[0] = '\0';
    return mts_task_check(&archive->tasks[0], &error);
}

/* One number of the preprocessing at a time. */
#define REFUSED(change, sentence)                                                                            \
    do {                                                                                                     \
        const mts_preprocess before = archive->tasks[0].preprocess;                                          \
        mts_preprocess *p = &archive->tasks[0].preprocess;                                                   \
        assert_int_equal(check(), MTS_STATUS_OK);                                                            \
        change;                                                                                              \
        assert_int_equal(check(), MTS_STATUS_MALFORMED);                                                     \
        assert_string_equal(error.text, sentence);                                                           \
        *p = before;                                                                                         \
    } while (0)

static void preprocessing_is_refused_number_by_number(void **state)
{
    (void)state;
    REFUSED(p->color = 4, "preprocessing of unknown kind 4");
    REFUSED(p->interleaved = 2, "preprocessing of unknown kind 1");
    REFUSED(p->fit = MTS_FIT_CROP + 1, "fit 5 or filter 0 of frames is not known");
    REFUSED(p->filter = MTS_FILTER_AREA + 1, "fit 0 or filter 3 of frames is not known");
    REFUSED(p->fill[3] = 1, "fit 0 or filter 0 of frames is not known");
    REFUSED(p->mean[3] = NAN, "mean or std of channel 3 is not usable");
    REFUSED(p->std[0] = INFINITY, "mean or std of channel 0 is not usable");
    REFUSED(p->std[2] = 0.0f, "mean or std of channel 2 is not usable");
    REFUSED(p->crop[2] = 0.5f, "crop 0, 0, 0.5, 0 is no part of a frame");
    REFUSED(p->crop[0] = -0.25f; p->crop[1] = 0.5f; p->crop[2] = 2.0f;
            p->crop[3] = 3.0f, "crop -0.25, 0.5, 2, 3 is no part of a frame");
    REFUSED(p->color = MTS_COLOR_GREY, "a frame of 1 channels does not fit input 0 (1x3x6x6)");
    REFUSED(p->interleaved = 1, "a frame of 3 channels does not fit input 0 (1x3x6x6)");
}

static void an_input_that_is_no_image_takes_no_frame(void **state)
{
    mts_graph *graph = archive->tasks[0].graph;
    const mts_shape before = graph->inputs[0].shape;
    mts_preprocess *p = &archive->tasks[0].preprocess;
    (void)state;
    assert_true(mts_preprocess_takes_frames(p, graph));
    graph->inputs[0].shape.rank = 3;
    assert_false(mts_preprocess_takes_frames(p, graph));
    assert_int_equal(check(), MTS_STATUS_MALFORMED);
    graph->inputs[0].shape = before;
    graph->inputs[0].shape.dims[0] = 0;
    assert_false(mts_preprocess_takes_frames(p, graph));
    graph->inputs[0].shape.dims[0] = 4; /* images at a time */
    assert_true(mts_preprocess_takes_frames(p, graph));
    graph->inputs[0].shape = before;
    p->color = MTS_COLOR_GREY;
    assert_false(mts_preprocess_takes_frames(p, graph));
    graph->inputs[0].shape.dims[1] = 1;
    assert_true(mts_preprocess_takes_frames(p, graph));
    assert_int_equal(check(), MTS_STATUS_OK);
    p->interleaved = 1;
    assert_false(mts_preprocess_takes_frames(p, graph));
    graph->inputs[0].shape.dims[3] = 1;
    assert_true(mts_preprocess_takes_frames(p, graph));
    p->color = MTS_COLOR_NONE;
    assert_false(mts_preprocess_takes_frames(p, graph));
    assert_int_equal(check(), MTS_STATUS_OK); /* a tensor may have any shape */
    p->color = MTS_COLOR_RGB;
    graph->input_count = 0;
    assert_false(mts_preprocess_takes_frames(p, graph));
    assert_int_equal(check(), MTS_STATUS_MALFORMED);
    assert_string_equal(error.text, "a frame of 3 channels does not fit input 0 (none)");
}

static void inputs_are_the_same_where_frames_or_names_are(void **state)
{
    mts_task *one = &archive->tasks[0];
    mts_task *other = &archive->tasks[2];
    (void)state;
    assert_true(mts_archive_same_input(archive, 0, 2, 0));
    assert_false(mts_archive_same_input(archive, 0, 2, 1));
    other->graph->inputs[0].name = "picture"; /* frames are frames, whatever the name is */
    assert_true(mts_archive_same_input(archive, 0, 2, 0));
    one->preprocess.color = other->preprocess.color = MTS_COLOR_NONE;
    assert_false(mts_archive_same_input(archive, 0, 2, 0));
    other->graph->inputs[0].name = "image";
    assert_true(mts_archive_same_input(archive, 0, 2, 0));
    other->preprocess.mean[0] += 1.0f;
    assert_false(mts_archive_same_input(archive, 0, 2, 0));
    other->preprocess.mean[0] = one->preprocess.mean[0];
    other->graph->inputs[0].dtype = MTS_TYPE_UINT8;
    assert_false(mts_archive_same_input(archive, 0, 2, 0));
    other->graph->inputs[0].dtype = MTS_TYPE_FLOAT32;
    other->graph->inputs[0].shape.dims[2]++;
    assert_false(mts_archive_same_input(archive, 0, 2, 0));
    other->graph->inputs[0].shape.dims[2]--;
    other->graph->input_count = 0;
    assert_false(mts_archive_same_input(archive, 0, 2, 0));
    other->graph->input_count = 1;
    one->graph->input_count = 0;
    assert_false(mts_archive_same_input(archive, 0, 2, 0));
}

static void names_of_tasks_have_letters_and_an_end(void **state)
{
    char name[300];
    (void)state;
    assert_false(mts_task_name_valid(""));
    assert_true(mts_task_name_valid("AZaz09_.-"));
    assert_false(mts_task_name_valid("a/b"));
    assert_false(mts_task_name_valid("a\x1b[2J"));
    memset(name, 'n', sizeof name);
    name[255] = '\0';
    assert_true(mts_task_name_valid(name));
    name[255] = 'n';
    name[256] = '\0';
    assert_false(mts_task_name_valid(name));
}

static void a_class_is_checked_where_there_are_labels(void **state)
{
    (void)state;
    archive->tasks[0].label_count = 0; /* then any number is one */
    assert_int_equal(check(), MTS_STATUS_OK);
    archive->tasks[0].label_count = 1;
    assert_int_equal(check(), MTS_STATUS_MALFORMED);
    assert_string_equal(error.text, "class 1 maps to label 1 of 1");
}

/* Stored numbers take their own bytes, where they are fewer than the device's. */
static void blocks_are_counted_as_they_are_stored(void **state)
{
    static const float numbers[4];
    mts_block blocks[2] = {{numbers, 8, MTS_TYPE_FLOAT16, 0}, {numbers, 8, MTS_TYPE_INT32, 0}};
    mts_block_ref refs[3] = {{.block = 0}, {.block = 1}, {.block = 7}};
    mts_value values[2] = {{.kind = MTS_VALUE_CONST, .block_count = 3, .blocks = refs},
                           {.kind = MTS_VALUE_NODE, .block_count = 1, .blocks = refs}};
    const mts_graph graph = {.value_count = 2, .values = values};
    const mts_archive small = {.block_count = 2, .blocks = blocks};
    uint32_t seen[2] = {0};
    (void)state;
    assert_int_equal(mts_archive_block_bytes(&small, &graph, 4, false, seen, 1), 4 * 4 + 2 * 4);
    assert_int_equal(mts_archive_block_bytes(&small, &graph, 4, true, seen, 2), 4 * 2 + 2 * 4);
    assert_int_equal(mts_archive_block_bytes(&small, &graph, 2, true, seen, 3), 4 * 2 + 2 * 2);
    assert_int_equal(mts_archive_block_bytes(&small, &graph, 2, true, seen, 3), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_sample, close_sample)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(preprocessing_is_refused_number_by_number),     TEST(an_input_that_is_no_image_takes_no_frame),
        TEST(inputs_are_the_same_where_frames_or_names_are), TEST(names_of_tasks_have_letters_and_an_end),
        TEST(a_class_is_checked_where_there_are_labels),     TEST(blocks_are_counted_as_they_are_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
