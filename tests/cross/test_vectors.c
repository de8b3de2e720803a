/*
 * test_vectors.c: the reference vectors of real networks on a processor that has no compiler of models: device cpu in an
 * emulator. golden/test_vectors.c wrote the bundles, images and outputs into the folder that MTS_TEST_VECTORS names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "base/alloc.h"
#include "mts/mts.h"
#include "platform/os/os.h"
#include "support/data.h"
#include "support/tolerance.h"

#define RTOL 1e-3
#define FILE_MOST (64u << 20)

/* A line of list.txt. */
typedef struct vector {
    char name[64];
    int format;
    unsigned width, height, outputs;
} vector;

static char error_text[1024];

static void check(mts_status status, const char *what, const char *name)
{
    if (status != MTS_STATUS_OK) {
        fail_msg("%s of %s: %s: %s", what, name, mts_status_name(status), error_text);
    }
}

/* A file of the folder; the caller frees it. */
static void *file_of(const char *name, const char *ending, size_t *size)
{
    char path[DATA_PATH];
    void *data = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    (void)snprintf(path, sizeof path, "%s/%s.%s", getenv("MTS_TEST_VECTORS"), name, ending);
    if (mts_os_file_read(mts_allocator_default(), path, FILE_MOST, &data, size, &error) != MTS_STATUS_OK) {
        fail_msg("%s: %s", path, error.text);
    }
    return data;
}

static void run_frame(mts_session *session, const vector *v)
{
    size_t size = 0;
    void *pixels = file_of(v->name, "image", &size);
    const mts_frame frame = {.size = sizeof frame,
                             .data = pixels,
                             .width = v->width,
                             .height = v->height,
                             .format = (mts_pixel_format)v->format};
    mts_ticket ticket = 0;
    check(mts_session_submit(session, &frame, &ticket), "submit", v->name);
    check(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), "wait", v->name);
    mts_alloc_free(mts_allocator_default(), pixels);
}

/* What mts.h promises: of the output's largest magnitude, at least of 1. */
static double tolerance_of(const float *values, size_t count)
{
    double most = 1.0;
    for (size_t i = 0; i < count; i++) {
        most = fabs((double)values[i]) > most ? fabs((double)values[i]) : most;
    }
    return TEST_TOLERANCE_FLOAT32 * most;
}

static void compare(mts_session *session, const vector *v)
{
    for (unsigned i = 0; i < v->outputs; i++) {
        char ending[16];
        size_t size = 0;
        mts_tensor got;
        (void)snprintf(ending, sizeof ending, "out%u", i);
        void *want = file_of(v->name, ending, &size);
        check(mts_session_output(session, v->name, i, &got), "output", v->name);
        assert_int_equal(got.bytes, size);
        const data_difference found = data_compare(got.data, want, size / sizeof(float), RTOL,
                                                   tolerance_of(want, size / sizeof(float)));
        mts_alloc_free(mts_allocator_default(), want);
        if (found.count) {
            fail_msg("%s, output %u: %zu of %zu elements differ, worst by %g", v->name, i, found.count,
                     size / sizeof(float), found.worst_error);
        }
    }
}

static void run_vector(mts_runtime *runtime, const vector *v)
{
    char path[DATA_PATH];
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    mts_session_options options;
    mts_session_options_default(&options);
    (void)snprintf(path, sizeof path, "%s/%s.mtsb", getenv("MTS_TEST_VECTORS"), v->name);
    check(mts_bundle_open(runtime, path, &bundle), "opening", path);
    check(mts_session_create(runtime, bundle, &options, &session), "session", v->name);
    run_frame(session, v);
    compare(session, v);
    print_message("%s agrees\n", v->name);
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
}

static void vectors_match_on_device_cpu(void **state)
{
    (void)state;
    mts_runtime_options options;
    mts_runtime *runtime = NULL;
    size_t size = 0;
    int length = 0;
    uint32_t count = 0;
    unsigned expected = 0;
    mts_runtime_options_default(&options);
    options.device = "cpu";
    options.error_text = error_text;
    options.error_size = sizeof error_text;
    check(mts_runtime_create(&options, &runtime), "opening", "cpu");
    char *list = file_of("list", "txt", &size);
    const char *at = list;
    vector v;
    assert_int_equal(sscanf(at, "%u%n", &expected, &length), 1);
    at += length;
    while (sscanf(at, "%63s %d %u %u %u%n", v.name, &v.format, &v.width, &v.height, &v.outputs, &length) ==
           5) {
        run_vector(runtime, &v);
        at += length;
        count++;
    }
    mts_alloc_free(mts_allocator_default(), list);
    mts_runtime_destroy(&runtime);
    assert_true(count > 0);
    assert_int_equal(count, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(vectors_match_on_device_cpu)};
    if (!getenv("MTS_TEST_VECTORS")) {
        printf("skipped: MTS_TEST_VECTORS names no folder that golden_vectors wrote\n");
        return DATA_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
