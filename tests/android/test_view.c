/*
 * What the Android app shows: text that is cut between characters, boxes of a detector, one box for one face.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "android/app/src/main/cpp/view.h"

static void the_answers_stand_above_the_sentence(void **state)
{
    view *shown = view_create();
    results newest = {
        .text = "age: 20\n", .box_count = 2, .boxes = {{0, 0, 1, 1, 0.5f}, {0, 0, 0.5f, 1, 0.75f}}};
    results_box boxes[RESULTS_BOXES];
    char text[64];
    (void)state;
    assert_non_null(shown);
    view_text(shown, text, sizeof text);
    assert_string_equal(text, "");
    view_tell(shown, "30 frames a second");
    view_show(shown, &newest);
    view_text(shown, text, sizeof text);
    assert_string_equal(text, "age: 20\n30 frames a second");
    assert_int_equal(view_boxes(shown, boxes), 2);
    assert_true(boxes[1].score == 0.75f);
    view_destroy(&shown);
    assert_null(shown);
    view_destroy(&shown);
    view_destroy(NULL);
}

static void a_failure_can_be_read_before_it_says_how_it_goes_again(void **state)
{
    const struct timespec nap = {.tv_nsec = 20000000};
    view *shown = view_create();
    char text[64] = "";
    int naps = 0;
    (void)state;
    assert_non_null(shown);
    view_tell_failure(shown, "no room");
    for (; !strstr(text, "second") && naps < VIEW_FAILURE_MS; naps++) {
        view_tell_progress(shown, "30 frames a second");
        view_text(shown, text, sizeof text);
        assert_true(strcmp(text, "no room") == 0 || naps > 0);
        (void)nanosleep(&nap, NULL);
    }
    assert_in_range(naps, 2, VIEW_FAILURE_MS / 20 + 1);
    view_tell_failure(shown, "no room");
    view_tell(shown, "preparing");
    view_tell_progress(shown, "29 frames a second");
    view_text(shown, text, sizeof text);
    assert_string_equal(text, "29 frames a second");
    view_destroy(&shown);
}

static void a_text_is_cut_between_two_characters(void **state)
{
    view *shown = view_create();
    char text[8];
    (void)state;
    assert_non_null(shown);
    view_tell(shown, "abcde\xC3\xA9z"); /* e with an accent takes two bytes */
    view_text(shown, text, 7);
    assert_string_equal(text, "abcde");
    view_text(shown, text, 8);
    assert_string_equal(text, "abcde\xC3\xA9");
    view_tell(shown, "abc\xF0\x9F\x98\x80z"); /* one of four bytes */
    view_text(shown, text, 7);
    assert_string_equal(text, "abc");
    view_text(shown, text, 8);
    assert_string_equal(text, "abc\xF0\x9F\x98\x80");
    view_destroy(&shown);
}

static void a_long_sentence_is_cut_to_what_there_is_room_for(void **state)
{
    view *shown = view_create();
    char sentence[600], text[RESULTS_TEXT + 256];
    (void)state;
    assert_non_null(shown);
    memset(sentence, 'x', sizeof sentence);
    sentence[sizeof sentence - 1] = '\0';
    view_tell(shown, sentence);
    view_text(shown, text, sizeof text);
    assert_int_equal(strlen(text), 255);
    view_destroy(&shown);
}

static mts_tensor tensor(float *values, int64_t rows, int64_t columns)
{
    return (mts_tensor){.data = values,
                        .bytes = (size_t)(rows * columns) * sizeof *values,
                        .type = MTS_TYPE_FLOAT32,
                        .rank = 3,
                        .dims = {1, rows, columns}};
}

static void a_face_that_is_found_several_times_is_one_box(void **state)
{
    float scores[] = {0.1f, 0.9f, 0.05f, 0.95f, 0.8f, 0.2f, 0.2f, 0.8f, 0.1f, 0.9f};
    float boxes[] = {0.1f, 0.1f, 0.3f, 0.3f, 0.11f, 0.1f, 0.3f, 0.3f, 0.5f, 0.5f,
                     0.6f, 0.6f, 0.7f, 0.7f, 0.9f,  0.9f, 0.7f, 0.7f, 0.6f, 0.9f};
    const mts_tensor outputs[] = {tensor(scores, 5, 2), tensor(boxes, 5, 4)};
    const mts_task_desc task = {.name = "faces", .output_count = 2};
    results read = {.text = ""};
    (void)state;
    results_add(&read, &task, outputs, 2);
    assert_int_equal(read.box_count, 2); /* the third is not sure, the last one is no box */
    assert_true(read.boxes[0].score == 0.95f && read.boxes[0].left == 0.11f);
    assert_true(read.boxes[1].left == 0.7f);
    assert_string_equal(read.text, "faces: 2\n");
}

