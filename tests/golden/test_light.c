/*
 * test_light.c: nine graphs of the ONNX model zoo with constant weights, against the outputs that ONNX ships
 * with them.
 *
 * ONNX's backend tests feed them 0/n, 1/n, 2/n, ... for an input of n elements. Weights are made by
 * ConstantOfShape, so importing them is constant folding at full size. The reference is left out where a
 * graph would take it minutes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/import/import.h"
#include "mts/mtsc.h"
#include "platform/os/os.h"
#include "support/data.h"
#include "support/second_device.h"

#define RTOL 1e-3
#define ATOL 1e-5
#define REFERENCE_MOST 5000000000u /* multiply-adds */
#define WORK MTS_BINARY_DIR "/light"

static char error_text[1024];
static char folder[DATA_PATH];
static uint32_t matched;

static void check(mts_status status, const char *what, const char *name)
{
    if (status != MTS_STATUS_OK) {
        print_error("%s of %s: %s: %s\n", what, name, mts_status_name(status), error_text);
        fail();
    }
}

static void compile(const char *name, const char *path)
{
    char model[DATA_PATH + 64];
    mtsc_options options;
    mtsc_task task;
    mtsc_compiler *compiler = NULL;
    (void)snprintf(model, sizeof model, "%s/light_%s.onnx", folder, name);
    mtsc_options_default(&options);
    options.error_text = error_text;
    options.error_size = sizeof error_text;
    options.more_memory = (uint64_t)1 << 30; /* their weights are computed: 240 MB from 4 KB */
    mtsc_task_default(&task);
    task.name = name;
    task.model = model;
    check(mtsc_compiler_create(&options, &compiler), "compiler", name);
    check(mtsc_compiler_add(compiler, &task), "import", name);
    check(mtsc_compiler_write(compiler, path, NULL), "writing", name);
    mtsc_compiler_destroy(&compiler);
}

static void give_input(mts_session *session, const mts_bundle *bundle, const char *name)
{
    mts_port_desc port = {.size = sizeof port};
    check(mts_bundle_input(bundle, name, 0, &port), "input", name);
    mts_tensor tensor = {.type = port.type, .rank = port.rank};
    size_t count = 1;
    for (uint32_t i = 0; i < port.rank; i++) {
        tensor.dims[i] = port.dims[i];
        count *= (size_t)port.dims[i];
    }
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++) {
        values[i] = (float)((double)i / (double)count);
    }
    tensor.data = values;
    tensor.bytes = count * sizeof *values;
    check(mts_session_input(session, name, 0, &tensor), "setting the input", name);
    free(values);
}

static void compare(mts_session *session, const char *name, const char *device)
{
    char path[DATA_PATH + 64];
    mts_arena arena;
    mts_error error = {0};
    mts_host_tensor want;
    mts_tensor got;
    void *bytes = NULL;
    size_t size = 0;
    mts_arena_init(&arena, mts_allocator_default());
    (void)snprintf(path, sizeof path, "%s/light_%s_output_0.pb", folder, name);
    assert_int_equal(mts_os_file_read(mts_allocator_default(), path, 1u << 24, &bytes, &size, &error),
                     MTS_STATUS_OK);
    assert_int_equal(mts_import_tensor(bytes, size, &arena, &want, &error), MTS_STATUS_OK);
    check(mts_session_output(session, name, 0, &got), "output", name);
    const size_t count = mts_shape_count(&want.shape);
    assert_int_equal(got.bytes, count * sizeof(float));
    const float *a = got.data, *b = want.data;
    const data_difference found = data_compare(a, b, count, RTOL, ATOL);
    if (found.count) {
        print_error("%s on %s: %zu of %zu elements differ, worst [%zu]: %g instead of %g\n", name, device,
                    found.count, count, found.worst, (double)a[found.worst], (double)b[found.worst]);
        fail();
    }
    mts_arena_release(&arena);
    mts_alloc_free(mts_allocator_default(), bytes);
}

/* Gives the multiply-adds of a run. */
static uint64_t run_on(const char *device, const char *name, const char *path)
{
    mts_runtime_options options;
    mts_runtime *runtime = NULL;
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    mts_session_stats stats = {.size = sizeof stats};
    mts_ticket ticket = 0;
    mts_runtime_options_default(&options);
    options.device = device;
    options.cache_dir = second_device_cache(options.device, WORK);
    options.error_text = error_text;
    options.error_size = sizeof error_text;
    const mts_status status = mts_runtime_create(&options, &runtime);
    if (status == MTS_STATUS_NOT_FOUND) {
        print_message("no device %s here\n", device);
        return 0;
    }
    check(status, "opening", device);
    check(mts_bundle_open(runtime, path, &bundle), "opening", path);
    check(mts_session_create(runtime, bundle, NULL, &session), "session", name);
    give_input(session, bundle, name);
    check(mts_session_submit(session, NULL, &ticket), "submit", name);
    check(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), "wait", name);
    compare(session, name, device);
    check(mts_session_stats_get(session, &stats), "stats", name);
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    return stats.mul_adds;
}

static void graph_matches(void **state)
{
    const char *name = *state;
    char path[DATA_PATH];
    (void)snprintf(path, sizeof path, WORK "/%s.mtsb", name);
    compile(name, path);
    const uint64_t work = run_on("opencl:0", name, path);
    if (work == 0 || work < REFERENCE_MOST) {
        (void)run_on("reference", name, path);
    }
    (void)remove(path);
    matched++;
}

int main(void)
{
    static char names[9][16] = {"bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
                                "shufflenet",   "squeezenet",  "vgg19",        "zfnet512"};
    struct CMUnitTest tests[9];
    (void)data_path(MTS_SOURCE_DIR, "onnx/light", folder);
    if (!data_exists(folder)) {
        printf("skipped: no graphs at %s\n", folder);
        return DATA_SKIPPED;
    }
    if (mts_os_directory_make(WORK, NULL) != MTS_STATUS_OK) {
        printf("cannot make %s\n", WORK);
        return 1;
    }
    for (int i = 0; i < 9; i++) {
        tests[i] =
            (struct CMUnitTest){.name = names[i], .test_func = graph_matches, .initial_state = names[i]};
    }
    const int failed = cmocka_run_group_tests_name("light ONNX graphs import and match", tests, NULL, NULL);
    printf("%u of 9 light graphs match\n", matched);
    return failed;
}
