/*
 * test_vectors.c: real networks on real photographs against the outputs of an independent executor
 * (ref.json).
 *
 * Every vector runs alone (the image goes in as a frame, so the preprocessing kernel runs too) and stitched
 * with all vectors of its family (tensors go in, each task has an input of its own), with both strategies, on
 * every device; with MTS_TEST_PACKED in packs of channels. With MTS_TEST_EXPORT the program writes bundles, images
 * and outputs into that folder instead, for tests/cross/test_vectors.c, which runs where there is no compiler of models.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "platform/os/os.h"
#include "support/second_device.h"
#include "support/vectors.h"

/* Two executors that sum in different orders over up to 110 layers; yolox differs most. */
#define RTOL 1e-3
#define ATOL 1e-4
#define WORK MTS_BINARY_DIR "/golden"

static const char *const devices[] = {"reference", "opencl:0"};
/* Of the colours that a model takes. */
static const mts_pixel_format formats[] = {MTS_PIXEL_FORMAT_RGB, MTS_PIXEL_FORMAT_RGB, MTS_PIXEL_FORMAT_BGR,
                                           MTS_PIXEL_FORMAT_GREY};
static const mts_strategy strategies[] = {MTS_STRATEGY_SEQUENTIAL, MTS_STRATEGY_COMPACT};
static ref_vectors vectors;
static char error_text[1024];
static uint32_t comparisons;

static void check(mts_status status, const char *what, const char *name)
{
    if (status != MTS_STATUS_OK) {
        print_error("%s of %s: %s: %s\n", what, name, mts_status_name(status), error_text);
        fail();
    }
}

static mts_runtime *open_device(const char *device)
{
    mts_runtime_options options;
    mts_runtime *runtime = NULL;
    mts_runtime_options_default(&options);
    options.device = second_device_id(device);
    options.cache_dir = second_device_cache(options.device, WORK);
    options.error_text = error_text;
    options.error_size = sizeof error_text;
    const mts_status status = mts_runtime_create(&options, &runtime);
    if (status == MTS_STATUS_NOT_FOUND) {
        print_message("no device %s here\n", device);
        return NULL;
    }
    check(status, "opening", device);
    return runtime;
}

static void compile(ref_vector *const *list, uint32_t count, const char *path)
{
    mtsc_options options;
    mtsc_compiler *compiler = NULL;
    mtsc_options_default(&options);
    options.error_text = error_text;
    options.error_size = sizeof error_text;
    check(mtsc_compiler_create(&options, &compiler), "compiler", path);
    for (uint32_t i = 0; i < count; i++) {
        mtsc_task task;
        mtsc_task_default(&task);
        task.name = list[i]->name;
        task.model = list[i]->model;
        task.shapes = &list[i]->shape;
        task.shape_count = 1;
        task.color = list[i]->color;
        for (int channel = 0; channel < 4; channel++) {
            task.mean[channel] = list[i]->mean[channel];
            task.std[channel] = list[i]->scale[channel] > 0.0f ? 1.0f / list[i]->scale[channel] : 1.0f;
        }
        check(mtsc_compiler_add(compiler, &task), "import", list[i]->name);
    }
    check(mtsc_compiler_write(compiler, path, NULL), "writing", path);
    mtsc_compiler_destroy(&compiler);
}

static void give_tensor(mts_session *session, mts_bundle *bundle, const ref_vector *vector)
{
    mts_port_desc port = {.size = sizeof port};
    check(mts_bundle_input(bundle, vector->name, 0, &port), "input", vector->name);
    assert_string_equal(port.name, vector->input);
    float *values = ref_vector_input(vector);
    assert_non_null(values);
    mts_tensor tensor = {.data = values, .type = port.type, .rank = port.rank};
    memcpy(tensor.dims, port.dims, sizeof port.dims);
    tensor.bytes = vector->image.count * sizeof *values;
    if (port.type == MTS_TYPE_UINT8) { /* the model takes pixels: mean 0, scale 1 */
        tensor.bytes = vector->image.count;
        memcpy(values, vector->image.data, tensor.bytes);
    }
    check(mts_session_input(session, vector->name, 0, &tensor), "setting the input", vector->name);
    free(values);
}

