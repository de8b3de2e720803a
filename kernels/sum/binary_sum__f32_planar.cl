/*
 * binary_sum: y = fn(f(lhs kind rhs) + other), elementwise: binary_any and a sum in one
 * launch, whose bits are those of two. Operands may be broadcast (strides 0) or constants
 * of the pool.
 */

/* u = u kind w, vector by vector. */
INLINE void sum_kind(mts_u32 kind, mts_vec u[MTS_BLOCK], const mts_vec w[MTS_BLOCK]) {
#define SUM_CASE(NAME, formula)                                                                              \
    case MTS_BIN_##NAME:                                                                                     \
        for (int k = 0; k < MTS_BLOCK; k++) {                                                                \
            const mts_vec x = u[k], y = w[k];                                                                \
            u[k] = formula;                                                                                  \
        }                                                                                                    \
        break;
    switch (kind) {
        MTS_BINARIES_COMMON(SUM_CASE)
    default: break;
    }
}

/* Whether a view lies as the result does, or has one value for a plane. */
INLINE int sum_flat(GLOBAL const mts_view_params *v, GLOBAL const mts_dest_params *d) {
    return mts_view_flat(v, d) || (v->stride[4] == 0 && v->stride[5] == 0);
}

KERNEL void binary_sum__f32_planar(MTS_ARGS) {
    GLOBAL const mts_binary_sum_params *all = MTS_MEMBER(mts_binary_sum_params);
    GLOBAL const mts_binary_params *r = &all->binary;
    GLOBAL const mts_addend_params *e = &all->addend;
    const mts_i32 left_step = (mts_i32)r->lhs.stride[5], right_step = (mts_i32)r->rhs.stride[5];
    const mts_i32 other_step = (mts_i32)e->other.stride[5];
    mts_span s = mts_span_open(act, &r->dest);
    s.flat = sum_flat(&r->lhs, &r->dest) && sum_flat(&r->rhs, &r->dest) && sum_flat(&e->other, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        GLOBAL const mts_real *lhs = (r->lhs_pool ? pool : act) + mts_view_at(&r->lhs, &s);
        GLOBAL const mts_real *rhs = (r->rhs_pool ? pool : act) + mts_view_at(&r->rhs, &s);
        GLOBAL const mts_real *other = (e->other_pool ? pool : act) + mts_view_at(&e->other, &s);
        for (mts_u32 i = 0; i < s.n; i += MTS_BLOCK * VEC) {
            mts_vec x[MTS_BLOCK], y[MTS_BLOCK];
            mts_block_load(x, lhs + (mts_i32)i * left_step, left_step, s.n - i);
            mts_block_load(y, rhs + (mts_i32)i * right_step, right_step, s.n - i);
            sum_kind(r->kind, x, y);
            mts_block_fn(r->fn, x, r->a, r->b);
            mts_block_load(y, other + (mts_i32)i * other_step, other_step, s.n - i);
            for (int k = 0; k < MTS_BLOCK; k++) {
                mts_vec_hold(x[k]); /* a product of a fused multiply-add would not be rounded */
                x[k] = mts_vec_add(x[k], y[k]);
            }
            mts_block_fn(e->fn, x, e->a, e->b);
            mts_block_store(act + s.to + i, x, s.n - i);
        }
    }
}
