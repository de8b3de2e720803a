/*
 * report.c: status names, the version, and the way of a failure's sentence to the caller's buffer and log.
 */
#include <stdio.h>
#include <string.h>

#include "api/api.h"

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
