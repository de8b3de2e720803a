/*
 * The TensorFlow Lite importer on damaged and hostile files: a clear error, no leak, no crash, no half graph.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/import/import.h"
#include "compiler/passes/fold.h"
#include "import_fault.h"
#include "support/tflite_model.h"

#define DIMS(...)                                                                                            \
    (const int32_t[])                                                                                        \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define SHAPE(...) (int)(sizeof(DIMS(__VA_ARGS__)) / sizeof(int32_t)), DIMS(__VA_ARGS__)

static mts_error error;
static mts_import_options options;
static tflite_model model;
static const float numbers[64] = {1, 2, 3, 4, 5, 6, 7, 8};

static int set_up(void **state)
{
    (void)state;
    error = (mts_error){0};
    options = mts_import_options_default();
    /* damaged sizes must not make a test slow */
    options.bytes_most = (size_t)64 << 20;
    options.computed_most = (size_t)1 << 20;
    tflite_begin(&model);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tflite_end(&model);
    return 0;
}

/* Whatever the bytes are: a verified graph that folds, or a sentence and no graph; and no leak. */
static mts_status import_bytes(const void *data, size_t size)
{
    mts_fault_allocator counted;
    mts_arena arena;
    mts_graph *graph = (mts_graph *)&arena, *folded = NULL;
    mts_fault_allocator_init(&counted, 0);
    mts_arena_init(&arena, &counted.allocator);
    error = (mts_error){0};
    const mts_status status = mts_import_memory(data, size, "bad.tflite", &options, &arena, &graph, &error);
    assert_true((status == MTS_STATUS_OK) == (graph != NULL));
    if (graph) {
        assert_int_equal(mts_graph_verify(graph, &error), MTS_STATUS_OK);
        assert_int_equal(mts_fold(graph, &arena, &folded, &error), MTS_STATUS_OK);
    } else {
        assert_int_equal(strncmp(error.text, "bad.tflite: ", 12), 0);
        assert_true(strlen(error.text) > 12);
    }
    mts_arena_release(&arena);
    assert_int_equal(counted.alive, 0);
    return status;
}

/* A bit of everything: windows, sparse and quantised weights, options, slices, shapes. */
static const tflite_bytes *sample(void)
{
    static const int32_t segments[3] = {0, 2, 3}, indices[3] = {0, 3, 1}, order[2] = {0, 1};
    static const tflite_level levels[2] = {
        {.dense_size = 2}, {.segment_count = 3, .index_count = 3, .segments = segments, .indices = indices}};
    static const float scales[1] = {0.5f};
    static const int8_t narrow[4] = {1, 2, 3, 4};
    const int x = tflite_input(&model, "x", SHAPE(1, 4, 4, 1));
    const int w = tflite_add(&model, "w", TFLITE_INT8, SHAPE(1, 2, 2, 1), narrow, sizeof narrow);
    model.tensors[w].scales = scales;
    model.tensors[w].scale_count = 1;
    const int a = tflite_value(&model, "a", SHAPE(1, 2, 2, 1)),
              b = tflite_value(&model, "b", SHAPE(1, 2, 2, 2));
    tflite_node(&model, 3, a, x, w, -1);
    tflite_option(&model, 1, 2);
    tflite_option(&model, 2, 2);
    tflite_option(&model, 3, 3);
    tflite_node(&model, 2, b, a, a, -1);
    tflite_option(&model, 0, 3);
    const int begin = tflite_ints(&model, "begin", 4, DIMS(0, 1, 0, 0)),
              size = tflite_ints(&model, "size", 4, DIMS(1, 1, -1, 2));
    const int c = tflite_value(&model, "c", SHAPE(1, 1, 2, 2)), d = tflite_value(&model, "d", SHAPE(1, 4));
    tflite_node(&model, 65, c, b, begin, size);
    const int shape = tflite_ints(&model, "shape", 2, DIMS(1, -1));
    tflite_node(&model, 22, d, c, shape, -1);
    const int s = tflite_add(&model, "s", TFLITE_FLOAT32, SHAPE(2, 4), numbers, 12);
    model.tensors[s].levels = levels;
    model.tensors[s].level_count = 2;
    model.tensors[s].order = order;
    const int dense = tflite_value(&model, "dense", SHAPE(2, 4)), y = tflite_value(&model, "y", SHAPE(1, 2));
    tflite_node(&model, 124, dense, s, -1, -1);
    tflite_node(&model, 9, y, d, dense, -1);
    tflite_output(&model, y);
    return tflite_file(&model);
}

