/*
 * param_buffer.h: the kernel parameter buffer while it is built: 32-bit words, appended,
 * uploaded once.
 *
 * After a failed allocation appending is a no-op that returns 0; mts_param_buffer.failed
 * tells at the end.
 */
#ifndef MTS_LOWER_PARAM_BUFFER_H
#define MTS_LOWER_PARAM_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"

typedef struct mts_param_buffer {
    const mts_allocator *allocator;
    uint32_t *words;
    size_t count, capacity;
    uint32_t identity, identity_count; /* index and length of the run 0, 1, 2, ... */
    bool failed;
} mts_param_buffer;

void mts_param_buffer_init(mts_param_buffer *buffer, const mts_allocator *allocator);
void mts_param_buffer_release(mts_param_buffer *buffer);
/* Appends `words` words; returns the index of the first. */
uint32_t mts_param_buffer_add(mts_param_buffer *buffer, const void *data, size_t words);
/* Index of a run 0, 1, .. that is at least `count` long. */
uint32_t mts_param_buffer_identity(mts_param_buffer *buffer, uint32_t count);

#endif
