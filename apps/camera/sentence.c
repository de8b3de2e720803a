/*
 * sentence.c: see sentence.h.
 */
#include "sentence.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "kit/files.h"

/* Bytes of "user:password@" at the beginning of a host; 0: there is nothing to hide. A
   path may have an @ in it: but for rtsp, one without a colon is shown. */
static size_t secret_length(const char *host, bool rtsp)
{
    const size_t length = strcspn(host, "/?# \t\n\"'");
    size_t hidden = 0;
    bool colon = rtsp;
    for (size_t i = 0; i < length; i++) {
        colon = colon || host[i] == ':';
        hidden = host[i] == '@' && colon ? i : hidden;
    }
    return hidden;
}

const char *source_name(const char *uri, char *name, size_t size)
{
    size_t length = 0;
    const char *at = uri;
    while (*at && length + 4 < size) {
        const bool host = at - uri >= 3 && memcmp(at - 3, "://", 3) == 0;
        const bool rtsp = at - uri >= 7 && memcmp(at - 7, "rtsp", 4) == 0;
        const size_t hidden = host ? secret_length(at, rtsp) : 0;
        if (hidden > 0) {
            memcpy(name + length, "***", 3);
            length += 3;
            at += hidden;
        } else {
            name[length++] = *at++;
        }
    }
    name[length] = '\0';
    return name;
}

camera_status source_fail(char *error, camera_status status, const char *format, ...)
{
    char sentence[CLI_ERROR];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    (void)source_name(sentence, error, CLI_ERROR); /* others' sentences may quote an address, too */
    return status;
}
