/*
 * table.h: the launch table while it is built: 32-bit words, appended, uploaded once.
 *
 * After a failed allocation appending is a no-op that returns 0; mts_table.failed tells at the end.
 */
#ifndef MTS_EXEC_TABLE_H
#define MTS_EXEC_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"

typedef struct mts_table {
    const mts_allocator *allocator;
    uint32_t *words;
    size_t count, capacity;
    uint32_t identity, identity_count; /* index and length of the run 0, 1, 2, ... */
    bool failed;
} mts_table;

void mts_table_init(mts_table *table, const mts_allocator *allocator);
void mts_table_release(mts_table *table);
/* Appends `words` words; returns the index of the first. */
uint32_t mts_table_add(mts_table *table, const void *data, size_t words);
/* Index of a run 0, 1, .. that is at least `count` long. */
uint32_t mts_table_identity(mts_table *table, uint32_t count);

#endif
