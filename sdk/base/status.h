/*
 * status.h: result codes and error texts inside the library.
 *
 * Every function that can fail returns a mts_code and takes, last, a mts_error that it fills with a sentence
 * naming the thing and the reason. The public mts_status has the same values (sdk/api checks it at compile
 * time).
 */
#ifndef MTS_BASE_STATUS_H
#define MTS_BASE_STATUS_H

#if defined(__GNUC__)
#define MTS_PRINTF(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#else
#define MTS_PRINTF(format_index, first_index)
#endif

typedef enum mts_code {
    MTS_CODE_OK = 0,
    MTS_CODE_INVALID_ARGUMENT = 1, /* the caller's mistake */
    MTS_CODE_OUT_OF_MEMORY = 2,    /* host or device */
    MTS_CODE_IO = 3,               /* a file cannot be read or written */
    MTS_CODE_MALFORMED = 4,        /* a file's content contradicts itself or its format */
    MTS_CODE_UNSUPPORTED = 5,      /* valid, but not something this library does */
    MTS_CODE_NOT_FOUND = 6,        /* no such task, output, device, file */
    MTS_CODE_LIMIT = 7,            /* over a limit of the options or of the device */
    MTS_CODE_DEVICE = 8,           /* a driver call or kernel build failed */
    MTS_CODE_DEVICE_LOST = 9,      /* sticky: only destroy works */
    MTS_CODE_BUSY = 10,
    MTS_CODE_TIMEOUT = 11,
    MTS_CODE_CANCELLED = 12,
    MTS_CODE_INTERNAL = 13 /* a defect of this library */
} mts_code;

#define MTS_ERROR_TEXT 512

typedef struct mts_error {
    mts_code code;
    char text[MTS_ERROR_TEXT]; /* one sentence, always terminated */
} mts_error;

/* Name of a code, e.g. "malformed"; never NULL. */
const char *mts_code_name(mts_code code);

/* Writes code and text (truncated to fit) into *error if it is not NULL; returns code. */
mts_code mts_fail(mts_error *error, mts_code code, const char *format, ...) MTS_PRINTF(3, 4);

#ifdef __clang_analyzer__
/* Tells the analyzer what it cannot see from here: mts_fail returns the code that it was given. */
#define mts_fail(error, code, ...) ((void)(mts_fail)(error, code, __VA_ARGS__), (code))
#endif

/* Puts "prefix: " before the text of an error that is already set; returns error's code, or `code` if error
 * is NULL. */
mts_code mts_fail_prefix(mts_error *error, mts_code code, const char *format, ...) MTS_PRINTF(3, 4);

#endif
