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

#if defined(MTS_SHUFFLE) && VEC >= 4
#define COPY_TURNS 1

/* Rows and columns change places, and nothing lies between the rows of the result. */
INLINE int copy_is_turned(GLOBAL const mts_copy_params *r) {
    return r->step[4] == 1 && r->step[5] > 1 && r->dest.dims[5] > 2 && r->dest.dims[4] >= VEC && r->dest.gap == 0 &&
           r->dest.row == r->dest.dims[5] && r->dest.pitch == r->dest.dims[4] * r->dest.dims[5];
}

/* A square of at most VEC rows and columns, which begins at `from` and act[to]. `end`: of
   what may be read; room: floats from act[to] on that may be written. */
INLINE void copy_square(GLOBAL mts_real *act, GLOBAL const mts_copy_params *r, mts_source src, mts_u32 from,
                        mts_u32 end, mts_u32 to, mts_u32 rows, mts_u32 columns, mts_u32 room) {
    mts_vec v[VEC];
    UNROLL for (mts_u32 k = 0; k < VEC; k++) {
        const mts_u32 at = from + mts_least(k, columns - 1) * (mts_u32)r->step[5];
        v[k] = mts_source_row(mts_source_at(src, at), 1, rows, end - at);
    }
    mts_vec_transpose(v);
    UNROLL for (mts_u32 k = 0; k < VEC; k++)
        if (k < rows) mts_row_store(act + to + k * r->dest.row, v[k], columns, room - mts_least(room, k * r->dest.row));
}

/* Work-item `item` of `items` owns some of the rows, or of the columns where they are
   more. `offset`: of what is read for row 0. Where a square has whole rows, a store may
   run into the next one, which is written later. */
INLINE void copy_turned(GLOBAL mts_real *act, GLOBAL const mts_copy_params *r, mts_source src, mts_u32 offset,
                        mts_u32 end, mts_u32 to, mts_u32 item, mts_u32 items) {
    const mts_u32 rows = r->dest.dims[4], columns = r->dest.dims[5];
    const int tall = rows >= columns;
    const mts_u32 part = mts_run_of(tall ? rows : columns, items), begin = item * part;
    const mts_u32 bottom = tall ? mts_least(rows, begin + part) : rows;
    const mts_u32 right = tall ? columns : mts_least(columns, begin + part);
    for (mts_u32 y = tall ? begin : 0; y < bottom; y += VEC)
        for (mts_u32 x = tall ? 0 : begin; x < right; x += VEC)
            copy_square(act, r, src, offset + y + x * (mts_u32)r->step[5], end, to + y * columns + x,
                        mts_least(bottom - y, VEC), mts_least(right - x, VEC),
                        tall && columns <= VEC ? (bottom - y) * columns : 0);
}
#endif
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
#ifdef COPY_TURNS
    if (copy_is_turned(r)) {
        const mts_u32 q = mts_global_id(1), planes = mts_planes(&r->dest);
        const mts_u32 offset = r->src.base + s.c[0] * (mts_u32)r->step[0] + s.c[1] * (mts_u32)r->step[1] +
                               s.c[2] * (mts_u32)r->step[2] + s.c[3] * (mts_u32)r->step[3];
        if (q < planes)
            copy_turned(act, r, src, offset, end, s.plane, mts_global_id(0), mts_global_size(0));
        return;
    }
#endif
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
