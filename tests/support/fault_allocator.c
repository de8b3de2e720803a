/*
 * fault_allocator.c: see fault_allocator.h.
 */
#include "support/fault_allocator.h"

#include <stdlib.h>
#include <string.h>

static void *fault_alloc(void *context, size_t size)
{
    mts_fault_allocator *fault = context;
    const size_t call = atomic_fetch_add(&fault->calls, 1) + 1;
    if (size > atomic_load(&fault->bytes)) {
        atomic_store(&fault->bytes, size);
    }
    if (call == fault->fail_at) {
        return NULL;
    }
    void *memory = malloc(size);
    atomic_fetch_add(&fault->alive, memory ? 1 : 0);
    return memory;
}

static void fault_free(void *context, void *memory)
{
    mts_fault_allocator *fault = context;
    atomic_fetch_sub(&fault->alive, memory ? 1 : 0);
    free(memory);
}

void mts_fault_allocator_init(mts_fault_allocator *fault, size_t fail_at)
{
    memset(fault, 0, sizeof *fault); /* atomics have no literal */
    fault->fail_at = fail_at;
    fault->allocator = (mts_allocator){.context = fault, .alloc = fault_alloc, .free = fault_free};
}
