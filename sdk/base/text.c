/*
 * text.c: the string builder. Not responsible for the structure of what is built: JSON literals are its only
 * syntax.
 */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"

/* Room for `extra` more characters and the terminator. */
static bool reserve(mts_text *text, size_t extra)
{
    size_t needed = 0;
    void *data = text->data;
    if (text->failed) {
        return false;
    }
    if (!mts_size_add(text->length, extra, &needed) || !mts_size_add(needed, 1, &needed) ||
        !mts_alloc_grow(text->allocator, &data, &text->capacity, needed < 64 ? 64 : needed, 1)) {
        text->failed = true;
        return false;
    }
    text->data = data;
    return true;
}

static void add_bytes(mts_text *text, const char *bytes, size_t length)
{
    if (length && reserve(text, length)) {
        memcpy(text->data + text->length, bytes, length);
        text->length += length;
        text->data[text->length] = '\0';
    }
}

/* Length of the valid UTF-8 sequence at s, 0 if there is none. The terminator stops it. */
static size_t utf8_length(const unsigned char *s)
{
    static const uint32_t least[] = {0, 0, 0x80u, 0x800u, 0x10000u};
    if (s[0] < 0x80u) {
        return 1;
    }
    const size_t length = s[0] >= 0xf8u ? 0 : s[0] >= 0xf0u ? 4 : s[0] >= 0xe0u ? 3 : s[0] >= 0xc0u ? 2 : 0;
    if (length == 0) {
        return 0;
    }
    uint32_t point = s[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0u) != 0x80u) {
            return 0;
        }
        point = point << 6 | (s[i] & 0x3fu);
    }
    const bool surrogate = point >= 0xd800u && point <= 0xdfffu;
    return point < least[length] || point > 0x10ffffu || surrogate ? 0 : length;
}

static void add_escaped(mts_text *text, unsigned char byte)
{
    static const char from[] = "\"\\\b\f\n\r\t";
    static const char to[] = "\"\\bfnrt";
    const char *found = strchr(from, byte);
    if (found) {
        mts_text_add(text, "\\%c", to[found - from]);
    } else {
        mts_text_add(text, "\\u%04x", byte);
    }
}

void mts_text_init(mts_text *text, const mts_allocator *allocator)
{
    memset(text, 0, sizeof *text);
    text->allocator = allocator;
}

void mts_text_release(mts_text *text)
{
    if (text->allocator) {
        mts_alloc_free(text->allocator, text->data);
        mts_text_init(text, text->allocator);
    }
}

void mts_text_add(mts_text *text, const char *format, ...)
{
    va_list arguments;
    va_list again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0) {
        text->failed = true;
    } else if (length > 0 && reserve(text, (size_t)length)) {
        (void)vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}

void mts_text_add_json(mts_text *text, const char *value)
{
    const unsigned char *s = (const unsigned char *)value;
    add_bytes(text, "\"", 1);
    while (*s) {
        const size_t length = utf8_length(s);
        if (length == 0 || *s < 0x20u || *s == '"' || *s == '\\') {
            add_escaped(text, *s); /* an invalid byte is written as the character of that number */
            s++;
        } else {
            add_bytes(text, (const char *)s, length);
            s += length;
        }
    }
    add_bytes(text, "\"", 1);
}

const char *mts_text_get(const mts_text *text)
{
    return text->data ? text->data : "";
}
