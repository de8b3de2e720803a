/*
 * matmul_block: what matmul_any computes, on GPUs, where both matrices are large enough that a
 * group shares parts of them in LOCAL memory.
 *
 *              columns: MATMUL_SIDE
 *             +--------+             A group takes a tile. MATMUL_DEPTH steps of k at a time, it
 *     rows    |  tile  |             loads the rows of lhs and the columns of rhs once, for
 *  MATMUL_    +--------+             MATMUL_SIDE columns and as many rows. A work-item has
 *   SIDE                             MATMUL_EACH rows times MATMUL_EACH columns of it, MATMUL_LINE
 *                                    apart, so that neighbours read and write neighbours.
 *
 * A tile takes MATMUL_LINE^2 work-items; a group of fewer goes through it in passes. Every
 * element is summed in the order of k, so that the bits are those of matmul_any on a GPU.
 *
 * With HALF 2 and MATRIX matrix units multiply 16 x 16 x 16 of float16 and add in float32: a group of
 * MATMUL_GROUP work-items, whose warps have 16 rows of the tile each. (Without HALF 2 MATRIX changes
 * nothing.)
 *
 * Grid: (n, planes + 1, members), see kernels/dest.h; n: a group for each tile, or fewer.
 */
#if VEC != 1
#error "a work-item of matmul_block loads single numbers"
#endif
#ifndef MATMUL_EACH
#define MATMUL_EACH 4 /* 2, 4 */
#endif
#define MATMUL_LINE 8u
#define MATMUL_SIDE (MATMUL_LINE * MATMUL_EACH)
#ifndef MATMUL_DEPTH
#define MATMUL_DEPTH 16u /* 8, 16; with MATRIX 16 */
#endif
#ifndef MATRIX
#define MATRIX 0 /* 0, 1 */
#endif
#define MATRICES_MULTIPLY (MATRIX && HALF == 2)
#define MATMUL_GROUP 64 /* with matrix units: 32 work-items for 16 rows */

/* What is staged: as it is stored where matrix units read it, else float32. */
#if MATRICES_MULTIPLY
typedef mts_half matmul_scalar;
#define matmul_fetch_one(p) (*(p))
#define matmul_zero ((mts_half)0)
#else
typedef float matmul_scalar;
#define matmul_fetch_one(p) mts_load(p)
#define matmul_zero 0.0f
#endif

/* `side` rows, or columns, of a matrix, from their element `first` along k on: [k][row], zero where
   there is none. Neighbouring work-items read along what is contiguous. */
INLINE void matmul_fill(LOCAL_PTR matmul_scalar *to, GLOBAL const mts_real *from, mts_u32 along, mts_u32 across, mts_u32 first,
                        mts_u32 depth, mts_u32 side, mts_u32 lane, mts_u32 lanes) {
    const int by_depth = along == 1;
    for (mts_u32 i = lane; i < MATMUL_DEPTH * MATMUL_SIDE; i += lanes) {
        const mts_u32 k = by_depth ? i % MATMUL_DEPTH : i / MATMUL_SIDE;
        const mts_u32 row = by_depth ? i / MATMUL_DEPTH : i % MATMUL_SIDE;
        to[k * MATMUL_SIDE + row] =
            first + k < depth && row < side ? matmul_fetch_one(from + (first + k) * along + row * across) : matmul_zero;
    }
}

/* A tile, of `rows` rows and `columns` columns that there are. */
typedef struct block_tile {
    GLOBAL const mts_real *lhs, *rhs, *add;
    GLOBAL mts_real *to;
    mts_u32 rows, columns;
} block_tile;

INLINE void block_put(GLOBAL const mts_matmul_params *r, const block_tile *t, mts_u32 row, mts_u32 column, float sum) {
    if (row >= t->rows || column >= t->columns) return;
    float v = sum * r->alpha;
    if (r->beta != 0.0f) v = mts_fma(mts_load(t->add + row * r->add.stride[4] + column * r->add.stride[5]), r->beta, v);
    mts_store(t->to + row * r->dest.row + column, v);
}

