/*
 * product.h: products of row-major float64 matrices, by BLAS.
 */
#ifndef MTS_COMPRESS_SOLVE_PRODUCT_H
#define MTS_COMPRESS_SOLVE_PRODUCT_H

#include <stdint.h>

/* out[rows][columns] = a[rows][inner] b[inner][columns] */
void mts_multiply(const double *a, const double *b, uint32_t rows, uint32_t inner, uint32_t columns,
                  double *out);
/* out[rows][columns] -= a[rows][inner] b[columns][inner]^T */
void mts_subtract_product(const double *a, const double *b, uint32_t rows, uint32_t inner, uint32_t columns,
                          double *out);
double mts_dot(const double *a, const double *b, uint32_t count);

#endif
