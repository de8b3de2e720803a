/*
 * param_buffer.c: appending to the kernel parameter buffer.
 */
#include "lower/param_buffer.h"

#include <string.h>

void mts_param_buffer_init(mts_param_buffer *buffer, const mts_allocator *allocator)
{
    *buffer = (mts_param_buffer){.allocator = allocator};
}

void mts_param_buffer_release(mts_param_buffer *buffer)
{
    mts_alloc_free(buffer->allocator, buffer->words);
    *buffer = (mts_param_buffer){.allocator = buffer->allocator};
}

uint32_t mts_param_buffer_add(mts_param_buffer *buffer, const void *data, size_t words)
{
    const size_t first = buffer->count;
    if (buffer->failed || first + words >= UINT32_MAX ||
        !mts_alloc_grow(buffer->allocator, (void **)&buffer->words, &buffer->capacity, first + words,
                        sizeof *buffer->words)) {
        buffer->failed = true;
        return 0;
    }
    if (words > 0) {
        memcpy(buffer->words + first, data, words * sizeof *buffer->words);
    }
    buffer->count += words;
    return (uint32_t)first;
}

uint32_t mts_param_buffer_identity(mts_param_buffer *buffer, uint32_t count)
{
    if (buffer->identity_count >= count) {
        return buffer->identity;
    }
    /* twice as long as asked, so that growing layers do not each leave a run behind */
    const uint32_t length = count < UINT32_MAX / 4 ? count * 2 : count;
    const uint32_t first = (uint32_t)buffer->count;
    for (uint32_t i = 0; i < length && !buffer->failed; i++) {
        mts_param_buffer_add(buffer, &i, 1);
    }
    if (!buffer->failed) {
        buffer->identity = first;
        buffer->identity_count = length;
    }
    return first;
}
