/*
 * log.h: the caller's log callback. The library itself prints nothing.
 */
#ifndef MTS_BASE_LOG_H
#define MTS_BASE_LOG_H

#include "base/status.h"

typedef struct mts_log {
    void *context;
    void (*write)(void *context, mts_log_severity level, const char *text); /* NULL: silent */
} mts_log;

/* Formats and hands one line (no newline) to the callback. log may be NULL. */
void mts_log_write(const mts_log *log, mts_log_severity level, const char *format, ...) MTS_PRINTF(3, 4);

/* Where the sentence of a failed public call goes. */
typedef struct mts_sink {
    /* The caller's buffer of `size` bytes; may be NULL. */
    char *text;
    size_t size;
    void *context;
    void (*write)(void *context, mts_log_severity level, const char *text); /* may be NULL */
} mts_sink;

/* Hands a failure to the sink and returns its status; OK passes through silently. */
mts_status mts_sink_report(const mts_sink *sink, mts_status status, const mts_error *error);

#endif
