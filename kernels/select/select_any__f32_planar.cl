/*
 * select_any: y = condition != 0 ? a : b, elementwise; each operand may be broadcast
 * (strides 0) or a constant of the pool. Nothing is computed with what is not chosen, so
 * that an infinity or a NaN there does no harm.
 */
typedef struct select_row {
    GLOBAL const mts_real *from;
    mts_i32 step;
} select_row;

INLINE select_row select_open(GLOBAL const mts_real *base, GLOBAL const mts_view_params *view, const mts_span *s) {
    select_row row;
    row.from = base + mts_view_at(view, s);
    row.step = (mts_i32)view->stride[5];
    return row;
}

INLINE mts_vec select_load(const select_row *row, mts_u32 i, mts_u32 n) {
    return mts_row_load(row->from + (mts_i32)i * row->step, row->step, n - i, 0);
}

KERNEL void select_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_select_params *r = MTS_MEMBER(mts_select_params);
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        const select_row condition = select_open(r->in_pool[0] ? pool : act, &r->in[0], &s);
        const select_row yes = select_open(r->in_pool[1] ? pool : act, &r->in[1], &s);
        const select_row no = select_open(r->in_pool[2] ? pool : act, &r->in[2], &s);
        for (mts_u32 i = 0; i < s.n; i += VEC) {
            const mts_vec v = mts_vec_select(select_load(&condition, i, s.n), select_load(&yes, i, s.n),
                                             select_load(&no, i, s.n));
            mts_row_store(act + s.to + i, v, s.n - i, 0);
        }
    }
}
