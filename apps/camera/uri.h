/*
 * uri.h: the part of a source's address behind "KIND://": a path, and
 * "?key=value&key=value" read by a table.
 */
#ifndef MTS_CAMERA_URI_H
#define MTS_CAMERA_URI_H

#include <stdbool.h>

#include "source.h"

#define URI_PATH 1024

typedef enum uri_kind {
    URI_KIND_COUNT,  /* target: uint32_t */
    URI_KIND_NUMBER, /* target: double, 0.01 at least */
    URI_KIND_FLAG,   /* target: bool; 0 or 1 */
    URI_KIND_FORMAT, /* target: int, a pixel format */
    URI_KIND_YUV     /* target: int, a colour standard */
} uri_kind;

typedef struct uri_key {
    const char *name;
    uri_kind kind;
    void *target;
} uri_key;

/* What every kind that takes a query takes: size, rate, format, colour, into a copy of
   the request. */
#define URI_COMMON(r)                                                                                        \
    {"width", URI_KIND_COUNT, &(r).width}, {"height", URI_KIND_COUNT, &(r).height},                          \
        {"fps", URI_KIND_NUMBER, &(r).fps}, {"format", URI_KIND_FORMAT, &(r).format},                        \
    {                                                                                                        \
        "yuv", URI_KIND_YUV, &(r).yuv                                                                        \
    }

/* Copies the path and reads the query. OK, or USAGE with a sentence. */
camera_status uri_read(const char *rest, char path[URI_PATH], const uri_key *keys, size_t count, char *error);
/* A width goes with a height, both up to 16384. OK or USAGE. */
camera_status uri_size_check(const source_request *request, char *error);

#endif
