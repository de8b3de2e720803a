/*
 * strings.c: see strings.h.
 */
#include "compiler/models/strings.h"

#include <string.h>

#include "base/hash.h"
#include "base/size.h"
#include "base/utf8.h"

static bool same_text(const void *data, uint32_t offset, const void *key)
{
    return strcmp((const char *)data + offset, key) == 0;
}

static bool append(mts_strings *s, const char *text, uint32_t *offset)
{
    const size_t length = strlen(text) + 1;
    size_t end = 0;
    void *data = s->data;
    if (!mts_size_add(s->size, length, &end) || end >= UINT32_MAX ||
        !mts_alloc_grow(s->allocator, &data, &s->capacity, end, 1)) {
        return false;
    }
    s->data = data;
    memcpy(s->data + s->size, text, length);
    *offset = (uint32_t)s->size;
    s->size = end;
    return true;
}

static bool add_clean(mts_strings *s, const char *text, uint32_t *offset)
{
    const uint64_t hash = mts_hash_text(text);
    *offset = mts_map_find(&s->map, hash, same_text, s->data, text);
    return *offset != MTS_MAP_NONE || (append(s, text, offset) && mts_map_add(&s->map, hash, *offset));
}

void mts_strings_init(mts_strings *strings, const mts_allocator *allocator)
{
    *strings = (mts_strings){.allocator = allocator, .map = {.allocator = allocator}};
}

void mts_strings_release(mts_strings *strings)
{
    mts_alloc_free(strings->allocator, strings->data);
    mts_map_release(&strings->map);
}

bool mts_strings_add(mts_strings *strings, const char *text, uint32_t *offset)
{
    char *clean = mts_alloc_string(strings->allocator, text);
    if (!clean) {
        return false;
    }
    mts_utf8_clean(clean, strlen(clean));
    const bool done = add_clean(strings, clean, offset);
    mts_alloc_free(strings->allocator, clean);
    return done;
}
