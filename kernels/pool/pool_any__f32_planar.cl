/*
 * pool_any: maximum or average over a window of rows and columns. Only elements of the image take part in a maximum; an
 * average divides by the elements of the image in the window or, with include_pad, by the positions of the window that
 * lie in the padded image (a window of ceil mode may stand over its end).
 *
 * A vector holds neighbouring outputs. Where a window leaves the image to the left or right, what its lanes read there
 * (a border, or the next row) is replaced.
 */
#define POOL_NOTHING -3.402823466e+38f

/* The columns of a vector of outputs at one kernel position: lane i reads column `first` + i * stride. */
typedef struct pool_lanes {
    mts_vec ramp; /* 0, 1, 2, ... */
    float stride;
} pool_lanes;

INLINE mts_vec pool_ramp(void) {
    mts_vec v = mts_vec_splat(0.0f);
    for (int i = 1; i < VEC; i++) ((float *)&v)[i] = (float)i;
    return v;
}

/* 1 in the lanes whose column lies in [low, high), else 0. */
INLINE mts_vec pool_inside(pool_lanes lanes, float first, float low, float high) {
    const mts_vec at = mts_vec_fma(lanes.ramp, mts_vec_splat(lanes.stride), mts_vec_splat(first));
    const mts_vec one = mts_vec_splat(1.0f), zero = mts_vec_splat(0.0f);
    const mts_vec a = mts_vec_sub(at, mts_vec_splat(low - 1.0f)), b = mts_vec_sub(mts_vec_splat(high), at);
    return mts_vec_min(one, mts_vec_max(zero, mts_vec_min(a, b)));
}

/* Columns of the window that count, in each lane. */
INLINE mts_vec pool_columns(GLOBAL const mts_rec_pool *r, pool_lanes lanes, mts_i32 x) {
    const float low = r->include_pad ? -(float)r->pad[1] : 0.0f;
    const float high = (float)r->in_w + (r->include_pad ? (float)r->pad[3] : 0.0f);
    mts_vec count = mts_vec_splat(0.0f);
    for (mts_u32 kx = 0; kx < r->window[1]; kx++)
        count = mts_vec_add(count, pool_inside(lanes, (float)(x + (mts_i32)(kx * r->dilation[1])), low, high));
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

INLINE mts_vec pool_take(mts_u32 kind, mts_vec v, mts_vec p) {
    return kind == MTS_POOL_MAX ? mts_vec_max(v, p) : mts_vec_add(v, p);
}

/* Elements ix, ix + stride, ... of a row, one by one; `nothing` outside it. */
INLINE mts_vec pool_gather(GLOBAL const float *row, GLOBAL const mts_rec_pool *r, mts_i32 ix, mts_u32 left, float nothing) {
    const mts_i32 column = (mts_i32)r->src.stride[5], width = (mts_i32)r->in_w;
    mts_vec v = mts_vec_splat(nothing);
    for (mts_i32 i = 0; i < VEC && i < (mts_i32)left; i++, ix += (mts_i32)r->stride[1])
        if (ix >= 0 && ix < width) ((float *)&v)[i] = row[ix * column];
    return v;
}

/* The window's share of one row at one kernel column. from and end bound what may be read. */
INLINE mts_vec pool_load(GLOBAL const float *act, GLOBAL const mts_rec_pool *r, pool_lanes lanes, mts_u32 row, mts_i32 ix,
                         mts_u32 left, mts_u32 end) {
    const mts_i32 stride = (mts_i32)r->stride[1], column = (mts_i32)r->src.stride[5], width = (mts_i32)r->in_w;
    const mts_i32 last = ix + (mts_i32)(mts_least(left, VEC) - 1) * stride;
    const mts_u32 offset = row + (mts_u32)(ix * column);
    const float nothing = r->kind == MTS_POOL_MAX ? POOL_NOTHING : 0.0f;
    if (ix >= 0 && last < width) return mts_row_load(act + offset, stride * column, left, end - offset);
#if VEC > 1
    const mts_i32 reach = (mts_i32)row - (mts_i32)r->src.base + ix * column;
    if (stride * column <= 2 && reach >= 0 && (mts_i32)(end - offset) >= 2 * VEC - 1) {
        const mts_vec inside = pool_inside(lanes, (float)ix, 0.0f, (float)width);
        const mts_vec v = mts_vec_keep(inside, mts_row_load(act + offset, stride * column, VEC, VEC));
        return mts_vec_fma(mts_vec_sub(mts_vec_splat(1.0f), inside), mts_vec_splat(nothing), v);
    }
#endif
    return pool_gather(act + row, r, ix, left, nothing);
}

/* `left` outputs side by side; y and x are the first window's first position in the image. */
INLINE mts_vec pool_vector(GLOBAL const float *act, GLOBAL const mts_rec_pool *r, pool_lanes lanes, mts_u32 plane, mts_i32 y,
                           mts_i32 x, mts_u32 left, mts_u32 end) {
    mts_vec v = mts_vec_splat(r->kind == MTS_POOL_MAX ? POOL_NOTHING : 0.0f);
    for (mts_u32 ky = 0; ky < r->window[0]; ky++) {
        const mts_i32 iy = y + (mts_i32)(ky * r->dilation[0]);
        if (iy < 0 || iy >= (mts_i32)r->in_h) continue;
        for (mts_u32 kx = 0; kx < r->window[1]; kx++) {
            const mts_u32 row = plane + (mts_u32)iy * r->src.stride[4];
            const mts_vec p = pool_load(act, r, lanes, row, x + (mts_i32)(kx * r->dilation[1]), left, end);
            v = pool_take(r->kind, v, p);
        }
    }
    if (r->kind == MTS_POOL_MAX) return v;
    const mts_vec count = mts_vec_mul(pool_columns(r, lanes, x), mts_vec_splat((float)pool_rows(r, y)));
    return mts_vec_div(v, mts_vec_max(mts_vec_splat(1.0f), count)); /* an empty window sums to 0 */
}

KERNEL void pool_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_rec_pool *r = MTS_MEMBER(mts_rec_pool);
    const mts_u32 end = mts_view_end(&r->src, &r->dest, r->in_h, r->in_w);
    pool_lanes lanes;
    lanes.ramp = pool_ramp();
    lanes.stride = (float)r->stride[1];
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        const mts_u32 plane = mts_view_plane(&r->src, &s);
        const mts_i32 y = (mts_i32)(s.y * r->stride[0]) - r->pad[0];
        for (mts_u32 i = 0; i < s.n; i += VEC) {
            const mts_i32 x = (mts_i32)((s.x + i) * r->stride[1]) - r->pad[1];
            const mts_vec v = pool_vector(act, r, lanes, plane, y, x, s.n - i, end);
            mts_row_store(act + s.to + i, v, s.n - i, s.stop - s.to - i);
        }
    }
}
