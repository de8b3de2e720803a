/*
 * ancestor.h: several matrices as one that they have in common plus a difference of low
 * rank for each (docs/ZIP.md, "Adapters that were merged").
 */
#ifndef MTS_COMPRESS_ZIP_ANCESTOR_H
#define MTS_COMPRESS_ZIP_ANCESTOR_H

#include "base/alloc.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* What is wanted. */
typedef struct mts_ancestor_options {
    double tolerance; /* largest |W - W'| / |W|, Frobenius norms */
    uint32_t rank;    /* most of a difference */
    uint32_t base;    /* the matrix that is the base; MTS_NONE: choose */
} mts_ancestor_options;

/* A matrix in terms of the base. */
typedef struct mts_difference {
    bool fits;                 /* false: it stays as it is; rank and deviation say what was tried */
    uint32_t rank;             /* 0: the base stands for it */
    const float *left, *right; /* [rows][rank], [rank][columns]; NULL at rank 0 */
    double deviation;          /* |W - base - left right| / |W| of the numbers above */
} mts_difference;

typedef struct mts_ancestor {
    const float *base;           /* [rows][columns]: one of the matrices, or in the arena */
    mts_difference *differences; /* [count] */
    uint64_t numbers;            /* stored: the base, the factors, and the matrices that do not fit */
} mts_ancestor;

/*
 * matrices[count >= 2], different from each other, the most important one first. Without a
 * base among the options it is the first matrix, or, if that stores less, what all of them
 * have come from: with three or more matrices it is determined although none of them is
 * it. The result lies in `arena`; temporaries come from `allocator`. OUT_OF_MEMORY;
 * INVALID_ARGUMENT: numbers that are not finite.
 */
mts_status mts_ancestor_find(const float *const *matrices, uint32_t count, uint32_t rows, uint32_t columns,
                             const mts_ancestor_options *options, const mts_allocator *allocator,
                             mts_arena *arena, mts_ancestor *out, mts_error *error);

#endif
