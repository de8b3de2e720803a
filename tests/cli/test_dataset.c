/*
 * Data sets of the command line: what reaches the callbacks of mtsz_data, and what is refused by name.
 *
 * Each test works in a folder of its own.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "apps/mts/classes.h"
#include "apps/mts/dataset.h"
#include "support/onnx_model.h"

static char home[1024], folder[64];
static char error[CLI_ERROR];
static mts_runtime *runtime;
static mts_bundle *bundle;

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/mts-dataset-XXXXXX");
    error[0] = '\0';
    return getcwd(home, sizeof home) && mkdtemp(folder) && chdir(folder) == 0 ? 0 : 1;
}

static int tear_down(void **state)
{
    char command[128];
    (void)state;
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir(home) == 0 && system(command) == 0 ? 0 : 1; /* NOLINT: the test's own fixed string */
}

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void write_array(const char *path, mts_type type, uint32_t rank, const int64_t *dims, void *data)
{
    mts_tensor tensor = {.type = type, .rank = rank, .data = data, .bytes = cli_type_size(type)};
    for (uint32_t i = 0; i < rank; i++) {
        tensor.dims[i] = dims[i];
        tensor.bytes *= (size_t)dims[i];
    }
    assert_true(cli_npy_write(path, &tensor, error));
}

/* A picture of one colour. */
static void write_plain(const char *path, uint32_t width, uint32_t height, unsigned char red,
                        unsigned char green, unsigned char blue)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    (void)fprintf(file, "P6\n%u %u\n255\n", width, height);
    for (uint32_t i = 0; i < width * height; i++) {
        (void)fputc(red, file);
        (void)fputc(green, file);
        (void)fputc(blue, file);
    }
    assert_int_equal(fclose(file), 0);
}

static cli_dataset *open_data(const char *path, uint32_t limit)
{
    cli_dataset *set = cli_dataset_open(path, limit, error);
    if (!set) {
        fail_msg("%s", error);
    }
    return set;
}

static void refuse(const char *path, const char *part)
{
    cli_dataset *set = cli_dataset_open(path, 0, error);
    assert_null(set);
    if (!strstr(error, path) || !strstr(error, part)) {
        fail_msg("'%s' or '%s' is not in '%s'", path, part, error);
    }
}

/* Opens a bundle of one task that computes abs of its input. */
static void open_task(const char *name, mtsc_color color, int rank, const int64_t *dims, bool two)
{
    onnx_model model;
    mtsc_compiler *compiler = NULL;
    mtsc_options options;
    mtsc_task task;
    mts_runtime_options runtime_options;
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, rank, dims);
    onnx_model_output(&model, "out");
    if (two) {
        onnx_model_input(&model, "y", ONNX_FLOAT, rank, dims);
    }
    onnx_model_node(&model, two ? "Add" : "Abs", two ? "x,y" : "x", "out");
    const onnx_bytes *file = onnx_model_file(&model);
    write_file("task.onnx", file->data, file->size);
    onnx_model_end(&model);
    mtsc_options_default(&options);
    options.error_text = error;
    options.error_size = sizeof error;
    mtsc_task_default(&task);
    task.name = name;
    task.model = "task.onnx";
    task.color = color;
    mts_runtime_options_default(&runtime_options);
    runtime_options.device = "reference";
    runtime_options.error_text = error;
    runtime_options.error_size = sizeof error;
    if (mtsc_compiler_create(&options, &compiler) != MTS_STATUS_OK ||
        mtsc_compiler_add(compiler, &task) != MTS_STATUS_OK ||
        mtsc_compiler_write(compiler, "task.mtsb", NULL) != MTS_STATUS_OK ||
        mts_runtime_create(&runtime_options, &runtime) != MTS_STATUS_OK ||
        mts_bundle_open(runtime, "task.mtsb", &bundle) != MTS_STATUS_OK) {
        fail_msg("%s", error);
    }
    mtsc_compiler_destroy(&compiler);
}

