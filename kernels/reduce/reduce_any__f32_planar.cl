/*
 * reduce_any: mean, sum, product, maximum or minimum, sums of absolute values, squares or
 * exponentials over any set of dimensions; the position of an extreme over a dimension.
 * Terms and sums are float32, whatever is stored.
 *
 * Where the last dimension is reduced and contiguous (a global average pool) a vector
 * runs along it and its lanes are combined at the end; elsewhere a vector holds
 * neighbouring outputs.
 */
INLINE mts_vec reduce_take(mts_u32 kind, mts_vec v, mts_vec x, mts_vec most) {
    if (kind == MTS_REDUCE_MAX) return mts_vec_max(v, x);
    if (kind == MTS_REDUCE_MIN) return mts_vec_min(v, x);
    if (kind == MTS_REDUCE_PROD) return mts_vec_mul(v, x);
    if (kind == MTS_REDUCE_L1) return mts_vec_add(v, mts_vec_fabs(x));
    if (kind == MTS_REDUCE_LOG_SUM_EXP) return mts_vec_add(v, mts_vec_exp(mts_vec_sub(x, most)));
    if (kind >= MTS_REDUCE_L2 && kind <= MTS_REDUCE_MEAN_SQUARE) return mts_vec_fma(x, x, v);
    return mts_vec_add(v, x);
}

INLINE mts_vec reduce_start(mts_u32 kind) {
    return mts_vec_splat(kind == MTS_REDUCE_MAX    ? -INFINITY
                         : kind == MTS_REDUCE_MIN  ? INFINITY
                         : kind == MTS_REDUCE_PROD ? 1.0f
                                                   : 0.0f);
}

/* What lanes without an element hold, so that they add nothing. */
INLINE mts_vec reduce_absent(mts_u32 kind) {
    return kind == MTS_REDUCE_LOG_SUM_EXP ? mts_vec_splat(-INFINITY) : reduce_start(kind);
}

/* The last dimension of `left` neighbouring outputs. */
INLINE mts_vec reduce_across(GLOBAL const mts_real *p, GLOBAL const mts_reduce_params *r, mts_u32 kind, mts_vec v,
                             mts_u32 left, mts_vec most) {
    for (mts_u32 j = 0; j < r->extent[5]; j++)
        v = reduce_take(kind, v, mts_row_load(p + j * r->step[5], (mts_i32)r->src.stride[5], left, 0), most);
    return v;
}

/*
 * The last dimension of one output. The rest that fills no vector is masked. Every output
 * sums in the same order, also the last one, behind which memory ends: equal operands
 * give equal results.
 */
INLINE mts_vec reduce_along(GLOBAL const mts_real *p, GLOBAL const mts_reduce_params *r, mts_u32 kind, mts_vec v,
                            mts_vec rest, mts_u32 room, mts_vec most) {
    mts_u32 j = 0;
    for (; j + VEC <= r->extent[5]; j += VEC) v = reduce_take(kind, v, mts_vec_load(p + j), most);
    if (j < r->extent[5]) {
        const mts_vec x = mts_row_load(p + j, 1, r->extent[5] - j, room - j);
        v = reduce_take(kind, v, mts_vec_select(rest, x, reduce_absent(kind)), most);
    }
    return v;
}

/* Where one output's elements are, or those of its neighbours. */
typedef struct reduce_from {
    mts_u32 at, left, end;
    int along;
} reduce_from;

