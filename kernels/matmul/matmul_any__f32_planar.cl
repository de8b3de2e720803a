/*
 * matmul_any: out[.., i, j] = alpha sum_k lhs[.., i, k] rhs[.., k, j] + beta add[.., i,
 * j], any operand broadcast, transposed or constant.
 *
 * A work-item takes tiles of MATMUL_ROWS rows and MATMUL_VECS vectors of columns, whose
 * sums fill the registers. Tiles of the same columns come one after another, so that the
 * columns of rhs are still in the cache:
 *
 *             columns: MATMUL_VECS * VEC
 *            +--------+--------+
 *     rows   | tile 0 | tile 3 |      a work-item: tiles u, u + 1, .. of this order;
 *            +--------+--------+      on a GPU (VEC 1) tiles are a column wide, counted row by row,
 *            | tile 1 | tile 4 |      and a work-item takes every n-th, so that neighbours
 *            +--------+--------+      read neighbours
 *            | tile 2 | tile 5 |
 *            +--------+--------+
 *
 * Where rhs is stored transposed (its k contiguous) vectors run along k instead, for
 * MATMUL_DOTS columns at a time, and the lanes of all sums of a tile are added in one
 * tree. Every element is summed in the order of k (transposed: each lane in the order of
 * k, then the lanes in pairs), whatever tile it lies in.
 */
#if VEC > 1 && REGS >= 32
#define MATMUL_ROWS 4
#define MATMUL_VECS 4
#define EACH_VEC(M, i) M(i, 0) M(i, 1) M(i, 2) M(i, 3)
#elif VEC > 1
#define MATMUL_ROWS 4
#define MATMUL_VECS 3
#define EACH_VEC(M, i) M(i, 0) M(i, 1) M(i, 2)
#else
#define MATMUL_ROWS 4
#define MATMUL_VECS 1
#define EACH_VEC(M, i) M(i, 0)
#endif
#define MATMUL_COLUMNS (MATMUL_VECS * VEC)
#define MATMUL_FAR 4096 /* floats between rows of rhs, from which on their columns are asked for early */
#define MATMUL_DOTS 4 /* of 4 rows: 16 sums, as many as any vector has lanes, or a multiple */

/* clang-format off */
#define EACH_ROW(M) M(0) M(1) M(2) M(3)
#define EACH_SUM(M) EACH_VEC(M, 0) EACH_VEC(M, 1) EACH_VEC(M, 2) EACH_VEC(M, 3)
#define MATMUL_CLEAR(i, v) acc[i][v] = mts_vec_splat(0.0f);
#define MATMUL_LOAD(i, v) b[v] = mts_vec_load(row + v * VEC);
#define MATMUL_FMA(i, v) acc[i][v] = mts_vec_fma(a, b[v], acc[i][v]);
#define MATMUL_STEP(i) { const mts_vec a = mts_vec_splat(mts_load(lhs + at[i] + k * along)); EACH_VEC(MATMUL_FMA, i) }
#define MATMUL_LHS(i) const mts_vec a##i = mts_vec_splat(mts_load(lhs + at[i] + k * along));
#define MATMUL_AT(i) at[i] = mts_least(i, rows - 1) * r->lhs.stride[4];
#define MATMUL_ROW_CLEAR(i) acc[i] = mts_vec_splat(0.0f);
#define MATMUL_ROW_FMA(i) acc[i] = mts_vec_fma(a##i, b, acc[i]);
/* clang-format on */

/* Where the rows of a tile are stored, and what is added to them. */
typedef struct matmul_place {
    GLOBAL mts_real *to;
    GLOBAL const mts_real *add;
    mts_u32 rows, row, add_row; /* rows of the tile; floats from one to the next */
} matmul_place;

INLINE void matmul_put(const matmul_place *p, GLOBAL const mts_matmul_params *r, mts_u32 i, mts_u32 column, mts_vec v,
                       mts_u32 left) {
    if (i >= p->rows) return;
    v = mts_vec_mul(v, mts_vec_splat(r->alpha));
    if (r->beta != 0.0f) {
        GLOBAL const mts_real *add = p->add + i * p->add_row + column * r->add.stride[5];
        v = mts_vec_fma(mts_row_load(add, (mts_i32)r->add.stride[5], left, 0), mts_vec_splat(r->beta), v);
    }
    mts_row_store(p->to + i * p->row + column, v, left, 0);
}

