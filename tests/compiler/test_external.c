/*
 * External data of ONNX models: tensors in files beside the model are read, and whatever leads out of the
 * model's folder, out of its file or into another tensor is refused.
 *
 * The refusals follow the public reports on ONNX's own loader: traversal by "..", by absolute paths and by
 * links, injected attributes, ranges beyond the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model_fixture.h"
#include "support/fault_each.h"

#define COUNT 4
static const int64_t dims[] = {COUNT};
static const float numbers[2 * COUNT] = {1, 2, 3, 4, 5, 6, 7, 8};

static char root[] = "/tmp/mts-external-XXXXXX";
static char folder[64], path[96];

typedef struct entry {
    const char *key, *value;
} entry;

static const char *beneath(const char *name)
{
    static char full[160];
    (void)snprintf(full, sizeof full, "%s/%s", folder, name);
    return full;
}

static void put_file(const char *full, const void *data, size_t size)
{
    FILE *file = fopen(full, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static int make_files(void **state)
{
    char outside[96];
    (void)state;
    if (!mkdtemp(root)) {
        return -1;
    }
    (void)snprintf(folder, sizeof folder, "%s/model", root);
    (void)snprintf(path, sizeof path, "%s/m.onnx", folder);
    (void)snprintf(outside, sizeof outside, "%s/outside.bin", root);
    if (mkdir(folder, 0700) != 0 || mkdir(beneath("sub"), 0700) != 0 || mkfifo(beneath("pipe"), 0600) != 0) {
        return -1;
    }
    put_file(outside, numbers, sizeof numbers);
    put_file(beneath("w.bin"), numbers, sizeof numbers);
    put_file(beneath("sub/w.bin"), numbers, sizeof numbers);
    put_file(beneath("empty.bin"), numbers, 0);
    return symlink("../outside.bin", beneath("link.bin")) == 0 &&
                   symlink("w.bin", beneath("inner.bin")) == 0 && symlink("sub", beneath("door")) == 0 &&
                   symlink("..", beneath("up")) == 0
               ? 0
               : -1;
}

static int remove_files(void **state)
{
    char command[96];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

/* An initialiser of four numbers whose bytes lie where the entries say. */
static void external_tensor(const char *name, int type, const entry *entries, size_t count)
{
    onnx_bytes tensor = {0};
    (void)onnx_model_file(&model); /* closes the node */
    onnx_put_int(&tensor, 1, COUNT);
    onnx_put_int(&tensor, 2, type);
    onnx_put_bytes(&tensor, 8, name, strlen(name));
    for (size_t i = 0; i < count; i++) {
        onnx_bytes pair = {0};
        onnx_put_bytes(&pair, 1, entries[i].key, strlen(entries[i].key));
        onnx_put_bytes(&pair, 2, entries[i].value, strlen(entries[i].value));
        onnx_put_bytes(&tensor, 13, pair.data, pair.size);
        free(pair.data);
    }
    onnx_put_int(&tensor, 14, 1);
    onnx_put_bytes(&model.graph, 5, tensor.data, tensor.size);
    free(tensor.data);
}

/* bfloat16 numbers of the whole file wide.bin. */
static void external_wide(const char *name, int64_t count)
{
    onnx_bytes tensor = {0}, pair = {0};
    (void)onnx_model_file(&model);
    onnx_put_int(&tensor, 1, count);
    onnx_put_int(&tensor, 2, 16);
    onnx_put_bytes(&tensor, 8, name, strlen(name));
    onnx_put_bytes(&pair, 1, "location", 8);
    onnx_put_bytes(&pair, 2, "wide.bin", 8);
    onnx_put_bytes(&tensor, 13, pair.data, pair.size);
    onnx_put_int(&tensor, 14, 1);
    onnx_put_bytes(&model.graph, 5, tensor.data, tensor.size);
    free(pair.data);
    free(tensor.data);
}

/* y = a + b, of two initialisers, so that y is a constant; `b` NULL: y = a + a. */
static void begin(int64_t opset, bool two)
{
    onnx_model_end(&model);
    onnx_model_begin(&model, opset);
    onnx_model_node(&model, "Add", two ? "a,b" : "a,a", "y");
    onnx_model_output(&model, "y");
}

static mts_status import(const mts_import_options *options, mts_graph **graph)
{
    const onnx_bytes *file = onnx_model_file(&model);
    put_file(path, file->data, file->size);
    return mts_import_file(path, options, &arena, graph, &error);
}

