/*
 * patch_format.h: the bytes of a patch (docs/FORMAT.md, Patches), as bundle/format.h has
 * those of a bundle: little-endian numbers at offsets.
 *
 *     header 64 | table 13 x 32 | added bytes of section 0 | zeros up to 64 | of section 1 | ...
 */
#ifndef MTS_COMPILER_MODELS_PATCH_FORMAT_H
#define MTS_COMPILER_MODELS_PATCH_FORMAT_H

#include "bundle/format.h"

#define MTS_PATCH_MAGIC "MTSP\r\n\x1a\n" /* MTS_FORMAT_MAGIC_SIZE bytes */
#define MTS_PATCH_VERSION 1u

/* Header. */
#define MTS_PATCH_VERSION_AT 8u
#define MTS_PATCH_ENDIAN 12u
#define MTS_PATCH_SIZE 16u        /* u64: of the file */
#define MTS_PATCH_BASE 24u        /* u64: the header's checksum of the base, which stands for all of it */
#define MTS_PATCH_RESULT 32u      /* u64: of the result */
#define MTS_PATCH_RESULT_SIZE 40u /* u64: of the result */
#define MTS_PATCH_SECTIONS 48u
#define MTS_PATCH_RESULT_VERSION 52u
#define MTS_PATCH_HASH 56u /* u64: as MTS_HEADER_HASH */

/* Row of the table: a section of the result. */
#define MTS_PATCH_KIND 0u
#define MTS_PATCH_STRIDE 4u
#define MTS_PATCH_KEPT 8u   /* u64: bytes from the start of the base's section */
#define MTS_PATCH_ADDED 16u /* u64: bytes behind them, which the patch has */
#define MTS_PATCH_SUM 24u   /* u64: XXH3-64 of the added bytes, seeded with the section's number */

#endif
