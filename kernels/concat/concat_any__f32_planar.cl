/*
 * concat_any: part i supplies the coordinates [start_i, start_i+1) along one axis. Parts
 * may be constants of the pool.
 */
INLINE void concat_row(GLOBAL mts_real *act, GLOBAL const mts_real *src, mts_i32 step, const mts_span *s,
                       mts_u32 done, mts_u32 n) {
    const mts_u32 to = s->to + done, room = done + n == s->n ? s->stop - to : n;
    for (mts_u32 i = 0; i < n; i += VEC)
        mts_row_store(act + to + i, mts_row_load(src + (mts_i32)i * step, step, n - i, 0), n - i, room - i);
}

INLINE mts_u32 concat_coordinate(const mts_span *s, mts_u32 axis) {
    return axis == 5 ? s->x : axis == 4 ? s->y : s->c[axis & 3];
}

/* The part that covers a coordinate. */
INLINE mts_u32 concat_part(GLOBAL const mts_part_params *parts, mts_u32 count, mts_u32 at) {
    mts_u32 i = 0;
    while (i + 1 < count && parts[i + 1].start <= at) i++;
    return i;
}

#if VEC > 1
/*
 * Rows of fewer columns than a vector has lanes, column by column: a lane is a row.
 * `rows` rows lie at s->to one after another.
 */
INLINE void concat_columns(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_concat_params *r,
                           GLOBAL const mts_part_params *parts, const mts_span *s, mts_u32 rows) {
    const mts_u32 row = r->dest.row;
    for (mts_u32 x = 0; x < r->dest.dims[5]; x++) {
        const mts_u32 i = concat_part(parts, r->parts, x);
        GLOBAL const mts_view_params *view = &parts[i].view;
        const mts_i32 down = (mts_i32)view->stride[4];
        GLOBAL const mts_real *from =
            (parts[i].pool ? pool : act) + (mts_view_at(view, s) + (x - parts[i].start) * view->stride[5]);
        for (mts_u32 y = 0; y < rows; y += VEC)
            mts_row_scatter(act + s->to + y * row + x, (mts_i32)row,
                            mts_row_load(from + (mts_i32)y * down, down, rows - y, 0), rows - y);
    }
}
#endif

KERNEL void concat_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_concat_params *r = MTS_MEMBER(mts_concat_params);
    GLOBAL const mts_part_params *parts = (GLOBAL const mts_part_params *)(params + r->part);
    mts_span s = mts_span_open(act, &r->dest);
    if (r->axis < 4) {
        const mts_u32 i = concat_part(parts, r->parts, s.c[r->axis & 3]);
        s.flat = mts_view_flat(&parts[i].view, &r->dest);
    }
    while (mts_span_next(act, &r->dest, &s)) {
        mts_u32 n;
#if VEC > 1
        const mts_u32 rows = r->axis == 5 && r->dest.dims[5] < VEC ? mts_span_rows(&r->dest, &s) : 1;
        if (rows > 1) {
            concat_columns(act, pool, r, parts, &s, rows);
            continue;
        }
#endif
        for (mts_u32 done = 0; done < s.n; done += n, s.x += n) {
            const mts_u32 at = concat_coordinate(&s, r->axis), i = concat_part(parts, r->parts, at);
            GLOBAL const mts_view_params *view = &parts[i].view;
            /* coordinate `axis` of the part counts from its start */
            const mts_u32 offset = mts_view_at(view, &s) - parts[i].start * view->stride[r->axis];
            n = s.n - done;
            if (r->axis == 5 && i + 1 < r->parts) n = mts_least(n, parts[i + 1].start - at);
            concat_row(act, (parts[i].pool ? pool : act) + offset, (mts_i32)view->stride[5], &s, done, n);
        }
    }
}