static void every_damaged_byte_gives_a_sentence_or_a_graph(void **state)
{
    (void)state;
    static const unsigned char over[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    const tflite_bytes *file = sample();
    if (import_bytes(file->data, file->size) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    for (size_t i = 0; i < file->size; i++) {
        const unsigned char was = file->data[i];
        for (int bit = 0; bit < 8; bit++) {
            file->data[i] = (unsigned char)(was ^ 1u << bit);
            (void)import_bytes(file->data, file->size);
        }
        for (size_t j = 0; j < sizeof over; j++) {
            file->data[i] = over[j];
            (void)import_bytes(file->data, file->size);
        }
        file->data[i] = was;
    }
}

/* Four bytes at once: offsets, counts and dimensions that are huge, negative, or lead back to themselves. */
static void every_overwritten_number_gives_a_sentence_or_a_graph(void **state)
{
    (void)state;
    static const uint32_t over[] = {0, 4, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff, 0x10000};
    const tflite_bytes *file = sample();
    for (size_t i = 0; i + 4 <= file->size; i += 4) {
        unsigned char was[4];
        memcpy(was, file->data + i, 4);
        for (size_t j = 0; j < sizeof over / sizeof over[0]; j++) {
            memcpy(file->data + i, &over[j], 4);
            (void)import_bytes(file->data, file->size);
        }
        memcpy(file->data + i, was, 4);
    }
}

/* The bytes end where the block of memory ends, so that a sanitizer sees reads beyond them. */
static void every_shorter_file_gives_a_sentence_or_a_graph(void **state)
{
    (void)state;
    const tflite_bytes *file = sample();
    for (size_t size = 8; size < file->size; size++) {
        unsigned char *copy = malloc(size);
        assert_non_null(copy);
        memcpy(copy, file->data, size);
        (void)import_bytes(copy, size);
        free(copy);
    }
}

static void a_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    tflite_bytes file = *sample();
    fault_each_import(file.data, file.size);
}

static void refused(mts_status code, const char *part)
{
    const tflite_bytes *file = tflite_file(&model);
    const mts_status status = import_bytes(file->data, file->size);
    if (status != code || !strstr(error.text, part)) {
        fail_msg("%s: '%s' is not %s: '%s'", mts_status_text(status), error.text, mts_status_text(code),
                 part);
    }
    tflite_end(&model);
    tflite_begin(&model);
}

static void sparse_forms_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const struct {
        int32_t segments[3], indices[3], order[2];
        int rows;
        size_t bytes;
    } cases[] = {{{0, 2, 3}, {0, 3, 4}, {0, 1}, 2, 12},  {{0, 2, 4}, {0, 3, 1}, {0, 1}, 2, 12},
                 {{2, 0, 3}, {0, 3, 1}, {0, 1}, 2, 12},  {{0, 2, 3}, {0, -1, 1}, {0, 1}, 2, 12},
                 {{0, 2, 3}, {0, 3, 1}, {0, 0}, 2, 12},  {{0, 2, 3}, {0, 3, 1}, {0, 7}, 2, 12},
                 {{0, 2, 3}, {0, 3, 1}, {0, 1}, 99, 12}, {{0, 2, 3}, {0, 3, 1}, {0, 1}, 2, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tflite_level levels[2] = {{.dense_size = cases[i].rows},
                                        {.segment_count = 3,
                                         .index_count = 3,
                                         .segments = cases[i].segments,
                                         .indices = cases[i].indices}};
        const int s = tflite_add(&model, "s", TFLITE_FLOAT32, SHAPE(2, 4), numbers, cases[i].bytes);
        model.tensors[s].levels = levels;
        model.tensors[s].level_count = 2;
        model.tensors[s].order = cases[i].order;
        const int y = tflite_value(&model, "y", SHAPE(2, 4)), x = tflite_input(&model, "x", SHAPE(2, 4));
        tflite_node(&model, 0, y, x, s, -1);
        tflite_output(&model, y);
        refused(MTS_STATUS_MALFORMED, "tensor 's': its sparse form does not fit its shape");
    }
}

static void limits_hold(void **state)
{
    (void)state;
    const int x = tflite_input(&model, "x", SHAPE(1, 1 << 20, 1 << 20));
    const int y = tflite_value(&model, "y", SHAPE(1, 1 << 20, 1 << 20));
    tflite_node(&model, 19, y, x, -1, -1);
    tflite_output(&model, y);
    refused(MTS_STATUS_LIMIT, "input 'x'");
    options.nodes_most = 2;
    (void)sample();
    refused(MTS_STATUS_LIMIT, "6 operators, the limit is 2");
    refused(MTS_STATUS_MALFORMED, "0 inputs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_damaged_byte_gives_a_sentence_or_a_graph, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_overwritten_number_gives_a_sentence_or_a_graph, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(every_shorter_file_gives_a_sentence_or_a_graph, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_allocation_is_reported_and_leaks_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sparse_forms_that_do_not_fit_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(limits_hold, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("tflite_hostile", tests, NULL, NULL);
}