#if MATRICES_MULTIPLY
/* The tile by matrix units. sums: of the whole tile. */
INLINE void block_matrices(GLOBAL const mts_matmul_params *r, const block_tile *t, LOCAL_PTR matmul_scalar *a,
                           LOCAL_PTR matmul_scalar *b, LOCAL_PTR float *sums, mts_u32 lane) {
    const mts_u32 top = lane / 32 * 16;
    mts_matrix_sum sum[MATMUL_SIDE / 16];
    UNROLL for (int j = 0; j < (int)MATMUL_SIDE / 16; j++) mts_matrix_clear(&sum[j]);
    for (mts_u32 first = 0; first < r->depth; first += MATMUL_DEPTH) {
        mts_matrix left, right;
        BARRIER();
        matmul_fill(a, t->lhs, r->lhs.stride[5], r->lhs.stride[4], first, r->depth, t->rows, lane, MATMUL_GROUP);
        matmul_fill(b, t->rhs, r->rhs.stride[4], r->rhs.stride[5], first, r->depth, t->columns, lane, MATMUL_GROUP);
        BARRIER();
        mts_matrix_load_a(&left, a + top, MATMUL_SIDE);
        UNROLL for (int j = 0; j < (int)MATMUL_SIDE / 16; j++) {
            mts_matrix_load_b(&right, b + 16 * j, MATMUL_SIDE);
            mts_matrix_multiply(&sum[j], &left, &right);
        }
    }
    UNROLL for (int j = 0; j < (int)MATMUL_SIDE / 16; j++)
        mts_matrix_store(sums + top * MATMUL_SIDE + 16 * j, MATMUL_SIDE, &sum[j]);
    BARRIER();
    for (mts_u32 i = lane; i < MATMUL_SIDE * MATMUL_SIDE; i += MATMUL_GROUP)
        block_put(r, t, i / MATMUL_SIDE, i % MATMUL_SIDE, sums[i]);
}
#else
/* One pass: each work-item of the group has cell `cell` of the tile's MATMUL_LINE^2. */
INLINE void block_pass(GLOBAL const mts_matmul_params *r, const block_tile *t, LOCAL_PTR matmul_scalar *a,
                       LOCAL_PTR matmul_scalar *b, mts_u32 cell, mts_u32 lane, mts_u32 lanes) {
    const mts_u32 y = cell / MATMUL_LINE, x = cell % MATMUL_LINE;
    float acc[MATMUL_EACH][MATMUL_EACH];
    UNROLL for (int i = 0; i < MATMUL_EACH; i++)
        UNROLL for (int j = 0; j < MATMUL_EACH; j++) acc[i][j] = 0.0f;
    for (mts_u32 first = 0; first < r->depth; first += MATMUL_DEPTH) {
        BARRIER();
        matmul_fill(a, t->lhs, r->lhs.stride[5], r->lhs.stride[4], first, r->depth, t->rows, lane, lanes);
        matmul_fill(b, t->rhs, r->rhs.stride[4], r->rhs.stride[5], first, r->depth, t->columns, lane, lanes);
        BARRIER();
        for (mts_u32 k = 0; k < MATMUL_DEPTH; k++) {
            float left[MATMUL_EACH], right[MATMUL_EACH];
            UNROLL for (int i = 0; i < MATMUL_EACH; i++) {
                left[i] = a[k * MATMUL_SIDE + (y % MATMUL_LINE) + (mts_u32)i * MATMUL_LINE];
                right[i] = b[k * MATMUL_SIDE + x + (mts_u32)i * MATMUL_LINE];
            }
            UNROLL for (int i = 0; i < MATMUL_EACH; i++)
                UNROLL for (int j = 0; j < MATMUL_EACH; j++) acc[i][j] = mts_fma(left[i], right[j], acc[i][j]);
        }
    }
    if (y >= MATMUL_LINE) return; /* after the barriers: a pass may have more work-items than cells */
    for (int i = 0; i < MATMUL_EACH; i++)
        for (int j = 0; j < MATMUL_EACH; j++)
            block_put(r, t, y + (mts_u32)i * MATMUL_LINE, x + (mts_u32)j * MATMUL_LINE, acc[i][j]);
}

#endif

#if MATRICES_MULTIPLY
KERNEL_OF(MATMUL_GROUP)
#else
KERNEL
#endif
void matmul_block__f32_planar(MTS_ARGS) {
    GLOBAL const mts_matmul_params *r = MTS_MEMBER(mts_matmul_params);
    LOCAL MATRIX_ALIGN matmul_scalar a[MATMUL_DEPTH * MATMUL_SIDE], b[MATMUL_DEPTH * MATMUL_SIDE];
#if MATRICES_MULTIPLY
    LOCAL MATRIX_ALIGN float sums[MATMUL_SIDE * MATMUL_SIDE];
#endif
    const mts_u32 lane = mts_local_id(0), lanes = mts_local_size(0), groups = mts_global_size(0) / lanes;
    const mts_span s = mts_span_open(act, &r->dest); /* writes the zeros after the last plane */
    const int present = mts_global_id(1) < mts_planes(&r->dest);
    const mts_u32 height = r->dest.dims[4], width = r->dest.dims[5];
    const mts_u32 across = (width + MATMUL_SIDE - 1) / MATMUL_SIDE;
    const mts_u32 tiles = present ? (height + MATMUL_SIDE - 1) / MATMUL_SIDE * across : 0;
    GLOBAL const mts_real *const lhs = (r->lhs_pool == 1 ? pool : act) + mts_view_plane(&r->lhs, &s);
    GLOBAL const mts_real *const rhs = (r->rhs_pool == 1 ? pool : act) + mts_view_plane(&r->rhs, &s);
    GLOBAL const mts_real *const add = (r->add_pool == 1 ? pool : act) + mts_view_plane(&r->add, &s);
    for (mts_u32 n = mts_group_id(0); n < tiles; n += groups) {
        const mts_u32 y = n / across * MATMUL_SIDE, x = n % across * MATMUL_SIDE;
        block_tile t;
        t.lhs = lhs + y * r->lhs.stride[4];
        t.rhs = rhs + x * r->rhs.stride[5];
        t.add = add + y * r->add.stride[4] + x * r->add.stride[5];
        t.to = act + s.plane + r->dest.gap + y * r->dest.row + x;
        t.rows = mts_least(height - y, MATMUL_SIDE);
        t.columns = mts_least(width - x, MATMUL_SIDE);
#if MATRICES_MULTIPLY
        block_matrices(r, &t, a, b, sums, lane);
#else
        for (mts_u32 cell = 0; cell < MATMUL_LINE * MATMUL_LINE; cell += lanes)
            block_pass(r, &t, a, b, cell + lane, lane, lanes);
#endif
    }
    for (mts_u32 y = mts_global_id(0); present && y < height; y += mts_global_size(0))
        mts_rows_zero(act, &r->dest, s.plane, y, 1);
}
