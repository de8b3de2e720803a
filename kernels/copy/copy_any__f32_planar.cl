/*
 * copy_any: out(i) = src at sum i * step, steps signed: slice, transpose, expand, reshape
 * of dense data, change of layout.
 */
#if VEC > 1
/* Rows of two columns, which lie one after another in the result and each column of them
 * in the source (depth to space, interleaved pairs). The stretch begins with column s->x
 * of row s->y. `end`: of what may be read. */
INLINE void copy_pairs(GLOBAL mts_real *act, GLOBAL const mts_copy_params *r, mts_source src, mts_u32 offset,
                       mts_u32 end, const mts_span *s) {
    const mts_u32 apart = (mts_u32)r->step[5];
    mts_u32 from = offset, i = 0;
    if (s->x == 1) {
        mts_store(act + s->to, mts_source_load(src, (mts_i32)from));
        from += 1 - apart;
        i = 1;
    }
    for (; i < s->n; i += 2 * VEC, from += VEC) {
        const mts_u32 left = s->n - i, count = (left + 1) / 2, room = s->stop - s->to - i;
        const mts_vec even = mts_source_row(mts_source_at(src, from), 1, count, end - from);
        const mts_u32 next = left > 1 ? from + apart : from;
        const mts_vec odd = mts_source_row(mts_source_at(src, next), 1, left > 1 ? left / 2 : 1, end - next);
        mts_row_store(act + s->to + i, mts_vec_zip_low(even, odd), left, room);
        if (left > VEC)
            mts_row_store(act + s->to + i + VEC, mts_vec_zip_high(even, odd), left - VEC, room - VEC);
    }
}

INLINE int copy_is_pairs(GLOBAL const mts_copy_params *r) {
    return r->dest.dims[5] == 2 && r->dest.row == 2 && r->step[4] == 1 && r->step[5] > 1;
}

/* `rows` rows of fewer columns than a vector has lanes, which lie at s->to one after
   another: a lane is a row. */
INLINE void copy_columns(GLOBAL mts_real *act, GLOBAL const mts_copy_params *r, mts_source src, mts_u32 offset,
                         const mts_span *s, mts_u32 rows) {
    const mts_u32 row = r->dest.row;
    for (mts_u32 x = 0; x < row; x++, offset += (mts_u32)r->step[5])
        for (mts_u32 y = 0; y < rows; y += VEC) {
            const mts_source from = mts_source_at(src, offset + y * (mts_u32)r->step[4]);
            mts_row_scatter(act + s->to + y * row + x, (mts_i32)row, mts_source_row(from, r->step[4], rows - y, 0), rows - y);
        }
}
#else
#define copy_is_pairs(r) 0
#define copy_pairs(act, r, src, offset, end, s)
#endif

KERNEL void copy_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_copy_params *r = MTS_MEMBER(mts_copy_params);
    const mts_source src = mts_source_open(act, pool, r->src_pool);
    const mts_i32 step = r->step[5];
    mts_u32 end = r->src.base + 1; /* of what it reads */
    mts_span s = mts_span_open(act, &r->dest);
    s.flat = step == 1 && (r->step[4] == (mts_i32)r->dest.row || r->dest.dims[4] == 1);
    const int pairs = copy_is_pairs(r);
    if (pairs) s.flat = 1;
    for (int d = 0; d < 6; d++) end += r->step[d] > 0 ? (r->dest.dims[d] - 1) * (mts_u32)r->step[d] : 0;
    while (mts_span_next(act, &r->dest, &s)) {
        const mts_u32 offset = r->src.base + s.c[0] * (mts_u32)r->step[0] + s.c[1] * (mts_u32)r->step[1] +
                               s.c[2] * (mts_u32)r->step[2] + s.c[3] * (mts_u32)r->step[3] +
                               s.y * (mts_u32)r->step[4] + s.x * (mts_u32)r->step[5];
        if (pairs) {
            copy_pairs(act, r, src, offset, end, &s);
            continue;
        }
#if VEC > 1
        const mts_u32 rows = r->dest.dims[5] < VEC && !s.flat ? mts_span_rows(&r->dest, &s) : 1;
        if (rows > 1) {
            copy_columns(act, r, src, offset, &s, rows);
            continue;
        }
#endif
        for (mts_u32 i = 0; i < s.n; i += VEC) {
            const mts_u32 from = offset + i * (mts_u32)step;
            const mts_vec v = mts_source_row(mts_source_at(src, from), step, s.n - i, end - from);
            mts_row_store(act + s.to + i, v, s.n - i, s.stop - s.to - i);
        }
    }
}
