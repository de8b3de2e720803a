/*
 * Metadata of TensorFlow Lite files: normalisation and labels, and what damaged ones do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/import/tflite/tflite.h"
#include "support/fault_each.h"
#include "support/tflite_model.h"

static mts_arena arena;
static mts_error error;
static tflite_model model;
static mts_import_notes notes;
static const int32_t image[4] = {1, 2, 2, 3};
static const float means[3] = {127.5f, 100.0f, 50.0f}, deviations[3] = {127.5f, 2.0f, 4.0f};

static int set_up(void **state)
{
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    error = (mts_error){0};
    tflite_begin(&model);
    const int x = tflite_input(&model, "x", 4, image), y = tflite_value(&model, "y", 4, image);
    tflite_node(&model, 19, y, x, -1, -1);
    tflite_output(&model, y);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tflite_end(&model);
    mts_arena_release(&arena);
    return 0;
}

static mts_status read_notes(void)
{
    const tflite_bytes *file = tflite_file(&model);
    return mts_tflite_notes(file->data, file->size, &arena, &notes, &error);
}

static void a_model_without_metadata_says_nothing(void **state)
{
    (void)state;
    assert_int_equal(read_notes(), MTS_STATUS_OK);
    assert_false(notes.normalises);
    assert_int_equal(notes.label_count, 0);
}

static void normalisation_and_labels_are_read(void **state)
{
    (void)state;
    model.means = means;
    model.deviations = deviations;
    model.mean_count = 3;
    model.label_file = "labels.txt";
    model.labels = "cat\r\na dog\n\nlast";
    assert_int_equal(read_notes(), MTS_STATUS_OK);
    assert_true(notes.normalises);
    assert_memory_equal(notes.mean, means, sizeof means);
    assert_memory_equal(notes.std, deviations, sizeof deviations);
    assert_int_equal(notes.label_count, 4);
    assert_string_equal(notes.labels[0], "cat");
    assert_string_equal(notes.labels[1], "a dog");
    assert_string_equal(notes.labels[2], "");
    assert_string_equal(notes.labels[3], "last");
}

static void one_mean_is_that_of_all_channels(void **state)
{
    (void)state;
    model.means = means;
    model.deviations = deviations;
    model.mean_count = 1;
    assert_int_equal(read_notes(), MTS_STATUS_OK);
    assert_float_equal(notes.mean[2], 127.5f, 0.0f);
    assert_float_equal(notes.std[3], 127.5f, 0.0f);
}

static void normalisation_of_a_quantised_input_gives_its_integers(void **state)
{
    (void)state;
    static const float scale = 1.0f / 127.5f;
    model.tensors[0].type = TFLITE_INT8;
    model.tensors[0].scales = &scale;
    model.tensors[0].scale_count = 1;
    model.tensors[0].zero = -1;
    model.means = means;
    model.deviations = deviations;
    model.mean_count = 1;
    assert_int_equal(read_notes(), MTS_STATUS_OK);
    assert_float_equal(notes.std[0], 1.0f, 1e-5); /* code = pixel - 127.5 - 1 */
    assert_float_equal(notes.mean[0], 128.5f, 1e-4);
}

static void a_label_file_that_is_not_there_gives_no_labels(void **state)
{
    (void)state;
    model.label_file = "../../etc/passwd";
    assert_int_equal(read_notes(), MTS_STATUS_OK);
    assert_int_equal(notes.label_count, 0);
}

static void refused(mts_status status, const char *part)
{
    const mts_status got = read_notes();
    if (got != status || !strstr(error.text, part)) {
        fail_msg("%s: '%s' is not %s: '%s'", mts_status_text(got), error.text, mts_status_text(status), part);
    }
    assert_false(notes.normalises);
    assert_int_equal(notes.label_count, 0);
}

static void numbers_that_cannot_normalise_are_refused(void **state)
{
    (void)state;
    static const float zero[5] = {0};
    model.means = means;
    model.deviations = zero;
    model.mean_count = 3;
    refused(MTS_STATUS_MALFORMED, "deviation 0");
    model.means = zero;
    model.mean_count = 5;
    model.file.size = 0;
    refused(MTS_STATUS_MALFORMED, "5 means");
}