/* A whole tile. lhs: its first row; rhs: its first column. */
INLINE void matmul_tile(const matmul_place *p, GLOBAL const mts_real *lhs, GLOBAL const mts_real *rhs,
                        GLOBAL const mts_matmul_params *r) {
    const mts_u32 rows = p->rows, along = r->lhs.stride[5], step = r->rhs.stride[4];
    mts_u32 at[MATMUL_ROWS];
    mts_vec acc[MATMUL_ROWS][MATMUL_VECS], b[MATMUL_VECS];
    EACH_ROW(MATMUL_AT)
    EACH_SUM(MATMUL_CLEAR)
    for (mts_u32 k = 0; k < r->depth; k++) {
        GLOBAL const mts_real *row = rhs + k * step;
        EACH_VEC(MATMUL_LOAD, 0)
        EACH_ROW(MATMUL_STEP)
    }
    for (mts_u32 i = 0; i < MATMUL_ROWS; i++)
        for (mts_u32 v = 0; v < MATMUL_VECS; v++) matmul_put(p, r, i, v * VEC, acc[i][v], VEC);
}

/* One vector of columns, of which `left` are wanted, at any distance from each other. */
INLINE void matmul_strip(const matmul_place *p, GLOBAL const mts_real *lhs, GLOBAL const mts_real *rhs,
                         GLOBAL const mts_matmul_params *r, mts_u32 column, mts_u32 left) {
    const mts_u32 rows = p->rows, along = r->lhs.stride[5], step = r->rhs.stride[4];
    const mts_i32 between = (mts_i32)r->rhs.stride[5];
    mts_u32 at[MATMUL_ROWS];
    mts_vec acc[MATMUL_ROWS];
    EACH_ROW(MATMUL_AT)
    EACH_ROW(MATMUL_ROW_CLEAR)
    for (mts_u32 k = 0; k < r->depth; k++) {
        const mts_vec b = mts_row_load(rhs + k * step + column * r->rhs.stride[5], between, left, 0);
        EACH_ROW(MATMUL_LHS)
        EACH_ROW(MATMUL_ROW_FMA)
    }
    for (mts_u32 i = 0; i < MATMUL_ROWS; i++) matmul_put(p, r, i, column, acc[i], left);
}

#if VEC > 1

/* Sums of neighbouring lanes of a, then of b. */
INLINE mts_vec matmul_pairs(mts_vec a, mts_vec b) { return mts_vec_add(mts_vec_even(a, b), mts_vec_odd(a, b)); }

/* Lane j of the result: the lanes of sum[j]. */
INLINE mts_vec matmul_sums(mts_vec *sum) {
    UNROLL for (int n = VEC / 2; n > 0; n /= 2)
        UNROLL for (int j = 0; j < n; j++) sum[j] = matmul_pairs(sum[2 * j], sum[2 * j + 1]);
    return sum[0];
}

/* clang-format off */
#define EACH_DOT(M, i) M(i, 0) M(i, 1) M(i, 2) M(i, 3)
#define EACH_DOT_SUM(M) EACH_DOT(M, 0) EACH_DOT(M, 1) EACH_DOT(M, 2) EACH_DOT(M, 3)
#define MATMUL_DOT_CLEAR(i, j) acc[i * MATMUL_DOTS + j] = mts_vec_splat(0.0f);
#define MATMUL_DOT_RHS(i, j) const mts_vec b##j = mts_vec_load(rhs + from[j] + k);
#define MATMUL_DOT_LHS(i) const mts_vec a##i = mts_row_load(lhs + at[i] + k * along, (mts_i32)along, VEC, 0);
#define MATMUL_DOT_FMA(i, j) acc[i * MATMUL_DOTS + j] = mts_vec_fma(a##i, b##j, acc[i * MATMUL_DOTS + j]);
#define MATMUL_FROM(i, j) from[j] = (column + mts_least(j, left - 1)) * r->rhs.stride[5];
/* clang-format on */

/* Up to MATMUL_DOTS columns of a rhs whose k is contiguous. */
INLINE void matmul_dots(const matmul_place *p, GLOBAL const mts_real *lhs, GLOBAL const mts_real *rhs,
                        GLOBAL const mts_matmul_params *r, mts_u32 column, mts_u32 left) {
    const mts_u32 rows = p->rows, along = r->lhs.stride[5];
    mts_u32 at[MATMUL_ROWS], from[MATMUL_DOTS], k = 0;
    mts_vec acc[MATMUL_ROWS * MATMUL_DOTS];
    float sum[MATMUL_ROWS * MATMUL_DOTS];
    EACH_ROW(MATMUL_AT)
    EACH_DOT(MATMUL_FROM, 0)
    EACH_DOT_SUM(MATMUL_DOT_CLEAR)
    for (; k + VEC <= r->depth; k += VEC) {
        EACH_DOT(MATMUL_DOT_RHS, 0)
        EACH_ROW(MATMUL_DOT_LHS)
        EACH_DOT_SUM(MATMUL_DOT_FMA)
    }
    UNROLL for (int n = 0; n < MATMUL_ROWS * MATMUL_DOTS; n += VEC) mts_vec_spill(sum + n, matmul_sums(acc + n));
    for (mts_u32 i = 0; i < rows; i++)
        for (mts_u32 j = 0; j < left; j++) {
            float v = sum[i * MATMUL_DOTS + j];
            for (mts_u32 t = k; t < r->depth; t++)
                v = mts_fma(mts_load(lhs + at[i] + t * along), mts_load(rhs + from[j] + t), v);
            v *= r->alpha;
            if (r->beta != 0.0f)
                v = mts_fma(mts_load(p->add + i * p->add_row + (column + j) * r->add.stride[5]), r->beta, v);
            mts_store(p->to + i * p->row + column + j, v);
        }
}

