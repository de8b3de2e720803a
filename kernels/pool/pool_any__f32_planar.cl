/*
 * pool_any: maximum or average over a window of rows and columns. Only elements of the
 * image take part in a maximum; an average divides by the elements of the image in the
 * window or, with include_pad, by the positions of the window that lie in the padded
 * image (a window of ceil mode may stand over its end).
 *
 * A vector holds neighbouring outputs; the rows of the window are the innermost loop.
 * Columns may be lanes of packs (mts_pool_params.lane_bits).
 */
#define POOL_NOTHING -3.402823466e+38f
#define POOL_WIDE 16 /* columns of a window from which on a division is worth its time */

/* Tap k of a window lies at `at` + k * dilation: how many of its taps lie below `end`.
   Windows may be far larger than the image, so nothing walks over a whole one. */
INLINE mts_u32 pool_below(mts_i32 at, mts_u32 taps, mts_u32 dilation, mts_i32 end) {
    return at < end ? mts_least(taps, ((mts_u32)(end - at) + dilation - 1) / dilation) : 0;
}

/* Rows of the window that count. */
INLINE mts_u32 pool_rows(GLOBAL const mts_pool_params *r, mts_i32 y) {
    const mts_i32 low = r->include_pad ? -r->pad[0] : 0;
    const mts_i32 high = (mts_i32)r->in_h + (r->include_pad ? r->pad[2] : 0);
    return pool_below(y, r->window[0], r->dilation[0], high) -
           pool_below(y, r->window[0], r->dilation[0], low);
}

/* Rows of the image in a window: `count` from act offset `top` on, `step` apart. */
typedef struct pool_place {
    mts_u32 top, count, step;
    mts_u32 end; /* of the operand */
} pool_place;

INLINE pool_place pool_find(GLOBAL const mts_pool_params *r, mts_u32 plane, mts_i32 y, mts_u32 end) {
    const mts_u32 first = pool_below(y, r->window[0], r->dilation[0], 0);
    pool_place place;
    place.count = pool_below(y, r->window[0], r->dilation[0], (mts_i32)r->in_h) - first;
    place.top = plane + (mts_u32)(y + (mts_i32)(first * r->dilation[0])) * r->src.stride[4];
    place.step = r->dilation[0] * r->src.stride[4];
    place.end = end;
    return place;
}

#define POOL_MAX(mode)                                                                                       \
    for (mts_u32 k = 0; k < at.count; k++, row += at.step)                                                   \
        v = mts_vec_max(v, mts_reach_load(act, reach, row, mode));
#define POOL_SUM(mode)                                                                                       \
    for (mts_u32 k = 0; k < at.count; k++, row += at.step)                                                   \
        v = mts_vec_add(v, mts_reach_load(act, reach, row, mode));

/* One column of the window. */
INLINE mts_vec pool_column(GLOBAL const mts_real *act, GLOBAL const mts_pool_params *r, pool_place at,
                           const mts_reach *reach) {
    mts_u32 row = at.top;
    mts_vec v = mts_vec_splat(reach->nothing);
    if (r->kind == MTS_POOL_MAX) {
        MTS_REACH_MODES(reach, POOL_MAX)
    } else {
        MTS_REACH_MODES(reach, POOL_SUM)
    }
    return mts_reach_close(reach, v);
}

/* Maximum or sum of `left` windows side by side, and the columns of each that lie in the
 * image; x: the first one's column. */
INLINE mts_vec pool_windows(GLOBAL const mts_real *act, GLOBAL const mts_pool_params *r, pool_place at, mts_i32 x,
                            mts_u32 left, mts_vec *columns) {
    const float nothing = r->kind == MTS_POOL_MAX ? POOL_NOTHING : 0.0f;
    const mts_u32 bottom = at.top + (at.count ? at.count - 1 : 0) * at.step;
    mts_vec v = mts_vec_splat(nothing);
    mts_u32 first = 0, stop = r->window[1];
    if (stop > POOL_WIDE) { /* columns that lie outside for all of the windows */
        first = pool_below(x + (mts_i32)((VEC - 1) * r->stride[1]), stop, r->dilation[1], 0);
        stop = pool_below(x, stop, r->dilation[1], (mts_i32)r->in_w);
    }
    *columns = mts_vec_splat(0.0f);
    for (mts_u32 kx = first; kx < stop; kx++) {
        const mts_reach reach = mts_reach_open(&r->src, x + (mts_i32)(kx * r->dilation[1]), r->stride[1],
                                               r->in_w, left, nothing, at.top, bottom, at.end);
        const mts_vec p = pool_column(act, r, at, &reach);
        v = r->kind == MTS_POOL_MAX ? mts_vec_max(v, p) : mts_vec_add(v, p);
        *columns = mts_vec_add(*columns, reach.inside);
    }
    return v;
}

