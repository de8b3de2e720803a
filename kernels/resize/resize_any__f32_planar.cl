/*
 * resize_any: nearest, linear and cubic interpolation of rows and columns with ONNX's coordinate modes. Linear does not
 * smooth when it shrinks (ONNX's antialias = 0).
 *
 * A row's source rows and weights are found once per stretch, then each column's.
 */
typedef struct resize_taps {
    mts_i32 at[4];
    float weight[4];
    int count; /* 0: outside, take the extrapolation value */
} resize_taps;

/* n / d, rounded correctly where a device's own division is not: a floor follows. */
INLINE float resize_ratio(float n, float d) {
    const float q = n / d;
    return mts_fma(mts_fma(-q, d, n), 1.0f / d, q);
}

INLINE float resize_coordinate(GLOBAL const mts_rec_resize *r, int axis, mts_u32 i, mts_u32 out) {
    const float x = (float)i, last = (float)r->in[axis] - 1.0f, scale = r->scale[axis];
    switch (r->coord) {
    case MTS_COORD_ALIGN_CORNERS: return out > 1 ? resize_ratio(x * last, (float)(out - 1)) : 0.0f;
    case MTS_COORD_ASYMMETRIC: return resize_ratio(x, scale);
    case MTS_COORD_TF_HALF_PIXEL: return resize_ratio(x + 0.5f, scale);
    case MTS_COORD_TF_CROP:
        if (out == 1) return 0.5f * (r->roi_start[axis] + r->roi_end[axis]) * last;
        return r->roi_start[axis] * last +
               resize_ratio(x * (r->roi_end[axis] - r->roi_start[axis]) * last, (float)(out - 1));
    case MTS_COORD_PYTORCH_HALF_PIXEL:
        if (out == 1) return 0.0f;
        break;
    default: break;
    }
    return resize_ratio(x + 0.5f, scale) - 0.5f;
}

INLINE float resize_round(mts_u32 round, float x) {
    switch (round) {
    case MTS_ROUND_PREFER_CEIL: return mts_floor(x + 0.5f);
    case MTS_ROUND_FLOOR: return mts_floor(x);
    case MTS_ROUND_CEIL: return mts_ceil(x);
    default: return mts_ceil(x - 0.5f);
    }
}

INLINE mts_i32 resize_clamp(mts_i32 i, mts_i32 last) { return i < 0 ? 0 : i > last ? last : i; }

/* Weights of the positions floor(x) - 1 .. floor(x) + 2 at distance t = x - floor(x). */
INLINE void resize_cubic(GLOBAL const mts_rec_resize *r, float t, mts_i32 base, mts_i32 last, resize_taps *taps) {
    const float a = r->cubic_a, u = 1.0f - t;
    float sum = 0.0f;
    taps->count = 4;
    taps->weight[0] = ((a * (t + 1.0f) - 5.0f * a) * (t + 1.0f) + 8.0f * a) * (t + 1.0f) - 4.0f * a;
    taps->weight[1] = ((a + 2.0f) * t - (a + 3.0f)) * t * t + 1.0f;
    taps->weight[2] = ((a + 2.0f) * u - (a + 3.0f)) * u * u + 1.0f;
    taps->weight[3] = ((a * (u + 1.0f) - 5.0f * a) * (u + 1.0f) + 8.0f * a) * (u + 1.0f) - 4.0f * a;
    UNROLL for (int i = 0; i < 4; i++) {
        const mts_i32 at = base - 1 + i;
        if (r->exclude_outside && (at < 0 || at > last)) taps->weight[i] = 0.0f;
        taps->at[i] = resize_clamp(at, last);
        sum += taps->weight[i];
    }
    if (r->exclude_outside)
        UNROLL for (int i = 0; i < 4; i++) taps->weight[i] /= sum;
}

INLINE resize_taps resize_find(GLOBAL const mts_rec_resize *r, int axis, mts_u32 i, mts_u32 out) {
    const mts_i32 last = (mts_i32)r->in[axis] - 1;
    float x = resize_coordinate(r, axis, i, out);
    resize_taps taps;
    taps.count = 1;
    taps.at[0] = taps.at[1] = taps.at[2] = taps.at[3] = 0;
    taps.weight[0] = 1.0f;
    taps.weight[1] = taps.weight[2] = taps.weight[3] = 0.0f;
    if (r->coord == MTS_COORD_TF_CROP && (x < 0.0f || x > (float)last)) {
        taps.count = 0;
    } else if (r->mode == MTS_RESIZE_NEAREST) {
        taps.at[0] = resize_clamp((mts_i32)resize_round(r->round, x), last);
    } else if (r->mode == MTS_RESIZE_LINEAR) {
        x = x < 0.0f ? 0.0f : x > (float)last ? (float)last : x;
        taps.count = 2;
        taps.at[0] = (mts_i32)x;
        taps.at[1] = mts_least(taps.at[0] + 1, last);
        taps.weight[1] = x - (float)taps.at[0];
        taps.weight[0] = 1.0f - taps.weight[1];
    } else {
        const float base = mts_floor(x);
        resize_cubic(r, x - base, (mts_i32)base, last, &taps);
    }
    return taps;
}

INLINE float resize_value(GLOBAL const float *plane, GLOBAL const mts_rec_resize *r, const resize_taps *rows,
                          const resize_taps *columns) {
    const mts_i32 high = (mts_i32)r->src.stride[4], wide = (mts_i32)r->src.stride[5];
    float v = 0.0f;
    if (rows->count == 0 || columns->count == 0) return r->extrapolation;
    if (rows->count == 1) return plane[rows->at[0] * high + columns->at[0] * wide];
    if (rows->count == 2) {
        GLOBAL const float *top = plane + rows->at[0] * high, *bottom = plane + rows->at[1] * high;
        const mts_i32 a = columns->at[0] * wide, b = columns->at[1] * wide;
        return rows->weight[0] * (columns->weight[0] * top[a] + columns->weight[1] * top[b]) +
               rows->weight[1] * (columns->weight[0] * bottom[a] + columns->weight[1] * bottom[b]);
    }
    UNROLL for (int i = 0; i < 4; i++) {
        GLOBAL const float *row = plane + rows->at[i] * high;
        float line = 0.0f;
        UNROLL for (int k = 0; k < 4; k++) line += columns->weight[k] * row[columns->at[k] * wide];
        v += rows->weight[i] * line;
    }
    return v;
}

KERNEL void resize_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_rec_resize *r = MTS_MEMBER(mts_rec_resize);
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        GLOBAL const float *plane = act + mts_view_plane(&r->src, &s);
        const resize_taps rows = resize_find(r, 0, s.y, r->dest.dims[4]);
        for (mts_u32 i = 0; i < s.n; i++) {
            const resize_taps columns = resize_find(r, 1, s.x + i, r->dest.dims[5]);
            act[s.to + i] = resize_value(plane, r, &rows, &columns);
        }
    }
}
