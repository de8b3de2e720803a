/*
 * libFuzzer target: any bytes as an ONNX model, through import, folding and export.
 */
#include <stddef.h>
#include <stdint.h>

#include "compiler/emit/onnx.h"
#include "compiler/import/import.h"
#include "compiler/passes/fold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const mts_allocator *allocator = mts_allocator_default();
    mts_import_options options = mts_import_options_default();
    options.bytes_most = (size_t)64 << 20;
    options.nodes_most = 2000;
    mts_arena arena;
    mts_arena_init(&arena, allocator);
    mts_graph *imported = NULL, *folded = NULL;
    mts_error error;
    if (mts_import_memory(data, size, "fuzz.onnx", &options, &arena, &imported, &error) == MTS_STATUS_OK &&
        mts_fold(imported, &arena, &folded, &error) == MTS_STATUS_OK) {
        if (mts_graph_verify(folded, &error) != MTS_STATUS_OK) {
            __builtin_trap(); /* a finding: what is imported must be a valid graph */
        }
        void *bytes = NULL;
        size_t length = 0;
        (void)mts_onnx_export(folded, allocator, &bytes, &length, &error);
        mts_alloc_free(allocator, bytes);
    }
    mts_arena_release(&arena);
    return 0;
}