INLINE mts_vec reduce_all(GLOBAL const mts_real *act, GLOBAL const mts_reduce_params *r, const reduce_from *s,
                          mts_u32 kind, mts_vec most) {
    const mts_vec rest = mts_vec_between(0.0f, 1.0f, 0.0f, (float)(r->extent[5] % VEC));
    mts_vec v = reduce_start(kind);
    for (mts_u32 a = 0; a < r->extent[0]; a++)
        for (mts_u32 b = 0; b < r->extent[1]; b++)
            for (mts_u32 c = 0; c < r->extent[2]; c++)
                for (mts_u32 d = 0; d < r->extent[3]; d++)
                    for (mts_u32 e = 0; e < r->extent[4]; e++) {
                        const mts_u32 at = s->at + a * r->step[0] + b * r->step[1] + c * r->step[2] +
                                           d * r->step[3] + e * r->step[4];
                        v = s->along ? reduce_along(act + at, r, kind, v, rest, s->end - at, most)
                                     : reduce_across(act + at, r, kind, v, s->left, most);
                    }
    return v;
}

INLINE float reduce_product(mts_vec v) {
    float product = 1.0f;
    for (int i = 0; i < VEC; i++) product *= ((const float *)&v)[i];
    return product;
}

INLINE float reduce_lanes(mts_u32 kind, mts_vec v) {
    return kind == MTS_REDUCE_MAX    ? mts_vec_most(v)
           : kind == MTS_REDUCE_MIN  ? mts_vec_least(v)
           : kind == MTS_REDUCE_PROD ? reduce_product(v)
                                     : mts_vec_sum(v);
}

/* Of lanes that belong to the same output where `along`. */
INLINE mts_vec reduce_meet(mts_u32 kind, mts_vec v, int along) {
    return along ? mts_vec_splat(reduce_lanes(kind, v)) : v;
}

INLINE mts_vec reduce_value(GLOBAL const mts_real *act, GLOBAL const mts_reduce_params *r, const reduce_from *s,
                            float divisor) {
    const mts_vec none = mts_vec_splat(0.0f);
    const mts_u32 kind = r->kind;
    mts_vec most = none;
    /* a loop of its own for what is most frequent */
    if (kind <= MTS_REDUCE_SUM) {
        const mts_vec sum = reduce_meet(MTS_REDUCE_SUM, reduce_all(act, r, s, MTS_REDUCE_SUM, none), s->along);
        return mts_vec_div(sum, mts_vec_splat(divisor));
    }
    if (kind == MTS_REDUCE_LOG_SUM_EXP) {
        most = reduce_meet(MTS_REDUCE_MAX, reduce_all(act, r, s, MTS_REDUCE_MAX, none), s->along);
        /* An infinite one is left out: infinity less infinity is NaN. */
        most = mts_vec_select(mts_vec_same(mts_vec_sub(most, most), none), most, none);
    }
    const mts_vec v = reduce_meet(kind, reduce_all(act, r, s, kind, most), s->along);
    if (kind == MTS_REDUCE_L2) return mts_vec_sqrt(v);
    if (kind == MTS_REDUCE_LOG_SUM || kind == MTS_REDUCE_LOG_SUM_EXP) return mts_vec_add(mts_vec_log(v), most);
    return mts_vec_div(v, mts_vec_splat(divisor));
}

/* Positions of the extremes of `left` neighbouring outputs: `count` elements `step`
   apart. */
INLINE mts_vec reduce_where(GLOBAL const mts_real *p, mts_u32 kind, mts_u32 count, mts_u32 step, mts_i32 column,
                            mts_u32 left) {
    const int least = kind == MTS_REDUCE_ARG_MIN || kind == MTS_REDUCE_ARG_MIN_LAST;
    const int last = kind >= MTS_REDUCE_ARG_MAX_LAST;
    mts_vec where = mts_vec_splat(0.0f);
    float best[VEC], lanes[VEC];
    mts_vec_spill(best, mts_row_load(p, column, left, 0));
    for (mts_u32 k = 1; k < count; k++) {
        mts_vec_spill(lanes, mts_row_load(p + k * step, column, left, 0));
        for (mts_u32 i = 0; i < VEC; i++) {
            const int better = least ? lanes[i] < best[i] : lanes[i] > best[i];
            if (better || (last && lanes[i] == best[i])) {
                best[i] = lanes[i];
                ((float *)&where)[i] = (float)k;
            }
        }
    }
    return where;
}

