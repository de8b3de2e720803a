/*
 * arena.c: greedy-by-size placement. Not responsible for what the spans hold.
 */
#include "plan/arena.h"

#include <stdlib.h>

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

mts_status mts_arena_place(mts_span *spans, uint32_t count, uint64_t alignment,
                           const mts_allocator *allocator, uint64_t *peak, mts_error *error)
{
    *peak = 0;
    mts_span **order = mts_alloc_zero(allocator, count, sizeof *order);
    mts_span **placed = mts_alloc_zero(allocator, count, sizeof *placed);
    mts_status status = MTS_STATUS_OK;
    if (!order || !placed) {
        status = mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory to place %u tensors", count);
        goto fail;
    }
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        order[i] = &spans[i];
        if (spans[i].size > (UINT64_MAX >> 1) - total) {
            status = mts_fail(error, MTS_STATUS_LIMIT, "the tensors' sizes overflow");
            goto fail;
        }
        total += spans[i].size + alignment;
    }
    qsort(order, count, sizeof(mts_span *), compare_spans);
    uint32_t done = 0;
    for (uint32_t i = 0; i < count; i++) {
        mts_span *span = order[i];
        span->offset = 0;
        if (span->size == 0) {
            continue;
        }
        span->offset = find_offset(placed, done, span, alignment);
        insert_placed(placed, done++, span);
        *peak = span->offset + span->size > *peak ? span->offset + span->size : *peak;
    }
fail:
    mts_alloc_free(allocator, order);
    mts_alloc_free(allocator, placed);
    return status;
}
