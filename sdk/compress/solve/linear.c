/*
 * linear.c: Cholesky factorisation with a ridge that grows until it works.
 */
#include "compress/solve/linear.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/size.h"
#include "compress/solve/dense.h"

#define RIDGE_FIRST 1e-9 /* tried after a ridge of 0 */
#define RIDGE_MOST 1e-1

static bool all_finite(const double *values, size_t count)
{
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        good = good && isfinite(values[i]);
    }
    return good;
}

/*
 * Factors A + ridge I in the upper triangle, which is first restored from the lower one
 * and the saved diagonal. A pivot that is nothing but rounding counts as zero.
 */
static bool factor(double *a, uint32_t n, const double *diagonal, double ridge)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        a[i * n + i] = diagonal[i] + ridge;
        largest = fmax(largest, a[i * n + i]);
        for (size_t j = i + 1; j < n; j++) {
            a[i * n + j] = a[j * n + i];
        }
    }
    bool good = mts_dense_factor(a, n);
    for (size_t i = 0; i < n && good; i++) {
        const double pivot = a[i * n + i];
        good = pivot * pivot > largest * DBL_EPSILON * (double)n;
    }
    return good;
}

static mts_status singular(mts_error *error, uint32_t n, const char *why)
{
    return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "singular statistics: the system of %u unknowns %s",
                    n, why);
}

static void add_pull(double *b, const double *x0, size_t count, double weight)
{
    for (size_t i = 0; x0 && weight > 0 && i < count; i++) {
        b[i] += weight * x0[i];
    }
}

/* `diagonal` receives A's. */
static mts_status solve(double *a, uint32_t n, double *b, uint32_t count, const double *x0, double ridge,
                        double *diagonal, double *used, mts_error *error)
{
    double mean = 0;
    if (!all_finite(a, (size_t)n * n)) {
        return singular(error, n, "holds a number that is not finite");
    }
    for (size_t i = 0; i < n; i++) {
        diagonal[i] = a[i * n + i];
        mean += diagonal[i] / (double)n;
    }
    if (!(mean > 0)) {
        return singular(error, n, "is zero");
    }
    bool solved = factor(a, n, diagonal, ridge * mean);
    while (!solved && ridge < RIDGE_MOST * (1 - 1e-9)) {
        ridge = ridge > 0 ? fmin(10 * ridge, RIDGE_MOST) : RIDGE_FIRST;
        solved = factor(a, n, diagonal, ridge * mean);
    }
    if (!solved) {
        return singular(error, n, "is not positive definite");
    }
    add_pull(b, x0, (size_t)count * n, ridge * mean);
    mts_dense_solve(a, n, b, count);
    if (used) {
        *used = ridge;
    }
    return all_finite(b, (size_t)count * n) ? MTS_STATUS_OK : singular(error, n, "has no finite solution");
}

mts_status mts_solve_positive(double *a, uint32_t n, double *b, uint32_t count, const double *x0,
                              double ridge, double *used, mts_error *error)
{
    const mts_allocator *allocator = mts_allocator_default(); /* none is handed in, and it is one row */
    size_t elements = 0;
    if (n == 0) {
        return MTS_STATUS_OK;
    }
    if (n > INT_MAX || count > INT_MAX || !mts_size_mul((size_t)n * n, sizeof *a, &elements)) {
        return mts_fail(error, MTS_STATUS_LIMIT, "a system of %u unknowns is too large", n);
    }
    double *diagonal = mts_alloc_zero(allocator, n, sizeof *diagonal);
    if (!diagonal) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a system of %u unknowns", n);
    }
    const mts_status status = solve(a, n, b, count, x0, ridge, diagonal, used, error);
    mts_alloc_free(allocator, diagonal);
    return status;
}
