/*
 * table.c: appending to the launch table.
 */
#include "lower/param_buffer.h"

#include <string.h>

void mts_param_buffer_init(mts_param_buffer *table, const mts_allocator *allocator)
{
    *table = (mts_param_buffer){.allocator = allocator};
}

void mts_param_buffer_release(mts_param_buffer *table)
{
    mts_alloc_free(table->allocator, table->words);
    *table = (mts_param_buffer){.allocator = table->allocator};
}

uint32_t mts_param_buffer_add(mts_param_buffer *table, const void *data, size_t words)
{
    const size_t first = table->count;
    if (table->failed || first + words >= UINT32_MAX ||
        !mts_alloc_grow(table->allocator, (void **)&table->words, &table->capacity, first + words,
                        sizeof *table->words)) {
        table->failed = true;
        return 0;
    }
    if (words > 0) {
        memcpy(table->words + first, data, words * sizeof *table->words);
    }
    table->count += words;
    return (uint32_t)first;
}

uint32_t mts_param_buffer_identity(mts_param_buffer *table, uint32_t count)
{
    if (table->identity_count >= count) {
        return table->identity;
    }
    /* twice as long as asked, so that growing layers do not each leave a run behind */
    const uint32_t length = count < UINT32_MAX / 4 ? count * 2 : count;
    const uint32_t first = (uint32_t)table->count;
    for (uint32_t i = 0; i < length && !table->failed; i++) {
        mts_param_buffer_add(table, &i, 1);
    }
    if (!table->failed) {
        table->identity = first;
        table->identity_count = length;
    }
    return first;
}
