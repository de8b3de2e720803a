/*
 * pool_any: maximum or average over a window of rows and columns. Only elements of the image take part in a maximum; an
 * average divides by the elements of the image in the window or, with include_pad, by the positions of the window that
 * lie in the padded image (a window of ceil mode may stand over its end).
 *
 * Columns whose window lies in the image are computed as vectors, the others one by one.
 */
#define POOL_NOTHING -3.402823466e+38f

/* Window positions k with low <= start + k * dilation < high. */
INLINE mts_u32 pool_count(mts_i32 start, mts_u32 window, mts_u32 dilation, mts_i32 low, mts_i32 high) {
    mts_u32 count = 0;
    for (mts_u32 k = 0; k < window; k++) {
        const mts_i32 at = start + (mts_i32)(k * dilation);
        count += at >= low && at < high ? 1 : 0;
    }
    return count;
}

INLINE mts_u32 pool_span(GLOBAL const mts_rec_pool *r, mts_u32 axis, mts_i32 start) {
    const mts_i32 size = (mts_i32)(axis == 0 ? r->in_h : r->in_w);
    const mts_i32 low = r->include_pad ? -r->pad[axis] : 0, high = r->include_pad ? size + r->pad[axis + 2] : size;
    return pool_count(start, r->window[axis], r->dilation[axis], low, high);
}

/* One output; y and x are the window's first position in the image. */
INLINE float pool_one(GLOBAL const float *plane, GLOBAL const mts_rec_pool *r, mts_i32 y, mts_i32 x) {
    float v = r->kind == MTS_POOL_MAX ? POOL_NOTHING : 0.0f;
    for (mts_u32 ky = 0; ky < r->window[0]; ky++) {
        const mts_i32 iy = y + (mts_i32)(ky * r->dilation[0]);
        if (iy < 0 || iy >= (mts_i32)r->in_h) continue;
        for (mts_u32 kx = 0; kx < r->window[1]; kx++) {
            const mts_i32 ix = x + (mts_i32)(kx * r->dilation[1]);
            if (ix < 0 || ix >= (mts_i32)r->in_w) continue;
            const float p = plane[iy * (mts_i32)r->src.stride[4] + ix * (mts_i32)r->src.stride[5]];
            v = r->kind == MTS_POOL_MAX ? mts_most(v, p) : v + p;
        }
    }
    if (r->kind == MTS_POOL_MAX) return v;
    const mts_u32 count = pool_span(r, 0, y) * pool_span(r, 1, x);
    return count ? v / (float)count : 0.0f;
}

/* `left` outputs side by side whose windows do not leave the image to the left or right. */
INLINE mts_vec pool_many(GLOBAL const float *plane, GLOBAL const mts_rec_pool *r, mts_i32 y, mts_i32 x, mts_u32 left) {
    const mts_i32 column = (mts_i32)r->src.stride[5], step = (mts_i32)r->stride[1] * column;
    mts_vec v = mts_vec_splat(r->kind == MTS_POOL_MAX ? POOL_NOTHING : 0.0f);
    for (mts_u32 ky = 0; ky < r->window[0]; ky++) {
        const mts_i32 iy = y + (mts_i32)(ky * r->dilation[0]);
        if (iy < 0 || iy >= (mts_i32)r->in_h) continue;
        GLOBAL const float *row = plane + iy * (mts_i32)r->src.stride[4] + x * column;
        for (mts_u32 kx = 0; kx < r->window[1]; kx++) {
            const mts_vec p = mts_row_load(row + (mts_i32)(kx * r->dilation[1]) * column, step, left);
            v = r->kind == MTS_POOL_MAX ? mts_vec_max(v, p) : mts_vec_add(v, p);
        }
    }
    if (r->kind == MTS_POOL_MAX) return v;
    const mts_u32 count = pool_span(r, 0, y) * r->window[1];
    return count ? mts_vec_div(v, mts_vec_splat((float)count)) : mts_vec_splat(0.0f);
}

KERNEL void pool_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_rec_pool *r = MTS_MEMBER(mts_rec_pool);
    const mts_i32 stride = (mts_i32)r->stride[1], reach = (mts_i32)((r->window[1] - 1) * r->dilation[1]);
    /* the first column whose window starts in the image, and the first after them whose window ends outside */
    const mts_i32 first_in = r->pad[1] > 0 ? (r->pad[1] + stride - 1) / stride : 0;
    const mts_i32 room = (mts_i32)r->in_w - reach + r->pad[1];
    const mts_i32 first_out = room > 0 ? (room + stride - 1) / stride : 0;
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        GLOBAL const float *plane = act + mts_view_plane(&r->src, &s);
        const mts_i32 y = (mts_i32)(s.y * r->stride[0]) - r->pad[0];
        const mts_i32 end = (mts_i32)(s.x + s.n);
        const mts_i32 stop = mts_least(end, first_out);
        GLOBAL float *to = act + s.to - s.x;
        mts_i32 x = (mts_i32)s.x;
        for (; x < end && x < first_in; x++) to[x] = pool_one(plane, r, y, x * stride - r->pad[1]);
        for (; x < stop; x += VEC) {
            const mts_u32 left = (mts_u32)(stop - x);
            mts_row_store(to + x, pool_many(plane, r, y, x * stride - r->pad[1], left), left);
        }
        x = mts_most(mts_least(stop, x), mts_least(first_in, end));
        x = mts_most(x, (mts_i32)s.x);
        for (; x < end; x++) to[x] = pool_one(plane, r, y, x * stride - r->pad[1]);
    }
}