/*
 * Position of the extreme of `count` neighbouring elements. Every lane begins with the
 * first element, and only what is better takes its place, so that a NaN counts as above:
 * it is the extreme where it comes first, and never elsewhere.
 */
INLINE float reduce_where_along(GLOBAL const mts_real *p, mts_u32 kind, mts_u32 count) {
    const int least = kind == MTS_REDUCE_ARG_MIN || kind == MTS_REDUCE_ARG_MIN_LAST;
    const int last = kind >= MTS_REDUCE_ARG_MAX_LAST;
    const mts_vec ramp = mts_vec_ramp();
    mts_vec best = mts_vec_splat(mts_load(p)), where = mts_vec_splat(0.0f);
    float found[VEC], at[VEC], most, position;
    mts_u32 k = 0;
    for (; k + VEC <= count; k += VEC) {
        const mts_vec x = mts_vec_load(p + k);
        mts_vec better = least ? mts_vec_above(best, x) : mts_vec_above(x, best);
        if (last) better = mts_vec_add(better, mts_vec_same(x, best));
        best = mts_vec_select(better, x, best);
        where = mts_vec_select(better, mts_vec_add(ramp, mts_vec_splat((float)k)), where);
    }
    mts_vec_spill(found, best);
    mts_vec_spill(at, where);
    most = found[0];
    position = at[0];
    for (mts_u32 i = 1; i < VEC; i++) {
        const int better = least ? found[i] < most : found[i] > most;
        if (better || (found[i] == most && (last ? at[i] > position : at[i] < position))) {
            most = found[i];
            position = at[i];
        }
    }
    for (; k < count; k++) {
        const float x = mts_load(p + k);
        if ((least ? x < most : x > most) || (last && x == most)) {
            most = x;
            position = (float)k;
        }
    }
    return position;
}

/* Offset after the operand's last element. */
INLINE mts_u32 reduce_end(GLOBAL const mts_reduce_params *r) {
    mts_u32 end = mts_view_end(&r->src, &r->dest, r->dest.dims[4], r->dest.dims[5]);
    for (int i = 0; i < 6; i++) end += (r->extent[i] - 1) * r->step[i];
    return end;
}

KERNEL void reduce_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_reduce_params *r = MTS_MEMBER(mts_reduce_params);
    const mts_u32 count =
        r->extent[0] * r->extent[1] * r->extent[2] * r->extent[3] * r->extent[4] * r->extent[5];
    const float divisor = r->kind == MTS_REDUCE_MEAN || r->kind == MTS_REDUCE_MEAN_SQUARE ? (float)count : 1.0f;
    const int where = MTS_REDUCE_IS_POSITION(r->kind);
    /* of one dimension all others are 0 */
    const mts_u32 step = r->step[0] + r->step[1] + r->step[2] + r->step[3] + r->step[4] + r->step[5];
    reduce_from from;
    mts_span s = mts_span_open(act, &r->dest);
    from.end = reduce_end(r);
    from.along = r->step[5] == 1 && r->extent[5] > 1;
    while (mts_span_next(act, &r->dest, &s)) {
        const mts_u32 first_at = mts_view_at(&r->src, &s);
        for (mts_u32 i = 0; i < s.n; i += from.along ? 1 : VEC) {
            mts_vec v;
            from.left = from.along ? 1 : s.n - i;
            from.at = first_at + i * r->src.stride[5];
            if (where && from.along) {
                v = mts_vec_splat(reduce_where_along(act + from.at, r->kind, count));
            } else if (where) {
                v = reduce_where(act + from.at, r->kind, count, step, (mts_i32)r->src.stride[5], from.left);
            } else {
                v = reduce_value(act, r, &from, divisor);
            }
            mts_row_store(act + s.to + i, v, from.left, s.stop - s.to - i);
        }
    }
}
