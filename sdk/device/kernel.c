/*
 * kernel.c: the program text of a kernel as a whole. The table of kernels is generated.
 */
#include "device/kernel.h"

#include <string.h>

#include "base/hash.h"

static size_t head_length(const mts_kernel_source *kernel)
{
    return kernel->head ? strlen(kernel->head) : 0;
}

size_t mts_kernel_length(const mts_kernel_source *kernel)
{
    return head_length(kernel) + strlen(kernel->source);
}

uint64_t mts_kernel_hash(const mts_kernel_source *kernel, uint64_t seed)
{
    if (kernel->head) {
        seed = mts_hash(kernel->head, strlen(kernel->head), seed);
    }
    return mts_hash(kernel->source, strlen(kernel->source), seed);
}

char *mts_kernel_text(const mts_kernel_source *kernel, const mts_allocator *allocator)
{
    const size_t head = head_length(kernel), length = strlen(kernel->source);
    char *text = mts_alloc_zero(allocator, head + length + 1, 1);
    if (text) {
        if (head > 0) {
            memcpy(text, kernel->head, head);
        }
        memcpy(text + head, kernel->source, length);
    }
    return text;
}
