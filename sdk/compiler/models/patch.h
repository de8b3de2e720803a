/*
 * patch.h: what a bundle has that another one has not, as bytes (docs/FORMAT.md, Patches):
 * written, verified and applied.
 *
 * A patch says for each section how many of the base's first bytes stay, and which bytes
 * follow them. The result of applying it is verified as every bundle is, so a patch can make
 * nothing that a bundle could not be.
 */
#ifndef MTS_COMPILER_MODELS_PATCH_H
#define MTS_COMPILER_MODELS_PATCH_H

#include "compiler/models/bundle.h"

/* Bytes of a bundle, 64-byte aligned, and what messages call them. */
typedef struct mts_patch_file {
    const unsigned char *data;
    size_t size;
    const char *name;
} mts_patch_file;

/* Whether the bytes begin as a patch does. */
bool mts_patch_is(const void *bytes, size_t size);

/*
 * The patch that makes `result` of `base`, which both are bundles that can be read. *kept:
 * bytes of the base that it names instead of having them; may be NULL. Errors: those of
 * reading a bundle, OUT_OF_MEMORY.
 */
mts_status mts_patch_make(const mts_patch_file *base, const mts_patch_file *result,
                          const mts_allocator *allocator, mts_bundle_bytes *out, uint64_t *kept,
                          mts_error *error);

/*
 * Applies a patch: *out is a bundle that mts_archive_read takes. Memory is allocated for the
 * result only, and only once the patch and the base were found to add up to it. Errors:
 * MALFORMED (the patch, or what it makes, is damaged), UNSUPPORTED (its version),
 * INVALID_ARGUMENT (it was made for another base), OUT_OF_MEMORY.
 */
mts_status mts_patch_apply(const mts_patch_file *base, const mts_patch_file *patch,
                           const mts_allocator *allocator, mts_bundle_bytes *out, mts_error *error);

#endif