static void expect(const float *wanted)
{
    mts_graph *graph = NULL;
    if (import(NULL, &graph) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    float got[COUNT];
    mts_value_read_f32(&graph->values[graph->outputs[0].value], got);
    assert_memory_equal(got, wanted, sizeof got);
}

static void refuse_with(const mts_import_options *options, mts_status status, const char *part)
{
    mts_graph *graph = (mts_graph *)&arena;
    const mts_status got = import(options, &graph);
    if (got != status || graph || !strstr(error.text, part)) {
        fail_msg("%s: '%s' is not %s: '%s'", mts_status_text(got), error.text, mts_status_text(status), part);
    }
    mts_arena_release(&arena);
    mts_arena_init(&arena, mts_allocator_default());
}

static void refuse(const entry *entries, size_t count, mts_status status, const char *part)
{
    begin(18, false);
    external_tensor("a", ONNX_FLOAT, entries, count);
    refuse_with(NULL, status, part);
}

#define REFUSE(status, part, ...)                                                                            \
    refuse((const entry[]){__VA_ARGS__}, sizeof((const entry[]){__VA_ARGS__}) / sizeof(entry), status, part)

static void tensors_of_one_file_or_of_many_are_read(void **state)
{
    (void)state;
    static const float sum[COUNT] = {6, 8, 10, 12};
    begin(18, true);
    external_tensor("a", ONNX_FLOAT, (entry[]){{"location", "w.bin"}, {"offset", "0"}, {"length", "16"}}, 3);
    external_tensor("b", ONNX_FLOAT, (entry[]){{"location", "w.bin"}, {"offset", "16"}, {"length", "16"}}, 3);
    expect(sum);
    begin(18, true);
    external_tensor("a", ONNX_FLOAT, (entry[]){{"location", "w.bin"}}, 1);
    external_tensor("b", ONNX_FLOAT,
                    (entry[]){{"location", "sub/w.bin"}, {"offset", "16"}, {"checksum", "anything"}}, 3);
    expect(sum);
}

static void tensors_at_odd_offsets_are_read(void **state)
{
    (void)state;
    static const char *const offsets[] = {"1", "2", "3"};
    unsigned char bytes[sizeof numbers] = {0};
    float twice[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        twice[i] = 2.0f * numbers[i];
    }
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        memcpy(bytes + i + 1, numbers, sizeof twice);
        put_file(beneath("odd.bin"), bytes, sizeof bytes);
        begin(18, false);
        external_tensor("a", ONNX_FLOAT, (entry[]){{"location", "odd.bin"}, {"offset", offsets[i]}}, 2);
        expect(twice);
    }
}

static void many_copies_of_one_range_count_towards_the_limit(void **state)
{
    (void)state;
    enum { BYTES = 1 << 16, HALVES = 16 };
    static const unsigned char large[BYTES];
    mts_import_options options = mts_import_options_default();
    char names[HALVES * 4] = "";
    put_file(beneath("wide.bin"), large, sizeof large);
    onnx_model_end(&model);
    onnx_model_begin(&model, 18);
    for (int i = 0; i < HALVES; i++) {
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s%c", i ? "," : "", 'a' + i);
    }
    onnx_model_node(&model, "Sum", names, "y");
    onnx_model_output(&model, "y");
    for (int i = 0; i < HALVES; i++) {
        external_wide((char[]){(char)('a' + i), 0}, BYTES / 2);
    }
    options.file_most = 4 * BYTES;
    refuse_with(&options, MTS_STATUS_LIMIT, "copies of its external data");
}

static void tied_tensors_may_name_one_range(void **state)
{
    (void)state;
    static const float twice[COUNT] = {10, 12, 14, 16};
    begin(28, true);
    external_tensor("a", ONNX_FLOAT, (entry[]){{"location", "w.bin"}, {"offset", "16"}}, 2);
    external_tensor("b", ONNX_FLOAT, (entry[]){{"location", "w.bin"}, {"offset", "16"}}, 2);
    expect(twice);
}

static void bfloat16_becomes_float32_wherever_it_lies(void **state)
{
    (void)state;
    static const uint16_t halves[COUNT] = {0x3f80, 0x4000, 0xc040, 0x7f80}; /* 1, 2, -3, infinity */
    float twice[COUNT] = {2, 4, -6, 0};
    const uint32_t infinity = 0x7f800000u;
    memcpy(&twice[3], &infinity, sizeof infinity);
    put_file(beneath("half.bin"), halves, sizeof halves);
    begin(18, false);
    external_tensor("a", 16, (entry[]){{"location", "half.bin"}, {"length", "8"}}, 2);
    expect(twice);
    begin(18, false);
    onnx_model_tensor(&model, "a", 16, 1, dims, halves, sizeof halves);
    expect(twice);
    begin(18, false);
    onnx_model_tensor(&model, "a", 16, 1, dims, halves, sizeof halves - 2);
    refuse_with(NULL, MTS_STATUS_MALFORMED, "bfloat16");
}

static void paths_that_leave_the_folder_are_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "../outside.bin", "/etc/passwd", "sub/../../outside.bin", "..", ".", "./w.bin", "sub//w.bin", "",
        "sub/",           "/",           "sub/../w.bin"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        REFUSE(MTS_STATUS_MALFORMED, "beneath its folder", {"location", paths[i]});
    }
}

