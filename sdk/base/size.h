/*
 * size.h: checked arithmetic on sizes. Every size that comes from a file or a caller is
 * computed with these.
 *
 * Each function returns true and stores the result, or returns false on overflow and
 * leaves *out alone.
 */
#ifndef MTS_BASE_SIZE_H
#define MTS_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"

static inline bool mts_size_add(size_t a, size_t b, size_t *out)
{
    if (b > SIZE_MAX - a) {
        return false;
    }
    *out = a + b;
    return true;
}

static inline bool mts_size_mul(size_t a, size_t b, size_t *out)
{
    if (a != 0 && b > SIZE_MAX / a) {
        return false;
    }
    *out = a * b;
    return true;
}

static inline bool mts_i64_mul(int64_t a, int64_t b, int64_t *out)
{
    if (a < 0 || b < 0 || (a != 0 && b > INT64_MAX / a)) {
        return false; /* only non-negative factors occur: dimensions and counts */
    }
    *out = a * b;
    return true;
}

static inline bool mts_size_to_u32(size_t a, uint32_t *out)
{
    if (a > UINT32_MAX) {
        return false;
    }
    *out = (uint32_t)a;
    return true;
}

/* The quotient rounded up. a + b must not overflow. */
static inline uint32_t mts_u32_ceil_div(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

static inline uint64_t mts_u64_ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static inline uint32_t mts_u32_max(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static inline uint64_t mts_u64_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* -1, 0 or 1 where a is below, equal to or above b, for qsort. */
#define MTS_COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* An order, and what decides where that leaves two things equal. */
static inline int mts_order(int first, int second)
{
    return first != 0 ? first : second;
}

static inline bool mts_u32_find(const uint32_t *numbers, uint32_t count, uint32_t wanted)
{
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] == wanted) {
            return true;
        }
    }
    return false;
}

/* Rounds up to a multiple of a power of two; false on overflow. */
static inline bool mts_size_align(size_t a, size_t alignment, size_t *out)
{
    MTS_CHECK(alignment > 0 && (alignment & (alignment - 1)) == 0);
    size_t sum = 0;
    if (!mts_size_add(a, alignment - 1, &sum)) {
        return false;
    }
    *out = sum & ~(alignment - 1);
    return true;
}

#endif
