/*
 * norm_any: normalisation of sets of elements by their mean and deviation, or by a norm.
 *
 * Two passes find the mean and the sum of (x - mean)^2, a third one writes; all
 * arithmetic is float32, whatever is stored. A sum has 4 VEC partial sums (VEC in a group
 * of several work-items), so its relative error is at most about n / (4 VEC) 2^-24 for n
 * elements; because the mean is subtracted first, a large mean costs nothing more.
 *
 * With GROUP above 1 the work-items of a group share a set, and their sums meet in LOCAL
 * memory; otherwise a work-item does sets alone. Where the columns are sets of their own,
 * each lane sums its own column.
 *
 * Tunables: GROUP, the most work-items of a group.
 */
#ifndef GROUP
#define GROUP 1 /* 1, 64, 256 */
#endif

#define NORM_PLAIN 0    /* x */
#define NORM_SQUARE 1   /* (x - mean)^2 */
#define NORM_ABSOLUTE 2 /* |x| */

/* Where a line lies. */
typedef struct norm_line {
    mts_u32 from, to, scale, bias;
    mts_u32 y, plane; /* its row, and number of its plane */
} norm_line;

/* A work-item's part of a set: lines first, first + step .., columns begin + column, ..
   below end. */
typedef struct norm_part {
    mts_u32 set, lines, first, step;
    mts_u32 begin, end, column, stride;
    mts_u32 width;         /* of whole lines */
    mts_u32 room;          /* act offset after the operand */
    int even;              /* lines run along one dimension: line i is base + i delta */
    norm_line base, delta; /* of the set */
} norm_part;

INLINE norm_line norm_find(GLOBAL const mts_norm_params *r, mts_u32 set, mts_u32 line) {
    norm_line l;
    mts_u32 planes = 1;
    l.from = r->src.base;
    l.scale = r->scale.base;
    l.bias = r->bias.base;
    l.plane = l.y = 0;
    for (int d = 4; d >= 0; d--) {
        const mts_u32 sets = r->sets[d], lines = r->lines[d];
        mts_u32 c = 0;
        if (sets * lines == 1) continue;
        if (lines > 1) {
            c = line % lines;
            line /= lines;
        }
        if (sets > 1) {
            c += set % sets * lines;
            set /= sets;
        }
        l.from += c * r->src.stride[d];
        l.scale += c * r->scale.stride[d];
        l.bias += c * r->bias.stride[d];
        if (d == 4) l.y = c;
        if (d < 4) l.plane += c * planes;
        if (d < 4) planes *= sets * lines;
    }
    l.to = r->dest.base + l.plane * r->dest.pitch + l.y * r->dest.row;
    return l;
}

/* The set that a part is of, from now on. */
INLINE void norm_enter(GLOBAL const mts_norm_params *r, norm_part *s, mts_u32 set) {
    const norm_line base = norm_find(r, set, 0);
    norm_line next = base;
    if (s->even && s->lines > 1) next = norm_find(r, set, 1);
    s->set = set;
    s->base = base;
    s->delta.from = next.from - base.from;
    s->delta.to = next.to - base.to;
    s->delta.scale = next.scale - base.scale;
    s->delta.bias = next.bias - base.bias;
    s->delta.y = next.y - base.y;
    s->delta.plane = next.plane - base.plane;
}

INLINE mts_u32 norm_from(GLOBAL const mts_norm_params *r, const norm_part *s, mts_u32 line) {
    return s->even ? s->base.from + line * s->delta.from : norm_find(r, s->set, line).from;
}

INLINE norm_line norm_nth(GLOBAL const mts_norm_params *r, const norm_part *s, mts_u32 line) {
    norm_line l = s->base;
    if (!s->even) return norm_find(r, s->set, line);
    l.from += line * s->delta.from;
    l.to += line * s->delta.to;
    l.scale += line * s->delta.scale;
    l.bias += line * s->delta.bias;
    l.y += line * s->delta.y;
    l.plane += line * s->delta.plane;
    return l;
}

