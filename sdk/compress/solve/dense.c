/*
 * dense.c: see dense.h.
 *
 * A product is cut into blocks that are packed, so that a tile of 8 x 16 results reads
 * both operands in order, and stays in registers for a whole block of k. Factor and
 * solution work on blocks of 64 rows, and leave all but these blocks to the product.
 */
#include "compress/solve/dense.h"

#include <math.h>
#include <string.h>

#define TILE_ROWS 8u
#define TILE_COLUMNS 16u
#define BLOCK_ROWS 48u
#define BLOCK_COLUMNS 96u
#define BLOCK_DEPTH 192u
#define STEP 64u /* rows of a factor at a time */

typedef double vector8 __attribute__((vector_size(64)));
typedef double vector4 __attribute__((vector_size(32)));
typedef double vector2 __attribute__((vector_size(16)));

/* sums[TILE_ROWS][TILE_COLUMNS] = a[depth][TILE_ROWS]' b[depth][TILE_COLUMNS] */
typedef void (*tile_function)(size_t depth, const double *a, const double *b, double *sums);

/* Four rows by two vectors, from row R and column C of the tile on. */
#define FOUR_ROWS(type, R, C)                                                                                \
    do {                                                                                                     \
        const size_t width = sizeof(type) / sizeof(double);                                                  \
        type s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0}, s20 = {0}, s21 = {0}, s30 = {0}, s31 = {0};         \
        for (size_t k = 0; k < depth; k++) {                                                                 \
            const double *at = a + k * TILE_ROWS + (R);                                                      \
            type b0, b1;                                                                                     \
            memcpy(&b0, b + k * TILE_COLUMNS + (C), sizeof b0);                                              \
            memcpy(&b1, b + k * TILE_COLUMNS + (C) + width, sizeof b1);                                      \
            s00 += at[0] * b0;                                                                               \
            s01 += at[0] * b1;                                                                               \
            s10 += at[1] * b0;                                                                               \
            s11 += at[1] * b1;                                                                               \
            s20 += at[2] * b0;                                                                               \
            s21 += at[2] * b1;                                                                               \
            s30 += at[3] * b0;                                                                               \
            s31 += at[3] * b1;                                                                               \
        }                                                                                                    \
        const type rows[4][2] = {{s00, s01}, {s10, s11}, {s20, s21}, {s30, s31}};                            \
        for (size_t i = 0; i < 4; i++) {                                                                     \
            memcpy(sums + ((R) + i) * TILE_COLUMNS + (C), rows[i], sizeof rows[i]);                          \
        }                                                                                                    \
    } while (0)

static void tile_any(size_t depth, const double *a, const double *b, double *sums)
{
    for (size_t r = 0; r < TILE_ROWS; r += 4) {
        for (size_t c = 0; c < TILE_COLUMNS; c += 4) {
            FOUR_ROWS(vector2, r, c);
        }
    }
}

#if defined(__x86_64__)

__attribute__((target("avx2,fma"))) static void tile_avx2(size_t depth, const double *a, const double *b,
                                                          double *sums)
{
    for (size_t r = 0; r < TILE_ROWS; r += 4) {
        for (size_t c = 0; c < TILE_COLUMNS; c += 8) {
            FOUR_ROWS(vector4, r, c);
        }
    }
}

__attribute__((target("avx512f"))) static void tile_avx512(size_t depth, const double *a, const double *b,
                                                           double *sums)
{
    for (size_t r = 0; r < TILE_ROWS; r += 4) {
        FOUR_ROWS(vector8, r, 0u);
    }
}

static tile_function choose_tile(void)
{
    return __builtin_cpu_supports("avx512f")                                 ? tile_avx512
           : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? tile_avx2
                                                                             : tile_any;
}

#else

static tile_function choose_tile(void)
{
    return tile_any;
}

#endif

/* ---- products ---- */

typedef struct blocks {
    double a[BLOCK_ROWS * BLOCK_DEPTH];
    double b[BLOCK_DEPTH * BLOCK_COLUMNS];
} blocks;

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Panels of `tile` lines, [panel][depth][tile], from line `first` on; lines that are not
   there are 0. A line is a row of a, or a column of b. */
static void pack(const double *from, size_t line, size_t along, size_t lines, size_t depth, size_t tile,
                 double *to)
{
    for (size_t first = 0; first < lines; first += tile) {
        const size_t count = least(tile, lines - first);
        for (size_t k = 0; k < depth; k++) {
            const double *at = from + first * line + k * along;
            for (size_t i = 0; i < count; i++) {
                to[i] = at[i * line];
            }
            for (size_t i = count; i < tile; i++) {
                to[i] = 0.0;
            }
            to += tile;
        }
    }
}

static void add_tile(const double *sums, size_t rows, size_t columns, double factor, double *out,
                     size_t stride)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < columns; c++) {
            out[r * stride + c] += factor * sums[r * TILE_COLUMNS + c];
        }
    }
}

