/*
 * ancestor.c: see ancestor.h.
 *
 * Let W_t = W + K_t, all K_t of rank r, and W unknown. Then D_t = W_t - W_0 = K_t - K_0 has
 * rank 2r, and all D_t have the columns and the rows of K_0 in common. In the singular
 * vectors of one of them, D = L S R, K_0 is L (b M a') R with b and a the common columns
 * and rows. S + b M a' has to lose r of its ranks, which determines M:
 * M = -(a' S^-1 b)^-1.
 */
#include "compress/zip/ancestor.h"

#include <math.h>
#include <string.h>

#include "compress/solve/low_rank.h"
#include "compress/solve/product.h"
#include "graph/graph.h"

#define COMMON_COSINE 0.99    /* of directions that count as the same; what comes of it is measured */
#define INVERTIBLE_LEAST 1e-9 /* smallest singular value over the largest */

typedef struct search {
    const float *const *matrices;
    uint32_t count, rows, columns;
    const mts_ancestor_options *options;
    const mts_allocator *allocator;
    mts_arena *arena;
    mts_error *error;
} search;

static size_t cells(const search *s)
{
    return (size_t)s->rows * s->columns;
}

/* difference[cells] = a - b; returns the norm of a. */
static double subtract(const search *s, const float *a, const float *b, double *difference)
{
    double squares = 0.0;
    for (size_t i = 0; i < cells(s); i++) {
        difference[i] = (double)a[i] - (double)b[i];
        squares += (double)a[i] * (double)a[i];
    }
    return sqrt(squares);
}

/* Decomposes matrices[t] - base into `scratch`. */
static mts_status decompose(const search *s, const float *base, uint32_t t, uint32_t most, mts_arena *scratch,
                            mts_low_rank *out, double *norm)
{
    double *difference = mts_arena_zero(scratch, cells(s), sizeof *difference);
    if (!difference) {
        return mts_fail_memory(s->error);
    }
    *norm = subtract(s, s->matrices[t], base, difference);
    return mts_low_rank_find(difference, s->rows, s->columns, s->options->tolerance * *norm, most, scratch,
                             out, s->error);
}

/* ---- factors in float32, and how far they are off ---- */

/* `row` holds a row of numbers. */
static double deviation(const search *s, const float *base, uint32_t t, const mts_difference *d, double norm,
                        double *row)
{
    double squares = 0.0;
    for (uint32_t r = 0; r < s->rows; r++) {
        const size_t first = (size_t)r * s->columns;
        for (uint32_t c = 0; c < s->columns; c++) {
            row[c] = (double)s->matrices[t][first + c] - (double)base[first + c];
        }
        for (uint32_t k = 0; k < d->rank; k++) {
            const double factor = (double)d->left[(size_t)r * d->rank + k];
            const float *right = d->right + (size_t)k * s->columns;
            for (uint32_t c = 0; c < s->columns; c++) {
                row[c] -= factor * (double)right[c];
            }
        }
        const double norm_row = mts_matrix_norm(row, s->columns);
        squares += norm_row * norm_row;
    }
    return norm > 0.0 ? sqrt(squares) / norm : 0.0;
}

/* Half of each singular value goes to either side, so that neither becomes small. */
static bool factors(const search *s, const mts_low_rank *found, mts_difference *out)
{
    float *left = mts_arena_zero(s->arena, (size_t)s->rows * found->rank, sizeof *left);
    float *right = mts_arena_zero(s->arena, (size_t)s->columns * found->rank, sizeof *right);
    for (uint32_t k = 0; left && right && k < found->rank; k++) {
        const double root = sqrt(found->sigma[k]);
        for (uint32_t r = 0; r < s->rows; r++) {
            left[(size_t)r * found->rank + k] = (float)(root * found->left[(size_t)r * found->rank + k]);
        }
        for (uint32_t c = 0; c < s->columns; c++) {
            const size_t at = (size_t)k * s->columns + c;
            right[at] = (float)(root * found->right[at]);
        }
    }
    out->left = left;
    out->right = right;
    return left && right;
}

