/*
 * arena.c: greedy-by-size placement. Not responsible for what the spans hold.
 */
#include "plan/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

/* Larger first; equal sizes by birth and then position, so that the result is
   deterministic. */
static int compare_spans(const void *left, const void *right)
{
    const mts_span *a = *(mts_span *const *)left;
    const mts_span *b = *(mts_span *const *)right;
    return mts_order(MTS_COMPARE(b->size, a->size),
                     mts_order(MTS_COMPARE(a->first, b->first), MTS_COMPARE(a, b)));
}

/* Inserts into the list of placed spans, which is kept in order of offset. */
static void insert_placed(mts_span **placed, uint32_t count, mts_span *span)
{
    uint32_t at = count;
    while (at > 0 && placed[at - 1]->offset > span->offset) {
        placed[at] = placed[at - 1];
        at--;
    }
    placed[at] = span;
}

/* Lowest offset at which `span` overlaps no placed span of its lifetime. */
static uint64_t find_offset(mts_span *const *placed, uint32_t count, const mts_span *span, uint64_t alignment)
{
    uint64_t offset = 0;
    for (uint32_t i = 0; i < count; i++) {
        const mts_span *other = placed[i];
        if (other->last < span->first || other->first > span->last) {
            continue;
        }
        if (other->offset >= offset + span->size) {
            break; /* all later ones begin higher still */
        }
        const uint64_t end = (other->offset + other->size + alignment - 1) / alignment * alignment;
        offset = end > offset ? end : offset;
    }
    return offset;
}

/* Spans in the order in which they are placed, and room for a list by offset. */
typedef struct placing {
    mts_span **order, **placed;
    uint32_t count;
    uint64_t alignment;
} placing;

/* Returns the end of the highest. */
static uint64_t place_in_order(const placing *p)
{
    uint64_t peak = 0;
    uint32_t done = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        mts_span *span = p->order[i];
        span->offset = 0;
        if (span->size == 0) {
            continue;
        }
        span->offset = find_offset(p->placed, done, span, p->alignment);
        insert_placed(p->placed, done++, span);
        peak = span->offset + span->size > peak ? span->offset + span->size : peak;
    }
    return peak;
}

static mts_status check_sizes(const mts_span *spans, uint32_t count, uint64_t alignment, mts_error *error)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (spans[i].size > (UINT64_MAX >> 1) - total) {
            return mts_fail(error, MTS_STATUS_LIMIT, "the tensors' sizes overflow");
        }
        total += spans[i].size + alignment;
    }
    return MTS_STATUS_OK;
}

#ifndef MTS_SMALL
/* The highest span is placed before all others, again and again: most of the room that is
   lost lies below the largest ones that come late. Keeps the best order. */
static uint64_t improve(const placing *p, uint64_t peak, uint64_t wanted, mts_span **best)
{
    enum { TIMES = 64, PAIRS = 1 << 24 }; /* of spans that are compared */
    const uint64_t pairs = (uint64_t)p->count * p->count + 1;
    const int times = PAIRS / pairs < TIMES ? (int)(PAIRS / pairs) + 1 : TIMES;
    uint64_t least = peak;
    memcpy(best, p->order, p->count * sizeof(mts_span *));
    for (int i = 0; i < times && least > wanted; i++) {
        uint32_t highest = 0;
        for (uint32_t k = 0; k < p->count; k++) {
            const mts_span *span = p->order[k];
            highest = span->size > 0 && span->offset + span->size == peak ? k : highest;
        }
        mts_span *first = p->order[highest];
        memmove(p->order + 1, p->order, highest * sizeof(mts_span *));
        p->order[0] = first;
        peak = place_in_order(p);
        if (peak < least) {
            least = peak;
            memcpy(best, p->order, p->count * sizeof(mts_span *));
        }
    }
    memcpy(p->order, best, p->count * sizeof(mts_span *));
    return place_in_order(p);
}
#endif

static mts_status place_spans(mts_span *spans, uint32_t count, uint64_t alignment, uint64_t wanted,
                              const mts_allocator *allocator, uint64_t *peak, mts_error *error)
{
    *peak = 0;
    placing p = {.order = mts_alloc_zero(allocator, count, sizeof *p.order),
                 .placed = mts_alloc_zero(allocator, count, sizeof *p.placed),
                 .count = count,
                 .alignment = alignment};
    mts_status status = p.order && p.placed ? check_sizes(spans, count, alignment, error)
                                            : mts_fail(error, MTS_STATUS_OUT_OF_MEMORY,
                                                       "not enough memory to place %u tensors", count);
    if (status == MTS_STATUS_OK) {
        for (uint32_t i = 0; i < count; i++) {
            p.order[i] = &spans[i];
        }
        qsort(p.order, count, sizeof(mts_span *), compare_spans);
        *peak = place_in_order(&p);
    }
#ifndef MTS_SMALL
    if (status == MTS_STATUS_OK && *peak > wanted) {
        mts_span **best = mts_alloc_zero(allocator, count, sizeof *best);
        if (best) {
            *peak = improve(&p, *peak, wanted, best);
        } else {
            status =
                mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory to place %u tensors", count);
        }
        mts_alloc_free(allocator, best);
    }
#else
    (void)wanted;
#endif
    mts_alloc_free(allocator, p.order);
    mts_alloc_free(allocator, p.placed);
    return status;
}

mts_status mts_arena_place(mts_span *spans, uint32_t count, uint64_t alignment,
                           const mts_allocator *allocator, uint64_t *peak, mts_error *error)
{
    return place_spans(spans, count, alignment, UINT64_MAX, allocator, peak, error);
}

#ifndef MTS_SMALL
mts_status mts_arena_place_within(mts_span *spans, uint32_t count, uint64_t alignment, uint64_t wanted,
                                  const mts_allocator *allocator, uint64_t *peak, mts_error *error)
{
    return place_spans(spans, count, alignment, wanted, allocator, peak, error);
}
#endif
