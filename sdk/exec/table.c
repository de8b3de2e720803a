/*
 * table.c: appending to the launch table.
 */
#include "exec/table.h"

#include <string.h>

void mts_table_init(mts_table *table, const mts_allocator *allocator)
{
    *table = (mts_table){.allocator = allocator};
}

void mts_table_release(mts_table *table)
{
    mts_alloc_free(table->allocator, table->words);
    *table = (mts_table){.allocator = table->allocator};
}

uint32_t mts_table_add(mts_table *table, const void *data, size_t words)
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

uint32_t mts_table_identity(mts_table *table, uint32_t count)
{
    if (table->identity_count >= count) {
        return table->identity;
    }
    /* twice as long as asked, so that growing layers do not each leave a run behind */
    const uint32_t length = count < UINT32_MAX / 4 ? count * 2 : count;
    const uint32_t first = (uint32_t)table->count;
    for (uint32_t i = 0; i < length && !table->failed; i++) {
        mts_table_add(table, &i, 1);
    }
    if (!table->failed) {
        table->identity = first;
        table->identity_count = length;
    }
    return first;
}
