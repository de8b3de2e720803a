/*
 * pad_any: constant, edge and reflecting padding of any dimension; a negative `before`
 * crops.
 */

/* Source coordinate of output coordinate i, or -1: the constant. */
INLINE mts_i32 pad_source(mts_u32 mode, mts_u32 i, mts_i32 before, mts_u32 size) {
    const mts_i32 n = (mts_i32)size;
    mts_i32 at = (mts_i32)i - before;
    if (at >= 0 && at < n) return at;
    if (mode == MTS_PAD_CONSTANT) return -1;
    if (mode == MTS_PAD_EDGE || n == 1) return at < 0 ? 0 : n - 1;
    const mts_i32 period = 2 * (n - 1);
    at = at < 0 ? -at : at;
    at -= at / period * period;
    return at < n ? at : period - at;
}

/* Offset of the source row of the stretch; 0 with *outside set where all of it is the
   constant. */
INLINE mts_u32 pad_row(GLOBAL const mts_pad_params *r, const mts_span *s, int *outside) {
    mts_u32 offset = r->src.base;
    *outside = 0;
    for (int i = 0; i < 5; i++) {
        const mts_i32 at = pad_source(r->mode, i < 4 ? s->c[i & 3] : s->y, r->before[i], r->src_dims[i]);
        if (at < 0) *outside = 1;
        offset += (mts_u32)at * r->src.stride[i];
    }
    return offset;
}

INLINE void pad_ends(GLOBAL mts_real *act, GLOBAL const mts_pad_params *r, const mts_span *s, mts_u32 row,
                     mts_u32 from, mts_u32 end, int outside) {
    for (mts_u32 x = from; x < end; x++) {
        const mts_i32 at = outside ? -1 : pad_source(r->mode, x, r->before[5], r->src_dims[5]);
        const float v = at < 0 ? r->value : mts_load(act + (row + (mts_u32)at * r->src.stride[5]));
        mts_store(act + (s->to - s->x + x), v);
    }
}

KERNEL void pad_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_pad_params *r = MTS_MEMBER(mts_pad_params);
    const mts_i32 step = (mts_i32)r->src.stride[5], before = r->before[5];
    const mts_i32 last = (mts_i32)r->src_dims[5] + before;
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        int outside;
        const mts_u32 row = pad_row(r, &s, &outside), stop = s.x + s.n;
        /* columns [from, end) lie in the source */
        mts_u32 from = before > (mts_i32)s.x ? mts_least((mts_u32)before, stop) : s.x;
        mts_u32 end = last > (mts_i32)from ? mts_least((mts_u32)last, stop) : from;
        if (outside) from = end = stop;
        pad_ends(act, r, &s, row, s.x, from, outside);
        for (mts_u32 x = from; x < end; x += VEC) {
            GLOBAL const mts_real *p = act + row + ((mts_i32)x - before) * step;
            mts_row_store(act + s.to - s.x + x, mts_row_load(p, step, end - x, 0), end - x, 0);
        }
        pad_ends(act, r, &s, row, end, stop, outside);
    }
}