static void close_task(void)
{
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
}

/* The frame that the data gives for an image. */
static mts_frame must_frame(const mtsz_data *data, uint32_t index)
{
    mts_frame frame;
    mts_frame_default(&frame);
    assert_int_equal(data->frame(data->context, index, &frame), 0);
    assert_int_equal(frame.format, MTS_PIXEL_FORMAT_RGB);
    return frame;
}

static void records_give_their_labels_and_pictures(void **state)
{
    uint8_t records[3 * 3074];
    (void)state;
    for (size_t i = 0; i < sizeof records; i++) {
        records[i] = (uint8_t)(i * 7 + i / 100);
    }
    records[3073] = 4;
    write_file("r.bin", records, 3 * 3073);
    cli_dataset *set = open_data("r.bin", 2);
    mtsz_data data = cli_dataset_data(set);
    assert_int_equal(data.count, 2);
    assert_int_equal(cli_dataset_count(set), 2);
    assert_true(cli_dataset_labelled(set));
    assert_int_equal(cli_dataset_label(set, 1), 4);
    assert_null(data.tensor);
    assert_null(data.image);
    const mts_frame frame = must_frame(&data, 1);
    const unsigned char *rgb = frame.data;
    assert_true(frame.width == 32 && frame.height == 32);
    for (size_t p = 0; p < 1024; p++) {
        for (size_t c = 0; c < 3; c++) {
            assert_int_equal(rgb[3 * p + c], records[3073 + 1 + c * 1024 + p]);
        }
    }
    cli_dataset_close(set);
    write_file("h.bin", records, 3 * 3074); /* of CIFAR-100: the second byte of a record is its class */
    cli_dataset *hundred = cli_dataset_open("h.bin", 0, error);
    assert_non_null(hundred);
    assert_int_equal(cli_dataset_count(hundred), 3);
    unsigned char pixels[3 * 1024];
    cli_dataset_pixels(hundred, 2, pixels);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(cli_dataset_label(hundred, i), records[i * 3074 + 1]);
        assert_int_equal(pixels[3 * 5 + i], records[2 * 3074 + 2 + i * 1024 + 5]);
    }
    cli_dataset_close(hundred);
    write_file("r.bin", records, 3072);
    refuse("r.bin", "3072 bytes");
    write_file("r.bin", records, 0);
    refuse("r.bin", "0 bytes");
    refuse("none.bin", "No such file");
}

static void a_folder_gives_its_pictures_by_name(void **state)
{
    mts_frame frame;
    (void)state;
    assert_int_equal(mkdir("photos", 0777), 0);
    refuse("photos", "no pictures");
    write_plain("photos/b.ppm", 40, 30, 1, 2, 3);
    write_plain("photos/a.PPM", 5, 7, 250, 100, 0);
    write_file("photos/notes.txt", "text", 4);
    write_file("photos/.hidden.png", "x", 1);
    cli_dataset *set = open_data("photos", 0);
    mtsz_data data = cli_dataset_data(set);
    assert_int_equal(data.count, 2);
    assert_false(cli_dataset_labelled(set));
    for (uint32_t i = 0; i < 2; i++) {
        const unsigned char want[2][3] = {{250, 100, 0}, {1, 2, 3}};
        frame = must_frame(&data, i);
        assert_true(frame.width == (i ? 40 : 5) && frame.height == (i ? 30 : 7));
        for (size_t p = 0; p < (size_t)frame.width * frame.height; p++) {
            assert_memory_equal((const unsigned char *)frame.data + 3 * p, want[i], 3);
        }
    }
    assert_string_equal(cli_dataset_reason(set), "");
    cli_dataset_close(set);
    write_file("photos/c.png", "\x89PNG\r\n\x1a\n and then nothing", 24);
    set = open_data("photos", 0);
    data = cli_dataset_data(set);
    assert_int_not_equal(data.frame(data.context, 2, &frame), 0);
    assert_non_null(strstr(cli_dataset_reason(set), "photos/c.png"));
    (void)must_frame(&data, 0);
    assert_string_equal(cli_dataset_reason(set), "");
    cli_dataset_close(set);
    set = open_data("photos", 1);
    assert_int_equal(cli_dataset_count(set), 1);
    cli_dataset_close(set);
}

