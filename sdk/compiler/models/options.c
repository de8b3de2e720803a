/*
 * options.c: see options.h.
 */
#include "compiler/models/options.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/sized.h"
#include "base/utf8.h"

mts_status mts_options_take(const mtsc_options *given, mtsc_options *out, mts_error *error)
{
    *out = (mtsc_options){.size = sizeof *out};
    if (!given) {
        return MTS_STATUS_OK;
    }
    const mts_status status = mts_sized_read(out, sizeof *out, given, "mtsc_options", error);
    if (status != MTS_STATUS_OK) {
        return status; /* without a sentence: where its buffer lies is not known either */
    }
    if (!(out->tolerance >= 0.0f) || !isfinite(out->tolerance)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "compiler options: tolerance is %g; it has to be a number from 0 up",
                        (double)out->tolerance);
    }
    if (out->error_size > 0 && !out->error_text) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "compiler options: error_size without error_text");
    }
    return MTS_STATUS_OK;
}

mts_status mts_options_progress(const mtsc_options *options, float fraction, const char *what,
                                mts_error *error)
{
    if (options->progress && options->progress(options->context, fraction, what) != 0) {
        return mts_fail(error, MTS_STATUS_CANCELLED, "cancelled while %s", what);
    }
    return MTS_STATUS_OK;
}

mts_status mts_options_report(const mtsc_options *options, mts_status status, const mts_error *error)
{
    const mts_sink sink = {options->error_text, options->error_size, options->context, options->log};
    mts_error clean = error ? *error : (mts_error){0};
    mts_utf8_clean(clean.text, strlen(clean.text)); /* names of a file may hold what terminals obey */
    return mts_sink_report(&sink, status, &clean);
}

mts_status mts_options_finish(const mtsc_options *options, mts_status status, const mts_error *error)
{
    if (status == MTS_STATUS_OK) {
        (void)mts_options_progress(options, 1.0f, "done", NULL);
    }
    return mts_options_report(options, status, error);
}

mts_call mts_call_begin(const mtsc_options *options, const void *given, void *wanted, size_t wanted_size,
                        const char *wanted_name, const void *report, size_t report_size,
                        const char *report_name)
{
    mts_call call = {.status = MTS_STATUS_OK};
    call.status = mts_options_take(options, &call.options, &call.error);
    if (given) {
        MTS_TRY(call.status, mts_sized_read(wanted, wanted_size, given, wanted_name, &call.error));
    }
    if (report) {
        MTS_TRY(call.status, mts_sized_check(report, report_size, report_name, &call.error));
    }
    return call;
}

mts_status mts_call_end(const mts_call *call)
{
    return mts_options_finish(&call->options, call->status, &call->error);
}