#endif

/*
 * Asks for the columns of rhs that come after a tile's, whose rows lie pages apart, where
 * no processor follows by itself: those k that are the tile's share, of all tiles of its
 * columns.
 */
INLINE void matmul_fetch(GLOBAL const mts_real *next, GLOBAL const mts_matmul_params *r, mts_u32 y, mts_u32 height) {
    const mts_u32 share = (r->depth * MATMUL_ROWS + height - 1) / height, first = y / MATMUL_ROWS * share;
    const mts_u32 end = mts_least(first + share, r->depth);
    for (mts_u32 k = first; k < end; k++)
        for (int v = 0; v < MATMUL_VECS; v++) mts_fetch(next + k * r->rhs.stride[4] + v * VEC, 0);
}

/* `n` columns, at most those of a tile. */
INLINE void matmul_columns(const matmul_place *p, GLOBAL const mts_real *lhs, GLOBAL const mts_real *rhs,
                           GLOBAL const mts_matmul_params *r, mts_u32 n) {
#if VEC > 1
    if (r->rhs.stride[5] != 1 && r->rhs.stride[4] == 1) {
        for (mts_u32 x = 0; x < n; x += MATMUL_DOTS) matmul_dots(p, lhs, rhs, r, x, mts_least(n - x, MATMUL_DOTS));
        return;
    }
    if (n == MATMUL_COLUMNS && r->rhs.stride[5] == 1) {
        matmul_tile(p, lhs, rhs, r);
        return;
    }
#endif
    for (mts_u32 x = 0; x < n; x += VEC) matmul_strip(p, lhs, rhs, r, x, n - x);
}

KERNEL void matmul_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_matmul_params *r = MTS_MEMBER(mts_matmul_params);
    mts_span s = mts_span_open(act, &r->dest);
    if (mts_global_id(1) >= mts_planes(&r->dest)) return;
    const mts_u32 height = r->dest.dims[4], width = r->dest.dims[5], items = mts_global_size(0);
    const mts_u32 down = (height + MATMUL_ROWS - 1) / MATMUL_ROWS;
    const mts_u32 across = (width + MATMUL_COLUMNS - 1) / MATMUL_COLUMNS, tiles = down * across;
    GLOBAL const mts_real *lhs = (r->lhs_pool ? pool : act) + mts_view_plane(&r->lhs, &s);
    GLOBAL const mts_real *rhs = (r->rhs_pool ? pool : act) + mts_view_plane(&r->rhs, &s);
    GLOBAL const mts_real *add = (r->add_pool ? pool : act) + mts_view_plane(&r->add, &s);
#if VEC == 1
    const mts_u32 begin = mts_global_id(0), end = tiles, step = items;
#else
    const mts_u32 chunk = (tiles + items - 1) / items, begin = mts_global_id(0) * chunk, step = 1;
    const mts_u32 end = mts_least(begin + chunk, tiles);
#endif
    for (mts_u32 t = begin; t < end; t += step) {
        const mts_u32 y = (VEC == 1 ? t / across : t % down) * MATMUL_ROWS;
        const mts_u32 x = (VEC == 1 ? t % across : t / down) * MATMUL_COLUMNS;
        const mts_u32 n = mts_least(width - x, MATMUL_COLUMNS);
        matmul_place p;
        p.rows = mts_least(height - y, MATMUL_ROWS);
        p.row = r->dest.row;
        p.add_row = r->add.stride[4];
        p.to = act + s.plane + r->dest.gap + y * r->dest.row + x;
        p.add = add + y * r->add.stride[4] + x * r->add.stride[5];
        if (r->rhs.stride[4] >= MATMUL_FAR && x + 2 * MATMUL_COLUMNS <= width)
            matmul_fetch(rhs + x + MATMUL_COLUMNS, r, y, height);
        matmul_columns(&p, lhs + y * r->lhs.stride[4], rhs + x * r->rhs.stride[5], r, n);
        if (x + n == width) mts_rows_zero(act, &r->dest, s.plane, y, p.rows);
    }
}