/* Columns of each window that lie in the padded image. */
INLINE mts_vec pool_padded(GLOBAL const mts_pool_params *r, mts_i32 x) {
    const float low = -(float)r->pad[1], high = (float)r->in_w + (float)r->pad[3];
    const float last = (float)(x + (mts_i32)((r->window[1] - 1) * r->dilation[1] + (VEC - 1) * r->stride[1]));
    if (last < high) return mts_vec_splat((float)r->window[1]);
    /* columns inside for all windows, then those inside for some */
    const mts_i32 end = (mts_i32)r->in_w + r->pad[3];
    const mts_u32 all =
        pool_below(x + (mts_i32)((VEC - 1) * r->stride[1]), r->window[1], r->dilation[1], end);
    const mts_u32 some = pool_below(x, r->window[1], r->dilation[1], end);
    mts_vec count = mts_vec_splat((float)all);
    for (mts_u32 kx = all; kx < some; kx++) {
        const float first = (float)(x + (mts_i32)(kx * r->dilation[1]));
        count = mts_vec_add(count, mts_vec_between(first, (float)r->stride[1], low, high));
    }
    return count;
}

#if VEC > 1
/* One window whose columns lie side by side, in vectors along its rows; x: its first
 * column. Returns the maximum or the sum, and the number of its columns that lie in the
 * image. */
INLINE float pool_along(GLOBAL const mts_real *act, GLOBAL const mts_pool_params *r, pool_place at, mts_i32 x,
                        float *columns) {
    const mts_u32 first = pool_below(x, r->window[1], 1, 0);
    const mts_u32 n = pool_below(x, r->window[1], 1, (mts_i32)r->in_w) - first, whole = n / VEC * VEC;
    const int most = r->kind == MTS_POOL_MAX;
    const mts_vec nothing = mts_vec_splat(most ? POOL_NOTHING : 0.0f);
    const mts_vec some = mts_vec_between(0.0f, 1.0f, 0.0f, (float)(n - whole));
    mts_vec v = nothing;
    mts_u32 row = at.top + (mts_u32)(x + (mts_i32)first);
    *columns = (float)n;
    for (mts_u32 k = 0; k < at.count; k++, row += at.step) {
        for (mts_u32 c = 0; c < whole; c += VEC) {
            const mts_vec p = mts_vec_load(act + row + c);
            v = most ? mts_vec_max(v, p) : mts_vec_add(v, p);
        }
        if (whole == n) continue;
        const mts_vec p = mts_row_load(act + row + whole, 1, n - whole, at.end - row - whole);
        v = most ? mts_vec_max(v, mts_vec_select(some, p, nothing)) : mts_vec_add(v, mts_vec_keep(some, p));
    }
    return most ? mts_vec_most(v) : mts_vec_sum(v);
}

/* Whether few windows are so wide that they are done one by one. A row decides, not a
   work-item's part of it, so that the order of a sum does not depend on the grid. */
INLINE int pool_is_along(GLOBAL const mts_pool_params *r) {
    return r->dilation[1] == 1 && r->src.stride[5] == 1 &&
           mts_least(r->dest.dims[5], VEC) * (r->window[1] / VEC + 2) <= r->window[1];
}

INLINE mts_vec pool_each(GLOBAL const mts_real *act, GLOBAL const mts_pool_params *r, pool_place at, mts_i32 x,
                         mts_u32 left, mts_vec *columns) {
    mts_vec v = mts_vec_splat(0.0f);
    *columns = v;
    for (mts_u32 i = 0; i < VEC && i < left; i++)
        ((float *)&v)[i] =
            pool_along(act, r, at, x + (mts_i32)(i * r->stride[1]), (float *)columns + i);
    return v;
}

/*
 * ---- rows of windows that overlap or touch ----
 *
 * The rows of a window are combined first, column by column, into a line that has what
 * counts as nothing where the image has no column; then each output combines the line's
 * columns of its window. A window of k x k costs 2 k vectors and not k x k.
 */
#define POOL_LINE 1024 /* columns that are kept */

INLINE int pool_is_by_line(GLOBAL const mts_pool_params *r) {
    return r->src.stride[5] == 1 && r->stride[1] <= 2 &&
           (r->window[1] - 1) * r->dilation[1] <= POOL_LINE - 2 * VEC * r->stride[1];
}

