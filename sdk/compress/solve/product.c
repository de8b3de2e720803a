/*
 * product.c: see product.h. Products in float32 are oneDNN's, those in float64 are dense.h's.
 */
#include "compress/solve/product.h"

#include <string.h>

#include <cblas.h>
#include <oneapi/dnnl/dnnl.h>

#include "compress/solve/blas.h"
#include "compress/solve/dense.h"

void mts_multiply(const double *a, const double *b, uint32_t rows, uint32_t inner, uint32_t columns,
                  double *out)
{
    const mts_dense left = {a, inner, 1}, right = {b, columns, 1};
    memset(out, 0, (size_t)rows * columns * sizeof *out);
    mts_dense_add(rows, columns, inner, 1.0, left, right, out, columns);
}

void mts_subtract_product(const double *a, const double *b, uint32_t rows, uint32_t inner, uint32_t columns,
                          double *out)
{
    const mts_dense left = {a, inner, 1}, right = {b, 1, inner};
    mts_dense_add(rows, columns, inner, -1.0, left, right, out, columns);
}

double mts_dot(const double *a, const double *b, uint32_t count)
{
    return cblas_ddot((int)count, a, 1, b, 1);
}

void mts_cross_product(mts_columns a, mts_columns b, size_t rows, bool add, float *out, size_t stride)
{
    const dnnl_dim_t m = (dnnl_dim_t)a.columns, n = (dnnl_dim_t)b.columns;
    const float keep = add ? 1.0f : 0.0f;
    if (dnnl_sgemm('T', 'N', m, n, (dnnl_dim_t)rows, 1.0f, a.data, (dnnl_dim_t)a.stride, b.data,
                   (dnnl_dim_t)b.stride, keep, out, (dnnl_dim_t)stride) != dnnl_success) {
        /* It was short of memory, which OpenBLAS has taken already. */
        mts_blas_enter();
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)m, (int)n, (int)rows, 1.0f, a.data,
                    (int)a.stride, b.data, (int)b.stride, keep, out, (int)stride);
        mts_blas_leave();
    }
}