static void arrays_of_numbers_reach_inputs_in_the_order_of_their_dimensions(void **state)
{
    float numbers[2 * 24];
    float out[24];
    (void)state;
    for (size_t i = 0; i < 48; i++) {
        numbers[i] = (float)i;
    }
    write_array("a.npy", MTS_TYPE_FLOAT32, 4, (const int64_t[]){2, 2, 3, 4},
                numbers); /* [N,H,W,C] or [N,C,H,W] */
    cli_dataset *set = open_data("a.npy", 0);
    const mtsz_data data = cli_dataset_data(set);
    assert_int_equal(data.count, 2);
    assert_null(data.frame);
    static const int64_t inputs[3][4] = {{1, 2, 3, 4}, {1, 4, 2, 3}, {1, 3, 4, 2}};
    for (size_t k = 0; k < 3; k++) {
        open_task("task", MTSC_COLOR_NONE, 4, inputs[k], false);
        if (!cli_dataset_fit(set, bundle, NULL, 0, error)) {
            fail_msg("%s", error);
        }
        assert_int_equal(data.tensor(data.context, 1, "task", 0, out, 24), 0);
        for (size_t a = 0; a < 2; a++) {
            for (size_t b = 0; b < 3; b++) {
                for (size_t c = 0; c < 4; c++) {
                    const size_t at = k == 0   ? (a * 3 + b) * 4 + c
                                      : k == 1 ? (c * 2 + a) * 3 + b
                                               : (b * 4 + c) * 2 + a;
                    assert_true(out[at] == (float)(24 + (a * 3 + b) * 4 + c));
                }
            }
        }
        close_task();
    }
    open_task("odd", MTSC_COLOR_NONE, 4, (const int64_t[]){1, 3, 2, 4}, false);
    assert_false(cli_dataset_fit(set, bundle, NULL, 0, error));
    assert_non_null(strstr(error, "'odd'"));
    assert_non_null(strstr(error, "1x3x2x4"));
    assert_non_null(strstr(error, "2x3x4"));
    assert_true(cli_dataset_fit(set, bundle, (const char *const[]){"other"}, 1, error));
    assert_int_not_equal(data.tensor(data.context, 0, "odd", 0, out, 24), 0);
    assert_non_null(strstr(cli_dataset_reason(set), "'odd'"));
    close_task();
    open_task("two", MTSC_COLOR_NONE, 4, (const int64_t[]){1, 2, 3, 4}, true);
    assert_false(cli_dataset_fit(set, bundle, NULL, 0, error));
    assert_non_null(strstr(error, "2 inputs"));
    cli_dataset_close(set);
}

static void arrays_of_bytes_are_pictures_for_tasks_that_take_frames(void **state)
{
    uint8_t bytes[2 * 18];
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 5);
    }
    write_array("hwc.npy", MTS_TYPE_UINT8, 4, (const int64_t[]){2, 2, 3, 3}, bytes);
    write_array("chw.npy", MTS_TYPE_UINT8, 4, (const int64_t[]){2, 3, 3, 2}, bytes);
    write_array("grey.npy", MTS_TYPE_UINT8, 4, (const int64_t[]){6, 1, 3, 2}, bytes);
    open_task("photo", MTSC_COLOR_RGB, 4, (const int64_t[]){1, 3, 8, 8}, false);
    for (int k = 0; k < 3; k++) {
        cli_dataset *set = open_data(k == 0 ? "hwc.npy" : k == 1 ? "chw.npy" : "grey.npy", 0);
        const mtsz_data data = cli_dataset_data(set);
        assert_true(cli_dataset_fit(set, bundle, NULL, 0, error));
        const mts_frame frame = must_frame(&data, 1);
        const unsigned char *rgb = frame.data;
        assert_true(frame.width == (k ? 2 : 3) && frame.height == (k ? 3 : 2));
        for (size_t p = 0; p < 6; p++) {
            for (size_t c = 0; c < 3; c++) {
                const size_t from = k == 0 ? 18 + 3 * p + c : k == 1 ? 18 + 6 * c + p : 6 + p;
                assert_int_equal(rgb[3 * p + c], bytes[from]);
            }
        }
        cli_dataset_close(set);
    }
}