INLINE mts_vec pool_join(int most, mts_vec a, mts_vec b) {
    return most ? mts_vec_max(a, b) : mts_vec_add(a, b);
}

INLINE void pool_fill(float *line, mts_i32 from, mts_i32 end, float v) {
    for (mts_i32 i = from; i < end; i++) line[i] = v;
}

/* Columns x .. x + n - 1 of the image. */
INLINE void pool_fill_line(GLOBAL const mts_real *act, GLOBAL const mts_pool_params *r, pool_place at, mts_i32 x,
                           mts_i32 n, float *line) {
    const int most = r->kind == MTS_POOL_MAX;
    const float nothing = most ? POOL_NOTHING : 0.0f;
    const mts_i32 from = mts_least(mts_most(-x, 0), n);
    const mts_i32 end = mts_most(mts_least((mts_i32)r->in_w - x, n), from);
    pool_fill(line, 0, from, nothing);
    for (mts_i32 i = from; i < end; i += VEC) {
        mts_u32 p = at.top + (mts_u32)(x + i);
        mts_vec v = mts_vec_splat(nothing);
        for (mts_u32 k = 0; k < at.count; k++, p += at.step)
            v = pool_join(most, v, mts_row_load(act + p, 1, (mts_u32)(end - i), at.end - p));
        mts_vec_put(line + i, v);
    }
    pool_fill(line, end, n, nothing);
}

/* A vector of outputs, the first of which begins at line[0]. */
INLINE mts_vec pool_of_line(GLOBAL const mts_pool_params *r, const float *line) {
    const int most = r->kind == MTS_POOL_MAX;
    const mts_u32 window = r->window[1], step = r->dilation[1];
    mts_vec v = mts_vec_splat(most ? POOL_NOTHING : 0.0f);
    if (r->stride[1] == 1) {
        for (mts_u32 k = 0; k < window; k++) v = pool_join(most, v, mts_vec_get(line + k * step));
        return v;
    }
    for (mts_u32 k = 0; k < window; k++) {
        const mts_vec a = mts_vec_get(line + k * step), b = mts_vec_get(line + k * step + VEC);
        v = pool_join(most, v, mts_vec_even(a, b));
        if (step == 1 && k + 1 < window) {
            v = pool_join(most, v, mts_vec_odd(a, b));
            k++;
        }
    }
    return v;
}

/* Columns of each window that lie in the image; x: the first one's column. */
INLINE mts_vec pool_columns(GLOBAL const mts_pool_params *r, mts_i32 x) {
    const mts_i32 reach = (mts_i32)((r->window[1] - 1) * r->dilation[1] + (VEC - 1) * r->stride[1]);
    mts_vec count = mts_vec_splat((float)r->window[1]);
    if (x >= 0 && x + reach < (mts_i32)r->in_w) return count;
    count = mts_vec_splat(0.0f);
    for (mts_u32 k = 0; k < r->window[1]; k++)
        count = mts_vec_add(count, mts_vec_between((float)(x + (mts_i32)(k * r->dilation[1])), (float)r->stride[1],
                                                   0.0f, (float)r->in_w));
    return count;
}
/*
 * ---- windows of 2 x 2 side by side ----
 *
 * The most common window of all, and often of few columns: nothing is counted, and no
 * line is kept.
 */

/* Whether all windows lie in the image. */
INLINE int pool_is_paired(GLOBAL const mts_pool_params *r) {
    return r->kind == MTS_POOL_MAX && r->window[0] == 2 && r->window[1] == 2 && r->stride[0] == 2 &&
           r->stride[1] == 2 && r->dilation[0] == 1 && r->dilation[1] == 1 && r->pad[0] == 0 && r->pad[1] == 0 &&
           r->src.stride[5] == 1 && 2 * r->dest.dims[4] <= r->in_h && 2 * r->dest.dims[5] <= r->in_w;
}

/* The larger of two rows at p and `step` further. */
INLINE mts_vec pool_rows_pair(GLOBAL const mts_real *act, mts_u32 p, mts_u32 step, mts_u32 left, mts_u32 end) {
    return mts_vec_max(mts_row_load(act + p, 1, left, end - p), mts_row_load(act + p + step, 1, left, end - p - step));
}

