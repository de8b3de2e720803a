/*
 * log.c: formats a line on the stack and hands it to the caller's callback.
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
