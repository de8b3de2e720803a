/*
 * softmax_any: exp(x - max) / sum of it along one axis, or its logarithm x - max - log(sum).
 *
 * Along columns every stretch finds the maximum and the sum of its whole row. Along another axis the stretch
 * at coordinate 0 computes and writes the line of each of its columns, so that neighbouring lanes read
 * neighbouring floats; stretches at the other coordinates have nothing to do.
 */
INLINE float softmax_most(GLOBAL const mts_real *p, mts_i32 step, mts_u32 length) {
    mts_vec most = mts_row_load(p, step, length, 0);
    for (mts_u32 i = VEC; i < length; i += VEC)
        most = mts_vec_max(most, mts_row_load(p + (mts_i32)i * step, step, length - i, 0));
    return mts_vec_most(most);
}

INLINE float softmax_sum(GLOBAL const mts_real *p, mts_i32 step, mts_u32 length, mts_vec most) {
    mts_vec sum = mts_vec_splat(0.0f);
    for (mts_u32 i = 0; i < length; i += VEC) {
        const mts_u32 left = length - i;
        mts_vec v = mts_row_load(p + (mts_i32)i * step, step, left, 0);
        v = mts_vec_exp(mts_vec_sub(v, most));
        for (mts_u32 k = left; k < VEC; k++) ((float *)&v)[k] = 0.0f;
        sum = mts_vec_add(sum, v);
    }
    return mts_vec_sum(sum);
}

/* x - most, then divided by the sum, or its logarithm taken off. */
INLINE mts_vec softmax_value(mts_vec x, mts_vec most, mts_vec sum, mts_u32 log) {
    const mts_vec v = mts_vec_sub(x, most);
    return log ? mts_vec_sub(v, sum) : mts_vec_div(mts_vec_exp(v), sum);
}

INLINE void softmax_columns(GLOBAL mts_real *act, GLOBAL const mts_softmax_params *r, const mts_span *s) {
    const mts_i32 step = (mts_i32)r->src.stride[5];
    GLOBAL const mts_real *row = act + mts_view_plane(&r->src, s) + s->y * r->src.stride[4];
    const mts_vec most = mts_vec_splat(softmax_most(row, step, r->length));
    const mts_vec total = mts_vec_splat(softmax_sum(row, step, r->length, most));
    const mts_vec sum = r->log ? mts_vec_log(total) : total;
    for (mts_u32 i = 0; i < s->n; i += VEC) {
        const mts_vec x = mts_row_load(row + (mts_i32)(s->x + i) * step, step, s->n - i, 0);
        mts_row_store(act + s->to + i, softmax_value(x, most, sum, r->log), s->n - i, s->stop - s->to - i);
    }
}

INLINE void softmax_line(GLOBAL mts_real *act, GLOBAL const mts_softmax_params *r, mts_u32 from, mts_u32 to,
                         mts_u32 along, mts_u32 left) {
    const mts_i32 step = (mts_i32)r->src.stride[5];
    GLOBAL const mts_real *p = act + from;
    const mts_u32 stride = r->src.stride[r->axis];
    mts_vec most = mts_row_load(p, step, left, 0), total = mts_vec_splat(0.0f);
    for (mts_u32 k = 1; k < r->length; k++)
        most = mts_vec_max(most, mts_row_load(p + k * stride, step, left, 0));
    for (mts_u32 k = 0; k < r->length; k++)
        total =
            mts_vec_add(total, mts_vec_exp(mts_vec_sub(mts_row_load(p + k * stride, step, left, 0), most)));
    const mts_vec sum = r->log ? mts_vec_log(total) : total;
    for (mts_u32 k = 0; k < r->length; k++) {
        const mts_vec x = mts_row_load(p + k * stride, step, left, 0);
        mts_row_store(act + to + k * along, softmax_value(x, most, sum, r->log), left, 0);
    }
}

/* Floats from one coordinate of `axis` to the next in the output. */
INLINE mts_u32 softmax_along(GLOBAL const mts_dest_params *d, mts_u32 axis) {
    mts_u32 along = axis == 4 ? d->row : d->pitch;
    for (mts_u32 i = 3; i > axis && i < 4; i--) along *= d->dims[i];
    return along;
}

KERNEL void softmax_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_softmax_params *r = MTS_MEMBER(mts_softmax_params);
    const mts_u32 along = softmax_along(&r->dest, r->axis);
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        if (r->axis == 5) {
            softmax_columns(act, r, &s);
        } else if ((r->axis == 4 ? s.y : s.c[r->axis & 3]) == 0) {
            const mts_u32 from = mts_view_at(&r->src, &s);
            for (mts_u32 i = 0; i < s.n; i += VEC)
                softmax_line(act, r, from + i * r->src.stride[5], s.to + i, along, s.n - i);
        }
    }
}