static void what_feeds_no_task_is_refused_with_the_task(void **state)
{
    double wide[4] = {0};
    float vector[3] = {0};
    (void)state;
    write_array("f64.npy", MTS_TYPE_FLOAT64, 2, (const int64_t[]){2, 2}, wide);
    refuse("f64.npy", "float64");
    write_array("flat.npy", MTS_TYPE_FLOAT32, 1, (const int64_t[]){3}, vector);
    refuse("flat.npy", "3");
    write_array("empty.npy", MTS_TYPE_FLOAT32, 2, (const int64_t[]){0, 3}, vector);
    refuse("empty.npy", "no array");
    write_file("bad.npy", "no array", 8);
    refuse("bad.npy", "no array");
    assert_int_equal(mkdir("photos", 0777), 0);
    write_plain("photos/a.ppm", 5, 7, 1, 1, 1);
    open_task("sound", MTSC_COLOR_NONE, 2, (const int64_t[]){1, 3}, false);
    cli_dataset *set = open_data("photos", 0);
    assert_false(cli_dataset_fit(set, bundle, NULL, 0, error));
    assert_non_null(strstr(error, "'sound'"));
    cli_dataset_close(set);
    write_array("rows.npy", MTS_TYPE_FLOAT32, 2, (const int64_t[]){1, 3}, vector);
    set = open_data("rows.npy", 0);
    assert_true(cli_dataset_fit(set, bundle, NULL, 0, error));
    cli_dataset_close(set);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* ---- classes, to train with ---- */

static void class_folders_give_labels(void **state)
{
    char text[16];
    (void)state;
    assert_int_equal(mkdir("set", 0700), 0);
    assert_int_equal(mkdir("set/dog", 0700), 0);
    assert_int_equal(mkdir("set/cat", 0700), 0);
    assert_int_equal(mkdir("set/.hidden", 0700), 0);
    write_file("set/notes.txt", "x", 1);
    write_file("set/dog/notes.txt", "x", 1);
    write_plain("set/dog/b.ppm", 4, 4, 9, 0, 0);
    write_plain("set/dog/a.ppm", 4, 4, 8, 0, 0);
    write_plain("set/cat/z.ppm", 4, 4, 7, 0, 0);
    cli_dataset *set = cli_dataset_open_classes("set", 0, error);
    assert_non_null(set);
    assert_int_equal(cli_dataset_count(set), 3);
    assert_int_equal(cli_dataset_class_count(set), 2);
    assert_string_equal(cli_dataset_class(set, 0, text, sizeof text), "cat");
    assert_string_equal(cli_dataset_class(set, 1, text, sizeof text), "dog");
    const mtsz_data data = cli_dataset_data(set);
    for (uint32_t i = 0; i < 3; i++) {
        mts_frame frame = {.size = sizeof frame};
        assert_int_equal(cli_dataset_label(set, i), i == 0 ? 0 : 1);
        assert_int_equal(data.frame(data.context, i, &frame), 0);
        assert_int_equal(((const unsigned char *)frame.data)[0], 7 + i);
    }
    cli_dataset_close(set);
    set = cli_dataset_open_classes("set", 2, error);
    assert_int_equal(cli_dataset_count(set), 2);
    assert_int_equal(cli_dataset_label(set, 0) + cli_dataset_label(set, 1), 1); /* one of each */
    cli_dataset_close(set);
}

static void expect_no_classes(const char *path, const char *words)
{
    error[0] = '\0';
    assert_null(cli_dataset_open_classes(path, 0, error));
    if (!strstr(error, words)) {
        fail_msg("'%s' is not in: %s", words, error);
    }
}

static void folders_and_records_without_classes_are_refused(void **state)
{
    static const unsigned char bytes[3073 + 40];
    float numbers[12] = {0};
    (void)state;
    expect_no_classes("nothing", "nothing");
    assert_int_equal(mkdir("set", 0700), 0);
    expect_no_classes("set", "a folder for each class");
    assert_int_equal(mkdir("set/cat", 0700), 0);
    expect_no_classes("set", "'set/cat' holds no pictures");
    write_file("cut.bin", bytes, sizeof bytes);
    expect_no_classes("cut.bin", "not a whole number of CIFAR-10 records");
    write_file("empty.bin", bytes, 0);
    expect_no_classes("empty.bin", "0 bytes");
    write_array("a.npy", MTS_TYPE_FLOAT32, 2, (const int64_t[]){3, 4}, numbers);
    expect_no_classes("a.npy", "has no classes");
}

static void expect_bad_list(const cli_dataset *set, const char *list, const char *words)
{
    cli_classes classes;
    error[0] = '\0';
    assert_false(cli_classes_make(set, list, &classes, error));
    cli_classes_release(&classes);
    if (!strstr(error, words)) {
        fail_msg("'%s' is not in: %s", words, error);
    }
}

static void classes_of_a_task_are_made_of_those_of_the_data(void **state)
{
    static unsigned char records[4 * 3073];
    static const unsigned char given[4] = {3, 0, 2, 3};
    static const uint32_t wanted[4] = {1, 0, 0, 1};
    cli_classes classes;
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        records[i * 3073] = given[i];
    }
    write_file("r.bin", records, sizeof records);
    cli_dataset *set = cli_dataset_open_classes("r.bin", 0, error);
    assert_non_null(set);
    assert_true(cli_classes_make(set, "no=*;yes=3,1", &classes, error));
    assert_int_equal(classes.count, 2);
    assert_string_equal(classes.names[1], "yes");
    assert_int_equal(classes.map_count, 4);
    assert_int_equal(classes.map[1], 1);
    assert_memory_equal(classes.labels, wanted, sizeof wanted);
    cli_classes_release(&classes);
    assert_true(cli_classes_make(set, NULL, &classes, error));
    assert_int_equal(classes.count, 4);
    assert_string_equal(classes.names[3], "3");
    assert_int_equal(classes.labels[3], 3);
    cli_classes_release(&classes);
    expect_bad_list(set, "a=1;b=2,3", "'0' of the data belongs to none");
    expect_bad_list(set, "a=*;b=9", "no class '9' for 'b'");
    expect_bad_list(set, "a=1;b=1", "'1' belongs to 'a' and to 'b'");
    expect_bad_list(set, "a=*;b=*", "the rest ('*') belongs to 'a' and to 'b'");
    expect_bad_list(set, "a", "is not NAME=CLASS");
    expect_bad_list(set, "=1", "is not NAME=CLASS");
    expect_bad_list(set, "a=1,,2", "empty class");
    expect_bad_list(set, "a=;b=*", "empty class");
    expect_bad_list(set, "", "empty part");
    cli_dataset_close(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(records_give_their_labels_and_pictures),
        TEST(a_folder_gives_its_pictures_by_name),
        TEST(arrays_of_numbers_reach_inputs_in_the_order_of_their_dimensions),
        TEST(arrays_of_bytes_are_pictures_for_tasks_that_take_frames),
        TEST(what_feeds_no_task_is_refused_with_the_task),
        TEST(class_folders_give_labels),
        TEST(folders_and_records_without_classes_are_refused),
        TEST(classes_of_a_task_are_made_of_those_of_the_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
