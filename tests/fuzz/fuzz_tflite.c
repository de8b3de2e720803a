/*
 * libFuzzer target: any bytes as a TensorFlow Lite model, through import and folding; and as one with metadata.
 */
#include <stddef.h>
#include <stdint.h>

#include "compiler/import/tflite/tflite.h"
#include "compiler/passes/fold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mts_import_options options = mts_import_options_default();
    options.bytes_most = (size_t)64 << 20;
    options.nodes_most = 2000;
    mts_arena arena;
    mts_arena_init(&arena, mts_allocator_default());
    mts_graph *imported = NULL, *folded = NULL;
    mts_import_notes notes;
    mts_error error;
    if (mts_tflite_import(data, size, &options, &arena, &imported, &error) == MTS_STATUS_OK &&
        mts_fold(imported, &arena, &folded, &error) == MTS_STATUS_OK &&
        mts_graph_verify(folded, &error) != MTS_STATUS_OK) {
        __builtin_trap(); /* a finding: what is imported must be a valid graph */
    }
    (void)mts_tflite_notes(data, size, &arena, &notes, &error);
    mts_arena_release(&arena);
    return 0;
}
