/*
 * binary_any: y = fn(lhs kind rhs), elementwise; either operand may be broadcast (strides 0) or a constant of
 * the pool.
 */
/* -DKIND=n: the program computes just this kind, one of MTS_BINARIES_ALONE, which the other program does not know. */
#ifndef KIND
#define KIND 0
#endif

INLINE mts_vec binary_kind(mts_u32 kind, mts_vec x, mts_vec y) {
#if KIND
#define BINARY_ONLY(NAME, formula) KIND == MTS_BIN_##NAME ? (formula) :
    return MTS_BINARIES_ALONE(BINARY_ONLY) x;
#else
#define BINARY_CASE(NAME, formula) case MTS_BIN_##NAME: return formula;
    switch (kind) {
#ifdef MTS_DIALECT_C /* one program has all kinds */
        MTS_BINARIES(BINARY_CASE)
#else
        MTS_BINARIES_COMMON(BINARY_CASE)
#endif
    default: return x;
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
        for (mts_u32 i = 0; i < s.n; i += VEC) {
            const mts_vec x = mts_row_load(lhs + (mts_i32)i * left_step, left_step, s.n - i, 0);
            const mts_vec y = mts_row_load(rhs + (mts_i32)i * right_step, right_step, s.n - i, 0);
            const mts_vec v = binary_kind(r->kind, x, y);
            mts_row_store(act + s.to + i, mts_row_fn(r->fn, v, r->a, r->b), s.n - i, 0);
        }
    }
}
