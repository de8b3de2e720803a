/*
 * product.h: products of row-major matrices.
 */
#ifndef MTS_COMPRESS_SOLVE_PRODUCT_H
#define MTS_COMPRESS_SOLVE_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* out[rows][columns] = a[rows][inner] b[inner][columns] */
void mts_multiply(const double *a, const double *b, uint32_t rows, uint32_t inner, uint32_t columns,
                  double *out);
/* out[rows][columns] -= a[rows][inner] b[columns][inner]^T */
void mts_subtract_product(const double *a, const double *b, uint32_t rows, uint32_t inner, uint32_t columns,
                          double *out);
double mts_dot(const double *a, const double *b, uint32_t count);
/* The first `columns` numbers of rows that lie `stride` numbers apart. */
typedef struct mts_columns {
    const float *data;
    size_t columns, stride;
} mts_columns;
/*
 * out[a.columns][b.columns], rows of it `stride` apart, = (add: +=) a^T b, over `rows`
 * rows of both. oneDNN asks the processor what it can do, where OpenBLAS asks for its
 * name and is several times slower on one that is newer than itself.
 */
void mts_cross_product(mts_columns a, mts_columns b, size_t rows, bool add, float *out, size_t stride);

#endif