static mts_status describe_one(const search *s, const float *base, uint32_t t, mts_difference *out,
                               uint64_t *numbers)
{
    mts_arena scratch;
    mts_low_rank found;
    double norm = 0.0;
    mts_arena_init(&scratch, s->allocator);
    mts_status status = decompose(s, base, t, s->options->rank, &scratch, &found, &norm);
    if (status == MTS_STATUS_OK) {
        *out = (mts_difference){.rank = found.rank, .deviation = norm > 0.0 ? found.error / norm : 0.0};
        out->fits = found.error <= s->options->tolerance * norm;
        if (out->fits && out->rank && !factors(s, &found, out)) {
            status = mts_fail_memory(s->error);
        }
    }
    if (status == MTS_STATUS_OK && out->fits) {
        double *row = mts_arena_zero(&scratch, s->columns, sizeof *row);
        status = row ? status : mts_fail_memory(s->error);
        out->deviation = row ? deviation(s, base, t, out, norm, row) : 0.0;
        out->fits = out->deviation <= s->options->tolerance; /* also of the numbers that are written */
    }
    *numbers += out->fits ? (uint64_t)out->rank * (s->rows + s->columns) : (uint64_t)cells(s);
    mts_arena_release(&scratch);
    return status;
}

/* All matrices in terms of a base. */
static mts_status describe(const search *s, const float *base, mts_ancestor *out)
{
    *out = (mts_ancestor){.base = base, .numbers = cells(s)};
    out->differences = mts_arena_zero(s->arena, s->count, sizeof *out->differences);
    mts_status status = out->differences ? MTS_STATUS_OK : mts_fail_memory(s->error);
    for (uint32_t t = 0; t < s->count && status == MTS_STATUS_OK; t++) {
        if (s->matrices[t] == base) {
            out->differences[t].fits = true;
        } else {
            status = describe_one(s, base, t, &out->differences[t], &out->numbers);
        }
    }
    return status;
}

/* ---- the ancestor that no matrix is ---- */

/* The first directions of the decomposition of a product of orthonormal rows are those that both
   have in common; *common of them. */
static mts_status common_directions(const double *product, uint32_t rows, uint32_t columns,
                                    mts_arena *scratch, mts_low_rank *out, uint32_t *common, mts_error *error)
{
    const mts_status status = mts_svd(product, rows, columns, scratch, out, error);
    *common = 0;
    while (status == MTS_STATUS_OK && *common < out->rank && out->sigma[*common] > COMMON_COSINE) {
        (*common)++;
    }
    return status;
}

/* out[columns][rows] = a[rows][columns]. */
static double *transposed(const double *a, uint32_t rows, uint32_t columns, mts_arena *scratch)
{
    double *out = mts_arena_zero(scratch, (size_t)rows * columns, sizeof *out);
    for (uint32_t r = 0; out && r < rows; r++) {
        for (uint32_t c = 0; c < columns; c++) {
            out[(size_t)c * rows + r] = a[(size_t)r * columns + c];
        }
    }
    return out;
}

/* Both decompositions' common columns and rows, in the singular vectors of `a`. */
typedef struct common {
    mts_low_rank columns, rows;
    uint32_t count; /* 0: there is no ancestor of its own */
} common;

