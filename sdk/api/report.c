/*
 * report.c: status names, the version, and the way of a failure's sentence to the caller's buffer and log.
 *
 * Also holds the compile-time proof that the public enums have the values of the inner ones, which every cast
 * in this room relies on.
 */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "graph/kinds.h"
#include "plan/strategy.h"
#include "tensor/tensor.h"

#define SAME(outer, inner) _Static_assert((int)(outer) == (int)(inner), #outer " differs from " #inner)

SAME(MTS_STATUS_OK, MTS_CODE_OK);
SAME(MTS_STATUS_INVALID_ARGUMENT, MTS_CODE_INVALID_ARGUMENT);
SAME(MTS_STATUS_OUT_OF_MEMORY, MTS_CODE_OUT_OF_MEMORY);
SAME(MTS_STATUS_IO, MTS_CODE_IO);
SAME(MTS_STATUS_MALFORMED, MTS_CODE_MALFORMED);
SAME(MTS_STATUS_UNSUPPORTED, MTS_CODE_UNSUPPORTED);
SAME(MTS_STATUS_NOT_FOUND, MTS_CODE_NOT_FOUND);
SAME(MTS_STATUS_LIMIT, MTS_CODE_LIMIT);
SAME(MTS_STATUS_DEVICE, MTS_CODE_DEVICE);
SAME(MTS_STATUS_DEVICE_LOST, MTS_CODE_DEVICE_LOST);
SAME(MTS_STATUS_BUSY, MTS_CODE_BUSY);
SAME(MTS_STATUS_TIMEOUT, MTS_CODE_TIMEOUT);
SAME(MTS_STATUS_CANCELLED, MTS_CODE_CANCELLED);
SAME(MTS_STATUS_INTERNAL, MTS_CODE_INTERNAL);
SAME(MTS_LOG_ERROR, MTS_LOG_LEVEL_ERROR);
SAME(MTS_LOG_WARNING, MTS_LOG_LEVEL_WARNING);
SAME(MTS_LOG_INFO, MTS_LOG_LEVEL_INFO);
SAME(MTS_LOG_DEBUG, MTS_LOG_LEVEL_DEBUG);
SAME(MTS_TYPE_FLOAT32, MTS_DTYPE_F32);
SAME(MTS_TYPE_FLOAT16, MTS_DTYPE_F16);
SAME(MTS_TYPE_INT32, MTS_DTYPE_I32);
SAME(MTS_TYPE_INT64, MTS_DTYPE_I64);
SAME(MTS_TYPE_UINT8, MTS_DTYPE_U8);
SAME(MTS_TYPE_BOOL, MTS_DTYPE_BOOL);
SAME(MTS_TYPE_FLOAT64, MTS_DTYPE_F64);
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
SAME(MTS_STRATEGY_SEQUENTIAL, MTS_STRATEGY_KIND_SEQUENTIAL);
SAME(MTS_STRATEGY_COMPACT, MTS_STRATEGY_KIND_COMPACT);
SAME(MTS_STRATEGY_NETFUSE, MTS_STRATEGY_KIND_NETFUSE);
SAME(MTS_STRATEGY_MTS, MTS_STRATEGY_KIND_MTS);
SAME(MTS_TENSOR_RANK_MAX, MTS_RANK_MAX);
SAME(MTS_GROUPING_MEASURED, MTS_GROUPING_KIND_MEASURED);
SAME(MTS_USE_OFF, MTS_DEVICE_USE_OFF);
SAME(MTS_USE_ON, MTS_DEVICE_USE_ON);

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *mts_status_name(mts_status status)
{
    return mts_code_name((mts_code)status);
}

const char *mts_version(void)
{
    return VERSION_TEXT(MTS_VERSION_MAJOR, MTS_VERSION_MINOR, MTS_VERSION_PATCH);
}

mts_status mts_api_report(const mts_api_sink *sink, mts_code code, const mts_error *error)
{
    if (code == MTS_CODE_OK) {
        return MTS_STATUS_OK;
    }
    const char *text = error && error->text[0] ? error->text : mts_code_name(code);
    if (sink->text && sink->size > 0) {
        (void)snprintf(sink->text, sink->size, "%s", text);
    }
    if (sink->write) {
        sink->write(sink->context, MTS_LOG_ERROR, text);
    }
    return (mts_status)code;
}

mts_code mts_api_text_out(const mts_text *text, char *buffer, size_t size, size_t *needed, mts_error *error)
{
    if (text->failed) {
        return mts_fail(error, MTS_CODE_OUT_OF_MEMORY, "no memory for the text of the report");
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
        return mts_fail(error, MTS_CODE_LIMIT, "the report has %zu bytes, the buffer %zu", bytes, size);
    }
    return MTS_CODE_OK;
}
