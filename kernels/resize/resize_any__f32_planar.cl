/*
 * resize_any: nearest, linear and cubic interpolation of rows and columns with ONNX's coordinate modes.
 * Linear does not smooth when it shrinks (ONNX's antialias = 0).
 *
 * Source positions and weights are found for a vector of output coordinates: for the columns of a vector of
 * outputs, and (all lanes alike) for the row of a stretch. Values are gathered lane by lane.
 */
typedef struct resize_taps {
    mts_vec at[4]; /* positions in the source, whole numbers within it */
    mts_vec weight[4];
    mts_vec place; /* the coordinate before it was clamped */
    int count;
} resize_taps;

INLINE mts_vec resize_ramp(mts_u32 first) {
    mts_vec v = mts_vec_splat((float)first);
    for (int i = 1; i < VEC; i++) ((float *)&v)[i] = (float)(first + i);
    return v;
}

/* n / d, rounded correctly where a device's own division is not: a floor follows. */
INLINE mts_vec resize_ratio(mts_vec n, float d) {
    const mts_vec by = mts_vec_splat(d), q = mts_vec_div(n, by);
    const mts_vec rest = mts_vec_fma(mts_vec_sub(mts_vec_splat(0.0f), q), by, n);
    return mts_vec_fma(rest, mts_vec_splat(1.0f / d), q);
}

INLINE mts_vec resize_crop(GLOBAL const mts_resize_params *r, int axis, mts_vec x, mts_u32 out) {
    const float last = (float)r->in[axis] - 1.0f, start = r->roi_start[axis], end = r->roi_end[axis];
    if (out == 1) return mts_vec_splat(0.5f * (start + end) * last);
    const mts_vec whole = mts_vec_mul(mts_vec_mul(x, mts_vec_splat(end - start)), mts_vec_splat(last));
    return mts_vec_add(mts_vec_splat(start * last), resize_ratio(whole, (float)(out - 1)));
}

INLINE mts_vec resize_coordinate(GLOBAL const mts_resize_params *r, int axis, mts_vec x, mts_u32 out) {
    const float last = (float)r->in[axis] - 1.0f, scale = r->scale[axis];
    const mts_vec middle = mts_vec_splat(0.5f);
    if (r->coord == MTS_COORD_TF_CROP) return resize_crop(r, axis, x, out);
    if (out == 1 && (r->coord == MTS_COORD_ALIGN_CORNERS || r->coord == MTS_COORD_PYTORCH_HALF_PIXEL))
        return mts_vec_splat(0.0f);
    if (r->coord == MTS_COORD_ALIGN_CORNERS)
        return resize_ratio(mts_vec_mul(x, mts_vec_splat(last)), (float)(out - 1));
    if (r->coord == MTS_COORD_ASYMMETRIC) return resize_ratio(x, scale);
    const mts_vec centre = resize_ratio(mts_vec_add(x, middle), scale);
    return r->coord == MTS_COORD_TF_HALF_PIXEL ? centre : mts_vec_sub(centre, middle);
}

INLINE mts_vec resize_round(mts_u32 round, mts_vec x) {
    const mts_vec middle = mts_vec_splat(0.5f);
    if (round == MTS_ROUND_FLOOR) return mts_vec_floor(x);
    if (round == MTS_ROUND_CEIL) return mts_vec_ceil(x);
    if (round == MTS_ROUND_PREFER_CEIL) {
        const mts_vec up = mts_vec_add(x, middle);
        return mts_vec_floor(up);
    }
    const mts_vec down = mts_vec_sub(x, middle);
    return mts_vec_ceil(down);
}

/* Not a number becomes 0. */
INLINE mts_vec resize_clamp(mts_vec x, float last) {
    return mts_vec_min(mts_vec_splat(last), mts_vec_max(x, mts_vec_splat(0.0f)));
}

/* The cubic convolution kernel at a distance below 1 and between 1 and 2. */
INLINE mts_vec resize_near(float a, mts_vec d) {
    const mts_vec inner = mts_vec_fma(mts_vec_splat(a + 2.0f), d, mts_vec_splat(-(a + 3.0f)));
    return mts_vec_fma(mts_vec_mul(inner, d), d, mts_vec_splat(1.0f));
}
INLINE mts_vec resize_far(float a, mts_vec d) {
    const mts_vec first = mts_vec_fma(mts_vec_splat(a), d, mts_vec_splat(-5.0f * a));
    const mts_vec second = mts_vec_fma(first, d, mts_vec_splat(8.0f * a));
    return mts_vec_fma(second, d, mts_vec_splat(-4.0f * a));
}

/* 1 where a whole number lies in [0, last], else 0. */
INLINE mts_vec resize_inside(mts_vec x, float last) {
    const mts_vec one = mts_vec_splat(1.0f), above = mts_vec_add(x, one);
    const mts_vec below = mts_vec_sub(mts_vec_splat(last + 1.0f), x);
    return mts_vec_min(one, mts_vec_max(mts_vec_splat(0.0f), mts_vec_min(above, below)));
}