/* A stretch of outputs; plane: act offset of the image. */
INLINE void pool_paired(GLOBAL mts_real *act, GLOBAL const mts_pool_params *r, const mts_span *s, mts_u32 plane,
                        mts_u32 end) {
    const mts_u32 step = r->src.stride[4];
    const mts_u32 row = plane + 2 * s->y * step + 2 * s->x;
    for (mts_u32 i = 0; i < s->n; i += VEC) {
        const mts_u32 p = row + 2 * i, left = 2 * (s->n - i), to = s->to + i;
        const mts_vec a = pool_rows_pair(act, p, step, left, end);
        const mts_vec b = left > VEC ? pool_rows_pair(act, p + VEC, step, left - VEC, end) : a;
        mts_row_store(act + to, mts_vec_max(mts_vec_even(a, b), mts_vec_odd(a, b)), s->n - i, s->stop - to);
    }
}
#else
#define pool_is_along(r) 0
#define pool_each pool_windows
#endif

/* What a window's maximum or sum becomes; x: column of the first window, rows: of each
   window that count. */
INLINE mts_vec pool_end(GLOBAL const mts_pool_params *r, mts_vec v, mts_vec columns, mts_i32 x, float rows) {
    if (r->kind != MTS_POOL_AVG) return v;
    const mts_vec count = mts_vec_mul(r->include_pad ? pool_padded(r, x) : columns, mts_vec_splat(rows));
    return mts_vec_div(v, mts_vec_max(mts_vec_splat(1.0f), count)); /* an empty window sums to 0 */
}

#if VEC > 1
/* A stretch of outputs. */
INLINE void pool_by_line(GLOBAL mts_real *act, GLOBAL const mts_pool_params *r, const mts_span *s, pool_place at,
                         float rows) {
    float line[POOL_LINE + 4 * VEC];
    const mts_u32 stride = r->stride[1], reach = (r->window[1] - 1) * r->dilation[1] + 1;
    const mts_u32 most = ((POOL_LINE - reach) / stride + 1) / VEC * VEC;
    for (mts_u32 done = 0; done < s->n; done += most) {
        const mts_u32 n = mts_least(s->n - done, most);
        const mts_i32 x = (mts_i32)((s->x + done) * stride) - r->pad[1];
        pool_fill_line(act, r, at, x, (mts_i32)((n - 1) * stride + reach), line);
        for (mts_u32 i = 0; i < n; i += VEC) {
            const mts_i32 first = x + (mts_i32)(i * stride);
            mts_vec columns = mts_vec_splat(1.0f);
            if (r->kind == MTS_POOL_AVG && !r->include_pad) columns = pool_columns(r, first);
            const mts_vec v = pool_end(r, pool_of_line(r, line + i * stride), columns, first, rows);
            const mts_u32 to = s->to + done + i;
            mts_row_store(act + to, v, n - i, s->stop - to);
        }
    }
}
#else
#define pool_is_paired(r) 0
#define pool_paired(act, r, s, plane, end)
#define pool_is_by_line(r) 0
#define pool_by_line(act, r, s, at, rows)
#endif

KERNEL void pool_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_pool_params *r = MTS_MEMBER(mts_pool_params);
    const mts_u32 end = mts_view_end(&r->src, &r->dest, r->in_h, r->in_w);
    mts_span s = mts_span_open(act, &r->dest);
    const int lanes = r->lane_bits != 0; /* then one by one, whatever VEC is */
    const int along = !lanes && pool_is_along(r), paired = !lanes && pool_is_paired(r);
    while (mts_span_next(act, &r->dest, &s)) {
        if (paired) {
            pool_paired(act, r, &s, mts_view_plane(&r->src, &s), end);
            continue;
        }
        const mts_i32 y = (mts_i32)(s.y * r->stride[0]) - r->pad[0];
        const pool_place at = pool_find(r, mts_view_plane(&r->src, &s), y, end);
        const float rows = (float)pool_rows(r, y);
        if (!along && !lanes && pool_is_by_line(r)) {
            pool_by_line(act, r, &s, at, rows);
            continue;
        }
        for (mts_u32 i = 0; i < s.n; i += lanes ? 1 : VEC) {
            const mts_u32 left = lanes ? 1 : s.n - i, room = lanes ? 1 : s.stop - s.to - i;
            const mts_u32 pixel = (s.x + i) >> r->lane_bits, lane = s.x + i - (pixel << r->lane_bits);
            const mts_i32 x = (mts_i32)((pixel * r->stride[1] << r->lane_bits) + lane) - r->pad[1];
            mts_vec columns, v;
            if (along)
                v = pool_each(act, r, at, x, left, &columns);
            else
                v = pool_windows(act, r, at, x, left, &columns);
            mts_row_store(act + s.to + i, pool_end(r, v, columns, x, rows), left, room);
        }
    }
}
