/*
 * unary_any: y = fn(x), elementwise, from any view. Not responsible for functions with a
 * vector of parameters (scale_any).
 */
KERNEL void unary_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_unary_params *r = MTS_MEMBER(mts_unary_params);
    const mts_i32 step = (mts_i32)r->src.stride[5];
    mts_span s = mts_span_open(act, &r->dest);
    s.flat = mts_view_flat(&r->src, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        GLOBAL const mts_real *from = act + mts_view_at(&r->src, &s);
        for (mts_u32 i = 0; i < s.n; i += MTS_BLOCK * VEC) {
            mts_vec x[MTS_BLOCK];
            mts_block_load(x, from + (mts_i32)i * step, step, s.n - i);
            mts_block_fn(r->fn, x, r->a, r->b);
            mts_block_store(act + s.to + i, x, s.n - i);
        }
    }
}
