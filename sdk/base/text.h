/*
 * text.h: a growing string builder, used for build options, JSON, reports and Graphviz.
 *
 * Appending after a failed allocation does nothing, so a caller checks `failed` once, at
 * the end.
 */
#ifndef MTS_BASE_TEXT_H
#define MTS_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/status.h"

typedef struct mts_text {
    const mts_allocator *allocator;
    char *data; /* terminated; NULL while empty */
    size_t length, capacity;
    bool failed;
} mts_text;

void mts_text_init(mts_text *text, const mts_allocator *allocator);
void mts_text_release(mts_text *text);
void mts_text_add(mts_text *text, const char *format, ...) MTS_PRINTF(2, 3);
/* Appends a JSON string literal, quotes and escapes included; control bytes and invalid
   UTF-8 are escaped. */
void mts_text_add_json(mts_text *text, const char *value);
/* The terminated string, "" while empty. */
const char *mts_text_get(const mts_text *text);

#endif
