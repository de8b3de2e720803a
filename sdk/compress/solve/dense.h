/*
 * dense.h: products and Cholesky factors of row-major float64 matrices, at the
 * processor's speed on any thread.
 *
 * Our own, because the serial build of OpenBLAS may be entered by one thread only
 * (blas.h), and takes a processor that is newer than itself for one of 2004: the layers
 * of large networks then wait for it longer than for everything else.
 *
 * Thread-safety: any number of threads, each with matrices of its own.
 */
#ifndef MTS_COMPRESS_SOLVE_DENSE_H
#define MTS_COMPRESS_SOLVE_DENSE_H

#include <stdbool.h>
#include <stddef.h>

/* A matrix: element (i, j) lies at data[i * row + j * column]. */
typedef struct mts_dense {
    const double *data;
    size_t row, column;
} mts_dense;

/* out[m][n], rows of it `stride` apart, += factor * a[m][k] b[k][n] */
void mts_dense_add(size_t m, size_t n, size_t k, double factor, mts_dense a, mts_dense b, double *out,
                   size_t stride);
/*
 * Factors a symmetric A = U' U. a[n][n] row-major: the upper triangle becomes U, the
 * lower one is neither read nor written. False: A is not positive definite, or holds a
 * number that is not finite.
 */
bool mts_dense_factor(double *a, size_t n);
/* Solves U' U x = b for each row of b[count][n], which becomes x. */
void mts_dense_solve(const double *u, size_t n, double *b, size_t count);

#endif
