/*
 * test_accuracy.c: the accuracy of the CIFAR networks, all tasks of a list stitched into one session, against
 * what their training measured (accuracy.json).
 *
 * Each list runs on all 5000 images, because that is what accuracy.json is of: one list on OpenCL, where there
 * is such a device, the others on the device that the library chooses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "mts/mtsc.h"
#include "platform/os/os.h"
#include "support/data.h"

#define POINTS 0.3 /* of 100 */
#define SIDE 32u
#define PLANE (SIDE * SIDE)
#define RECORD (1u + 3u * PLANE) /* a label, then the planes R, G, B */
#define IMAGES 5000u
#define TASKS_MOST 16u
#define WORK MTS_BINARY_DIR "/accuracy"

static char error_text[1024];
static char folder[DATA_PATH];
static unsigned char records[IMAGES][RECORD];

static void check(mts_status status, const char *what, const char *name)
{
    if (status != MTS_STATUS_OK) {
        fail_msg("%s of %s: %s: %s", what, name, mts_status_name(status), error_text);
    }
}

static void compile(const char *list, const char *path)
{
    char config[DATA_PATH + 64];
    mtsc_options options;
    mtsc_compiler *compiler = NULL;
    (void)snprintf(config, sizeof config, "%s/%s.json", folder, list);
    mtsc_options_default(&options);
    options.error_text = error_text;
    options.error_size = sizeof error_text;
    check(mtsc_compiler_create(&options, &compiler), "compiler", list);
    check(mtsc_compiler_add_config(compiler, config), "import", list);
    check(mtsc_compiler_write(compiler, path, NULL), "writing", list);
    mtsc_compiler_destroy(&compiler);
}

static mts_status open_device(const char *device, mts_runtime **out)
{
    mts_runtime_options options;
    mts_runtime_options_default(&options);
    options.device = device;
    options.error_text = error_text;
    options.error_size = sizeof error_text;
    return mts_runtime_create(&options, out);
}

static void run_image(mts_session *session, const unsigned char *record)
{
    unsigned char pixels[3 * PLANE];
    mts_ticket ticket = 0;
    for (size_t i = 0; i < PLANE; i++) {
        for (size_t c = 0; c < 3; c++) {
            pixels[3 * i + c] = record[1 + c * PLANE + i];
        }
    }
    const mts_frame frame = {
        .size = sizeof frame, .data = pixels, .width = SIDE, .height = SIDE, .format = MTS_PIXEL_FORMAT_RGB};
    check(mts_session_submit(session, &frame, &ticket), "submit", "a image");
    check(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), "wait", "a image");
}

static uint32_t answer(mts_session *session, const char *task)
{
    mts_tensor output;
    check(mts_session_output(session, task, 0, &output), "output", task);
    assert_int_equal(output.type, MTS_TYPE_FLOAT32);
    const float *values = output.data;
    uint32_t best = 0;
    for (uint32_t i = 1; i < output.bytes / sizeof *values; i++) {
        best = values[i] > values[best] ? i : best;
    }
    return best;
}

/* Right answers of each task. */
static void score(mts_session *session, const mts_task_desc *tasks, uint32_t count, uint32_t *right)
{
    for (uint32_t i = 0; i < IMAGES; i++) {
        run_image(session, records[i]);
        for (uint32_t t = 0; t < count; t++) {
            assert_in_range(records[i][0], 0, tasks[t].class_count - 1);
            right[t] += answer(session, tasks[t].name) == tasks[t].class_map[records[i][0]] ? 1 : 0;
        }
    }
}

/* Of accuracy.json, in points. */
static double trained_accuracy(const char *list, const char *task)
{
    char path[DATA_PATH + 64], key[128];
    json_error_t error;
    (void)snprintf(path, sizeof path, "%s/models/accuracy.json", folder);
    (void)snprintf(key, sizeof key, "%s_%s", list, task);
    json_t *root = json_load_file(path, 0, &error);
    const json_t *number = json_object_get(json_object_get(root, key), "test_5000");
    if (!json_is_number(number)) {
        fail_msg("%s has no %s", path, key);
    }
    const double points = json_number_value(number);
    json_decref(root);
    return points;
}

static void compare(const char *list, const mts_task_desc *tasks, uint32_t count, const uint32_t *right)
{
    uint32_t wrong = 0;
    for (uint32_t t = 0; t < count; t++) {
        const double got = 100.0 * right[t] / IMAGES;
        const double want = trained_accuracy(list, tasks[t].name);
        print_message("%s_%s: %.2f %%, trained to %.2f %%\n", list, tasks[t].name, got, want);
        wrong += got < want - POINTS || got > want + POINTS ? 1 : 0;
    }
    assert_int_equal(wrong, 0);
}

static void list_matches(const char *list, uint32_t tasks_want, const char *device)
{
    mts_runtime *runtime = NULL;
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    mts_session_stats stats = {.size = sizeof stats};
    mts_task_desc tasks[TASKS_MOST];
    uint32_t right[TASKS_MOST] = {0};
    compile(list, WORK "/list.mtsb");
    check(open_device(device, &runtime), "opening", "the device");
    check(mts_bundle_open(runtime, WORK "/list.mtsb", &bundle), "opening", list);
    const uint32_t count = mts_bundle_task_count(bundle);
    assert_int_equal(count, tasks_want);
    for (uint32_t t = 0; t < count; t++) {
        tasks[t].size = sizeof tasks[t];
        check(mts_bundle_task(bundle, t, &tasks[t]), "task", list);
        assert_true(tasks[t].class_count > 0);
    }
    check(mts_session_create(runtime, bundle, NULL, &session), "session", list);
    check(mts_session_stats_get(session, &stats), "stats", list);
    assert_int_equal(stats.groups, 1); /* stitched */
    score(session, tasks, count, right);
    compare(list, tasks, count, right);
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    (void)remove(WORK "/list.mtsb");
}

static void small_networks_keep_their_accuracy_stitched(void **state)
{
    (void)state;
    mts_runtime *runtime = NULL;
    const mts_status status = open_device("opencl:0", &runtime);
    mts_runtime_destroy(&runtime);
    list_matches("small", 8, status == MTS_STATUS_NOT_FOUND ? NULL : "opencl:0");
}

static void finetuned_networks_keep_their_accuracy_stitched(void **state)
{
    (void)state;
    list_matches("finetuned", 8, NULL);
}

static void networks_trained_from_scratch_keep_their_accuracy_stitched(void **state)
{
    (void)state;
    list_matches("scratch", 4, NULL);
}

static bool read_images(const char *path)
{
    FILE *file = fopen(path, "rb");
    const bool whole = file && fread(records, RECORD, IMAGES, file) == IMAGES && fgetc(file) == EOF;
    if (file) {
        (void)fclose(file);
    }
    return whole;
}

int main(void)
{
    char images[DATA_PATH + 64];
    (void)data_path(MTS_SOURCE_DIR, "cifar", folder);
    (void)snprintf(images, sizeof images, "%s/test_5000.bin", folder);
    if (!data_exists(images)) {
        printf("skipped: no images at %s\n", images);
        return DATA_SKIPPED;
    }
    if (!read_images(images)) {
        printf("%s does not hold %u records\n", images, IMAGES);
        return 1;
    }
    if (mts_os_directory_make(WORK, NULL) != MTS_STATUS_OK) {
        printf("cannot make %s\n", WORK);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_networks_keep_their_accuracy_stitched),
        cmocka_unit_test(finetuned_networks_keep_their_accuracy_stitched),
        cmocka_unit_test(networks_trained_from_scratch_keep_their_accuracy_stitched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
