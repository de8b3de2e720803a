/*
 * scale_any: y = fn(scale[c] x + bias[c]) with c = coordinate 3, for a batch
 * normalisation that could not be folded and for PRELU (slope[c]). Channels of one pixel
 * each, and those of a pack, are the columns of a row instead (mts_scale_params.channel).
 */
/* A vector of the pool from number `at` on, or of `none`: one number for all lanes, or where
   channels are columns one for each of `left`. */
INLINE void scale_load(mts_vec v[MTS_BLOCK], GLOBAL const mts_real *pool, mts_u32 vector, float none, mts_u32 at,
                       int columns, mts_u32 left) {
#if VEC > 1
    if (columns && vector != MTS_PARAM_NONE) {
        mts_block_load(v, pool + (vector + at), 1, left);
        return;
    }
#endif
    const float x = vector == MTS_PARAM_NONE ? none : mts_load(pool + (vector + at));
    UNROLL for (int k = 0; k < MTS_BLOCK; k++) v[k] = mts_vec_splat(x);
}

KERNEL void scale_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_scale_params *r = MTS_MEMBER(mts_scale_params);
    const mts_i32 step = (mts_i32)r->src.stride[5];
    const int columns = r->channel[2] != 0;
    mts_span s = mts_span_open(act, &r->dest);
    s.flat = mts_view_flat(&r->src, &r->dest) && (!columns || r->dest.dims[4] == 1);
    while (mts_span_next(act, &r->dest, &s)) {
        GLOBAL const mts_real *from = act + mts_view_at(&r->src, &s);
        const mts_u32 c = s.c[2] * r->channel[0] + s.c[3] * r->channel[1] + s.x * r->channel[2];
        for (mts_u32 i = 0; i < s.n; i += MTS_BLOCK * VEC) {
            const mts_u32 at = c + i * r->channel[2];
            mts_vec x[MTS_BLOCK], scales[MTS_BLOCK], biases[MTS_BLOCK], slopes[MTS_BLOCK];
            mts_block_load(x, from + (mts_i32)i * step, step, s.n - i);
            scale_load(scales, pool, r->scale, 1.0f, at, columns, s.n - i);
            scale_load(biases, pool, r->bias, 0.0f, at, columns, s.n - i);
            scale_load(slopes, pool, r->slope, r->a, at, columns, s.n - i);
            UNROLL for (int k = 0; k < MTS_BLOCK; k++) x[k] = mts_vec_fma(x[k], scales[k], biases[k]);
#if VEC == 1
            mts_block_fn(r->fn, x, slopes[0], r->b);
#else
            if (r->fn == MTS_FN_PRELU) {
                UNROLL for (int k = 0; k < MTS_BLOCK; k++) x[k] = mts_vec_slope(x[k], slopes[k]);
            } else {
                mts_block_fn(r->fn, x, r->a, r->b);
            }
#endif
            mts_block_store(act + s.to + i, x, s.n - i);
        }
    }
}
