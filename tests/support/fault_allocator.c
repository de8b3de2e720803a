/*
 * fault_allocator.c: see fault_allocator.h.
 */
#include "support/fault_allocator.h"

#include <stdlib.h>

static void *fault_alloc(void *context, size_t size)
{
    mts_fault_allocator *fault = context;
    fault->calls++;
    fault->bytes = size > fault->bytes ? size : fault->bytes;
    if (fault->calls == fault->fail_at) {
        return NULL;
    }
    void *memory = malloc(size);
    fault->alive += memory != NULL;
    return memory;
}

static void fault_free(void *context, void *memory)
{
    mts_fault_allocator *fault = context;
    fault->alive -= memory != NULL;
    free(memory);
}

void mts_fault_allocator_init(mts_fault_allocator *fault, size_t fail_at)
{
    *fault = (mts_fault_allocator){.fail_at = fail_at};
    fault->allocator = (mts_allocator){.context = fault, .alloc = fault_alloc, .free = fault_free};
}
