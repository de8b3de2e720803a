/*
 * gather_any: coordinate `axis` of the source is read from the parameter buffer.
 */
KERNEL void gather_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_gather_params *r = MTS_MEMBER(mts_gather_params);
    const mts_u32 stride = r->src.stride[r->axis];
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        const mts_u32 at = r->axis == 5 ? s.x : r->axis == 4 ? s.y : s.c[r->axis & 3];
        GLOBAL const mts_u32 *index = params + r->index + at;
        const mts_u32 offset = mts_view_at(&r->src, &s) - at * stride;
        for (mts_u32 i = 0; i < s.n; i++) {
            const mts_u32 from = r->axis == 5 ? index[i] * stride : index[0] * stride + i * r->src.stride[5];
            mts_store(act + (s.to + i), mts_load(act + (offset + from)));
        }
    }
}