static void links_devices_and_folders_are_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {"link.bin",       "inner.bin", "door/w.bin",
                                        "up/outside.bin", "pipe",      "sub"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        REFUSE(MTS_STATUS_IO, paths[i], {"location", paths[i]});
    }
    REFUSE(MTS_STATUS_NOT_FOUND, "nothing.bin", {"location", "nothing.bin"});
}

static void ranges_that_are_not_inside_the_file_are_refused(void **state)
{
    (void)state;
    static const char *const offsets[] = {"17", "32", "33", "9223372036854775807", "18446744073709551615"};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        REFUSE(MTS_STATUS_MALFORMED, "of a file of 32", {"location", "w.bin"}, {"offset", offsets[i]});
    }
    REFUSE(MTS_STATUS_MALFORMED, "needs 16 bytes", {"location", "w.bin"}, {"length", "12"});
    REFUSE(MTS_STATUS_MALFORMED, "needs 16 bytes", {"location", "w.bin"}, {"length", "32"});
    REFUSE(MTS_STATUS_MALFORMED, "of a file of 0", {"location", "empty.bin"});
}

static void entries_that_are_unknown_repeated_or_no_numbers_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"-1", "+1", " 1", "1 ", "", "0x10", "1e3", "18446744073709551616"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        REFUSE(MTS_STATUS_MALFORMED, "no number", {"location", "w.bin"}, {"offset", bad[i]});
        REFUSE(MTS_STATUS_MALFORMED, "no number", {"location", "w.bin"}, {"length", bad[i]});
    }
    REFUSE(MTS_STATUS_MALFORMED, "'__class__'", {"location", "w.bin"}, {"__class__", "x"});
    REFUSE(MTS_STATUS_MALFORMED, "'basepath'", {"location", "w.bin"}, {"basepath", "/etc"});
    REFUSE(MTS_STATUS_MALFORMED, "'location'", {"location", "w.bin"}, {"location", "sub/w.bin"});
    REFUSE(MTS_STATUS_MALFORMED, "'offset'", {"location", "w.bin"}, {"offset", "0"}, {"offset", "16"});
    REFUSE(MTS_STATUS_MALFORMED, "no location", {"offset", "0"});
}

static void ranges_that_overlap_in_part_are_refused(void **state)
{
    (void)state;
    begin(18, true);
    external_tensor("a", ONNX_FLOAT, (entry[]){{"location", "w.bin"}, {"offset", "12"}}, 2);
    external_tensor("b", ONNX_FLOAT, (entry[]){{"location", "w.bin"}, {"offset", "0"}}, 2);
    refuse_with(NULL, MTS_STATUS_MALFORMED, "overlaps at offset 12");
}

static void files_count_towards_the_limit(void **state)
{
    (void)state;
    mts_import_options options = mts_import_options_default();
    static const unsigned char large[1 << 16];
    put_file(beneath("large.bin"), large, sizeof large);
    begin(18, false);
    external_tensor("a", ONNX_FLOAT, (entry[]){{"location", "large.bin"}}, 1);
    options.file_most = onnx_model_file(&model)->size;
    refuse_with(&options, MTS_STATUS_LIMIT, "large.bin: 65536 bytes");
}

static mts_status import_with(const mts_allocator *allocator, void *unused)
{
    mts_arena small;
    mts_graph *graph = NULL;
    (void)unused;
    mts_arena_init(&small, allocator);
    const mts_status status = mts_import_file(path, NULL, &small, &graph, &error);
    mts_arena_release(&small);
    return status;
}

static void each_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    begin(18, true);
    external_tensor("a", ONNX_FLOAT, (entry[]){{"location", "w.bin"}}, 1);
    external_tensor("b", 16, (entry[]){{"location", "sub/w.bin"}, {"offset", "16"}}, 2);
    const onnx_bytes *file = onnx_model_file(&model);
    put_file(path, file->data, file->size);
    mts_fault_each(import_with, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_model, close_model)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tensors_of_one_file_or_of_many_are_read),
        TEST(tensors_at_odd_offsets_are_read),
        TEST(many_copies_of_one_range_count_towards_the_limit),
        TEST(tied_tensors_may_name_one_range),
        TEST(bfloat16_becomes_float32_wherever_it_lies),
        TEST(paths_that_leave_the_folder_are_refused),
        TEST(links_devices_and_folders_are_refused),
        TEST(ranges_that_are_not_inside_the_file_are_refused),
        TEST(entries_that_are_unknown_repeated_or_no_numbers_are_refused),
        TEST(ranges_that_overlap_in_part_are_refused),
        TEST(files_count_towards_the_limit),
        TEST(each_failing_allocation_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
