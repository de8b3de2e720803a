/*
 * Writes the seeds of the fuzzers into folders: a bundle with a bit of everything, a TensorFlow Lite model, and one with
 * each of the operators; and a patch that leads from the bundle to itself.
 * Usage: fuzz_seed ARCHIVES MODELS PATCHES
 */
#include <stdio.h>

#include "compiler/import/tflite/tflite.h"
#include "compiler/models/bundle.h"
#include "compiler/models/patch.h"
#include "compiler/passes/discover.h"
#include "platform/os/os.h"
#include "support/sample_archive.h"
#include "support/tflite_model.h"

static mts_status write_file(const char *folder, const char *name, tflite_model *model, mts_error *error)
{
    char path[512];
    const tflite_bytes *file = tflite_file(model);
    (void)snprintf(path, sizeof path, "%s/%s.tflite", folder, name);
    const mts_status status = mts_os_file_write(path, file->data, file->size, error);
    tflite_end(model);
    return status;
}

/* A quantised convolution with metadata and labels. */
static mts_status write_model(const char *folder, mts_error *error)
{
    static const int8_t weight[4] = {4, 0, -128, 127};
    static const float scales[2] = {0.5f, 0.25f}, mean = 127.5f;
    static const int32_t image[4] = {1, 1, 2, 2};
    tflite_model model;
    tflite_begin(&model);
    const int x = tflite_input(&model, "x", 4, image), y = tflite_value(&model, "y", 4, image);
    const int w = tflite_add(&model, "w", TFLITE_INT8, 4, (const int32_t[]){2, 1, 1, 2}, weight, 4);
    model.tensors[w].scales = scales;
    model.tensors[w].scale_count = 2;
    tflite_node(&model, 3, y, x, w, -1);
    tflite_option(&model, 1, 1);
    tflite_option(&model, 2, 1);
    tflite_output(&model, y);
    model.means = model.deviations = &mean;
    model.mean_count = 1;
    model.label_file = "labels.txt";
    model.labels = "cat\ndog\n";
    return write_file(folder, "sample", &model, error);
}

/* An image, and two operands that may be a shape, axes, sizes or weights; few operators take these as they are. */
static mts_status write_operators(const char *folder, mts_error *error)
{
    static const int32_t image[4] = {1, 2, 2, 4}, numbers[4] = {1, 1, 1, 1};
    static const float weights[4] = {1, 2, 3, 4};
    mts_status status = MTS_STATUS_OK;
    uint32_t code = 0;
    const char *name = NULL;
    for (size_t i = 0; status == MTS_STATUS_OK && (name = mts_tflite_operator_at(i, &code)) != NULL; i++) {
        tflite_model model;
        tflite_begin(&model);
        const int x = tflite_input(&model, "x", 4, image), y = tflite_value(&model, "y", 4, image);
        const int whole = tflite_ints(&model, "n", 4, numbers);
        const int real = tflite_floats(&model, "w", 4, (const int32_t[]){4, 1, 1, 1}, weights);
        tflite_node(&model, (int)code, y, x, i % 2 ? whole : real, i % 2 ? real : whole);
        model.operators[0].custom = code == TFLITE_CUSTOM ? name : NULL;
        tflite_output(&model, y);
        status = write_file(folder, name, &model, error);
    }
    return status;
}

static mts_status write_patch(const char *folder, const mts_bundle_bytes *bundle, mts_error *error)
{
    char path[512];
    mts_bundle_bytes patch;
    const mts_patch_file file = {bundle->data, bundle->size, "sample"};
    (void)snprintf(path, sizeof path, "%s/sample.mtsp", folder);
    mts_status status = mts_patch_make(&file, &file, mts_allocator_default(), &patch, NULL, error);
    MTS_TRY(status, mts_os_file_write(path, patch.data, patch.size, error));
    mts_bundle_bytes_release(&patch);
    return status;
}

int main(int count, char **arguments)
{
    char path[512];
    mts_discover_options options = {0};
    mts_discover_report report;
    mts_bundle_bytes bytes = {.allocator = mts_allocator_default()};
    mts_archive *archive = count == 4 ? mts_sample_archive(mts_allocator_default()) : NULL;
    if (!archive || mts_discover(archive, &options, &report, NULL) != MTS_STATUS_OK ||
        mts_bundle_encode(archive, mts_allocator_default(), &bytes, NULL) != MTS_STATUS_OK) {
        fprintf(stderr, "usage: fuzz_seed ARCHIVES MODELS PATCHES\n");
        mts_archive_destroy(&archive);
        return 2;
    }
    (void)snprintf(path, sizeof(path), "%s/sample.mtsb", arguments[1]);
    mts_error error = {0};
    mts_status status = mts_os_file_write(path, bytes.data, bytes.size, &error);
    if (status == MTS_STATUS_OK) {
        status = write_model(arguments[2], &error);
        MTS_TRY(status, write_operators(arguments[2], &error));
        MTS_TRY(status, write_patch(arguments[3], &bytes, &error));
    }
    mts_bundle_bytes_release(&bytes);
    mts_archive_destroy(&archive);
    return status == MTS_STATUS_OK ? 0 : 1;
}
