/*
 * take_any: row `index` of each plane, for every element its own; an index outside is
 * moved to the nearer end.
 */
INLINE mts_u32 take_row(float at, float length) {
    at = at < 0.0f ? at + length : at;
    at = at > 0.0f ? at : 0.0f; /* NaN too */
    return (mts_u32)mts_least(at, length - 1.0f);
}

KERNEL void take_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_take_params *r = MTS_MEMBER(mts_take_params);
    GLOBAL const mts_real *from = r->src_pool ? pool : act, *index = r->index_pool ? pool : act;
    const mts_u32 step = r->src.stride[5];
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        const mts_u32 plane = mts_view_plane(&r->src, &s) + s.x * step, at = mts_view_at(&r->index, &s);
        for (mts_u32 i = 0; i < s.n; i++) {
            const mts_u32 row = take_row(mts_load(index + at + i * r->index.stride[5]), (float)r->length);
            mts_store(act + s.to + i, mts_load(from + plane + row * r->src.stride[4] + i * step));
        }
    }
}
