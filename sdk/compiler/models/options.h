/*
 * options.h: what every public function of mtsc.h and mtsz.h does first and last: it
 * reads the caller's options, and hands its result to the caller's buffer and callbacks.
 */
#ifndef MTS_COMPILER_MODELS_OPTIONS_H
#define MTS_COMPILER_MODELS_OPTIONS_H

#include "base/status.h"
#include "mts/mtsc.h"

/*
 * Copies the caller's options, or the defaults where `given` is NULL, and checks them.
 * `out` can be handed to mts_options_report in any case.
 */
mts_status mts_options_take(const mtsc_options *given, mtsc_options *out, mts_error *error);
/* Calls the caller's progress callback. CANCELLED if that asks to stop. */
mts_status mts_options_progress(const mtsc_options *options, float fraction, const char *what,
                                mts_error *error);
/* Writes a failure's sentence to the caller's buffer and log. Returns `status`. */
mts_status mts_options_report(const mtsc_options *options, mts_status status, const mts_error *error);
/* The end of a long call: reports progress 1 if it succeeded, and its failure
   otherwise. */
mts_status mts_options_finish(const mtsc_options *options, mts_status status, const mts_error *error);

/* A public function that takes mtsc_options, options of its own and a report. */
typedef struct mts_call {
    /* The caller's, or the defaults. */
    mtsc_options options;
    mts_status status;
    mts_error error;
} mts_call;

/*
 * Reads the caller's options: `given`, or NULL, over the defaults in `wanted`. Checks the
 * report, which may be NULL. The names are those of the types.
 */
mts_call mts_call_begin(const mtsc_options *options, const void *given, void *wanted, size_t wanted_size,
                        const char *wanted_name, const void *report, size_t report_size,
                        const char *report_name);
#define MTS_CALL_BEGIN(function, options, given, wanted, report)                                             \
    mts_call_begin(options, given, wanted, sizeof *(wanted), #function "_options", report, sizeof *(report), \
                   #function "_report")
/* mts_options_finish for the call. */
mts_status mts_call_end(const mts_call *call);

#endif
