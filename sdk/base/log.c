/*
 * log.c: formats a line on the stack and hands it to the caller's callback; so too the
 * sentence of a failure.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#define LINE_MOST 2048 /* longer lines are cut */

void mts_log_write(const mts_log *log, mts_log_severity level, const char *format, ...)
{
    char line[LINE_MOST];
    if (!log || !log->write) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    log->write(log->context, level, length < 0 ? format : line);
}

mts_status mts_sink_report(const mts_sink *sink, mts_status status, const mts_error *error)
{
    if (status == MTS_STATUS_OK) {
        return MTS_STATUS_OK;
    }
    const char *text = error && error->text[0] ? error->text : mts_status_text(status);
    if (sink->text && sink->size > 0) {
        (void)snprintf(sink->text, sink->size, "%s", text);
    }
    if (sink->write) {
        sink->write(sink->context, MTS_LOG_ERROR, text);
    }
    return status;
}
