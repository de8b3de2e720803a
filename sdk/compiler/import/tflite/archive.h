/*
 * archive.h: files in the zip archive that may follow a TensorFlow Lite model in its
 * file. Nothing is written, so names of files mean nothing but themselves.
 */
#ifndef MTS_COMPILER_IMPORT_TFLITE_ARCHIVE_H
#define MTS_COMPILER_IMPORT_TFLITE_ARCHIVE_H

#include <stddef.h>

#include "base/alloc.h"
#include "base/status.h"

/* Bytes of a file in the archive at most. */
#define MTS_TFLITE_FILE_MOST ((size_t)16 << 20)

/*
 * Finds the file `name` of `length` bytes and unpacks it into the arena (*out, *bytes).
 * *out is NULL if there is no archive or no such file. Errors: MALFORMED (what the
 * archive says does not lie inside the file), UNSUPPORTED (encrypted, or neither stored
 * nor deflated), LIMIT, OUT_OF_MEMORY.
 */
mts_status mts_tflite_archive_find(const unsigned char *data, size_t size, const char *name, size_t length,
                                   mts_arena *arena, const char **out, size_t *bytes, mts_error *error);

#endif
