/*
 * gather_any: coordinate `axis` of the source is read from the parameter buffer.
 */
/* Columns of one row. Indices of neighbours are common: placed updates leave rows as they
   are. */
INLINE void gather_columns(GLOBAL mts_real *act, GLOBAL const mts_u32 *index, mts_u32 offset, mts_u32 stride,
                           const mts_span *s) {
    for (mts_u32 i = 0; i < s->n; i += VEC) {
        const mts_u32 count = mts_least(s->n - i, VEC);
        mts_u32 apart = stride - 1 + VEC - count;
        for (mts_u32 k = 1; k < count; k++) apart |= index[i + k] - index[i] - k;
        if (apart == 0) {
            mts_vec_store_any(act + s->to + i, mts_vec_load(act + offset + index[i]));
            continue;
        }
        for (mts_u32 k = 0; k < count; k++)
            mts_store(act + (s->to + i + k), mts_load(act + (offset + index[i + k] * stride)));
    }
}

KERNEL void gather_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_gather_params *r = MTS_MEMBER(mts_gather_params);
    const mts_u32 stride = r->src.stride[r->axis];
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        const mts_u32 at = r->axis == 5 ? s.x : r->axis == 4 ? s.y : s.c[r->axis & 3];
        GLOBAL const mts_u32 *index = params + r->index + at;
        const mts_u32 offset = mts_view_at(&r->src, &s) - at * stride;
        if (r->axis == 5) {
            gather_columns(act, index, offset, stride, &s);
            continue;
        }
        const mts_i32 step = (mts_i32)r->src.stride[5];
        GLOBAL const mts_real *from = act + (offset + index[0] * stride);
        for (mts_u32 i = 0; i < s.n; i += VEC)
            mts_row_store(act + s.to + i, mts_row_load(from + (mts_i32)i * step, step, s.n - i, 0), s.n - i,
                          s.stop - s.to - i);
    }
}
