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
#define MATMUL_STORE(b) mts_row_store(to + b * VEC, mts_vec_mul(acc[b], alpha), VEC, VEC);
#define MATMUL_DOT(b) acc[b] = mts_vec_fma(a, mts_vec_load(rhs + b * step + k), acc[b]);
#define MATMUL_SUM(b) to[b] = mts_vec_sum(acc[b]);
#define MATMUL_REST(b) to[b] = mts_fma(lhs[k * along], (rhs + b * step)[k], to[b]);
#define MATMUL_SCALE(b) to[b] *= r->alpha;
/* clang-format on */

/* MATMUL_BLOCK * VEC columns. */
INLINE void matmul_block(GLOBAL float *to, GLOBAL const float *lhs, GLOBAL const float *rhs,
                         GLOBAL const mts_rec_matmul *r) {
    const mts_vec alpha = mts_vec_splat(r->alpha);
    mts_vec acc[MATMUL_BLOCK];
    EACH_BLOCK(MATMUL_CLEAR)
    for (mts_u32 k = 0; k < r->depth; k++) {
        const mts_vec a = mts_vec_splat(lhs[k * r->lhs.stride[5]]);
        GLOBAL const float *row = rhs + k * r->rhs.stride[4];
        EACH_BLOCK(MATMUL_FMA)
    }
    EACH_BLOCK(MATMUL_STORE)
}

INLINE mts_vec matmul_columns(GLOBAL const float *lhs, GLOBAL const float *rhs,
                              GLOBAL const mts_rec_matmul *r, mts_u32 left) {
    mts_vec acc = mts_vec_splat(0.0f);
    for (mts_u32 k = 0; k < r->depth; k++) {
        const mts_vec b = mts_row_load(rhs + k * r->rhs.stride[4], (mts_i32)r->rhs.stride[5], left, 0);
        acc = mts_vec_fma(mts_vec_splat(lhs[k * r->lhs.stride[5]]), b, acc);
    }
    return acc;
}

/* MATMUL_BLOCK columns of a rhs whose k is contiguous. */
INLINE void matmul_dots(GLOBAL float *to, GLOBAL const float *lhs, GLOBAL const float *rhs,
                        GLOBAL const mts_rec_matmul *r) {
    const mts_u32 along = r->lhs.stride[5], step = r->rhs.stride[5];
    mts_vec acc[MATMUL_BLOCK];
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
    EACH_BLOCK(MATMUL_SCALE)
}

INLINE float matmul_dot(GLOBAL const float *lhs, GLOBAL const float *rhs, GLOBAL const mts_rec_matmul *r) {
    mts_vec acc = mts_vec_splat(0.0f);
    mts_u32 k = 0;
    for (; k + VEC <= r->depth; k += VEC) {
        const mts_vec a = mts_row_load(lhs + k * r->lhs.stride[5], (mts_i32)r->lhs.stride[5], VEC, 0);
        acc = mts_vec_fma(a, mts_vec_load(rhs + k), acc);
    }
    float sum = mts_vec_sum(acc);
    for (; k < r->depth; k++) sum = mts_fma(lhs[k * r->lhs.stride[5]], rhs[k], sum);
    return sum;
}

INLINE void matmul_row(GLOBAL float *to, GLOBAL const float *lhs, GLOBAL const float *rhs,
                       GLOBAL const mts_rec_matmul *r, mts_u32 n) {
    const mts_u32 step = r->rhs.stride[5];
    mts_u32 i = 0;
    if (step != 1 && r->rhs.stride[4] == 1) {
        for (; i + MATMUL_BLOCK <= n; i += MATMUL_BLOCK) matmul_dots(to + i, lhs, rhs + i * step, r);
        for (; i < n; i++) to[i] = r->alpha * matmul_dot(lhs, rhs + i * step, r);
        return;
    }
    if (step == 1)
        for (; i + MATMUL_BLOCK * VEC <= n; i += MATMUL_BLOCK * VEC) matmul_block(to + i, lhs, rhs + i, r);
    for (; i < n; i += VEC) {
        const mts_vec v = matmul_columns(lhs, rhs + i * step, r, n - i);
        mts_row_store(to + i, mts_vec_mul(v, mts_vec_splat(r->alpha)), n - i, 0);
    }
}

INLINE void matmul_add(GLOBAL float *to, GLOBAL const float *add, GLOBAL const mts_rec_matmul *r, mts_u32 n) {
    const mts_i32 step = (mts_i32)r->add.stride[5];
    for (mts_u32 i = 0; i < n; i += VEC) {
        const mts_vec c = mts_row_load(add + (mts_i32)i * step, step, n - i, 0);
        const mts_vec v = mts_row_load(to + i, 1, n - i, 0);
        mts_row_store(to + i, mts_vec_fma(c, mts_vec_splat(r->beta), v), n - i, 0);
    }
}

KERNEL void matmul_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_rec_matmul *r = MTS_MEMBER(mts_rec_matmul);
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        const mts_u32 lhs = mts_view_plane(&r->lhs, &s) + s.y * r->lhs.stride[4];
        const mts_u32 rhs = mts_view_plane(&r->rhs, &s) + s.x * r->rhs.stride[5];
        matmul_row(act + s.to, (r->lhs_pool ? pool : act) + lhs, (r->rhs_pool ? pool : act) + rhs, r, s.n);
        if (r->beta != 0.0f)
            matmul_add(act + s.to, (r->add_pool ? pool : act) + mts_view_at(&r->add, &s), r, s.n);
    }
}