INLINE mts_vec norm_term(mts_vec v, mts_vec mean, const int term) {
    const mts_vec d = mts_vec_sub(v, mean);
    return term == NORM_SQUARE ? mts_vec_mul(d, d) : term == NORM_ABSOLUTE ? mts_vec_fabs(v) : v;
}

#if VEC == 1
/* The term of the second pass, at run time: a GPU's program has its loop once. */
INLINE int norm_second(GLOBAL const mts_norm_params *r) {
    return r->kind == MTS_NORM_L1 ? NORM_ABSOLUTE : NORM_SQUARE;
}
#endif

/* ---- sets of whole lines ---- */

/* Lanes beyond the last column count 0. */
INLINE mts_vec norm_rest(GLOBAL const mts_real *p, mts_u32 left, mts_u32 room, mts_vec mean, const int term) {
    const mts_vec inside = mts_vec_between(0.0f, 1.0f, 0.0f, (float)left);
    return mts_vec_keep(inside, norm_term(mts_row_load(p, 1, left, room), mean, term));
}

INLINE mts_vec norm_line_sum(GLOBAL const mts_real *act, const norm_part *s, mts_u32 from, mts_vec mean, const int term) {
    GLOBAL const mts_real *p = act + from;
    const mts_u32 step = s->stride;
    mts_u32 x = s->begin + s->column;
    mts_vec a = mts_vec_splat(0.0f), b = a, c = a, d = a;
    for (; x + 3 * step + VEC <= s->end; x += 4 * step) {
        a = mts_vec_add(a, norm_term(mts_vec_load(p + x), mean, term));
        b = mts_vec_add(b, norm_term(mts_vec_load(p + x + step), mean, term));
        c = mts_vec_add(c, norm_term(mts_vec_load(p + x + 2 * step), mean, term));
        d = mts_vec_add(d, norm_term(mts_vec_load(p + x + 3 * step), mean, term));
    }
    for (; x + VEC <= s->end; x += step) a = mts_vec_add(a, norm_term(mts_vec_load(p + x), mean, term));
    if (x < s->end) b = mts_vec_add(b, norm_rest(p + x, s->end - x, s->room - from - x, mean, term));
    return mts_vec_add(mts_vec_add(a, b), mts_vec_add(c, d));
}

INLINE float norm_sum(GLOBAL const mts_real *act, GLOBAL const mts_norm_params *r, const norm_part *s, float mean,
                      const int term) {
    mts_vec total = mts_vec_splat(0.0f);
    for (mts_u32 i = s->first; i < s->lines; i += s->step)
        total = mts_vec_add(total, norm_line_sum(act, s, norm_from(r, s, i), mts_vec_splat(mean), term));
    return mts_vec_sum(total);
}

/* The sum of all work-items of the group. */
#if GROUP > 1
INLINE float norm_meet(LOCAL_PTR float *sums, float sum) {
    const mts_u32 lane = mts_local_id(0);
    sums[lane] = sum;
    BARRIER();
    for (mts_u32 n = mts_local_size(0) / 2; n > 0; n /= 2) {
        if (lane < n) sums[lane] += sums[lane + n];
        BARRIER();
    }
    sum = sums[0];
    BARRIER();
    return sum;
}
#else
#define norm_meet(sums, sum) (sum)
#endif

/* ---- what is written ---- */

/* What x - mean is multiplied by; sum: that of the terms of the kind. */
INLINE mts_vec norm_factor(GLOBAL const mts_norm_params *r, mts_vec sum, float count) {
    const mts_vec one = mts_vec_splat(1.0f), e = mts_vec_splat(r->epsilon);
    const mts_vec mean = mts_vec_div(sum, mts_vec_splat(count));
    if (r->kind == MTS_NORM_L1) return mts_vec_div(one, mts_vec_max(e, sum));
    if (r->kind == MTS_NORM_L2) return mts_vec_div(one, mts_vec_max(e, mts_vec_sqrt(sum)));
    if (r->kind == MTS_NORM_DEVIATION) return mts_vec_div(one, mts_vec_add(mts_vec_sqrt(mean), e));
    return mts_vec_div(one, mts_vec_sqrt(mts_vec_add(mean, e)));
}

