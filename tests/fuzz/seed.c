/*
 * Writes the seeds of the fuzzers into folders: a bundle with a bit of everything, and a TensorFlow Lite model.
 * Usage: fuzz_seed ARCHIVES MODELS
 */
#include <stdio.h>

#include "compiler/models/bundle.h"
#include "compiler/passes/discover.h"
#include "platform/os/os.h"
#include "support/sample_archive.h"
#include "support/tflite_model.h"

/* A quantised convolution with metadata and labels. */
static mts_status write_model(const char *folder, mts_error *error)
{
    static const int8_t weight[4] = {4, 0, -128, 127};
    static const float scales[2] = {0.5f, 0.25f}, mean = 127.5f;
    static const int32_t image[4] = {1, 1, 2, 2};
    char path[512];
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
    const tflite_bytes *file = tflite_file(&model);
    (void)snprintf(path, sizeof path, "%s/sample.tflite", folder);
    const mts_status status = mts_os_file_write(path, file->data, file->size, error);
    tflite_end(&model);
    return status;
}

int main(int count, char **arguments)
{
    char path[512];
    mts_discover_options options = {0};
    mts_discover_report report;
    mts_bundle_bytes bytes = {.allocator = mts_allocator_default()};
    mts_archive *archive = count == 3 ? mts_sample_archive(mts_allocator_default()) : NULL;
    if (!archive || mts_discover(archive, &options, &report, NULL) != MTS_STATUS_OK ||
        mts_bundle_encode(archive, mts_allocator_default(), &bytes, NULL) != MTS_STATUS_OK) {
        fprintf(stderr, "usage: fuzz_seed ARCHIVES MODELS\n");
        mts_archive_destroy(&archive);
        return 2;
    }
    (void)snprintf(path, sizeof(path), "%s/sample.mtsb", arguments[1]);
    mts_error error = {0};
    mts_status status = mts_os_file_write(path, bytes.data, bytes.size, &error);
    if (status == MTS_STATUS_OK) {
        status = write_model(arguments[2], &error);
    }
    mts_bundle_bytes_release(&bytes);
    mts_archive_destroy(&archive);
    return status == MTS_STATUS_OK ? 0 : 1;
}
