/*
 * scale_any: y = fn(scale[c] x + bias[c]) with c = coordinate 3, for a batch
 * normalisation that could not be folded and for PRELU (slope[c]). Channels of one pixel
 * each, and those of a pack, are the columns of a row instead (mts_scale_params.channel).
 */
KERNEL void scale_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_scale_params *r = MTS_MEMBER(mts_scale_params);
    const mts_i32 step = (mts_i32)r->src.stride[5];
    mts_span s = mts_span_open(act, &r->dest);
    s.flat = mts_view_flat(&r->src, &r->dest) && (!r->channel[2] || r->dest.dims[4] == 1);
    while (mts_span_next(act, &r->dest, &s)) {
        GLOBAL const mts_real *from = act + mts_view_at(&r->src, &s);
        const mts_u32 c = s.c[2] * r->channel[0] + s.c[3] * r->channel[1] + s.x * r->channel[2];
        const int slopes = r->channel[2] && r->slope != MTS_PARAM_NONE;
        const float scale = r->scale == MTS_PARAM_NONE ? 1.0f : mts_load(pool + (r->scale + c));
        const float bias = r->bias == MTS_PARAM_NONE ? 0.0f : mts_load(pool + (r->bias + c));
        const float a = r->slope == MTS_PARAM_NONE ? r->a : mts_load(pool + (r->slope + c));
        mts_vec scales[MTS_BLOCK], biases[MTS_BLOCK];
        UNROLL for (int k = 0; k < MTS_BLOCK; k++) scales[k] = mts_vec_splat(scale);
        UNROLL for (int k = 0; k < MTS_BLOCK; k++) biases[k] = mts_vec_splat(bias);
        for (mts_u32 i = 0; i < s.n; i += MTS_BLOCK * VEC) {
            mts_vec x[MTS_BLOCK];
            mts_block_load(x, from + (mts_i32)i * step, step, s.n - i);
            if (r->channel[2] && r->scale != MTS_PARAM_NONE) mts_block_load(scales, pool + (r->scale + c + i), 1, s.n - i);
            if (r->channel[2] && r->bias != MTS_PARAM_NONE) mts_block_load(biases, pool + (r->bias + c + i), 1, s.n - i);
            UNROLL for (int k = 0; k < MTS_BLOCK; k++) x[k] = mts_vec_fma(x[k], scales[k], biases[k]);
            if (slopes) {
                mts_vec slope[MTS_BLOCK];
                mts_block_load(slope, pool + (r->slope + c + i), 1, s.n - i);
                UNROLL for (int k = 0; k < MTS_BLOCK; k++) x[k] = mts_vec_slope(x[k], slope[k]);
            } else {
                mts_block_fn(r->fn, x, a, r->b);
            }
            mts_block_store(act + s.to + i, x, s.n - i);
        }
    }
}
