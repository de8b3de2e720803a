/*
 * bundle.h: writes an archive as the bytes of a bundle (docs/FORMAT.md), and as a file.
 *
 * Equal archives give equal bytes. Not responsible for whether the archive makes sense:
 * only reading the bytes back, as mts_bundle_write does, shows that.
 */
#ifndef MTS_COMPILER_MODELS_BUNDLE_H
#define MTS_COMPILER_MODELS_BUNDLE_H

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

/*
 * Encodes the archive, reads the bytes as a run-time will, so that no bundle is written
 * that cannot be opened, and writes them under a temporary name that is then renamed. IO,
 * LIMIT, OUT_OF_MEMORY, INTERNAL (the bytes cannot be read).
 */
mts_status mts_bundle_write(const mts_archive *archive, const char *path, const mts_allocator *allocator,
                            mts_error *error);

#endif