static void compare(mts_session *session, const ref_vector *vector, const char *how)
{
    for (uint32_t i = 0; i < vector->output_count; i++) {
        const npy_array *want = &vector->outputs[i];
        mts_tensor got;
        check(mts_session_output(session, vector->name, i, &got), "output", vector->name);
        assert_int_equal(got.type, MTS_TYPE_FLOAT32);
        assert_int_equal(got.bytes, want->count * sizeof(float));
        const float *a = got.data, *b = want->data;
        const data_difference found = data_compare(a, b, want->count, RTOL, ATOL);
        if (found.count) {
            print_error("%s, output %u, %s: %zu of %zu elements differ, worst [%zu]: %g instead of %g\n",
                        vector->name, i, how, found.count, want->count, found.worst, (double)a[found.worst],
                        (double)b[found.worst]);
            fail();
        }
        comparisons++;
    }
}

static void run_frame(mts_session *session, const ref_vector *vector)
{
    const mts_frame frame = {.size = sizeof frame,
                             .data = vector->image.data,
                             .width = (uint32_t)vector->image.dims[1],
                             .height = (uint32_t)vector->image.dims[0],
                             .format = formats[vector->color]};
    mts_ticket ticket = 0;
    check(mts_session_submit(session, &frame, &ticket), "submit", vector->name);
    check(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), "wait", vector->name);
}

static void run_tensors(mts_session *session, mts_bundle *bundle, ref_vector *const *list, uint32_t count)
{
    mts_ticket ticket = 0;
    for (uint32_t i = 0; i < count; i++) {
        give_tensor(session, bundle, list[i]);
    }
    check(mts_session_submit(session, NULL, &ticket), "submit", list[0]->family);
    check(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), "wait", list[0]->family);
}

/* One session; a single vector goes in as a frame, several as tensors. */
static void run(mts_runtime *runtime, const char *device, const char *path, mts_strategy strategy,
                ref_vector *const *list, uint32_t count)
{
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    mts_session_options options;
    char how[128];
    mts_session_options_default(&options);
    options.strategy = strategy;
    options.separate_inputs = count > 1;
    options.packed_channels = getenv("MTS_TEST_PACKED") ? MTS_USE_ON : MTS_USE_AUTO;
    (void)snprintf(how, sizeof how, "%s, %s, %s", device,
                   strategy == MTS_STRATEGY_COMPACT ? "compact" : "sequential",
                   count > 1 ? "stitched" : "alone");
    check(mts_bundle_open(runtime, path, &bundle), "opening", path);
    check(mts_session_create(runtime, bundle, &options, &session), "session", list[0]->name);
    if (count == 1) {
        run_frame(session, list[0]);
    } else {
        run_tensors(session, bundle, list, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        compare(session, list[i], how);
    }
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
}

static void run_everywhere(ref_vector *const *list, uint32_t count, const char *path)
{
    compile(list, count, path);
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        mts_runtime *runtime = open_device(devices[d]);
        for (size_t s = 0; runtime && s < sizeof strategies / sizeof *strategies; s++) {
            run(runtime, devices[d], path, strategies[s], list, count);
        }
        mts_runtime_destroy(&runtime);
    }
}

static void each_vector_alone_matches(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < vectors.count; i++) {
        ref_vector *one = &vectors.at[i];
        run_everywhere(&one, 1, WORK "/alone.mtsb");
    }
}

static void family_matches(const char *family)
{
    ref_vector *list[64];
    uint32_t count = 0;
    for (uint32_t i = 0; i < vectors.count && count < 64; i++) {
        if (strcmp(vectors.at[i].family, family) == 0) {
            list[count++] = &vectors.at[i];
        }
    }
    assert_true(count > 1);
    run_everywhere(list, count, WORK "/family.mtsb");
}

