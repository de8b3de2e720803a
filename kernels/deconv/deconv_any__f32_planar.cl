/*
 * deconv_any: transposed convolution, gathered: output (y, x) sums the inputs (iy, ix) and kernel positions
 * (ky, kx) with iy * stride + ky * dilation - top = y, likewise for columns.
 *
 * A vector holds outputs `stride` columns apart: they use the same kernel columns and neighbouring inputs.
 * The channels are the innermost loop, so that what depends on the place alone is found once.
 */

/* n / d rounded down. */
INLINE mts_i32 deconv_floor(mts_i32 n, mts_i32 d) { return n >= 0 ? n / d : -((d - 1 - n) / d); }

#define DECONV_CHANNELS(mode)                                                                                \
    for (mts_u32 c = 0; c < channels; c++, row += r->src.stride[3], weight += step)                          \
        acc = mts_vec_fma(mts_vec_splat(mts_load(weight)), mts_reach_load(act, reach, row, mode), acc);

/* One kernel position of all channels; row: act offset of column 0 in the first channel. */
INLINE mts_vec deconv_channels(GLOBAL const mts_real *act, GLOBAL const mts_real *weight,
                               GLOBAL const mts_deconv_params *r, const mts_reach *reach, mts_u32 row) {
    const mts_u32 step = r->dest.dims[3] / r->group * r->window[0] * r->window[1];
    const mts_u32 channels = r->in_channels / r->group;
    mts_vec acc = mts_vec_splat(0.0f);
    MTS_REACH_MODES(reach, DECONV_CHANNELS)
    return mts_reach_close(reach, acc);
}

/* The same for a block of vectors of one phase of a row, so that they share weights and their sums do not wait for one
 * another. All of their inputs are there; row: act offset of the first one. */
INLINE void deconv_block(GLOBAL const mts_real *act, GLOBAL const mts_real *weight, GLOBAL const mts_deconv_params *r,
                         mts_u32 row, mts_vec acc[MTS_BLOCK]) {
    const mts_u32 step = r->dest.dims[3] / r->group * r->window[0] * r->window[1];
    const mts_u32 channels = r->in_channels / r->group;
    mts_vec sum[MTS_BLOCK];
    UNROLL for (int k = 0; k < MTS_BLOCK; k++) sum[k] = mts_vec_splat(0.0f);
    for (mts_u32 c = 0; c < channels; c++, row += r->src.stride[3], weight += step) {
        const mts_vec w = mts_vec_splat(mts_load(weight));
        UNROLL for (int k = 0; k < MTS_BLOCK; k++) sum[k] = mts_vec_fma(w, mts_vec_load(act + row + k * VEC), sum[k]);
    }
    UNROLL for (int k = 0; k < MTS_BLOCK; k++) acc[k] = mts_vec_add(acc[k], sum[k]);
}

/* One row of kernel positions, or nothing where no input row meets it. y and x are places in the padded output; `left`
 * outputs are wanted. */
INLINE void deconv_row(GLOBAL const mts_real *act, GLOBAL const mts_real *weight, GLOBAL const mts_deconv_params *r,
                       mts_u32 src, mts_i32 y, mts_i32 x, mts_u32 left, mts_u32 end, mts_vec acc[MTS_BLOCK]) {
    const mts_i32 high = (mts_i32)r->stride[0], wide = (mts_i32)r->stride[1], iy = deconv_floor(y, high);
    if (iy * high != y || iy < 0 || iy >= (mts_i32)r->in_h) return;
    for (mts_u32 kx = 0; kx < r->window[1]; kx++) {
        const mts_i32 place = x - (mts_i32)(kx * r->dilation[1]), first = deconv_floor(place, wide);
        if (first * wide != place) continue;
        const mts_u32 row = src + (mts_u32)iy * r->src.stride[4];
        const mts_u32 bottom = row + (r->in_channels / r->group - 1) * r->src.stride[3];
        if (VEC > 1 && r->src.stride[5] == 1 && left >= MTS_BLOCK * VEC && first >= 0 &&
            first + MTS_BLOCK * VEC <= (mts_i32)r->in_w) {
            deconv_block(act, weight + kx, r, row + (mts_u32)first, acc);
            continue;
        }
        for (mts_u32 k = 0; k < MTS_BLOCK && left > k * VEC; k++) {
            const mts_reach reach = mts_reach_open(&r->src, first + (mts_i32)(k * VEC), 1, r->in_w, left - k * VEC, 0.0f,
                                                   row, bottom, end);
            acc[k] = mts_vec_add(acc[k], deconv_channels(act, weight + kx, r, &reach, row));
        }
    }
}

INLINE void deconv_outputs(GLOBAL const mts_real *act, GLOBAL const mts_real *pool,
                           GLOBAL const mts_deconv_params *r, const mts_span *s, mts_u32 x, mts_u32 left,
                           mts_u32 end, mts_vec acc[MTS_BLOCK]) {
    const mts_u32 outs = r->dest.dims[3] / r->group, channel = s->c[3];
    const mts_u32 first = channel / outs * (r->in_channels / r->group), taps = r->window[0] * r->window[1];
    const mts_u32 src = mts_view_plane(&r->src, s) + (first - channel) * r->src.stride[3];
    GLOBAL const mts_real *weight = pool + r->weight + (first * outs + channel % outs) * taps;
    const mts_vec bias = mts_vec_splat(r->bias == MTS_PARAM_NONE ? 0.0f : mts_load(pool + (r->bias + channel)));
    UNROLL for (int k = 0; k < MTS_BLOCK; k++) acc[k] = mts_vec_splat(0.0f);
    for (mts_u32 ky = 0; ky < r->window[0]; ky++) {
        const mts_i32 y = (mts_i32)s->y + r->pad[0] - (mts_i32)(ky * r->dilation[0]);
        deconv_row(act, weight + ky * r->window[1], r, src, y, (mts_i32)x + r->pad[1], left, end, acc);
    }
    UNROLL for (int k = 0; k < MTS_BLOCK; k++) acc[k] = mts_vec_add(acc[k], bias);
    mts_block_fn(r->fn, acc, r->a, r->b);
}

INLINE mts_u32 deconv_end(GLOBAL const mts_deconv_params *r) {
    const mts_u32 end = mts_view_end(&r->src, &r->dest, r->in_h, r->in_w);
    return end + (r->in_channels - r->dest.dims[3]) *
                     r->src.stride[3]; /* its channels are not those of the output */
}

KERNEL void deconv_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_deconv_params *r = MTS_MEMBER(mts_deconv_params);
    const mts_u32 stride = r->stride[1];
    const mts_u32 end = deconv_end(r);
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s))
        for (mts_u32 phase = 0; phase < stride && phase < s.n; phase++)
            for (mts_u32 i = phase; i < s.n; i += MTS_BLOCK * VEC * stride) {
                const mts_u32 left = (s.n - i + stride - 1) / stride;
                mts_vec v[MTS_BLOCK];
                deconv_outputs(act, pool, r, &s, s.x + i, left, end, v);
                for (mts_u32 k = 0; k < MTS_BLOCK * VEC && k < left; k++)
                    mts_store(act + (s.to + i + k * stride), ((const float *)v)[k]);
            }
}
