/*
 * lrn_any: local response normalisation over `size` neighbouring channels, floor((size -
 * 1) / 2) below and ceil((size - 1) / 2) above: y = x / (bias + alpha / size * sum of
 * squares)^beta.
 */
KERNEL void lrn_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_lrn_params *r = MTS_MEMBER(mts_lrn_params);
    const mts_i32 step = (mts_i32)r->src.stride[5];
    const mts_u32 below = (r->size - 1) / 2, above = r->size / 2, plane = r->src.stride[3];
    const mts_vec factor = mts_vec_splat(r->alpha / (float)r->size);
    const mts_u32 end = mts_view_end(&r->src, &r->dest, r->dest.dims[4], r->dest.dims[5]);
    mts_span s = mts_span_open(act, &r->dest);
    s.flat = mts_view_flat(&r->src, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        const mts_u32 c = s.c[3], low = c > below ? c - below : 0,
                      high = mts_least(c + above, r->channels - 1);
        const mts_u32 from = mts_view_at(&r->src, &s) - c * plane;
        for (mts_u32 i = 0; i < s.n; i += VEC) {
            const mts_u32 at = from + i * r->src.stride[5];
            GLOBAL const mts_real *p = act + at;
            mts_vec sum = mts_vec_splat(0.0f);
            for (mts_u32 k = low; k <= high; k++) {
                const mts_vec v = mts_row_load(p + k * plane, step, s.n - i, end - at - k * plane);
                sum = mts_vec_fma(v, v, sum);
            }
            sum = mts_vec_log(mts_vec_fma(sum, factor, mts_vec_splat(r->bias)));
            sum = mts_vec_exp(mts_vec_mul(sum, mts_vec_splat(-r->beta)));
            const mts_vec x = mts_row_load(p + c * plane, step, s.n - i, end - at - c * plane);
            mts_row_store(act + s.to + i, mts_vec_mul(x, sum), s.n - i, s.stop - s.to - i);
        }
    }
}
