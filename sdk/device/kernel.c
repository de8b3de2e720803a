/*
 * kernel.c: the program text of a kernel as a whole, unpacked. The table of kernels is
 * generated.
 */
#include "device/kernel.h"

#include <string.h>

#include "base/hash.h"
#include "base/inflate.h"

size_t mts_kernel_length(const mts_kernel_source *kernel)
{
    return kernel->source ? strlen(kernel->source) : (size_t)mts_kernel_head + kernel->length;
}

uint64_t mts_kernel_hash(const mts_kernel_source *kernel, uint64_t seed)
{
    return kernel->source ? mts_hash(kernel->source, strlen(kernel->source), seed)
                          : mts_hash(&kernel->hash, sizeof kernel->hash, seed);
}

char *mts_kernel_text(const mts_kernel_source *kernel, const mts_allocator *allocator)
{
    if (kernel->source) {
        return mts_alloc_string(allocator, kernel->source);
    }
    const size_t end = (size_t)kernel->first + kernel->length;
    char *text = mts_alloc_zero(allocator, end + 1, 1);
    if (text && !mts_inflate(mts_kernel_packed, mts_kernel_packed_size, (unsigned char *)text, end)) {
        mts_alloc_free(allocator, text); /* the stream is part of the library: never */
        return NULL;
    }
    if (text) {
        memmove(text + mts_kernel_head, text + kernel->first, kernel->length);
        text[mts_kernel_head + kernel->length] = '\0';
    }
    return text;
}
