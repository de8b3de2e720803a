/*
 * pool_any: maximum or average over a window of rows and columns. Only elements of the image take part in a maximum; an
 * average divides by the elements of the image in the window or, with include_pad, by the positions of the window that
 * lie in the padded image (a window of ceil mode may stand over its end).
 *
 * A vector holds neighbouring outputs; the rows of the window are the innermost loop.
 */
#define POOL_NOTHING -3.402823466e+38f

/* Columns of the window that count, in each lane; x is the first lane's first one. */
INLINE mts_vec pool_columns(GLOBAL const mts_rec_pool *r, mts_i32 x) {
    const float low = r->include_pad ? -(float)r->pad[1] : 0.0f;
    const float high = (float)r->in_w + (r->include_pad ? (float)r->pad[3] : 0.0f);
    const float last = (float)(x + (mts_i32)((r->window[1] - 1) * r->dilation[1] + (VEC - 1) * r->stride[1]));
    mts_vec count = mts_vec_splat(0.0f);
    if ((float)x >= low && last < high) return mts_vec_splat((float)r->window[1]);
    for (mts_u32 kx = 0; kx < r->window[1]; kx++) {
        const float first = (float)(x + (mts_i32)(kx * r->dilation[1]));
        count = mts_vec_add(count, mts_vec_between(first, (float)r->stride[1], low, high));
    }
    return count;
}

INLINE mts_u32 pool_rows(GLOBAL const mts_rec_pool *r, mts_i32 y) {
    const mts_i32 low = r->include_pad ? -r->pad[0] : 0;
    const mts_i32 high = (mts_i32)r->in_h + (r->include_pad ? r->pad[2] : 0);
    mts_u32 count = 0;
    for (mts_u32 ky = 0; ky < r->window[0]; ky++) {
        const mts_i32 at = y + (mts_i32)(ky * r->dilation[0]);
        count += at >= low && at < high ? 1 : 0;
    }
    return count;
}

/* One column of the window. */
INLINE mts_vec pool_column(GLOBAL const float *act, GLOBAL const mts_rec_pool *r, const mts_reach *reach, mts_u32 plane,
                           mts_i32 y, mts_vec v) {
    for (mts_u32 ky = 0; ky < r->window[0]; ky++, y += (mts_i32)r->dilation[0]) {
        if (y < 0 || y >= (mts_i32)r->in_h) continue;
        const mts_vec p = mts_reach_load(act, reach, plane + (mts_u32)y * r->src.stride[4]);
        v = r->kind == MTS_POOL_MAX ? mts_vec_max(v, p) : mts_vec_add(v, p);
    }
    return v;
}

/* `left` outputs side by side; y and x are the first window's first position in the image. */
INLINE mts_vec pool_vector(GLOBAL const float *act, GLOBAL const mts_rec_pool *r, mts_u32 plane, mts_i32 y, mts_i32 x,
                           mts_u32 left, mts_u32 end) {
    const float nothing = r->kind == MTS_POOL_MAX ? POOL_NOTHING : 0.0f;
    mts_vec v = mts_vec_splat(nothing);
    for (mts_u32 kx = 0; kx < r->window[1]; kx++) {
        const mts_i32 first = x + (mts_i32)(kx * r->dilation[1]);
        mts_reach reach = mts_reach_open(&r->src, first, r->stride[1], r->in_w, left, nothing);
        reach.end = end;
        v = pool_column(act, r, &reach, plane, y, v);
    }
    if (r->kind == MTS_POOL_MAX) return v;
    const mts_vec count = mts_vec_mul(pool_columns(r, x), mts_vec_splat((float)pool_rows(r, y)));
    return mts_vec_div(v, mts_vec_max(mts_vec_splat(1.0f), count)); /* an empty window sums to 0 */
}

KERNEL void pool_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_rec_pool *r = MTS_MEMBER(mts_rec_pool);
    const mts_u32 end = mts_view_end(&r->src, &r->dest, r->in_h, r->in_w);
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        const mts_u32 plane = mts_view_plane(&r->src, &s);
        const mts_i32 y = (mts_i32)(s.y * r->stride[0]) - r->pad[0];
        for (mts_u32 i = 0; i < s.n; i += VEC) {
            const mts_i32 x = (mts_i32)((s.x + i) * r->stride[1]) - r->pad[1];
            const mts_vec v = pool_vector(act, r, plane, y, x, s.n - i, end);
            mts_row_store(act + s.to + i, v, s.n - i, s.stop - s.to - i);
        }
    }
}
