/*
 * matmul_any: out[.., i, j] = alpha sum_k lhs[.., i, k] rhs[.., k, j] + beta add[.., i, j], any operand
 * broadcast, transposed or constant. A vector holds neighbouring columns j; where rhs is stored transposed
 * (its k contiguous) it runs along k. BLOCK vectors are summed side by side, so that one does not wait for
 * another.
 */
#define MATMUL_BLOCK 8

/* clang-format off */
#define EACH_BLOCK(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)
#define MATMUL_CLEAR(b) acc[b] = mts_vec_splat(0.0f);
#define MATMUL_FMA(b) acc[b] = mts_vec_fma(a, mts_vec_load(row + b * VEC), acc[b]);
#define MATMUL_STORE(b) \
    matmul_put(to + b * VEC, mts_vec_mul(acc[b], alpha), r, add + b * VEC * r->add.stride[5], VEC, VEC);
#define MATMUL_DOT(b) acc[b] = mts_vec_fma(a, mts_vec_load(rhs + b * step + k), acc[b]);
#define MATMUL_SUM(b) sum[b] = mts_vec_sum(acc[b]);
#define MATMUL_REST(b) sum[b] = mts_fma(mts_load(lhs + k * along), mts_load(rhs + b * step + k), sum[b]);
#define MATMUL_ONE(b) matmul_one(to + b, r->alpha * sum[b], r, add + b * r->add.stride[5]);
/* clang-format on */

/* Stores products that have been summed and scaled: of one column, of `left` columns (room: see mts_row_store). */
INLINE void matmul_one(GLOBAL mts_real *to, float v, GLOBAL const mts_matmul_params *r, GLOBAL const mts_real *add) {
    if (r->beta != 0.0f) v = mts_fma(mts_load(add), r->beta, v);
    mts_store(to, v);
}
INLINE void matmul_put(GLOBAL mts_real *to, mts_vec v, GLOBAL const mts_matmul_params *r, GLOBAL const mts_real *add,
                       mts_u32 left, mts_u32 room) {
    if (r->beta != 0.0f) {
        const mts_vec c = mts_row_load(add, (mts_i32)r->add.stride[5], left, 0);
        v = mts_vec_fma(c, mts_vec_splat(r->beta), v);
    }
    mts_row_store(to, v, left, room);
}

/* MATMUL_BLOCK * VEC columns. */
INLINE void matmul_block(GLOBAL mts_real *to, GLOBAL const mts_real *lhs, GLOBAL const mts_real *rhs,
                         GLOBAL const mts_real *add, GLOBAL const mts_matmul_params *r) {
    const mts_vec alpha = mts_vec_splat(r->alpha);
    mts_vec acc[MATMUL_BLOCK];
    EACH_BLOCK(MATMUL_CLEAR)
    for (mts_u32 k = 0; k < r->depth; k++) {
        const mts_vec a = mts_vec_splat(mts_load(lhs + k * r->lhs.stride[5]));
        GLOBAL const mts_real *row = rhs + k * r->rhs.stride[4];
        EACH_BLOCK(MATMUL_FMA)
    }
    EACH_BLOCK(MATMUL_STORE)
}

INLINE mts_vec matmul_columns(GLOBAL const mts_real *lhs, GLOBAL const mts_real *rhs,
                              GLOBAL const mts_matmul_params *r, mts_u32 left) {
    mts_vec acc = mts_vec_splat(0.0f);
    for (mts_u32 k = 0; k < r->depth; k++) {
        const mts_vec b = mts_row_load(rhs + k * r->rhs.stride[4], (mts_i32)r->rhs.stride[5], left, 0);
        acc = mts_vec_fma(mts_vec_splat(mts_load(lhs + k * r->lhs.stride[5])), b, acc);
    }
    return acc;
}

/* MATMUL_BLOCK columns of a rhs whose k is contiguous. */
INLINE void matmul_dots(GLOBAL mts_real *to, GLOBAL const mts_real *lhs, GLOBAL const mts_real *rhs,
                        GLOBAL const mts_real *add, GLOBAL const mts_matmul_params *r) {
    const mts_u32 along = r->lhs.stride[5], step = r->rhs.stride[5];
    mts_vec acc[MATMUL_BLOCK];
    float sum[MATMUL_BLOCK];
    mts_u32 k = 0;
    EACH_BLOCK(MATMUL_CLEAR)
    for (; k + VEC <= r->depth; k += VEC) {
        const mts_vec a = mts_row_load(lhs + k * along, (mts_i32)along, VEC, 0);
        EACH_BLOCK(MATMUL_DOT)
    }
    EACH_BLOCK(MATMUL_SUM)
    for (; k < r->depth; k++) {
        EACH_BLOCK(MATMUL_REST)
    }
    EACH_BLOCK(MATMUL_ONE)
}

INLINE float matmul_dot(GLOBAL const mts_real *lhs, GLOBAL const mts_real *rhs, GLOBAL const mts_matmul_params *r) {
    mts_vec acc = mts_vec_splat(0.0f);
    mts_u32 k = 0;
    for (; k + VEC <= r->depth; k += VEC) {
        const mts_vec a = mts_row_load(lhs + k * r->lhs.stride[5], (mts_i32)r->lhs.stride[5], VEC, 0);
        acc = mts_vec_fma(a, mts_vec_load(rhs + k), acc);
    }
    float sum = mts_vec_sum(acc);
    for (; k < r->depth; k++) sum = mts_fma(mts_load(lhs + k * r->lhs.stride[5]), mts_load(rhs + k), sum);
    return sum;
}

INLINE void matmul_row(GLOBAL mts_real *to, GLOBAL const mts_real *lhs, GLOBAL const mts_real *rhs,
                       GLOBAL const mts_real *add, GLOBAL const mts_matmul_params *r, mts_u32 n) {
    const mts_u32 step = r->rhs.stride[5], add_step = r->add.stride[5];
    mts_u32 i = 0;
    if (step != 1 && r->rhs.stride[4] == 1) {
        for (; i + MATMUL_BLOCK <= n; i += MATMUL_BLOCK)
            matmul_dots(to + i, lhs, rhs + i * step, add + i * add_step, r);
        for (; i < n; i++)
            matmul_one(to + i, r->alpha * matmul_dot(lhs, rhs + i * step, r), r, add + i * add_step);
        return;
    }
    if (step == 1)
        for (; i + MATMUL_BLOCK * VEC <= n; i += MATMUL_BLOCK * VEC)
            matmul_block(to + i, lhs, rhs + i, add + i * add_step, r);
    for (; i < n; i += VEC) {
        const mts_vec v = matmul_columns(lhs, rhs + i * step, r, n - i);
        matmul_put(to + i, mts_vec_mul(v, mts_vec_splat(r->alpha)), r, add + i * add_step, n - i, 0);
    }
}

KERNEL void matmul_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_matmul_params *r = MTS_MEMBER(mts_matmul_params);
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        const mts_u32 lhs = mts_view_plane(&r->lhs, &s) + s.y * r->lhs.stride[4];
        const mts_u32 rhs = mts_view_plane(&r->rhs, &s) + s.x * r->rhs.stride[5];
        matmul_row(act + s.to, (r->lhs_pool ? pool : act) + lhs, (r->rhs_pool ? pool : act) + rhs,
                   (r->add_pool ? pool : act) + mts_view_at(&r->add, &s), r, s.n);
    }
}
