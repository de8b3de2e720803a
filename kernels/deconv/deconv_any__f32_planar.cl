/*
 * deconv_any: transposed convolution, gathered: output (y, x) sums the inputs (iy, ix) and kernel positions (ky, kx) with
 * iy * stride + ky * dilation - top = y, likewise for columns.
 *
 * A vector holds outputs `stride` columns apart: they use the same kernel columns and neighbouring inputs.
 */

/* Input position of output position `at` and kernel position k; -1: none. */
INLINE mts_i32 deconv_source(mts_i32 at, mts_u32 k, mts_u32 dilation, mts_u32 stride, mts_u32 size) {
    const mts_i32 place = at - (mts_i32)(k * dilation), step = (mts_i32)stride;
    const mts_i32 i = place / step;
    return place >= 0 && i * step == place && i < (mts_i32)size ? i : -1;
}

/* Inputs first, first + 1, ... of a row; those outside it are 0. */
INLINE mts_vec deconv_load(GLOBAL const float *row, GLOBAL const mts_rec_deconv *r, mts_i32 first, mts_u32 left) {
    const mts_i32 step = (mts_i32)r->src.stride[5], width = (mts_i32)r->in_w;
    if (first >= 0 && first + (mts_i32)mts_least(left, VEC) <= width) return mts_row_load(row + first * step, step, left);
    mts_vec v = mts_vec_splat(0.0f);
    for (mts_i32 i = 0; i < VEC && i < (mts_i32)left; i++)
        if (first + i >= 0 && first + i < width) ((float *)&v)[i] = row[(first + i) * step];
    return v;
}

/* One channel's share of `left` outputs, from padded column `at` on. */
INLINE mts_vec deconv_channel(GLOBAL const float *plane, GLOBAL const float *weight, GLOBAL const mts_rec_deconv *r,
                              mts_i32 y, mts_i32 at, mts_u32 left, mts_vec acc) {
    const mts_i32 stride = (mts_i32)r->stride[1];
    for (mts_u32 ky = 0; ky < r->window[0]; ky++) {
        const mts_i32 iy = deconv_source(y, ky, r->dilation[0], r->stride[0], r->in_h);
        if (iy < 0) continue;
        for (mts_u32 kx = 0; kx < r->window[1]; kx++) {
            const mts_i32 place = at - (mts_i32)(kx * r->dilation[1]);
            const mts_i32 first = place >= 0 ? place / stride : -((-place + stride - 1) / stride);
            if (first * stride != place) continue;
            const mts_vec v = deconv_load(plane + iy * (mts_i32)r->src.stride[4], r, first, left);
            acc = mts_vec_fma(mts_vec_splat(weight[ky * r->window[1] + kx]), v, acc);
        }
    }
    return acc;
}

INLINE mts_vec deconv_outputs(GLOBAL const float *src, GLOBAL const float *pool, GLOBAL const mts_rec_deconv *r,
                              mts_u32 channel, mts_i32 y, mts_i32 at, mts_u32 left) {
    const mts_u32 outs = r->dest.dims[3] / r->group, ins = r->in_channels / r->group;
    const mts_u32 first = channel / outs * ins, taps = r->window[0] * r->window[1];
    GLOBAL const float *weight = pool + r->weight + (first * outs + channel % outs) * taps;
    mts_vec acc = mts_vec_splat(0.0f);
    for (mts_u32 c = 0; c < ins; c++)
        acc = deconv_channel(src + (first + c) * r->src.stride[3], weight + c * outs * taps, r, y, at, left, acc);
    acc = mts_vec_add(acc, mts_vec_splat(r->bias == MTS_REC_NONE ? 0.0f : pool[r->bias + channel]));
    return mts_row_fn(r->fn, acc, r->a, r->b);
}

KERNEL void deconv_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_rec_deconv *r = MTS_MEMBER(mts_rec_deconv);
    const mts_u32 stride = r->stride[1];
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        GLOBAL const float *src = act + mts_view_plane(&r->src, &s) - s.c[3] * r->src.stride[3];
        const mts_i32 y = (mts_i32)s.y + r->pad[0];
        for (mts_u32 phase = 0; phase < stride && phase < s.n; phase++)
            for (mts_u32 i = phase; i < s.n; i += VEC * stride) {
                const mts_u32 left = (s.n - i + stride - 1) / stride;
                const mts_vec v = deconv_outputs(src, pool, r, s.c[3], y, (mts_i32)(s.x + i) + r->pad[1], left);
                for (mts_u32 k = 0; k < VEC && k < left; k++) act[s.to + i + k * stride] = ((const float *)&v)[k];
            }
    }
}
