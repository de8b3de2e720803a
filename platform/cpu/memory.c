/*
 * memory.c: memory whose vectors lie in one line of the cache each.
 */
#include "platform/cpu/cpu.h"

#define ALIGNMENT 64u

void *mts_cpu_alloc(const mts_allocator *allocator, size_t size, void **aligned)
{
    unsigned char *block =
        size <= SIZE_MAX - ALIGNMENT ? mts_alloc_zero(allocator, size + ALIGNMENT, 1) : NULL;
    *aligned = block ? block + (ALIGNMENT - (uintptr_t)block % ALIGNMENT) % ALIGNMENT : NULL;
    return block;
}
