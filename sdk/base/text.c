/*
 * text.c: the string builder. Not responsible for the structure of what is built: JSON
 * literals are its only syntax.
 */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/size.h"
#include "base/utf8.h"

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
    MTS_CHECK(text->length < text->capacity);
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
        const size_t length = mts_utf8_length(s, 4);
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
