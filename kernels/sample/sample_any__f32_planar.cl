/*
 * sample_any: pixels of an image at positions that a grid names, as ONNX defines
 * GridSample.
 */

/* Reflects at both ends until the position is between them. */
INLINE float sample_reflect(float x, float low, float high) {
    const float range = high - low, over = x < low ? low - x : x - high;
    if (x >= low && x <= high) return x;
    if (range <= 0.0f) return low;
    const float turns = mts_floor(over / range), rest = over - turns * range;
    const int from_low = (x < low) == (turns - 2.0f * mts_floor(turns * 0.5f) == 0.0f);
    return from_low ? low + rest : high - rest;
}

/* Half to even. */
INLINE float sample_round(float x) {
    const float up = mts_floor(x + 0.5f);
    return up - x == 0.5f && up - 2.0f * mts_floor(up * 0.5f) != 0.0f ? up - 1.0f : up;
}

/* Position in pixels of a coordinate in -1..1. NaN and what is far away go to an end that
   floats name exactly. */
INLINE float sample_position(GLOBAL const mts_sample_params *r, float at, mts_u32 size) {
    const float n = (float)size, far = 1048576.0f;
    const float low = r->align ? 0.0f : -0.5f, high = r->align ? n - 1.0f : n - 0.5f;
    float x = r->align ? (at + 1.0f) * 0.5f * (n - 1.0f) : ((at + 1.0f) * n - 1.0f) * 0.5f;
    x = x > -far ? x : -far;
    x = x < far ? x : far;
    if (r->mode == MTS_RESIZE_NEAREST) x = sample_round(x);
    if (x >= low && x <= high) return x;
    if (r->padding == MTS_SAMPLE_BORDER) return x < 0.0f ? 0.0f : x > n - 1.0f ? n - 1.0f : x;
    return r->padding == MTS_SAMPLE_REFLECT ? sample_reflect(x, low, high) : x;
}

/* Row or column of a tap, -1: it counts as 0. */
INLINE mts_i32 sample_tap(GLOBAL const mts_sample_params *r, float at, mts_u32 size) {
    const float n = (float)size;
    if (r->padding == MTS_SAMPLE_ZEROS && !(at >= 0.0f && at < n)) return -1;
    if (r->padding == MTS_SAMPLE_REFLECT)
        at = sample_reflect(at, r->align ? 0.0f : -0.5f, r->align ? n - 1.0f : n - 0.5f);
    at = at > 0.0f ? at : 0.0f;
    return (mts_i32)mts_least(at, n - 1.0f);
}

/* Weight of a tap at distance d, and how many taps there are. */
INLINE float sample_weight(mts_u32 mode, float d) {
    const float a = -0.75f;
    d = mts_fabs(d);
    if (mode == MTS_RESIZE_NEAREST) return 1.0f;
    if (mode == MTS_RESIZE_LINEAR) return 1.0f - d;
    if (d <= 1.0f) return ((a + 2.0f) * d - (a + 3.0f)) * d * d + 1.0f;
    return ((a * d - 5.0f * a) * d + 8.0f * a) * d - 4.0f * a;
}

KERNEL void sample_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_sample_params *r = MTS_MEMBER(mts_sample_params);
    GLOBAL const mts_real *from = r->src_pool ? pool : act, *grid = r->grid_pool ? pool : act;
    const mts_i32 low = r->mode == MTS_RESIZE_CUBIC ? -1 : 0, high = (mts_i32)r->mode;
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        GLOBAL const mts_real *image = from + mts_view_plane(&r->src, &s);
        for (mts_u32 i = 0; i < s.n; i++) {
            GLOBAL const mts_real *at = grid + r->grid.base + s.c[2] * r->grid.stride[2] + s.y * r->grid.stride[3] +
                                        (s.x + i) * r->grid.stride[4];
            const float x = sample_position(r, mts_load(at), r->in_w);
            const float y = sample_position(r, mts_load(at + r->grid.stride[5]), r->in_h);
            const float left = mts_floor(x), top = mts_floor(y);
            float sum = 0.0f;
            for (mts_i32 v = low; v <= high; v++) {
                const mts_i32 row = sample_tap(r, top + (float)v, r->in_h);
                float part = 0.0f;
                for (mts_i32 u = low; row >= 0 && u <= high; u++) {
                    const mts_i32 column = sample_tap(r, left + (float)u, r->in_w);
                    if (column < 0) continue;
                    part += sample_weight(r->mode, x - left - (float)u) *
                            mts_load(image + (mts_u32)row * r->src.stride[4] + (mts_u32)column * r->src.stride[5]);
                }
                sum += sample_weight(r->mode, y - top - (float)v) * part;
            }
            mts_store(act + s.to + i, sum);
        }
    }
}
