/*
 * copy_any: out(i) = src at sum i * step, steps signed: slice, transpose, expand, reshape of dense data,
 * change of layout.
 */
KERNEL void copy_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_copy_params *r = MTS_MEMBER(mts_copy_params);
    const mts_source src = mts_source_open(act, pool, r->src_pool);
    const mts_i32 step = r->step[5];
    mts_u32 end = r->src.base + 1; /* of what it reads */
    mts_span s = mts_span_open(act, &r->dest);
    s.flat = step == 1 && (r->step[4] == (mts_i32)r->dest.row || r->dest.dims[4] == 1);
    for (int d = 0; d < 6; d++) end += r->step[d] > 0 ? (r->dest.dims[d] - 1) * (mts_u32)r->step[d] : 0;
    while (mts_span_next(act, &r->dest, &s)) {
        const mts_u32 offset = r->src.base + s.c[0] * (mts_u32)r->step[0] + s.c[1] * (mts_u32)r->step[1] +
                               s.c[2] * (mts_u32)r->step[2] + s.c[3] * (mts_u32)r->step[3] +
                               s.y * (mts_u32)r->step[4] + s.x * (mts_u32)r->step[5];
        for (mts_u32 i = 0; i < s.n; i += VEC) {
            const mts_u32 from = offset + i * (mts_u32)step;
            const mts_vec v = mts_source_row(mts_source_at(src, from), step, s.n - i, end - from);
            mts_row_store(act + s.to + i, v, s.n - i, s.stop - s.to - i);
        }
    }
}