static void face_vectors_match_when_stitched(void **state)
{
    (void)state;
    family_matches("face");
}

static void squeezenet_vectors_match_when_stitched(void **state)
{
    (void)state;
    family_matches("squeezenet11");
}

static void detector_vectors_match_when_stitched(void **state)
{
    (void)state;
    family_matches("detect");
}

static void small_classifier_vectors_match_when_stitched(void **state)
{
    (void)state;
    family_matches("misc");
}

/* ---- for another processor ---- */

static void export_data(const char *folder, const char *name, const char *ending, const void *data,
                        size_t size)
{
    char path[DATA_PATH];
    mts_error error = {MTS_STATUS_OK, ""};
    (void)snprintf(path, sizeof path, "%s/%s.%s", folder, name, ending);
    if (mts_os_file_write(path, data, size, &error) != MTS_STATUS_OK) {
        print_error("%s: %s\n", path, error.text);
        fail();
    }
}

/*
 * list.txt: how many vectors there are, and a line for each: the name, the pixel format,
 * width, height and how many outputs there are.
 */
static void each_vector_is_written(void **state)
{
    const char *folder = *state;
    char *list = calloc(vectors.count + 1, 128), path[DATA_PATH];
    assert_non_null(list);
    (void)snprintf(list, 128, "%u\n", vectors.count);
    for (uint32_t i = 0; i < vectors.count; i++) {
        ref_vector *one = &vectors.at[i];
        char ending[16];
        (void)snprintf(path, sizeof path, "%s/%s.mtsb", folder, one->name);
        compile(&one, 1, path);
        export_data(folder, one->name, "image", one->image.data, one->image.count);
        for (uint32_t k = 0; k < one->output_count; k++) {
            (void)snprintf(ending, sizeof ending, "out%u", k);
            export_data(folder, one->name, ending, one->outputs[k].data,
                        one->outputs[k].count * sizeof(float));
        }
        (void)snprintf(list + strlen(list), 128, "%s %d %d %d %u\n", one->name, (int)formats[one->color],
                       (int)one->image.dims[1], (int)one->image.dims[0], one->output_count);
    }
    export_data(folder, "list", "txt", list, strlen(list));
    free(list);
}

static int export_all(const char *folder)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(each_vector_is_written, (void *)(uintptr_t)folder)};
    return mts_os_directory_make(folder, NULL) == MTS_STATUS_OK ? cmocka_run_group_tests(tests, NULL, NULL)
                                                                : 1;
}

int main(void)
{
    char folder[DATA_PATH], reason[DATA_PATH];
    if (!data_exists(data_path(MTS_SOURCE_DIR, "ref/ref.json", folder))) {
        printf("skipped: no reference vectors at %s\n", folder);
        return DATA_SKIPPED;
    }
    if (!ref_vectors_read(data_path(MTS_SOURCE_DIR, ".", folder), &vectors, reason)) {
        printf("%s\n", reason);
        return 1;
    }
    if (mts_os_directory_make(WORK, NULL) != MTS_STATUS_OK) {
        printf("cannot make %s\n", WORK);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_vector_alone_matches),
        cmocka_unit_test(face_vectors_match_when_stitched),
        cmocka_unit_test(squeezenet_vectors_match_when_stitched),
        cmocka_unit_test(detector_vectors_match_when_stitched),
        cmocka_unit_test(small_classifier_vectors_match_when_stitched),
    };
    const char *some = getenv("MTS_TEST_FILTER"); /* for a device that is emulated, and slow */
    if (some) {
        cmocka_set_test_filter(some);
    }
    const char *wanted = getenv("MTS_TEST_EXPORT");
    const int failed = wanted ? export_all(wanted) : cmocka_run_group_tests(tests, NULL, NULL);
    printf("%u reference vectors, %u comparisons of outputs\n", vectors.count, comparisons);
    ref_vectors_release(&vectors);
    return failed;
}
