/*
 * report.c: status names, the version, and the way of a failure's sentence to the caller's buffer and log.
 *
 * Also holds the compile-time proof that the public enums have the values of the inner ones, which every cast
 * in this room relies on.
 */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "kernels/abi/kinds.h"

#define SAME(outer, inner) _Static_assert((int)(outer) == (int)(inner), #outer " differs from " #inner)

SAME(MTS_PIXEL_FORMAT_RGB, MTS_PIXEL_RGB);
SAME(MTS_PIXEL_FORMAT_BGR, MTS_PIXEL_BGR);
SAME(MTS_PIXEL_FORMAT_RGBA, MTS_PIXEL_RGBA);
SAME(MTS_PIXEL_FORMAT_BGRA, MTS_PIXEL_BGRA);
SAME(MTS_PIXEL_FORMAT_GREY, MTS_PIXEL_GREY);
SAME(MTS_PIXEL_FORMAT_NV12, MTS_PIXEL_NV12);
SAME(MTS_PIXEL_FORMAT_NV21, MTS_PIXEL_NV21);
SAME(MTS_PIXEL_FORMAT_I420, MTS_PIXEL_I420);
SAME(MTS_PIXEL_FORMAT_YUYV, MTS_PIXEL_YUYV);
SAME(MTS_PIXEL_FORMAT_UYVY, MTS_PIXEL_UYVY);
SAME(MTS_YUV_BT601, MTS_YUV_KIND_BT601);
SAME(MTS_YUV_BT601_FULL, MTS_YUV_KIND_BT601_FULL);
SAME(MTS_YUV_BT709, MTS_YUV_KIND_BT709);
SAME(MTS_YUV_BT709_FULL, MTS_YUV_KIND_BT709_FULL);
SAME(MTS_FIT_LETTERBOX, MTS_FIT_KIND_LETTERBOX);
SAME(MTS_FILTER_AREA, MTS_FILTER_KIND_AREA);

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *mts_status_name(mts_status status)
{
    return mts_status_text((mts_status)status);
}

const char *mts_version(void)
{
    return VERSION_TEXT(MTS_VERSION_MAJOR, MTS_VERSION_MINOR, MTS_VERSION_PATCH);
}

mts_status mts_api_report(const mts_api_sink *sink, mts_status code, const mts_error *error)
{
    if (code == MTS_STATUS_OK) {
        return MTS_STATUS_OK;
    }
    const char *text = error && error->text[0] ? error->text : mts_status_text(code);
    if (sink->text && sink->size > 0) {
        (void)snprintf(sink->text, sink->size, "%s", text);
    }
    if (sink->write) {
        sink->write(sink->context, MTS_LOG_ERROR, text);
    }
    return (mts_status)code;
}

mts_status mts_api_text_out(const mts_text *text, char *buffer, size_t size, size_t *needed, mts_error *error)
{
    if (text->failed) {
        return mts_fail_memory(error);
    }
    const size_t bytes = text->length + 1;
    if (needed) {
        *needed = bytes;
    }
    if (size > 0) {
        const size_t copied = bytes < size ? bytes : size;
        memcpy(buffer, mts_text_get(text), copied);
        buffer[copied - 1] = '\0';
    }
    if (bytes > size) {
        return mts_fail(error, MTS_STATUS_LIMIT, "the report has %zu bytes, the buffer %zu", bytes, size);
    }
    return MTS_STATUS_OK;
}