INLINE void resize_cubic(GLOBAL const mts_resize_params *r, float last, resize_taps *taps) {
    const float a = r->cubic_a;
    const mts_vec one = mts_vec_splat(1.0f), base = mts_vec_floor(taps->place);
    const mts_vec t = mts_vec_sub(taps->place, base), u = mts_vec_sub(one, t);
    mts_vec sum = mts_vec_splat(0.0f);
    taps->count = 4;
    taps->weight[0] = resize_far(a, mts_vec_add(t, one));
    taps->weight[1] = resize_near(a, t);
    taps->weight[2] = resize_near(a, u);
    taps->weight[3] = resize_far(a, mts_vec_add(u, one));
    UNROLL for (int i = 0; i < 4; i++) {
        const mts_vec at = mts_vec_add(base, mts_vec_splat((float)(i - 1)));
        if (r->exclude_outside) taps->weight[i] = mts_vec_mul(taps->weight[i], resize_inside(at, last));
        taps->at[i] = resize_clamp(at, last);
        sum = mts_vec_add(sum, taps->weight[i]);
    }
    if (!r->exclude_outside) return;
    UNROLL for (int i = 0; i < 4; i++) taps->weight[i] = mts_vec_div(taps->weight[i], sum);
}

INLINE resize_taps resize_find(GLOBAL const mts_resize_params *r, int axis, mts_vec i, mts_u32 out) {
    const float last = (float)r->in[axis] - 1.0f;
    const mts_vec one = mts_vec_splat(1.0f);
    resize_taps taps;
    taps.place = resize_coordinate(r, axis, i, out);
    taps.count = 1;
    taps.at[0] = taps.at[1] = taps.at[2] = taps.at[3] = mts_vec_splat(0.0f);
    taps.weight[0] = taps.weight[1] = taps.weight[2] = taps.weight[3] = one;
    if (r->mode == MTS_RESIZE_NEAREST) {
        taps.at[0] = resize_clamp(resize_round(r->round, taps.place), last);
    } else if (r->mode == MTS_RESIZE_LINEAR) {
        const mts_vec x = resize_clamp(taps.place, last);
        taps.count = 2;
        taps.at[0] = mts_vec_floor(x);
        taps.at[1] = mts_vec_min(mts_vec_splat(last), mts_vec_add(taps.at[0], one));
        taps.weight[1] = mts_vec_sub(x, taps.at[0]);
        taps.weight[0] = mts_vec_sub(one, taps.weight[1]);
    } else {
        resize_cubic(r, last, &taps);
    }
    return taps;
}

/* All lanes: positions lie in the source, wanted or not. */
INLINE mts_vec resize_gather(GLOBAL const mts_real *row, mts_vec at, mts_i32 step) {
    mts_vec v = at;
    UNROLL for (int i = 0; i < VEC; i++)
        ((float *)&v)[i] = mts_load(row + (mts_i32)((const float *)&at)[i] * step);
    return v;
}

/* One source row. */
INLINE mts_vec resize_line(GLOBAL const mts_real *row, const resize_taps *columns, mts_i32 step) {
    mts_vec v = mts_vec_mul(columns->weight[0], resize_gather(row, columns->at[0], step));
    for (int k = 1; k < columns->count; k++)
        v = mts_vec_fma(columns->weight[k], resize_gather(row, columns->at[k], step), v);
    return v;
}

INLINE mts_vec resize_value(GLOBAL const mts_real *plane, GLOBAL const mts_resize_params *r,
                            const resize_taps *rows, const resize_taps *columns) {
    const mts_i32 high = (mts_i32)r->src.stride[4], wide = (mts_i32)r->src.stride[5];
    mts_vec v = mts_vec_splat(0.0f);
    for (int k = 0; k < rows->count; k++) {
        GLOBAL const mts_real *row = plane + (mts_i32)((const float *)&rows->at[k])[0] * high;
        if (rows->count == 1) return resize_gather(row, columns->at[0], wide);
        v = mts_vec_fma(rows->weight[k], resize_line(row, columns, wide), v);
    }
    return v;
}

/* TF_CROP: the extrapolation value in the lanes whose place lies outside the source. */
INLINE mts_vec resize_outside(GLOBAL const mts_resize_params *r, const resize_taps *rows,
                              const resize_taps *columns, mts_vec v) {
    const float y = ((const float *)&rows->place)[0];
    for (int i = 0; i < VEC; i++) {
        const float x = ((const float *)&columns->place)[i];
        if (y < 0.0f || y > (float)r->in[0] - 1.0f || x < 0.0f || x > (float)r->in[1] - 1.0f)
            ((float *)&v)[i] = r->extrapolation;
    }
    return v;
}

KERNEL void resize_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_resize_params *r = MTS_MEMBER(mts_resize_params);
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        GLOBAL const mts_real *plane = act + mts_view_plane(&r->src, &s);
        const resize_taps rows = resize_find(r, 0, mts_vec_splat((float)s.y), r->dest.dims[4]);
        for (mts_u32 i = 0; i < s.n; i += VEC) {
            const resize_taps columns = resize_find(r, 1, resize_ramp(s.x + i), r->dest.dims[5]);
            mts_vec v = resize_value(plane, r, &rows, &columns);
            if (r->coord == MTS_COORD_TF_CROP) v = resize_outside(r, &rows, &columns, v);
            mts_row_store(act + s.to + i, v, s.n - i, s.stop - s.to - i);
        }
    }
}