INLINE mts_vec norm_value(GLOBAL const mts_real *pool, GLOBAL const mts_norm_params *r, const norm_line *l, mts_u32 x,
                          mts_u32 left, mts_vec v, mts_vec mean, mts_vec factor) {
    const mts_u32 scale = r->scale.stride[5], bias = r->bias.stride[5];
    v = mts_vec_mul(mts_vec_sub(v, mean), factor);
    if (l->scale != MTS_PARAM_NONE) v = mts_vec_mul(v, mts_row_load(pool + l->scale + x * scale, (mts_i32)scale, left, 0));
    if (l->bias != MTS_PARAM_NONE) v = mts_vec_add(v, mts_row_load(pool + l->bias + x * bias, (mts_i32)bias, left, 0));
    return mts_row_fn(r->fn, v, r->a, r->b);
}

/* The zeros before and after a line, by the group that writes its first or its last
   column. */
INLINE void norm_border(GLOBAL mts_real *act, GLOBAL const mts_dest_params *d, const norm_line *l, const norm_part *s) {
    const mts_u32 w = d->dims[5], lane = s->column / VEC, lanes = s->stride / VEC;
    const int last = l->y + 1 == d->dims[4];
    mts_u32 after = last ? d->pitch - d->gap - l->y * d->row - w : d->row - w;
    if (last && l->plane + 1 == d->dims[0] * d->dims[1] * d->dims[2] * d->dims[3]) after += d->tail;
    if (s->begin == 0 && l->y == 0)
        for (mts_u32 i = lane; i < d->gap; i += lanes) mts_store(act + l->to - d->gap + i, 0.0f);
    if (s->end == w)
        for (mts_u32 i = lane; i < after; i += lanes) mts_store(act + l->to + w + i, 0.0f);
}

INLINE void norm_write(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_norm_params *r,
                       const norm_part *s, mts_vec mean, mts_vec factor) {
    for (mts_u32 i = s->first; i < s->lines; i += s->step) {
        const norm_line l = norm_nth(r, s, i);
        for (mts_u32 x = s->begin + s->column; x < s->end; x += s->stride) {
            const mts_u32 left = s->end - x;
            const mts_vec v = mts_row_load(act + l.from + x, 1, left, s->room - l.from - x);
            mts_row_store(act + l.to + x, norm_value(pool, r, &l, x, left, v, mean, factor), left, 0);
        }
        norm_border(act, &r->dest, &l, s);
    }
}

/* ---- columns that are sets of their own ---- */

INLINE mts_vec norm_column_sum(GLOBAL const mts_real *act, GLOBAL const mts_norm_params *r, const norm_part *s, mts_u32 x,
                               mts_vec mean, const int term) {
    mts_vec total = mts_vec_splat(0.0f);
    for (mts_u32 i = 0; i < s->lines; i++) {
        const mts_u32 at = norm_from(r, s, i) + x;
        total = mts_vec_add(total, norm_term(mts_row_load(act + at, 1, s->end - x, s->room - at), mean, term));
    }
    return total;
}

INLINE void norm_columns(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_norm_params *r,
                         const norm_part *s) {
    const float count = (float)s->lines;
    for (mts_u32 x = s->begin + s->column; x < s->end; x += s->stride) {
        mts_vec mean = mts_vec_splat(0.0f), sum = mean;
#if VEC == 1
        NO_UNROLL for (int pass = r->kind <= MTS_NORM_DEVIATION ? 0 : 1; pass < 2; pass++)
        {
            sum = norm_column_sum(act, r, s, x, mean, pass == 0 ? NORM_PLAIN : norm_second(r));
            if (pass == 0) mean = sum / count;
        }
#else
        if (r->kind <= MTS_NORM_DEVIATION)
            mean = mts_vec_div(norm_column_sum(act, r, s, x, mean, NORM_PLAIN), mts_vec_splat(count));
        if (r->kind == MTS_NORM_L1)
            sum = norm_column_sum(act, r, s, x, mean, NORM_ABSOLUTE);
        else
            sum = norm_column_sum(act, r, s, x, mean, NORM_SQUARE);
#endif
        const mts_vec factor = norm_factor(r, sum, count);
        for (mts_u32 i = 0; i < s->lines; i++) {
            const norm_line l = norm_nth(r, s, i);
            const mts_u32 left = s->end - x;
            const mts_vec v = mts_row_load(act + l.from + x, 1, left, s->room - l.from - x);
            mts_row_store(act + l.to + x, norm_value(pool, r, &l, x, left, v, mean, factor), left, 0);
        }
    }
    for (mts_u32 i = 0; i < s->lines; i++) {
        const norm_line l = norm_nth(r, s, i);
        norm_border(act, &r->dest, &l, s);
    }
}

