/*
 * zip_fixture.h: a bundle of small classifiers and images for it, for the tests of zipping.
 */
#ifndef MTS_TESTS_COMPRESS_ZIP_FIXTURE_H
#define MTS_TESTS_COMPRESS_ZIP_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "compiler/models/models.h"
#include "mts/mtsz.h"
#include "compiler/passes/clone.h"
#include "compiler/passes/family.h"
#include "support/onnx_model.h"

#define IMAGES 96u
#define LAYERS 20u

static char original[64], zipped[64], other[64], model[64];
static char sentence[512];
static mtsc_options options;
static mtsz_data data;

/* Soft blobs: images whose neighbouring pixels have to do with each other. */
static inline int image(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    (void)context;
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            for (uint32_t c = 0; c < 3; c++) {
                const double wave =
                    sin(0.07 * (index % 23 + 1) * x + index) * cos(0.05 * (index % 19 + 1) * y + c);
                rgb[(y * width + x) * 3 + c] =
                    (unsigned char)(127.5 + 90.0 * wave + 30.0 * sin(0.9 * x * c + y));
            }
        }
    }
    return 0;
}

static inline int black(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    (void)context;
    (void)index;
    memset(rgb, 0, (size_t)width * height * 3);
    return 0;
}

static inline int broken(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    return index == 5 || image(context, index, width, height, rgb);
}

static inline void compile_small(const char *path)
{
    mtsc_compiler *compiler = NULL;
    assert_int_equal(mtsc_compiler_create(&options, &compiler), MTS_STATUS_OK);
    assert_int_equal(mtsc_compiler_add_config(compiler, MTS_SOURCE_DIR "/apps/mts/demo/small.json"),
                     MTS_STATUS_OK);
    assert_int_equal(mtsc_compiler_write(compiler, path, NULL), MTS_STATUS_OK);
    mtsc_compiler_destroy(&compiler);
}

static inline int set_up(void **state)
{
    (void)state;
    (void)snprintf(original, sizeof original, "zip-test-%ld.mtsb", (long)getpid());
    (void)snprintf(zipped, sizeof zipped, "zip-test-%ld-out.mtsb", (long)getpid());
    (void)snprintf(other, sizeof other, "zip-test-%ld-other.mtsb", (long)getpid());
    (void)snprintf(model, sizeof model, "zip-test-%ld.onnx", (long)getpid());
    mtsc_options_default(&options);
    options.error_text = sentence;
    options.error_size = sizeof sentence;
    mtsz_data_default(&data);
    data.count = IMAGES;
    data.image = image;
    compile_small(original);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    (void)unlink(original);
    (void)unlink(zipped);
    (void)unlink(other);
    (void)unlink(model);
    return 0;
}

static const char *const three[] = {"object", "animal", "legs"};

static inline mtsz_zip_options zip_options(double share, uint32_t tasks)
{
    mtsz_zip_options zip;
    mtsz_zip_options_default(&zip);
    zip.share = share;
    zip.tasks = three;
    zip.task_count = tasks;
    return zip;
}

static inline mtsz_zip_report must_zip(const char *from, const mtsz_zip_options *zip)
{
    mtsz_zip_report report = {.size = sizeof report};
    if (mtsz_zip(from, &data, zip, zipped, &options, &report) != MTS_STATUS_OK) {
        fail_msg("%s", sentence);
    }
    return report;
}

static inline void expect_refused(mts_status status, const char *from, const mtsz_data *images,
                                  const mtsz_zip_options *zip, const char *words)
{
    (void)unlink(zipped);
    sentence[0] = '\0';
    assert_int_equal(mtsz_zip(from, images, zip, zipped, &options, NULL), status);
    if (!strstr(sentence, words)) {
        fail_msg("'%s' is not in: %s", words, sentence);
    }
    assert_int_not_equal(access(zipped, F_OK), 0);
}

static inline uint64_t hash_of(const char *path)
{
    void *bytes = NULL;
    size_t size = 0;
    mts_error error;
    assert_int_equal(mts_os_file_read(mts_allocator_default(), path, 1u << 28, &bytes, &size, &error),
                     MTS_STATUS_OK);
    const uint64_t hash = mts_hash(bytes, size, 1);
    mts_alloc_free(mts_allocator_default(), bytes);
    return hash;
}

/* Outputs of a task on the reference device for one image of 32 x 32, one thread of arithmetic: bits can be
   compared. */
static inline size_t answer_to(const char *bundle_path, const char *task, const unsigned char *rgb,
                               float *out, size_t room)
{
    mts_runtime *runtime = NULL;
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    mts_runtime_options runtime_options;
    mts_session_options session_options;
    mts_ticket ticket;
    mts_tensor tensor;
    mts_runtime_options_default(&runtime_options);
    runtime_options.device = "reference";
    mts_session_options_default(&session_options);
    session_options.tasks = &task;
    session_options.task_count = 1;
    const mts_frame frame = {
        .size = sizeof frame, .data = rgb, .width = 32, .height = 32, .format = MTS_PIXEL_FORMAT_RGB};
    assert_int_equal(mts_runtime_create(&runtime_options, &runtime), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_open(runtime, bundle_path, &bundle), MTS_STATUS_OK);
    assert_int_equal(mts_session_create(runtime, bundle, &session_options, &session), MTS_STATUS_OK);
    assert_int_equal(mts_session_submit(session, &frame, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    assert_int_equal(mts_session_output(session, task, 0, &tensor), MTS_STATUS_OK);
    const size_t count = tensor.bytes / sizeof(float);
    assert_true(count <= room);
    memcpy(out, tensor.data, tensor.bytes);
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    return count;
}

static inline size_t answer(const char *bundle_path, const char *task, uint32_t index, float *out,
                            size_t room)
{
    unsigned char rgb[32 * 32 * 3];
    (void)image(NULL, index, 32, 32, rgb);
    return answer_to(bundle_path, task, rgb, out, room);
}

static uint32_t told, told_shared;

static inline void count_layer(void *context, const mtsz_zip_layer *layer)
{
    (void)context;
    told++;
    told_shared += layer->shared;
    assert_non_null(layer->name);
    assert_non_null(layer->task);
    assert_true(layer->change >= 0.0 && layer->change <= 100.0);
    assert_true(!layer->rolled_back || (layer->shared == 0 && layer->change > 0.0));
    assert_true(layer->seconds_left >= 0.0);
    assert_true(layer->shared % 4 == 0 || layer->shared == layer->channels);
}

#endif
