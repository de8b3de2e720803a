/*
 * bundle.h: writes an archive as the bytes of a bundle (docs/FORMAT.md).
 *
 * Equal archives give equal bytes. Not responsible for files (the API layer writes them) nor for whether the
 * archive makes sense: read the bytes back with mts_archive_read to know.
 */
#ifndef MTS_COMPILER_EMIT_BUNDLE_H
#define MTS_COMPILER_EMIT_BUNDLE_H

#include "bundle/archive.h"

typedef struct mts_bundle_bytes {
    const mts_allocator *allocator;
    void *memory;        /* what to free */
    unsigned char *data; /* 64-byte aligned */
    size_t size;
} mts_bundle_bytes;

/* Blocks must be assigned (mts_discover). OUT_OF_MEMORY, LIMIT; *out is then empty. */
mts_status mts_bundle_encode(const mts_archive *archive, const mts_allocator *allocator,
                             mts_bundle_bytes *out, mts_error *error);
void mts_bundle_bytes_release(mts_bundle_bytes *bytes);

#endif
