/*
 * low_rank.c: see low_rank.h.
 */
#include "compress/solve/low_rank.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include <cblas.h>

#include "compress/solve/blas.h"
#include "compress/solve/dense.h"

#define COLUMNS_FIRST 16u /* of the first subspace; adapters have 4 to 64 */
#define COLUMNS_MORE 8u   /* beyond the largest rank: the iteration converges faster */
#define ROUNDS 2u         /* of the iteration; differences of adapters need one */

/* LAPACK's, as every implementation exports it. */
extern void dgesdd_(const char *jobz, const blasint *m, const blasint *n, double *a, const blasint *lda,
                    double *s, double *u, const blasint *ldu, double *vt, const blasint *ldvt, double *work,
                    const blasint *lwork, blasint *iwork, blasint *info);

double mts_matrix_norm(const double *matrix, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += matrix[i] * matrix[i];
    }
    return sqrt(sum);
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static bool allocate(mts_low_rank *out, uint32_t rows, uint32_t columns, uint32_t rank, mts_arena *arena)
{
    *out = (mts_low_rank){.rows = rows, .columns = columns, .rank = rank};
    out->left = mts_arena_zero(arena, (size_t)rows * rank, sizeof *out->left);
    out->sigma = mts_arena_zero(arena, rank, sizeof *out->sigma);
    out->right = mts_arena_zero(arena, (size_t)columns * rank, sizeof *out->right);
    return out->left && out->sigma && out->right;
}

/* A row-major matrix is the transpose of Fortran's, so left and right change places. */
static blasint decompose(double *copy, mts_low_rank *out, double *work, blasint size, blasint *integers)
{
    const blasint m = (blasint)out->columns, n = (blasint)out->rows, k = (blasint)out->rank;
    blasint info = 0;
    mts_blas_enter();
    dgesdd_("S", &m, &n, copy, &m, out->sigma, out->right, &m, out->left, &k, work, &size, integers, &info);
    mts_blas_leave();
    return info;
}

mts_status mts_svd(const double *matrix, uint32_t rows, uint32_t columns, mts_arena *arena, mts_low_rank *out,
                   mts_error *error)
{
    const uint32_t rank = least(rows, columns);
    const size_t count = (size_t)rows * columns;
    if (rows > INT_MAX || columns > INT_MAX || rank == 0) {
        return mts_fail(error, MTS_STATUS_LIMIT, "a matrix of %u x %u cannot be decomposed", rows, columns);
    }
    double *copy = mts_arena_zero(arena, count, sizeof *copy);
    blasint *integers = mts_arena_zero(arena, (size_t)8 * rank, sizeof *integers);
    if (!allocate(out, rows, columns, rank, arena) || !copy || !integers) {
        return mts_fail_memory(error);
    }
    memcpy(copy, matrix, count * sizeof *copy);
    if (!isfinite(mts_matrix_norm(matrix, count))) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "a matrix of %u x %u holds a number that is not finite", rows, columns);
    }
    double wanted = 0.0;
    blasint info = decompose(copy, out, &wanted, -1, integers);
    double *work = mts_arena_zero(arena, (size_t)wanted + 1, sizeof *work);
    if (!work) {
        return mts_fail_memory(error);
    }
    info = info ? info : decompose(copy, out, work, (blasint)wanted, integers);
    return info == 0 ? MTS_STATUS_OK
                     : mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                                "the singular values of a matrix of %u x %u do not converge", rows, columns);
}

/* ---- the subspace ---- */

/* out = op(a) b, row-major; `inner` is the length of the sums. */
static void multiply(bool transpose, const double *a, const double *b, uint32_t rows, uint32_t inner,
                     uint32_t columns, double *out)
{
    const mts_dense left = {a, transpose ? 1 : inner, transpose ? rows : 1}, right = {b, columns, 1};
    memset(out, 0, (size_t)rows * columns * sizeof *out);
    mts_dense_add(rows, columns, inner, 1.0, left, right, out, columns);
}

/* Numbers of a fixed sequence, about the same in all directions. */
static void fill_start(double *numbers, size_t count)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        numbers[i] = (double)(state >> 40) / 8388608.0 - 1.0;
    }
}

/* Makes the rows of q[count][length] orthonormal (Gram and Schmidt, twice, which is
   enough); a row that depends on those before it becomes zero. */
static void orthonormalise(double *q, uint32_t count, uint32_t length)
{
    for (uint32_t i = 0; i < count; i++) {
        double *row = q + (size_t)i * length;
        const double before = cblas_dnrm2((int)length, row, 1);
        for (uint32_t pass = 0; pass < 2; pass++) {
            for (uint32_t j = 0; j < i; j++) {
                const double *done = q + (size_t)j * length;
                cblas_daxpy((int)length, -cblas_ddot((int)length, row, 1, done, 1), done, 1, row, 1);
            }
        }
        const double norm = cblas_dnrm2((int)length, row, 1);
        cblas_dscal((int)length, norm > 1e-13 * before ? 1.0 / norm : 0.0, row, 1);
    }
}

/* from[rows][columns] into to[columns][rows]. */
static void transpose(const double *from, uint32_t rows, uint32_t columns, double *to)
{
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t c = 0; c < columns; c++) {
            to[(size_t)c * rows + r] = from[(size_t)r * columns + c];
        }
    }
}