static void more_boxes_than_there_is_room_for_leave_the_surest(void **state)
{
    enum { COUNT = 2 * RESULTS_BOXES };
    float scores[2 * COUNT], boxes[4 * COUNT];
    const mts_tensor outputs[] = {tensor(scores, COUNT, 2), tensor(boxes, COUNT, 4)};
    const mts_task_desc task = {.name = "faces", .output_count = 2};
    results read = {.text = ""};
    (void)state;
    for (uint32_t i = 0; i < COUNT; i++) {
        scores[2 * i + 1] = 0.71f + 0.001f * (float)i;
        boxes[4 * i] = 0.01f * (float)i;
        boxes[4 * i + 1] = 0.0f;
        boxes[4 * i + 2] = 0.01f * (float)i + 0.009f;
        boxes[4 * i + 3] = 0.1f;
    }
    results_add(&read, &task, outputs, 2);
    assert_int_equal(read.box_count, RESULTS_BOXES);
    for (uint32_t i = 0; i < RESULTS_BOXES; i++) {
        assert_true(read.boxes[i].score > 0.71f + 0.001f * (float)(RESULTS_BOXES - 1));
    }
}

static void a_classifier_names_its_class_with_a_share(void **state)
{
    static const char *const labels[] = {"cat", "dog"};
    float scores[] = {1.0f, 3.0f}, shares[] = {0.75f, 0.25f};
    const mts_task_desc task = {.name = "animal", .output_count = 1, .label_count = 2, .labels = labels};
    const mts_task_desc bare = {.name = "what", .output_count = 1};
    mts_tensor output = tensor(scores, 1, 2);
    results read = {.text = ""};
    (void)state;
    results_add(&read, &task, &output, 1);
    output.data = shares;
    results_add(&read, &task, &output, 1);
    results_add(&read, &bare, &output, 1);
    output.type = MTS_TYPE_INT32;
    results_add(&read, &bare, &output, 1);
    results_add(&read, &bare, &output, 0);
    assert_string_equal(read.text, "animal: dog 88 %\nanimal: cat 75 %\nwhat: 0 (0.750)\nwhat: -\nwhat: -\n");
}

static void a_batch_is_answered_by_its_first_image(void **state)
{
    static const char *const labels[] = {"cat", "dog"};
    float scores[] = {3.0f, 1.0f, 1.0f, 9.0f};
    const mts_task_desc task = {.name = "animal", .output_count = 1, .label_count = 2, .labels = labels};
    mts_tensor output = tensor(scores, 2, 2);
    results read = {.text = ""};
    (void)state;
    output.rank = 2;
    output.dims[0] = 2;
    output.dims[1] = 2;
    results_add(&read, &task, &output, 1);
    assert_string_equal(read.text, "animal: cat 88 %\n");
}

static void more_text_than_there_is_room_for_is_cut(void **state)
{
    const mts_task_desc task = {.name = "a task with a name of some length"};
    results read = {.text = ""};
    (void)state;
    for (int i = 0; i < 100; i++) {
        results_add(&read, &task, NULL, 0);
    }
    assert_int_equal(strlen(read.text), RESULTS_TEXT - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answers_stand_above_the_sentence),
        cmocka_unit_test(a_failure_can_be_read_before_it_says_how_it_goes_again),
        cmocka_unit_test(a_text_is_cut_between_two_characters),
        cmocka_unit_test(a_long_sentence_is_cut_to_what_there_is_room_for),
        cmocka_unit_test(a_face_that_is_found_several_times_is_one_box),
        cmocka_unit_test(more_boxes_than_there_is_room_for_leave_the_surest),
        cmocka_unit_test(a_classifier_names_its_class_with_a_share),
        cmocka_unit_test(a_batch_is_answered_by_its_first_image),
        cmocka_unit_test(more_text_than_there_is_room_for_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
