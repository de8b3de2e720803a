/*
 * binary_any: y = fn(lhs kind rhs), elementwise; either operand may be broadcast (strides
 * 0) or a constant of the pool.
 */
/* -DKIND=n: the program computes just this kind, one of MTS_BINARIES_ALONE, which the
   other program does not know. */
#ifndef KIND
#define KIND 0
#endif

/* u = u kind w, vector by vector. */
INLINE void binary_kind(mts_u32 kind, mts_vec u[MTS_BLOCK], const mts_vec w[MTS_BLOCK]) {
#define BINARY_BLOCK(formula)                                                                                \
    for (int k = 0; k < MTS_BLOCK; k++) {                                                                    \
        const mts_vec x = u[k], y = w[k];                                                                    \
        u[k] = formula;                                                                                      \
    }
#if KIND
#define BINARY_ONLY(NAME, formula) if (KIND == MTS_BIN_##NAME) BINARY_BLOCK(formula)
    MTS_BINARIES_ALONE(BINARY_ONLY)
#else
#define BINARY_CASE(NAME, formula)                                                                           \
    case MTS_BIN_##NAME: BINARY_BLOCK(formula) break;
    switch (kind) {
#ifdef MTS_DIALECT_C /* one program has all kinds */
        MTS_BINARIES(BINARY_CASE)
#else
        MTS_BINARIES_COMMON(BINARY_CASE)
#endif
    default: break;
    }
#endif
}

/* One value per plane. */
INLINE int binary_constant(GLOBAL const mts_view_params *v) { return v->stride[4] == 0 && v->stride[5] == 0; }

KERNEL void binary_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_binary_params *r = MTS_MEMBER(mts_binary_params);
    const mts_i32 left_step = (mts_i32)r->lhs.stride[5], right_step = (mts_i32)r->rhs.stride[5];
    mts_span s = mts_span_open(act, &r->dest);
    s.flat = (mts_view_flat(&r->lhs, &r->dest) || binary_constant(&r->lhs)) &&
             (mts_view_flat(&r->rhs, &r->dest) || binary_constant(&r->rhs));
    while (mts_span_next(act, &r->dest, &s)) {
        GLOBAL const mts_real *lhs = (r->lhs_pool ? pool : act) + mts_view_at(&r->lhs, &s);
        GLOBAL const mts_real *rhs = (r->rhs_pool ? pool : act) + mts_view_at(&r->rhs, &s);
        for (mts_u32 i = 0; i < s.n; i += MTS_BLOCK * VEC) {
            mts_vec x[MTS_BLOCK], y[MTS_BLOCK];
            mts_block_load(x, lhs + (mts_i32)i * left_step, left_step, s.n - i);
            mts_block_load(y, rhs + (mts_i32)i * right_step, right_step, s.n - i);
            binary_kind(r->kind, x, y);
            mts_block_fn(r->fn, x, r->a, r->b);
            mts_block_store(act + s.to + i, x, s.n - i);
        }
    }
}
