/*
 * status.c: names of codes and the formatting of error texts.
 */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A cut text must not end within a UTF-8 sequence. */
static void trim_utf8(char *text)
{
    size_t end = strlen(text);
    size_t tail = 0;
    while (tail < 3 && tail < end && ((unsigned char)text[end - 1 - tail] & 0xc0u) == 0x80u) {
        tail++;
    }
    if (tail == end) {
        return;
    }
    const unsigned char lead = (unsigned char)text[end - 1 - tail];
    const size_t wanted = lead >= 0xf0u ? 3 : lead >= 0xe0u ? 2 : lead >= 0xc0u ? 1 : 0;
    if (wanted > tail) {
        text[end - 1 - tail] = '\0';
    }
}

const char *mts_status_text(mts_status status)
{
    static const char *const names[] = {
        "ok",    "invalid argument", "out of memory", "io",   "malformed", "unsupported", "not found",
        "limit", "device",           "device lost",   "busy", "timeout",   "cancelled",   "internal"};
    const unsigned index = (unsigned)status;
    return index < sizeof names / sizeof names[0] ? names[index] : "unknown";
}

mts_status(mts_fail)(mts_error *error, mts_status status, const char *format, ...)
{
    if (!error) {
        return status;
    }
    char text[MTS_ERROR_TEXT]; /* apart: an argument may be the old text */
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        text[0] = '\0';
    } else if ((size_t)length >= sizeof text) {
        trim_utf8(text);
    }
    error->code = status;
    memcpy(error->text, text, sizeof text);
    return status;
}

mts_status(mts_fail_memory)(mts_error *error)
{
    return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory");
}

mts_status mts_fail_prefix(mts_error *error, mts_status status, const char *format, ...)
{
    if (!error) {
        return status;
    }
    char prefix[MTS_ERROR_TEXT];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    if (length < 0) {
        return error->code;
    }
    return mts_fail(error, error->code, "%s: %s", prefix, error->text);
}
