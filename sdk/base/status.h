/*
 * status.h: result codes and error texts inside the library.
 *
 * Every function that can fail returns a mts_status and takes, last, a mts_error that it
 * fills with a sentence naming the thing and the reason.
 */
#ifndef MTS_BASE_STATUS_H
#define MTS_BASE_STATUS_H

#include "mts/types.h"

#if defined(__GNUC__)
#define MTS_PRINTF(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#else
#define MTS_PRINTF(format_index, first_index)
#endif

#define MTS_ERROR_TEXT 512

typedef struct mts_error {
    mts_status code;
    char text[MTS_ERROR_TEXT]; /* one sentence, always terminated */
} mts_error;

/* Name of a code, e.g. "malformed"; never NULL. */
const char *mts_status_text(mts_status code);

/* Writes code and text (truncated to fit) into *error if it is not NULL; returns code. */
mts_status mts_fail(mts_error *error, mts_status code, const char *format, ...) MTS_PRINTF(3, 4);

/* Fails with OUT_OF_MEMORY of the host: every such failure has this one sentence. */
mts_status mts_fail_memory(mts_error *error);

/*
 * A step of several: calls `call` and keeps its status, unless an earlier step has
 * failed. `status` so holds the first failure, and no step after it runs. No control
 * leaves the function: clean-up stays at its end.
 */
#define MTS_TRY(status, call)                                                                                \
    do {                                                                                                     \
        if ((status) == MTS_STATUS_OK) {                                                                     \
            (status) = (call);                                                                               \
        }                                                                                                    \
    } while (0)

#ifdef __clang_analyzer__
#define mts_fail_memory(error) ((void)(mts_fail_memory)(error), MTS_STATUS_OUT_OF_MEMORY)
/* Tells the analyzer what it cannot see from here: mts_fail returns the code that it was
   given. */
#define mts_fail(error, code, ...) ((void)(mts_fail)(error, code, __VA_ARGS__), (code))
#endif

/* Puts "prefix: " before the text of an error that is already set; returns error's code,
 * or `code` if error is NULL. */
mts_status mts_fail_prefix(mts_error *error, mts_status code, const char *format, ...) MTS_PRINTF(3, 4);

#endif
