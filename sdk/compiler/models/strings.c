/*
 * strings.c: see strings.h.
 */
#include "compiler/models/strings.h"

#include <string.h>

#include "base/hash.h"
#include "base/size.h"
#include "base/utf8.h"

#define SLOTS_FIRST 256u

static size_t find_slot(const mts_strings *s, const char *text)
{
    size_t at = (size_t)mts_hash(text, strlen(text), 0) & (s->slot_count - 1);
    while (s->slots[at] && strcmp(s->data + s->slots[at] - 1, text) != 0) {
        at = (at + 1) & (s->slot_count - 1);
    }
    return at;
}

static bool grow_slots(mts_strings *s)
{
    if (s->slot_count && s->used * 2 < s->slot_count) {
        return true;
    }
    mts_strings bigger = *s;
    bigger.slot_count = s->slot_count ? s->slot_count * 2 : SLOTS_FIRST;
    bigger.slots = mts_alloc_zero(s->allocator, bigger.slot_count, sizeof(*bigger.slots));
    if (!bigger.slots) {
        return false;
    }
    for (size_t i = 0; i < s->slot_count; i++) {
        if (s->slots[i]) {
            bigger.slots[find_slot(&bigger, s->data + s->slots[i] - 1)] = s->slots[i];
        }
    }
    mts_alloc_free(s->allocator, s->slots);
    *s = bigger;
    return true;
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
    if (!grow_slots(s)) {
        return false;
    }
    const size_t slot = find_slot(s, text);
    if (s->slots[slot]) {
        *offset = s->slots[slot] - 1;
        return true;
    }
    if (!append(s, text, offset)) {
        return false;
    }
    s->slots[slot] = *offset + 1;
    s->used++;
    return true;
}

void mts_strings_init(mts_strings *strings, const mts_allocator *allocator)
{
    *strings = (mts_strings){.allocator = allocator};
}

void mts_strings_release(mts_strings *strings)
{
    mts_alloc_free(strings->allocator, strings->data);
    mts_alloc_free(strings->allocator, strings->slots);
    mts_strings_init(strings, strings->allocator);
}

bool mts_strings_add(mts_strings *strings, const char *text, uint32_t *offset)
{
    char *clean = mts_alloc_string(strings->allocator, text);
    if (!clean) {
        return false;
    }
    const size_t size = strlen(clean);
    for (size_t i = 0; i < size;) {
        const size_t length = mts_utf8_text((const unsigned char *)clean + i, size - i);
        if (length == 0) {
            clean[i] = '?';
        }
        i += length ? length : 1;
    }
    const bool done = add_clean(strings, clean, offset);
    mts_alloc_free(strings->allocator, clean);
    return done;
}
