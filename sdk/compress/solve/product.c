/*
 * product.c: see product.h.
 */
#include "compress/solve/product.h"

#include <cblas.h>

#include "compress/solve/blas.h"

void mts_multiply(const double *a, const double *b, uint32_t rows, uint32_t inner, uint32_t columns,
                  double *out)
{
    mts_blas_enter();
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)columns, (int)inner, 1.0, a,
                (int)inner, b, (int)columns, 0.0, out, (int)columns);
    mts_blas_leave();
}

void mts_subtract_product(const double *a, const double *b, uint32_t rows, uint32_t inner, uint32_t columns,
                          double *out)
{
    mts_blas_enter();
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)columns, (int)inner, -1.0, a,
                (int)inner, b, (int)inner, 1.0, out, (int)columns);
    mts_blas_leave();
}

double mts_dot(const double *a, const double *b, uint32_t count)
{
    return cblas_ddot((int)count, a, 1, b, 1);
}
