/*
 * uri.c: reading a source's address. Strict: an unknown key is a mistake, not something
 * to pass over.
 */
#include "uri.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/frames.h"

#define SIDE_MOST 16384u
#define NUMBER_LEAST 0.01 /* as --fps; rates become thousandths */

static bool number_read(const char *text, double *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && errno == 0 && text[strspn(text, "0123456789.")] == '\0';
}

/* False: the value does not fit the key. */
static bool value_store(const uri_key *key, const char *value)
{
    double number = 0;
    mts_pixel_format format;
    mts_yuv yuv;
    switch (key->kind) {
    case URI_KIND_FLAG:
        *(bool *)key->target = value[0] == '1';
        return (value[0] == '0' || value[0] == '1') && value[1] == '\0';
    case URI_KIND_COUNT:
        if (!number_read(value, &number) || number != floor(number) || number > 1e9) {
            return false;
        }
        *(uint32_t *)key->target = (uint32_t)number;
        return true;
    case URI_KIND_NUMBER:
        if (!number_read(value, &number) || number < NUMBER_LEAST || number > 1e6) {
            return false;
        }
        *(double *)key->target = number;
        return true;
    case URI_KIND_FORMAT:
        if (!cli_format_find(value, &format)) {
            return false;
        }
        *(int *)key->target = (int)format;
        return true;
    case URI_KIND_YUV:
        if (!cli_yuv_find(value, &yuv)) {
            return false;
        }
        *(int *)key->target = (int)yuv;
        return true;
    }
    return false;
}

static camera_status pair_read(char *pair, const uri_key *keys, size_t count, char *error)
{
    char *value = strchr(pair, '=');
    if (!value) {
        return source_fail(error, CAMERA_USAGE, "the source's '%s' has no value: KEY=VALUE is meant", pair);
    }
    *value++ = '\0';
    for (size_t i = 0; i < count; i++) {
        if (strcmp(keys[i].name, pair) == 0) {
            return value_store(&keys[i], value)
                       ? CAMERA_OK
                       : source_fail(error, CAMERA_USAGE, "the source's %s cannot be '%s'", pair, value);
        }
    }
    char list[256];
    size_t length = 0;
    for (size_t i = 0; i < count && length < sizeof list; i++) {
        const int added = snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "", keys[i].name);
        length += added > 0 ? (size_t)added : 0;
    }
    return source_fail(error, CAMERA_USAGE, "the source has no key '%s'; there are %s", pair, list);
}

camera_status uri_read(const char *rest, char path[URI_PATH], const uri_key *keys, size_t count, char *error)
{
    char text[URI_PATH];
    if (strlen(rest) >= sizeof text) {
        return source_fail(error, CAMERA_USAGE, "the source's address is longer than %u bytes",
                           URI_PATH - 1u);
    }
    (void)snprintf(text, sizeof text, "%s", rest);
    char *query = strchr(text, '?');
    if (query) {
        *query++ = '\0';
    }
    (void)snprintf(path, URI_PATH, "%s", text);
    while (query && *query) {
        char *next = strchr(query, '&');
        if (next) {
            *next++ = '\0';
        }
        const camera_status status = pair_read(query, keys, count, error);
        if (status != CAMERA_OK) {
            return status;
        }
        query = next;
    }
    return CAMERA_OK;
}

camera_status uri_size_check(const source_request *request, char *error)
{
    if ((request->width == 0) != (request->height == 0)) {
        return source_fail(error, CAMERA_USAGE, "a width goes with a height");
    }
    if (request->width > SIDE_MOST || request->height > SIDE_MOST) {
        return source_fail(error, CAMERA_USAGE, "%ux%u: sides are 1 to %u pixels", request->width,
                           request->height, SIDE_MOST);
    }
    return CAMERA_OK;
}
