/*
 * discover.h: finds what several tasks share and stores it once (docs/design/sharing.md).
 *
 * Sharing is discovered, never annotated. Every constant is cut into rectangular blocks,
 * and blocks of equal bytes become one. Where to cut is decided along the rows of aligned
 * families: whole layers, whole filters in any order (`filters`), or the matrices U, X,
 * Y, Z of channels that tasks have in common (`uxyz`), for which channels are put into a
 * common order where the graph permits. What a task computes stays the same, but for the
 * order of summation.
 */
#ifndef MTS_COMPILER_PASSES_DISCOVER_H
#define MTS_COMPILER_PASSES_DISCOVER_H

#include "bundle/archive.h"

typedef struct mts_discover_options {
    float tolerance; /* 0: bit-equal. Else constants merge that differ by at most this times the largest
                        magnitude */
} mts_discover_options;

typedef struct mts_discover_report {
    uint32_t families;
    uint64_t bytes, bytes_unshared; /* of weights, stored once and per task */
    double deviation;               /* largest |difference| of a merged weight */
} mts_discover_report;

/*
 * Assigns every constant of every task to blocks and fills archive->blocks (empty
 * before). Rewritten constants lie in the archive's arena. On failure the archive is only
 * good for mts_archive_destroy.
 */
mts_status mts_discover(mts_archive *archive, const mts_discover_options *options,
                        mts_discover_report *report, mts_error *error);

#endif