static mts_status find_common(const mts_low_rank *a, const mts_low_rank *b, mts_arena *scratch, common *out,
                              mts_error *error)
{
    const double *left = transposed(a->left, a->rows, a->rank, scratch);
    const double *right = transposed(b->right, b->rank, b->columns, scratch);
    double *columns = mts_arena_zero(scratch, (size_t)a->rank * b->rank, sizeof *columns);
    double *rows = mts_arena_zero(scratch, (size_t)a->rank * b->rank, sizeof *rows);
    uint32_t common_rows = 0;
    if (!left || !right || !columns || !rows) {
        return mts_fail_memory(error);
    }
    mts_multiply(left, b->left, a->rank, a->rows, b->rank, columns);
    mts_multiply(a->right, right, a->rank, a->columns, b->rank, rows);
    mts_status status =
        common_directions(columns, a->rank, b->rank, scratch, &out->columns, &out->count, error);
    MTS_TRY(status, common_directions(rows, a->rank, b->rank, scratch, &out->rows, &common_rows, error));
    out->count = common_rows == out->count ? out->count : 0;
    return status;
}

/* inverse[n][n]; false where there is none. */
static mts_status invert(const double *matrix, uint32_t n, mts_arena *scratch, double *inverse, bool *exists,
                         mts_error *error)
{
    mts_low_rank d;
    const mts_status status = mts_svd(matrix, n, n, scratch, &d, error);
    *exists = status == MTS_STATUS_OK && d.sigma[n - 1] > INVERTIBLE_LEAST * d.sigma[0];
    for (uint32_t i = 0; *exists && i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (uint32_t k = 0; k < n; k++) {
                sum += d.right[(size_t)k * n + i] / d.sigma[k] * d.left[(size_t)j * n + k];
            }
            inverse[(size_t)i * n + j] = sum;
        }
    }
    return status;
}

/* m[count][count] = -(a' S^-1 b)^-1 */
static mts_status solve_middle(const mts_low_rank *d, const common *c, mts_arena *scratch, double *m,
                               bool *exists, mts_error *error)
{
    const uint32_t n = c->count;
    double *inner = mts_arena_zero(scratch, (size_t)n * n, sizeof *inner);
    if (!inner) {
        return mts_fail_memory(error);
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            for (uint32_t k = 0; k < d->rank; k++) {
                inner[(size_t)i * n + j] -= c->rows.left[(size_t)k * c->rows.rank + i] / d->sigma[k] *
                                            c->columns.left[(size_t)k * c->columns.rank + j];
            }
        }
    }
    return invert(inner, n, scratch, m, exists, error);
}

/* base = W_0 - L b M a' R, with c and m as above; d = W_t - W_0. */
static bool remove_own(const search *s, const mts_low_rank *d, const common *c, const double *m,
                       mts_arena *scratch, float *base)
{
    const uint32_t n = c->count;
    double *core = mts_arena_zero(scratch, (size_t)d->rank * d->rank, sizeof *core);
    double *wide = mts_arena_zero(scratch, (size_t)d->rank * d->columns, sizeof *wide);
    double *own = mts_arena_zero(scratch, cells(s), sizeof *own);
    double *line = mts_arena_zero(scratch, n, sizeof *line); /* a row of b M */
    if (!core || !wide || !own || !line) {
        return false;
    }
    for (uint32_t k = 0; k < d->rank; k++) {
        const double *b = c->columns.left + (size_t)k * c->columns.rank;
        for (uint32_t j = 0; j < n; j++) {
            line[j] = 0.0;
            for (uint32_t i = 0; i < n; i++) {
                line[j] += b[i] * m[(size_t)i * n + j];
            }
        }
        for (uint32_t l = 0; l < d->rank; l++) {
            for (uint32_t j = 0; j < n; j++) {
                core[(size_t)k * d->rank + l] += line[j] * c->rows.left[(size_t)l * c->rows.rank + j];
            }
        }
    }
    mts_multiply(core, d->right, d->rank, d->rank, d->columns, wide);
    mts_multiply(d->left, wide, d->rows, d->rank, d->columns, own);
    for (size_t i = 0; i < cells(s); i++) {
        base[i] = (float)((double)s->matrices[0][i] - own[i]);
    }
    return true;
}

/* Two differences to the first matrix that are of low rank, each in an arena of its own; false if there
   are none. The search keeps no others, which would be as many matrices as there are tasks. */
