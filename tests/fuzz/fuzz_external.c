/*
 * libFuzzer target: entries of external data, and the file that they name. The input is: how many bytes of text, the
 * keys and values (each with a length before it), and the data file.
 */
#include <string.h>
#include <sys/stat.h>

#include "compiler/import/import.h"
#include "support/onnx_model.h"
#include "fuzz/fuzz_bytes.h"

static void put_entries(onnx_bytes *tensor, fuzz_bytes *in)
{
    static const char *const keys[] = {"location", "offset", "length", "checksum", "basepath"};
    for (uint32_t count = fuzz_u8(in) % 6; count > 0; count--) {
        onnx_bytes entry = {0};
        const char *key = keys[fuzz_u8(in) % 5];
        const uint32_t kind = fuzz_u8(in);
        char value[40];
        size_t length = fuzz_u8(in) % 24;
        length = length < in->left ? length : in->left;
        (void)snprintf(value, sizeof value, "%s", kind % 4 == 0 ? "w.bin" : "");
        if (kind % 4 == 1) {
            (void)snprintf(value, sizeof value, "%u", fuzz_size(in, 64));
        }
        const bool own = kind % 4 > 1;
        onnx_put_bytes(&entry, 1, key, strlen(key));
        onnx_put_bytes(&entry, 2, own ? (const void *)in->at : value, own ? length : strlen(value));
        if (own) {
            in->at += length;
            in->left -= length;
        }
        onnx_put_bytes(tensor, 13, entry.data, entry.size);
        free(entry.data);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char folder[64], model_path[96], data_path[96];
    fuzz_bytes in = {data, size};
    onnx_bytes tensor = {0};
    onnx_model model;
    mts_arena arena;
    mts_graph *graph = NULL;
    mts_error error = {0};
    if (!folder[0]) {
        (void)snprintf(folder, sizeof folder, "%s", fuzz_path(".folder"));
        (void)mkdir(folder, 0700);
        (void)snprintf(model_path, sizeof model_path, "%s/m.onnx", folder);
        (void)snprintf(data_path, sizeof data_path, "%s/w.bin", folder);
    }
    onnx_model_begin(&model, 16);
    onnx_model_input(&model, "x", ONNX_FLOAT, 1, (const int64_t[]){2});
    onnx_put_int(&tensor, 1, (int64_t)fuzz_size(&in, 4));
    onnx_put_int(&tensor, 2, (int64_t)(fuzz_u8(&in) % 20));
    onnx_put_bytes(&tensor, 8, "w", 1);
    put_entries(&tensor, &in);
    onnx_put_int(&tensor, 14, (int64_t)(fuzz_u8(&in) % 4 != 0));
    onnx_put_bytes(&model.graph, 5, tensor.data, tensor.size);
    free(tensor.data);
    onnx_model_node(&model, "Add", "x,w", "y");
    onnx_model_output(&model, "y");
    const onnx_bytes *file = onnx_model_file(&model);
    fuzz_put(model_path, file->data, file->size);
    fuzz_put(data_path, in.at, in.left);
    onnx_model_end(&model);
    mts_arena_init(&arena, mts_allocator_default());
    if (mts_import_file(model_path, NULL, &arena, &graph, &error) != MTS_STATUS_OK && !error.text[0]) {
        abort(); /* a finding */
    }
    mts_arena_release(&arena);
    return 0;
}
