/*
 * low_rank.h: a matrix as the product of two thin ones: truncated singular value
 * decompositions, in float64.
 *
 * The leading singular vectors come from a block subspace iteration (Halko et al. 2011),
 * the small matrix that is left is LAPACK's. How well a product stands for its matrix is
 * measured and never concluded, so a bad start costs time, not accuracy.
 */
#ifndef MTS_COMPRESS_SOLVE_LOW_RANK_H
#define MTS_COMPRESS_SOLVE_LOW_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/status.h"

/* left[rows][rank] * diag(sigma) * right[rank][columns]: orthonormal columns of `left` and
   rows of `right`, `sigma` descending. */
typedef struct mts_low_rank {
    uint32_t rows, columns, rank;
    double *left, *sigma, *right;
    double error; /* Frobenius norm of what is left of the matrix */
} mts_low_rank;

/*
 * Singular value decomposition of a small matrix, rank = min(rows, columns) and error 0.
 * The arrays lie in `arena`. INVALID_ARGUMENT: a number is not finite, or LAPACK does not
 * converge; LIMIT: it is larger than LAPACK counts; OUT_OF_MEMORY.
 */
mts_status mts_svd(const double *matrix, uint32_t rows, uint32_t columns, mts_arena *arena, mts_low_rank *out,
                   mts_error *error);

/*
 * The least rank <= `most` with an error of at most `limit`, as a random subspace of two rounds
 * shows it. If there is none, rank is `most` and error says what that leaves. Equal
 * arguments give equal numbers. As mts_svd.
 */
mts_status mts_low_rank_find(const double *matrix, uint32_t rows, uint32_t columns, double limit,
                             uint32_t most, mts_arena *arena, mts_low_rank *out, mts_error *error);

/* Frobenius norm. */
double mts_matrix_norm(const double *matrix, size_t count);

#endif
