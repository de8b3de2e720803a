/*
 * import_fault.h: imports of a model whose allocations fail in turn.
 */
#ifndef MTS_TESTS_IMPORT_FAULT_H
#define MTS_TESTS_IMPORT_FAULT_H

#include "compiler/import/import.h"
#include "support/fault_each.h"

typedef struct import_bytes_of {
    const void *data;
    size_t size;
} import_bytes_of;

static inline mts_status import_once(const mts_allocator *allocator, void *data)
{
    const import_bytes_of *file = data;
    mts_arena small;
    mts_graph *graph = NULL;
    mts_error ignored;
    mts_arena_init(&small, allocator);
    const mts_status status = mts_import_memory(file->data, file->size, "m", NULL, &small, &graph, &ignored);
    mts_arena_release(&small);
    return status;
}

static inline void fault_each_import(const void *data, size_t size)
{
    import_bytes_of file = {data, size};
    mts_fault_each(import_once, &file);
}

#endif
