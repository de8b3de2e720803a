/*
 * matmul_any: out[.., i, j] = alpha sum_k lhs[.., i, k] rhs[.., k, j] + beta add[.., i, j], any operand broadcast, transposed or
 * constant. A vector holds neighbouring columns j; where rhs is stored transposed (its k contiguous) it runs along k.
 */
#define MATMUL_BLOCK 4 /* vectors of one step over k */

/* MATMUL_BLOCK * VEC columns. */
INLINE void matmul_block(GLOBAL float *to, GLOBAL const float *lhs, GLOBAL const float *rhs,
                         GLOBAL const mts_rec_matmul *r) {
    mts_vec acc[MATMUL_BLOCK];
    UNROLL for (int b = 0; b < MATMUL_BLOCK; b++) acc[b] = mts_vec_splat(0.0f);
    for (mts_u32 k = 0; k < r->depth; k++) {
        const mts_vec a = mts_vec_splat(lhs[k * r->lhs.stride[5]]);
        GLOBAL const float *row = rhs + k * r->rhs.stride[4];
        UNROLL for (int b = 0; b < MATMUL_BLOCK; b++) acc[b] = mts_vec_fma(a, mts_vec_load(row + b * VEC), acc[b]);
    }
    UNROLL for (int b = 0; b < MATMUL_BLOCK; b++) {
        mts_row_store(to + b * VEC, mts_vec_mul(acc[b], mts_vec_splat(r->alpha)), VEC);
    }
}

INLINE mts_vec matmul_columns(GLOBAL const float *lhs, GLOBAL const float *rhs, GLOBAL const mts_rec_matmul *r,
                              mts_u32 left) {
    mts_vec acc = mts_vec_splat(0.0f);
    for (mts_u32 k = 0; k < r->depth; k++) {
        const mts_vec b = mts_row_load(rhs + k * r->rhs.stride[4], (mts_i32)r->rhs.stride[5], left);
        acc = mts_vec_fma(mts_vec_splat(lhs[k * r->lhs.stride[5]]), b, acc);
    }
    return acc;
}

/* One column of a rhs whose k is contiguous. */
INLINE float matmul_dot(GLOBAL const float *lhs, GLOBAL const float *rhs, GLOBAL const mts_rec_matmul *r) {
    mts_vec acc = mts_vec_splat(0.0f);
    mts_u32 k = 0;
    for (; k + VEC <= r->depth; k += VEC) {
        const mts_vec a = mts_row_load(lhs + k * r->lhs.stride[5], (mts_i32)r->lhs.stride[5], VEC);
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
    if (step == 1)
        for (; i + MATMUL_BLOCK * VEC <= n; i += MATMUL_BLOCK * VEC) matmul_block(to + i, lhs, rhs + i, r);
    if (step != 1 && r->rhs.stride[4] == 1) {
        for (; i < n; i++) to[i] = r->alpha * matmul_dot(lhs, rhs + i * step, r);
        return;
    }
    for (; i < n; i += VEC) {
        const mts_vec v = matmul_columns(lhs, rhs + i * step, r, n - i);
        mts_row_store(to + i, mts_vec_mul(v, mts_vec_splat(r->alpha)), n - i);
    }
}

KERNEL void matmul_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_rec_matmul *r = MTS_MEMBER(mts_rec_matmul);
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        const mts_u32 lhs = mts_view_plane(&r->lhs, &s) + s.y * r->lhs.stride[4];
        const mts_u32 rhs = mts_view_plane(&r->rhs, &s) + s.x * r->rhs.stride[5];
        matmul_row(act + s.to, (r->lhs_pool ? pool : act) + lhs, (r->rhs_pool ? pool : act) + rhs, r, s.n);
        if (r->beta == 0.0f) continue;
        GLOBAL const float *add = (r->add_pool ? pool : act) + mts_view_at(&r->add, &s);
        const mts_i32 step = (mts_i32)r->add.stride[5];
        for (mts_u32 i = 0; i < s.n; i += VEC) {
            const mts_vec c = mts_row_load(add + (mts_i32)i * step, step, s.n - i);
            const mts_vec v = mts_row_load(act + s.to + i, 1, s.n - i);
            mts_row_store(act + s.to + i, mts_vec_fma(c, mts_vec_splat(r->beta), v), s.n - i);
        }
    }
}
