/*
 * arena.h: offsets for tensors whose lifetimes are known, so that tensors that never live
 * together share memory.
 *
 * Greedy by size (largest first, lowest offset that is free during the lifetime), the
 * best of the simple heuristics in Pisarchyk and Lee, "Efficient memory management for
 * deep neural net inference" (2020).
 */
#ifndef MTS_PLAN_ARENA_H
#define MTS_PLAN_ARENA_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/status.h"

typedef struct mts_span {
    uint64_t size;        /* any unit; 0 takes no place */
    uint32_t first, last; /* lifetime, both ends included */
    uint64_t offset;      /* result, a multiple of the alignment */
} mts_span;

/* Places all spans; *peak receives the end of the highest. Errors: OUT_OF_MEMORY, LIMIT
   (overflow). */
mts_status mts_arena_place(mts_span *spans, uint32_t count, uint64_t alignment,
                           const mts_allocator *allocator, uint64_t *peak, mts_error *error);

#ifndef MTS_SMALL
/* The same; where the peak is above `wanted`, other orders are tried, and the least peak
   that was found is kept. */
mts_status mts_arena_place_within(mts_span *spans, uint32_t count, uint64_t alignment, uint64_t wanted,
                                  const mts_allocator *allocator, uint64_t *peak, mts_error *error);
#endif

#endif