/* What an attempt works with; `count` directions. */
typedef struct subspace {
    const double *matrix;
    uint32_t rows, columns, count;
    double *q;     /* [count][rows], orthonormal: directions of the matrix's columns */
    double *tall;  /* [rows][count] */
    double *small; /* [count][columns] */
    double *wide;  /* [columns][count] */
    double *rest;  /* [rows][columns] */
} subspace;

static bool make_room(subspace *s, mts_arena *arena)
{
    const size_t longer = s->rows > s->columns ? s->rows : s->columns;
    s->q = mts_arena_zero(arena, longer * s->count, sizeof *s->q);
    s->tall = mts_arena_zero(arena, (size_t)s->rows * s->count, sizeof *s->tall);
    s->small = mts_arena_zero(arena, (size_t)s->columns * s->count, sizeof *s->small);
    s->wide = mts_arena_zero(arena, (size_t)s->columns * s->count, sizeof *s->wide);
    return s->q && s->tall && s->small && s->wide;
}

static void iterate(subspace *s)
{
    fill_start(s->wide, (size_t)s->columns * s->count);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        multiply(false, s->matrix, s->wide, s->rows, s->columns, s->count, s->tall);
        transpose(s->tall, s->rows, s->count, s->q);
        orthonormalise(s->q, s->count, s->rows);
        if (round + 1 == ROUNDS) {
            break;
        }
        transpose(s->q, s->count, s->rows, s->tall);
        multiply(true, s->matrix, s->tall, s->columns, s->rows, s->count, s->wide);
        transpose(s->wide, s->columns, s->count, s->q);
        orthonormalise(s->q, s->count, s->columns);
        transpose(s->q, s->count, s->columns, s->wide);
    }
    /* What the matrix is in the subspace, and what of it lies outside. */
    multiply(false, s->q, s->matrix, s->count, s->rows, s->columns, s->small);
}

static double outside(subspace *s)
{
    const size_t count = (size_t)s->rows * s->columns;
    memcpy(s->rest, s->matrix, count * sizeof *s->rest);
    const mts_dense left = {s->q, 1, s->rows}, right = {s->small, s->columns, 1};
    mts_dense_add(s->rows, s->columns, s->count, -1.0, left, right, s->rest, s->columns);
    return mts_matrix_norm(s->rest, count);
}

/* Cuts the decomposition off where what is left comes to `limit`, at most at `most`. */
static void truncate(mts_low_rank *out, double rest, double limit, uint32_t most)
{
    double squares = rest * rest;
    uint32_t rank = out->rank;
    while (rank > 0 &&
           (rank > most || sqrt(squares + out->sigma[rank - 1] * out->sigma[rank - 1]) <= limit)) {
        rank--;
        squares += out->sigma[rank] * out->sigma[rank];
    }
    for (uint32_t r = 0; r < out->rows && rank < out->rank; r++) {
        memmove(out->left + (size_t)r * rank, out->left + (size_t)r * out->rank, rank * sizeof *out->left);
    }
    out->rank = rank;
    out->error = sqrt(squares);
}

static mts_status attempt(subspace *s, double limit, uint32_t most, mts_arena *arena, mts_low_rank *out,
                          mts_error *error)
{
    mts_low_rank inner;
    if (!make_room(s, arena)) {
        return mts_fail_memory(error);
    }
    iterate(s);
    const double rest = outside(s);
    const mts_status status = mts_svd(s->small, s->count, s->columns, arena, &inner, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    *out = inner;
    out->rows = s->rows;
    out->left = mts_arena_zero(arena, (size_t)s->rows * inner.rank, sizeof *out->left);
    if (!out->left) {
        return mts_fail_memory(error);
    }
    multiply(true, s->q, inner.left, s->rows, s->count, inner.rank, out->left);
    truncate(out, rest, limit, most);
    return MTS_STATUS_OK;
}

mts_status mts_low_rank_find(const double *matrix, uint32_t rows, uint32_t columns, double limit,
                             uint32_t most, mts_arena *arena, mts_low_rank *out, mts_error *error)
{
    const size_t count = (size_t)rows * columns;
    const double norm = mts_matrix_norm(matrix, count);
    if (!isfinite(norm)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "a matrix of %u x %u holds a number that is not finite", rows, columns);
    }
    *out = (mts_low_rank){.rows = rows, .columns = columns, .error = norm};
    if (norm <= limit || most == 0 || count == 0) {
        return MTS_STATUS_OK;
    }
    subspace s = {.matrix = matrix, .rows = rows, .columns = columns};
    const uint32_t whole = least(rows, columns);
    s.rest = mts_arena_zero(arena, count, sizeof *s.rest);
    if (!s.rest) {
        return mts_fail_memory(error);
    }
    mts_status status = MTS_STATUS_OK;
    for (uint32_t wanted = COLUMNS_FIRST; status == MTS_STATUS_OK; wanted *= 2) {
        const uint32_t rank = least(wanted, most);
        s.count = least(rank + COLUMNS_MORE, whole);
        status = attempt(&s, limit, most, arena, out, error);
        if (rank == most || s.count == whole || out->error <= limit) {
            break;
        }
    }
    return status;
}
