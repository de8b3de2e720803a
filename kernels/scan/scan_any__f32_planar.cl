/*
 * scan_any: running sums or products along one axis.
 *
 * Along columns a stretch first combines what lies before it. Along another axis the
 * stretch at the coordinate where the scan begins computes and writes the line of each of
 * its columns; other stretches have nothing to do.
 */
INLINE float scan_take(mts_u32 kind, float v, float x) { return kind == MTS_SCAN_PROD ? v * x : v + x; }

/* `count` steps of a line; writes where to[] is asked for. */
INLINE float scan_line(GLOBAL mts_real *act, GLOBAL const mts_scan_params *r, float v, mts_u32 from, mts_i32 step,
                       mts_u32 to, mts_i32 along, mts_u32 count, int write) {
    for (mts_u32 k = 0; k < count; k++) {
        const float x = mts_load(act + (from + (mts_u32)((mts_i32)k * step)));
        const float next = scan_take(r->kind, v, x);
        if (write) mts_store(act + (to + (mts_u32)((mts_i32)k * along)), r->exclusive ? v : next);
        v = next;
    }
    return v;
}

INLINE void scan_columns(GLOBAL mts_real *act, GLOBAL const mts_scan_params *r, const mts_span *s, float start) {
    const mts_u32 row = mts_view_plane(&r->src, s) + s->y * r->src.stride[4], last = s->n - 1;
    const mts_i32 step = (mts_i32)r->src.stride[5];
    const mts_u32 first = r->reverse ? row + (r->length - 1) * (mts_u32)step : row;
    const mts_u32 before = r->reverse ? r->length - s->x - s->n : s->x;
    const mts_u32 begin = row + (s->x + (r->reverse ? last : 0)) * (mts_u32)step;
    const mts_i32 sign = r->reverse ? -1 : 1;
    const float v = scan_line(act, r, start, first, sign * step, 0, 0, before, 0);
    scan_line(act, r, v, begin, sign * step, s->to + (r->reverse ? last : 0), sign, s->n, 1);
}

/* Floats from one coordinate of `axis` to the next in the output. */
INLINE mts_u32 scan_along(GLOBAL const mts_dest_params *d, mts_u32 axis) {
    mts_u32 along = axis == 4 ? d->row : d->pitch;
    for (mts_u32 i = 3; i > axis && i < 4; i--) along *= d->dims[i];
    return along;
}

KERNEL void scan_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_scan_params *r = MTS_MEMBER(mts_scan_params);
    const mts_i32 along = (mts_i32)scan_along(&r->dest, r->axis), sign = r->reverse ? -1 : 1;
    const mts_i32 stride = (mts_i32)r->src.stride[r->axis];
    const float start = r->kind == MTS_SCAN_PROD ? 1.0f : 0.0f;
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        if (r->axis == 5) {
            scan_columns(act, r, &s, start);
        } else if ((r->axis == 4 ? s.y : s.c[r->axis & 3]) == (r->reverse ? r->length - 1 : 0)) {
            const mts_u32 from = mts_view_at(&r->src, &s);
            for (mts_u32 i = 0; i < s.n; i++)
                scan_line(act, r, start, from + i * r->src.stride[5], sign * stride, s.to + i, sign * along, r->length,
                          1);
        }
    }
}