/* ---- the work of a group ---- */

/* Lanes stand side by side along a line, and those that a line does not need take other
   lines. */
INLINE norm_part norm_share(GLOBAL const mts_norm_params *r, mts_u32 cut, int columns, mts_u32 lane, mts_u32 lanes) {
    norm_part s;
    mts_u32 wide = 1;
    s.width = r->dest.dims[5];
    s.begin = mts_least(cut * r->cut, s.width);
    s.end = mts_least(s.begin + r->cut, s.width);
    while (wide < lanes && (columns || wide * VEC < s.end - s.begin)) wide *= 2;
    s.lines = r->lines[0] * r->lines[1] * r->lines[2] * r->lines[3] * r->lines[4];
    s.first = lane / wide;
    s.step = lanes / wide;
    s.column = lane % wide * VEC;
    s.stride = wide * VEC;
    s.room = mts_view_end(&r->src, &r->dest, r->dest.dims[4], r->dest.dims[5]);
    s.even = 0;
    for (int d = 0; d < 5; d++) s.even += r->lines[d] > 1;
    s.even = s.even <= 1;
    return s;
}

KERNEL void norm_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_norm_params *r = MTS_MEMBER(mts_norm_params);
#if GROUP > 1
    LOCAL float sums[GROUP];
#endif
    const mts_u32 unit = mts_group_id(0);
    const mts_u32 sets = r->sets[0] * r->sets[1] * r->sets[2] * r->sets[3] * r->sets[4];
    const int columns = r->lines[5] != r->dest.dims[5];
    const mts_u32 begin = unit / r->cuts * r->batch;
    norm_part s = norm_share(r, unit % r->cuts, columns, mts_local_id(0), mts_local_size(0));
    const float count = (float)s.lines * (float)s.width;
    const mts_u32 stop = mts_least(sets, begin + r->batch);
    if (columns) {
        for (mts_u32 set = begin; set < stop; set++) {
            norm_enter(r, &s, set);
            if (s.begin < s.end) norm_columns(act, pool, r, &s);
        }
        return;
    }
    /* every work-item of the group meets the others, whatever the kind */
    for (mts_u32 set = begin; set < stop; set++) {
        const int centred = r->kind <= MTS_NORM_DEVIATION;
        float sum = 0.0f, mean = 0.0f;
        norm_enter(r, &s, set);
#if VEC == 1
        NO_UNROLL for (int pass = centred ? 0 : 1; pass < 2; pass++)
        {
            sum = norm_sum(act, r, &s, mean, pass == 0 ? NORM_PLAIN : norm_second(r));
            if (pass == 0) mean = norm_meet(sums, sum) / count;
        }
#else
        if (centred) sum = norm_sum(act, r, &s, 0.0f, NORM_PLAIN);
        if (centred || GROUP > 1) mean = norm_meet(sums, sum) / count;
        if (r->kind == MTS_NORM_L1)
            sum = norm_sum(act, r, &s, 0.0f, NORM_ABSOLUTE);
        else
            sum = norm_sum(act, r, &s, mean, NORM_SQUARE);
#endif
        sum = norm_meet(sums, sum);
        norm_write(act, pool, r, &s, mts_vec_splat(mean), norm_factor(r, mts_vec_splat(sum), count));
    }
}