static mts_status two_differences(const search *s, mts_arena arenas[2], mts_low_rank *two, bool *both)
{
    uint32_t found = 0;
    const uint32_t whole = s->rows < s->columns ? s->rows : s->columns;
    const uint32_t most = s->options->rank < whole / 2 ? 2 * s->options->rank : whole;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = 1; t < s->count && found < 2 && status == MTS_STATUS_OK; t++) {
        double norm = 0.0;
        status = decompose(s, s->matrices[0], t, most, &arenas[found], &two[found], &norm);
        if (status == MTS_STATUS_OK && two[found].rank && two[found].error <= s->options->tolerance * norm) {
            found++;
        } else {
            mts_arena_release(&arenas[found]);
            mts_arena_init(&arenas[found], s->allocator);
        }
    }
    *both = found == 2;
    return status;
}

/* *base: NULL if nothing speaks for an ancestor that is not the first matrix. */
static mts_status find_hidden(const search *s, mts_arena *scratch, mts_arena arenas[2], const float **base)
{
    mts_low_rank two[2];
    common c = {.count = 0};
    bool good = false;
    *base = NULL;
    mts_status status = two_differences(s, arenas, two, &good);
    if (status != MTS_STATUS_OK || !good) {
        return status;
    }
    status = find_common(&two[0], &two[1], scratch, &c, s->error);
    if (status != MTS_STATUS_OK || c.count == 0) {
        return status;
    }
    double *m = mts_arena_zero(scratch, (size_t)c.count * c.count, sizeof *m);
    float *made = mts_arena_zero(s->arena, cells(s), sizeof *made);
    status = m && made ? solve_middle(&two[0], &c, scratch, m, &good, s->error) : mts_fail_memory(s->error);
    if (status == MTS_STATUS_OK && good) {
        status = remove_own(s, &two[0], &c, m, scratch, made) ? status : mts_fail_memory(s->error);
        *base = made;
    }
    return status;
}

/* A matrix that the base stands for is the base itself, and keeps every bit. */
static const float *among(const search *s, const mts_ancestor *found)
{
    for (uint32_t t = 0; t < s->count; t++) {
        if (found->differences[t].fits && found->differences[t].rank == 0) {
            return s->matrices[t];
        }
    }
    return found->base;
}

static mts_status try_hidden(const search *s, mts_ancestor *best)
{
    mts_arena scratch, arenas[2];
    const float *base = NULL;
    mts_ancestor other;
    mts_arena_init(&scratch, s->allocator);
    mts_arena_init(&arenas[0], s->allocator);
    mts_arena_init(&arenas[1], s->allocator);
    mts_status status = find_hidden(s, &scratch, arenas, &base);
    mts_arena_release(&arenas[1]);
    mts_arena_release(&arenas[0]);
    mts_arena_release(&scratch);
    if (status != MTS_STATUS_OK || !base) {
        return status;
    }
    status = describe(s, base, &other);
    if (status == MTS_STATUS_OK && among(s, &other) != base) {
        status = describe(s, among(s, &other), &other);
    }
    if (status == MTS_STATUS_OK && other.numbers < best->numbers) {
        *best = other;
    }
    return status;
}

mts_status mts_ancestor_find(const float *const *matrices, uint32_t count, uint32_t rows, uint32_t columns,
                             const mts_ancestor_options *options, const mts_allocator *allocator,
                             mts_arena *arena, mts_ancestor *out, mts_error *error)
{
    const search s = {.matrices = matrices,
                      .count = count,
                      .rows = rows,
                      .columns = columns,
                      .options = options,
                      .allocator = allocator,
                      .arena = arena,
                      .error = error};
    const bool given = options->base != MTS_NONE;
    mts_status status = describe(&s, matrices[given ? options->base : 0], out);
    if (status == MTS_STATUS_OK && !given && count > 2) {
        status = try_hidden(&s, out);
    }
    return status;
}
