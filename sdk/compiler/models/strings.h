/*
 * strings.h: the strings of a bundle, each stored once and named by its offset.
 */
#ifndef MTS_COMPILER_MODELS_STRINGS_H
#define MTS_COMPILER_MODELS_STRINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

typedef struct mts_strings {
    const mts_allocator *allocator;
    char *data; /* terminated strings, one after another */
    size_t size, capacity;
    mts_map map; /* of offsets */
} mts_strings;

void mts_strings_init(mts_strings *strings, const mts_allocator *allocator);
void mts_strings_release(mts_strings *strings);
/* Offset of the text; false if memory is short or there are 4 GiB of strings. Bytes that
   may not stand in a bundle (control characters, broken UTF-8) are replaced by '?'. */
bool mts_strings_add(mts_strings *strings, const char *text, uint32_t *offset);

#endif