/* Position of a record of the archive, by its last letters. */
static size_t record(const char *signature)
{
    const tflite_bytes *file = tflite_file(&model);
    for (size_t at = file->size - 4;; at--) {
        if (memcmp(file->data + at, signature, 4) == 0) {
            return at;
        }
        assert_true(at > 0);
    }
}

static void damaged_archives_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *record;
        size_t at;
        unsigned char byte;
        mts_status status;
        const char *part;
    } cases[] = {
        {"PK\5\6", 15, 0x7f, MTS_STATUS_MALFORMED, "damaged"},   /* size of the directory */
        {"PK\5\6", 19, 0x7f, MTS_STATUS_MALFORMED, "damaged"},   /* its position */
        {"PK\1\2", 0, 'X', MTS_STATUS_MALFORMED, "damaged"},     /* an entry */
        {"PK\1\2", 29, 0x7f, MTS_STATUS_MALFORMED, "damaged"},   /* length of its name */
        {"PK\1\2", 45, 0x7f, MTS_STATUS_MALFORMED, "damaged"},   /* position of the file */
        {"PK\1\2", 23, 0x7f, MTS_STATUS_MALFORMED, "damaged"},   /* its bytes */
        {"PK\1\2", 8, 1, MTS_STATUS_UNSUPPORTED, "encrypted"},   /* flags */
        {"PK\1\2", 10, 12, MTS_STATUS_UNSUPPORTED, "method 12"}, /* method */
        {"PK\1\2", 10, 8, MTS_STATUS_MALFORMED, "damaged"},      /* text as a deflate stream */
        {"PK\3\4", 1, 'X', MTS_STATUS_MALFORMED, "damaged"},     /* the file's header */
        {"PK\3\4", 29, 0x7f, MTS_STATUS_MALFORMED, "damaged"},   /* length of what follows it */
    };
    model.label_file = "labels.txt";
    model.labels = "cat\ndog\n";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t at = record(cases[i].record) + cases[i].at;
        const unsigned char was = model.file.data[at];
        model.file.data[at] = cases[i].byte;
        refused(cases[i].status, cases[i].part);
        model.file.data[at] = was;
    }
    assert_int_equal(read_notes(), MTS_STATUS_OK);
    assert_int_equal(notes.label_count, 2);
}

static void a_flipped_bit_or_a_cut_never_does_more_than_fail(void **state)
{
    (void)state;
    model.means = means;
    model.deviations = deviations;
    model.mean_count = 3;
    model.label_file = "labels.txt";
    model.labels = "cat\ndog\n";
    const tflite_bytes *file = tflite_file(&model);
    unsigned char *copy =
        malloc(file->size); /* of the exact size, so that a sanitizer sees a read past the end */
    for (size_t i = 0; i < file->size * 8; i++) {
        memcpy(copy, file->data, file->size);
        copy[i / 8] ^= (unsigned char)(1u << i % 8);
        (void)mts_tflite_notes(copy, file->size, &arena, &notes, &error);
        mts_arena_release(&arena);
        mts_arena_init(&arena, mts_allocator_default());
    }
    free(copy);
    for (size_t i = 1; i < file->size; i++) {
        copy = malloc(i);
        memcpy(copy, file->data, i);
        (void)mts_tflite_notes(copy, i, &arena, &notes, &error);
        free(copy);
        mts_arena_release(&arena);
        mts_arena_init(&arena, mts_allocator_default());
    }
}

static mts_status read_with(const mts_allocator *allocator, void *data)
{
    const tflite_bytes *file = data;
    mts_arena small;
    mts_arena_init(&small, allocator);
    const mts_status status = mts_tflite_notes(file->data, file->size, &small, &notes, &error);
    mts_arena_release(&small);
    return status;
}

static void each_failing_allocation_is_reported(void **state)
{
    (void)state;
    model.label_file = "labels.txt";
    model.labels = "cat\ndog\n";
    tflite_bytes file = *tflite_file(&model);
    mts_fault_each(read_with, &file);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_model_without_metadata_says_nothing),
        TEST(normalisation_and_labels_are_read),
        TEST(one_mean_is_that_of_all_channels),
        TEST(normalisation_of_a_quantised_input_gives_its_integers),
        TEST(a_label_file_that_is_not_there_gives_no_labels),
        TEST(numbers_that_cannot_normalise_are_refused),
        TEST(damaged_archives_are_refused),
        TEST(a_flipped_bit_or_a_cut_never_does_more_than_fail),
        TEST(each_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
