/*
 * sharing.h: the facts behind every report: families, their rows, and what each row
 * shares.
 *
 * Private to the reports of sdk/bundle. A row's stored bytes count a block where it
 * appears first, so that the rows' sum is the archive's.
 */
#ifndef MTS_BUNDLE_SHARING_H
#define MTS_BUNDLE_SHARING_H

#include "bundle/archive.h"
#include "graph/align.h"

/* One task's part of a row. */
typedef struct mts_sharing_part {
    uint32_t task; /* in the archive */
    uint32_t node;
    uint32_t shared, exclusive; /* output channels; 0 and 0 where a row has no weights */
} mts_sharing_part;

typedef struct mts_sharing_row {
    uint32_t part_count;
    mts_sharing_part *parts;
    uint64_t bytes_stored, bytes_unshared;
    uint64_t bytes_common; /* of bytes_unshared: in blocks that several tasks refer to */
} mts_sharing_row;

typedef struct mts_sharing_family {
    uint32_t task_count, row_count;
    uint32_t *tasks;
    mts_sharing_row *rows;
} mts_sharing_family;

typedef struct mts_sharing {
    mts_arena arena;
    const mts_archive *archive;
    uint64_t bytes_stored, bytes_unshared;
    uint32_t family_count;
    mts_sharing_family *families;
    uint32_t *family;      /* of each task */
    uint64_t *task_bytes;  /* weights that each task refers to */
    uint64_t *task_shared; /* of them: in blocks that several tasks refer to */
} mts_sharing;

/* OUT_OF_MEMORY only. */
mts_status mts_sharing_find(const mts_archive *archive, const mts_allocator *allocator, mts_sharing *out,
                            mts_error *error);
void mts_sharing_release(mts_sharing *sharing);

#endif
