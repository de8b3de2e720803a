/*
 * linear.h: positive definite systems of equations, in float64, by Cholesky's factorisation
 * (dense.h).
 */
#ifndef MTS_COMPRESS_SOLVE_LINEAR_H
#define MTS_COMPRESS_SOLVE_LINEAR_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/status.h"

/*
 * Solves (A + ridge * mean(diag A) * I) X = B + ridge * mean(diag A) * X0 for X: the
 * least-squares problem with a pull towards X0 (NULL: towards 0). A [n][n] symmetric,
 * row-major, destroyed; B [count][n], one right-hand side a row, replaced by the
 * solution; X0 [count][n]. ridge >= 0. Where A is not positive definite the ridge is
 * raised tenfold up to 1e-1; *used (may be NULL) receives the one that worked.
 * INVALID_ARGUMENT "singular statistics": not even then, or A holds no finite numbers, or
 * is zero.
 */
mts_status mts_solve_positive(double *a, uint32_t n, double *b, uint32_t count, const double *x0,
                              double ridge, double *used, mts_error *error);

#endif
