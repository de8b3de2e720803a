/*
 * libFuzzer target: any options of zip and prune over a bundle of two small networks.
 */
#include <string.h>

#include "fuzz/fuzz_bytes.h"
#include "mts/mtsc.h"
#include "mts/mtsz.h"
#include "support/onnx_model.h"

static char text[512];

static void put_bundle(const char *path)
{
    static float weights[4 * 3 * 3 * 3], dense[4 * 3];
    const char *model_path = fuzz_path(".onnx");
    mtsc_options options;
    mtsc_compiler *compiler = NULL;
    for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++) {
        weights[i] = (float)((int)(i * 7 % 11) - 5) / 8.0f;
        dense[i % 12] = (float)((int)(i * 5 % 13) - 6) / 4.0f;
    }
    onnx_model model;
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, 4, (const int64_t[]){1, 3, 8, 8});
    onnx_model_floats(&model, "w", 4, (const int64_t[]){4, 3, 3, 3}, weights);
    onnx_model_floats(&model, "d", 2, (const int64_t[]){4, 3}, dense);
    onnx_model_node(&model, "Conv", "x,w", "c");
    onnx_model_node(&model, "Relu", "c", "r");
    onnx_model_node(&model, "GlobalAveragePool", "r", "p");
    onnx_model_node(&model, "Flatten", "p", "f");
    onnx_model_node(&model, "Gemm", "f,d", "y");
    onnx_model_output(&model, "y");
    const onnx_bytes *file = onnx_model_file(&model);
    fuzz_put(model_path, file->data, file->size);
    onnx_model_end(&model);
    mtsc_options_default(&options);
    mtsc_task task;
    mtsc_task_default(&task);
    task.model = model_path;
    task.color = MTSC_COLOR_RGB;
    if (mtsc_compiler_create(&options, &compiler) != MTS_STATUS_OK) {
        abort();
    }
    for (int i = 0; i < 2; i++) {
        task.name = i ? "b" : "a";
        if (mtsc_compiler_add(compiler, &task) != MTS_STATUS_OK) {
            abort();
        }
    }
    if (mtsc_compiler_write(compiler, path, NULL) != MTS_STATUS_OK) {
        abort();
    }
    mtsc_compiler_destroy(&compiler);
}

static int picture(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    for (size_t i = 0; i < (size_t)3 * width * height; i++) {
        rgb[i] = (unsigned char)(i * (index + 7) + *(const uint8_t *)context);
    }
    return 0;
}

static double number(fuzz_bytes *in)
{
    static const double odd[] = {-1, 0, 1, 1e30, -1e-30, 0.0 / 0.0, 1.0 / 0.0};
    const uint32_t kind = fuzz_u8(in);
    return kind < 200 ? kind / 200.0 : odd[kind % 7];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char bundle[64], out[64];
    static const char *const names[] = {"a", "b", "c", ""};
    fuzz_bytes in = {data, size};
    uint8_t seed = (uint8_t)fuzz_u8(&in);
    const char *tasks[3], *layers[2];
    mtsc_options options;
    mtsz_data pictures;
    if (!bundle[0]) {
        (void)snprintf(bundle, sizeof bundle, "%s", fuzz_path(".mtsb"));
        (void)snprintf(out, sizeof out, "%s", fuzz_path(".out.mtsb"));
        put_bundle(bundle);
    }
    mtsc_options_default(&options);
    options.error_text = text;
    options.error_size = sizeof text;
    mtsz_data_default(&pictures);
    pictures.count = fuzz_u8(&in) % 6;
    pictures.context = &seed;
    pictures.image = fuzz_u8(&in) % 8 ? picture : NULL;
    for (int i = 0; i < 3; i++) {
        tasks[i] = names[fuzz_u8(&in) % 4];
        layers[i % 2] = fuzz_u8(&in) % 2 ? "Conv" : "";
    }
    text[0] = '\0';
    mts_status status = MTS_STATUS_OK;
    if (fuzz_u8(&in) % 2) {
        mtsz_zip_options zip;
        mtsz_zip_options_default(&zip);
        zip.tasks = fuzz_u8(&in) % 2 ? tasks : NULL;
        zip.task_count = zip.tasks ? fuzz_u8(&in) % 4 : 0;
        zip.share = number(&in);
        zip.form = (mtsz_form)fuzz_size(&in, 2);
        zip.assignment = (mtsz_assignment)fuzz_size(&in, 2);
        zip.round = fuzz_size(&in, 8);
        zip.layers = fuzz_u8(&in) % 4 ? NULL : layers;
        zip.layer_count = zip.layers ? fuzz_u8(&in) % 3 : 0;
        zip.max_change = 100 * number(&in);
        zip.low_rank = fuzz_u8(&in) % 4 ? 0.0 : number(&in);
        zip.max_rank = fuzz_size(&in, 64);
        status = mtsz_zip(bundle, &pictures, &zip, out, &options, NULL);
    } else {
        mtsz_prune_options prune;
        mtsz_prune_options_default(&prune);
        prune.tasks = fuzz_u8(&in) % 2 ? tasks : NULL;
        prune.task_count = prune.tasks ? fuzz_u8(&in) % 4 : 0;
        prune.criterion = (mtsz_criterion)fuzz_size(&in, 4);
        prune.target = (mtsz_target)fuzz_size(&in, 4);
        prune.ratio = number(&in);
        prune.round = fuzz_size(&in, 8);
        prune.refit = (int)fuzz_u8(&in) % 2;
        prune.together = (int)fuzz_u8(&in) % 2;
        status = mtsz_prune(bundle, &pictures, &prune, out, &options, NULL);
    }
    if (status == MTS_STATUS_INTERNAL || (status != MTS_STATUS_OK && !text[0])) {
        abort(); /* a finding */
    }
    return 0;
}