/* One packed block of a by one of b. */
static void add_block(const blocks *packed, size_t rows, size_t columns, size_t depth, double factor,
                      tile_function tile, double *out, size_t stride)
{
    double sums[TILE_ROWS * TILE_COLUMNS];
    for (size_t r = 0; r < rows; r += TILE_ROWS) {
        for (size_t c = 0; c < columns; c += TILE_COLUMNS) {
            tile(depth, packed->a + r * depth, packed->b + c * depth, sums);
            add_tile(sums, least(TILE_ROWS, rows - r), least(TILE_COLUMNS, columns - c), factor,
                     out + r * stride + c, stride);
        }
    }
}

void mts_dense_add(size_t m, size_t n, size_t k, double factor, mts_dense a, mts_dense b, double *out,
                   size_t stride)
{
    blocks packed;
    const tile_function tile = choose_tile();
    for (size_t p = 0; p < k; p += BLOCK_DEPTH) {
        const size_t depth = least(BLOCK_DEPTH, k - p);
        for (size_t j = 0; j < n; j += BLOCK_COLUMNS) {
            const size_t columns = least(BLOCK_COLUMNS, n - j);
            pack(b.data + p * b.row + j * b.column, b.column, b.row, columns, depth, TILE_COLUMNS, packed.b);
            for (size_t i = 0; i < m; i += BLOCK_ROWS) {
                const size_t rows = least(BLOCK_ROWS, m - i);
                pack(a.data + i * a.row + p * a.column, a.row, a.column, rows, depth, TILE_ROWS, packed.a);
                add_block(&packed, rows, columns, depth, factor, tile, out + i * stride + j, stride);
            }
        }
    }
}

/* ---- factors ---- */

/* to[count] -= factor * from */
static void subtract(double *to, const double *from, double factor, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] -= factor * from[i];
    }
}

/* Rows first .. end - 1 of U, from what is left of A there. */
static bool factor_rows(double *a, size_t n, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        double *row = a + i * n;
        for (size_t p = first; p < i; p++) {
            subtract(row + i, a + p * n + i, a[p * n + i], n - i);
        }
        const double pivot = row[i];
        if (!(pivot > 0.0) || !isfinite(pivot)) {
            return false;
        }
        const double by = 1.0 / sqrt(pivot);
        for (size_t j = i; j < n; j++) {
            row[j] *= by;
        }
    }
    return true;
}

/* Takes what rows[depth][n] of U explain off the diagonal block of A that begins at `first`. It goes by
   way of a block of its own, as only the upper triangle may change. */
static void reduce_diagonal(double *a, size_t n, const double *rows, size_t depth, size_t first, size_t count)
{
    double block[STEP * STEP] = {0.0};
    const mts_dense left = {rows + first, 1, n}, right = {rows + first, n, 1};
    mts_dense_add(count, count, depth, -1.0, left, right, block, count);
    for (size_t r = 0; r < count; r++) {
        for (size_t c = r; c < count; c++) {
            a[(first + r) * n + first + c] += block[r * count + c];
        }
    }
}

bool mts_dense_factor(double *a, size_t n)
{
    for (size_t first = 0; first < n; first += STEP) {
        const size_t end = first + least(STEP, n - first);
        if (!factor_rows(a, n, first, end)) {
            return false;
        }
        const double *rows = a + first * n;
        for (size_t i = end; i < n; i += STEP) { /* what these rows explain of the rest's upper triangle */
            const size_t count = least(STEP, n - i), next = i + count;
            const mts_dense left = {rows + i, 1, n}, right = {rows + next, n, 1};
            reduce_diagonal(a, n, rows, end - first, i, count);
            mts_dense_add(count, n - next, end - first, -1.0, left, right, a + i * n + next, n);
        }
    }
    return true;
}

/* ---- solutions ---- */

/* U' y = b of the columns first .. end - 1 of a row of b */
static void forward(const double *u, size_t n, double *b, size_t first, size_t end)
{
    for (size_t p = first; p < end; p++) {
        b[p] /= u[p * n + p];
        subtract(b + p + 1, u + p * n + p + 1, b[p], end - p - 1);
    }
}

/* U x = y of them */
static void backward(const double *u, size_t n, double *b, size_t first, size_t end)
{
    for (size_t p = end; p-- > first;) {
        double sum = b[p];
        for (size_t j = p + 1; j < end; j++) {
            sum -= u[p * n + j] * b[j];
        }
        b[p] = sum / u[p * n + p];
    }
}

void mts_dense_solve(const double *u, size_t n, double *b, size_t count)
{
    for (size_t first = 0; first < n; first += STEP) {
        const size_t end = first + least(STEP, n - first);
        for (size_t r = 0; r < count; r++) {
            forward(u, n, b + r * n, first, end);
        }
        const mts_dense known = {b + first, n, 1}, rows = {u + first * n + end, n, 1};
        mts_dense_add(count, n - end, end - first, -1.0, known, rows, b + end, n);
    }
    for (size_t end = n; end > 0;) {
        const size_t first = (end - 1) / STEP * STEP;
        for (size_t r = 0; r < count; r++) {
            backward(u, n, b + r * n, first, end);
        }
        const mts_dense known = {b + first, n, 1}, columns = {u + first, 1, n};
        mts_dense_add(count, first, end - first, -1.0, known, columns, b, n);
        end = first;
    }
}
