/*
 * segments.h: what a run of units copies in and out and holds, for all pairs of positions.
 *
 * Internal to sdk/partition.
 */
#ifndef MTS_PARTITION_SEGMENTS_H
#define MTS_PARTITION_SEGMENTS_H

#include "partition/units.h"

typedef struct mts_segment {
    uint64_t bytes_in, bytes_out;
    uint32_t copies_in, copies_out;
    /* Weights, and the most that lives at a time: what is copied in until its last reader, what
       is computed until the last reader of the segment, what is copied out to the end. Bytes
       with elements of units->element_bytes. */
    uint64_t memory;
    /* Weights; with elements of units->element_bytes what is copied in, and out. A plan has all of
       the first, and each of the others at some time. */
    uint64_t weights, held_in, held_out;
} mts_segment;

/* Works through segments that begin at one unit, unit by unit. */
typedef struct mts_segment_walk {
    const mts_units *units;
    uint32_t begin, end;
    mts_segment now;
    /* As float32: what lives behind the last unit, and the most so far. */
    uint64_t weights, alive, most_alive;
    /* [value], [block]: 1 + the begin of the last segment that met it. */
    uint32_t *value_seen, *block_seen;
    /* [unit]: bytes and copies that are no longer copied out once it is part of the segment. */
    uint64_t *expiring_bytes;
    uint32_t *expiring_copies;
    /* [unit]: bytes that nothing reads behind it. */
    uint64_t *ending_bytes;
} mts_segment_walk;

mts_status mts_segment_walk_make(const mts_units *units, mts_arena *arena, mts_segment_walk *out,
                                 mts_error *error);
/* An empty segment at a unit. */
void mts_segment_walk_begin(mts_segment_walk *walk, uint32_t unit);
/* Takes the next unit in; `now` is that of the longer segment. */
void mts_segment_walk_step(mts_segment_walk *walk);

#endif
