/*
 * file.h: an archive as a bundle file.
 */
#ifndef MTS_COMPILER_EMIT_FILE_H
#define MTS_COMPILER_EMIT_FILE_H

#include "bundle/archive.h"

/*
 * Encodes the archive, reads the bytes as a run-time will, so that no bundle is written that cannot be
 * opened, and writes them under a temporary name that is then renamed. IO, LIMIT, OUT_OF_MEMORY, INTERNAL (it
 * cannot be read).
 */
mts_status mts_bundle_write(const mts_archive *archive, const char *path, const mts_allocator *allocator,
                            mts_error *error);

#endif
