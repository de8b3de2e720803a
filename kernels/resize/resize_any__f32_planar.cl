/*
 * resize_any: nearest, linear and cubic interpolation of rows and columns with ONNX's
 * coordinate modes. Linear does not smooth when it shrinks (ONNX's antialias = 0).
 *
 * Source positions and weights are found for a vector of output coordinates: for the
 * columns of a vector of outputs, and (all lanes alike) for the row of a stretch. Values
 * are gathered lane by lane. Columns may be lanes of packs (mts_resize_params.lane_bits).
 */
typedef struct resize_taps {
    mts_vec at[4]; /* positions in the source, whole numbers within it */
    mts_vec weight[4];
    mts_vec place; /* the coordinate before it was clamped */
    int count;
} resize_taps;

INLINE mts_vec resize_ramp(mts_u32 first) {
    mts_vec v = mts_vec_splat((float)first);
    for (int i = 1; i < VEC; i++) ((float *)&v)[i] = (float)(first + i);
    return v;
}

/* n / d, rounded correctly where a device's own division is not: a floor follows. */
INLINE mts_vec resize_ratio(mts_vec n, float d) {
    const mts_vec by = mts_vec_splat(d), q = mts_vec_div(n, by);
#ifdef MTS_DIALECT_C
    return q; /* C divides correctly; without a fused multiply-add the lines below would make it worse */
#endif
    const mts_vec rest = mts_vec_fma(mts_vec_sub(mts_vec_splat(0.0f), q), by, n);
    return mts_vec_fma(rest, mts_vec_splat(1.0f / d), q);
}

INLINE mts_vec resize_crop(GLOBAL const mts_resize_params *r, int axis, mts_vec x, mts_u32 out) {
    const float last = (float)r->in[axis] - 1.0f, start = r->roi_start[axis], end = r->roi_end[axis];
    if (out == 1) return mts_vec_splat(0.5f * (start + end) * last);
    const mts_vec whole = mts_vec_mul(mts_vec_mul(x, mts_vec_splat(end - start)), mts_vec_splat(last));
    return mts_vec_add(mts_vec_splat(start * last), resize_ratio(whole, (float)(out - 1)));
}

INLINE mts_vec resize_coordinate(GLOBAL const mts_resize_params *r, int axis, mts_vec x, mts_u32 out) {
    const float last = (float)r->in[axis] - 1.0f, scale = r->scale[axis];
    const mts_vec middle = mts_vec_splat(0.5f);
    if (r->coord == MTS_COORD_TF_CROP) return resize_crop(r, axis, x, out);
    if (out == 1 && (r->coord == MTS_COORD_ALIGN_CORNERS || r->coord == MTS_COORD_PYTORCH_HALF_PIXEL))
        return mts_vec_splat(0.0f);
    if (r->coord == MTS_COORD_ALIGN_CORNERS)
        return resize_ratio(mts_vec_mul(x, mts_vec_splat(last)), (float)(out - 1));
    if (r->coord == MTS_COORD_ASYMMETRIC) return resize_ratio(x, scale);
    const mts_vec centre = resize_ratio(mts_vec_add(x, middle), scale);
    return r->coord == MTS_COORD_TF_HALF_PIXEL ? centre : mts_vec_sub(centre, middle);
}

INLINE mts_vec resize_round(mts_u32 round, mts_vec x) {
    const mts_vec middle = mts_vec_splat(0.5f);
    if (round == MTS_ROUND_FLOOR) return mts_vec_floor(x);
    if (round == MTS_ROUND_CEIL) return mts_vec_ceil(x);
    if (round == MTS_ROUND_PREFER_CEIL) {
        const mts_vec up = mts_vec_add(x, middle);
        return mts_vec_floor(up);
    }
    const mts_vec down = mts_vec_sub(x, middle);
    return mts_vec_ceil(down);
}

/* Not a number becomes 0. */
INLINE mts_vec resize_clamp(mts_vec x, float last) {
    return mts_vec_min(mts_vec_splat(last), mts_vec_max(x, mts_vec_splat(0.0f)));
}

/* The cubic convolution kernel at a distance below 1 and between 1 and 2. */
INLINE mts_vec resize_near(float a, mts_vec d) {
    const mts_vec inner = mts_vec_fma(mts_vec_splat(a + 2.0f), d, mts_vec_splat(-(a + 3.0f)));
    return mts_vec_fma(mts_vec_mul(inner, d), d, mts_vec_splat(1.0f));
}
INLINE mts_vec resize_far(float a, mts_vec d) {
    const mts_vec first = mts_vec_fma(mts_vec_splat(a), d, mts_vec_splat(-5.0f * a));
    const mts_vec second = mts_vec_fma(first, d, mts_vec_splat(8.0f * a));
    return mts_vec_fma(second, d, mts_vec_splat(-4.0f * a));
}

/* 1 where a whole number lies in [0, last], else 0. */
INLINE mts_vec resize_inside(mts_vec x, float last) {
    const mts_vec one = mts_vec_splat(1.0f), above = mts_vec_add(x, one);
    const mts_vec below = mts_vec_sub(mts_vec_splat(last + 1.0f), x);
    return mts_vec_min(one, mts_vec_max(mts_vec_splat(0.0f), mts_vec_min(above, below)));
}

INLINE void resize_cubic(GLOBAL const mts_resize_params *r, float last, resize_taps *taps) {
    const float a = r->cubic_a;
    const mts_vec one = mts_vec_splat(1.0f), base = mts_vec_floor(taps->place);
    const mts_vec t = mts_vec_sub(taps->place, base), u = mts_vec_sub(one, t);
    mts_vec sum = mts_vec_splat(0.0f);
    taps->count = 4;
    taps->weight[0] = resize_far(a, mts_vec_add(t, one));
    taps->weight[1] = resize_near(a, t);
    taps->weight[2] = resize_near(a, u);
    taps->weight[3] = resize_far(a, mts_vec_add(u, one));
    UNROLL for (int i = 0; i < 4; i++) {
        const mts_vec at = mts_vec_add(base, mts_vec_splat((float)(i - 1)));
        if (r->exclude_outside) taps->weight[i] = mts_vec_mul(taps->weight[i], resize_inside(at, last));
        taps->at[i] = resize_clamp(at, last);
        sum = mts_vec_add(sum, taps->weight[i]);
    }
    if (!r->exclude_outside) return;
    UNROLL for (int i = 0; i < 4; i++) taps->weight[i] = mts_vec_div(taps->weight[i], sum);
}

INLINE resize_taps resize_find(GLOBAL const mts_resize_params *r, int axis, mts_vec i, mts_u32 out) {
    const float last = (float)r->in[axis] - 1.0f;
    const mts_vec one = mts_vec_splat(1.0f);
    resize_taps taps;
    taps.place = resize_coordinate(r, axis, i, out);
    taps.count = 1;
    taps.at[0] = taps.at[1] = taps.at[2] = taps.at[3] = mts_vec_splat(0.0f);
    taps.weight[0] = taps.weight[1] = taps.weight[2] = taps.weight[3] = one;
    if (r->mode == MTS_RESIZE_NEAREST) {
        taps.at[0] = resize_clamp(resize_round(r->round, taps.place), last);
    } else if (r->mode == MTS_RESIZE_LINEAR) {
        const mts_vec x = resize_clamp(taps.place, last);
        taps.count = 2;
        taps.at[0] = mts_vec_floor(x);
        taps.at[1] = mts_vec_min(mts_vec_splat(last), mts_vec_add(taps.at[0], one));
        taps.weight[1] = mts_vec_sub(x, taps.at[0]);
        taps.weight[0] = mts_vec_sub(one, taps.weight[1]);
    } else {
        resize_cubic(r, last, &taps);
    }
    return taps;
}

/* All lanes: positions lie in the source, wanted or not. */
INLINE mts_vec resize_gather(GLOBAL const mts_real *row, mts_vec at, mts_i32 step) {
    mts_vec v = at;
    UNROLL for (int i = 0; i < VEC; i++)
        ((float *)&v)[i] = mts_load(row + (mts_i32)((const float *)&at)[i] * step);
    return v;
}

/* One source row. */
INLINE mts_vec resize_line(GLOBAL const mts_real *row, const resize_taps *columns, mts_i32 step) {
    mts_vec v = mts_vec_mul(columns->weight[0], resize_gather(row, columns->at[0], step));
    for (int k = 1; k < columns->count; k++)
        v = mts_vec_fma(columns->weight[k], resize_gather(row, columns->at[k], step), v);
    return v;
}

INLINE mts_vec resize_value(GLOBAL const mts_real *plane, GLOBAL const mts_resize_params *r,
                            const resize_taps *rows, const resize_taps *columns) {
    const mts_i32 high = (mts_i32)r->src.stride[4], wide = (mts_i32)(r->src.stride[5] << r->lane_bits);
    mts_vec v = mts_vec_splat(0.0f);
    for (int k = 0; k < rows->count; k++) {
        GLOBAL const mts_real *row = plane + (mts_i32)((const float *)&rows->at[k])[0] * high;
        if (rows->count == 1) return resize_gather(row, columns->at[0], wide);
        v = mts_vec_fma(rows->weight[k], resize_line(row, columns, wide), v);
    }
    return v;
}

/* TF_CROP: the extrapolation value in the lanes whose place lies outside the source. */
INLINE mts_vec resize_outside(GLOBAL const mts_resize_params *r, const resize_taps *rows,
                              const resize_taps *columns, mts_vec v) {
    const float y = ((const float *)&rows->place)[0];
    for (int i = 0; i < VEC; i++) {
        const float x = ((const float *)&columns->place)[i];
        if (y < 0.0f || y > (float)r->in[0] - 1.0f || x < 0.0f || x > (float)r->in[1] - 1.0f)
            ((float *)&v)[i] = r->extrapolation;
    }
    return v;
}

#if VEC > 1
/*
 * ---- by rows, on CPUs: nearest and linear, where columns lie side by side ----
 *
 * A source row is stretched to the width of the output once and kept. Rows of the output
 * that lie between the same two source rows are sums of the two stretched rows. Places
 * and weights of columns are found once for a work-item.
 */
#define RESIZE_LINE 1024 /* columns that are kept */

/* How pairs of neighbouring columns are made of column k of the source, its left and its
   right neighbour. */
#define RESIZE_ANY 0    /* not in pairs */
#define RESIZE_MIDDLE 1 /* (left + 3 k) / 4, (3 k + right) / 4 */
#define RESIZE_BEGIN 2  /* k, (k + right) / 2 */
#define RESIZE_TWICE 3  /* k, k */

typedef struct resize_lines {
    float line[2][RESIZE_LINE + 2 * VEC];
    mts_u32 held[2];   /* the source rows of the lines: act offsets of column 0, or NONE */
    mts_u32 x, n, end; /* columns of the output; end of the source */
    mts_u32 pairs;
    float weight[RESIZE_LINE];
    mts_i32 at[RESIZE_LINE]; /* the left one of two columns */
} resize_lines;

INLINE mts_u32 resize_pairs(GLOBAL const mts_resize_params *r, int axis) {
    const int middle = r->coord == MTS_COORD_HALF_PIXEL || r->coord == MTS_COORD_PYTORCH_HALF_PIXEL;
    if (2 * r->in[axis] != r->dest.dims[4 + axis] || r->scale[axis] != 2.0f) return RESIZE_ANY;
    if (r->mode == MTS_RESIZE_LINEAR)
        return middle ? RESIZE_MIDDLE : r->coord == MTS_COORD_ASYMMETRIC ? RESIZE_BEGIN : RESIZE_ANY;
    if (middle && r->round != MTS_ROUND_FLOOR && r->round != MTS_ROUND_CEIL) return RESIZE_TWICE;
    return r->coord == MTS_COORD_ASYMMETRIC && r->round == MTS_ROUND_FLOOR ? RESIZE_TWICE : RESIZE_ANY;
}

/* Columns x .. x + n - 1 are wanted. */
INLINE void resize_columns(GLOBAL const mts_resize_params *r, mts_u32 x, mts_u32 n, resize_lines *lines) {
    if (lines->x == x && lines->n == n) return;
    lines->x = x;
    lines->n = n;
    lines->held[0] = lines->held[1] = MTS_PARAM_NONE;
    if (lines->pairs != RESIZE_ANY) return;
    for (mts_u32 i = 0; i < n; i += VEC) {
        const resize_taps taps = resize_find(r, 1, resize_ramp(x + i), r->dest.dims[5]);
        for (mts_u32 k = 0; k < VEC && i + k < n; k++) {
            lines->at[i + k] = (mts_i32)((const float *)&taps.at[0])[k];
            lines->weight[i + k] = ((const float *)&taps.weight[1])[k];
        }
    }
}

/* The columns one by one: column i of the line is between source columns at[i] and the
   next. */
INLINE void resize_stretch(GLOBAL const mts_real *act, GLOBAL const mts_resize_params *r, mts_u32 row,
                           const resize_lines *lines, float *line) {
    const mts_i32 last = (mts_i32)r->in[1] - 1;
    GLOBAL const mts_real *src = act + row;
    if (r->mode == MTS_RESIZE_NEAREST) {
        for (mts_u32 i = 0; i < lines->n; i++) line[i] = mts_load(src + lines->at[i]);
        return;
    }
    for (mts_u32 i = 0; i < lines->n; i++) {
        const mts_i32 at = lines->at[i];
        const float a = mts_load(src + at), b = mts_load(src + mts_least(at + 1, last)), w = lines->weight[i];
        line[i] = mts_fma(w, b, (1.0f - w) * a);
    }
}

/* VEC columns of the source from k on, which may begin before and end after it. */
INLINE mts_vec resize_source(GLOBAL const mts_real *act, mts_u32 row, mts_i32 k, mts_i32 last, mts_u32 base,
                             mts_u32 end) {
    const mts_u32 from = row + (mts_u32)k;
    if ((k >= 0 || from >= base) && from + VEC <= end) return mts_vec_load(act + from);
    mts_vec v = mts_vec_splat(0.0f);
    for (mts_i32 i = 0; i < VEC; i++) {
        const mts_i32 at = mts_least(mts_most(k + i, 0), last);
        ((float *)&v)[i] = mts_load(act + row + (mts_u32)at);
    }
    return v;
}

/* The columns in pairs; the first one is even. What a vector has of other rows is
 * replaced (the first and the last column) or not wanted. */
INLINE void resize_stretch_pairs(GLOBAL const mts_real *act, GLOBAL const mts_resize_params *r, mts_u32 row,
                                 const resize_lines *lines, float *line) {
    const mts_u32 base = r->src.base, x = lines->x, n = lines->n;
    const mts_i32 last = (mts_i32)r->in[1] - 1, first = (mts_i32)(x / 2);
    const mts_vec quarter = mts_vec_splat(0.25f), rest = mts_vec_splat(0.75f), mean = mts_vec_splat(0.5f);
    for (mts_u32 i = 0; i < n; i += 2 * VEC) {
        const mts_i32 k = first + (mts_i32)(i / 2);
        const mts_vec here = resize_source(act, row, k, last, base, lines->end);
        mts_vec even = here, odd = here;
        if (lines->pairs != RESIZE_TWICE) {
            const mts_vec right = resize_source(act, row, k + 1, last, base, lines->end);
            odd = mts_vec_mul(lines->pairs == RESIZE_MIDDLE ? rest : mean, here);
            odd = mts_vec_fma(lines->pairs == RESIZE_MIDDLE ? quarter : mean, right, odd);
        }
        if (lines->pairs == RESIZE_MIDDLE) {
            const mts_vec left = resize_source(act, row, k - 1, last, base, lines->end);
            even = mts_vec_fma(rest, here, mts_vec_mul(quarter, left));
        }
        mts_vec_put(line + i, mts_vec_zip_low(even, odd));
        mts_vec_put(line + i + VEC, mts_vec_zip_high(even, odd));
    }
    if (x == 0) line[0] = mts_load(act + row);
    if (x + n >= r->dest.dims[5]) line[r->dest.dims[5] - 1 - x] = mts_load(act + row + (mts_u32)last);
}

/* The stretched source row whose column 0 lies at act offset `row`. `other` is wanted as
   well. */
INLINE int resize_hold(GLOBAL const mts_real *act, GLOBAL const mts_resize_params *r, mts_u32 row, mts_u32 other,
                       resize_lines *lines) {
    if (lines->held[0] == row) return 0;
    if (lines->held[1] == row) return 1;
    const int into = lines->held[0] == other;
    if (lines->pairs == RESIZE_ANY)
        resize_stretch(act, r, row, lines, lines->line[into]);
    else
        resize_stretch_pairs(act, r, row, lines, lines->line[into]);
    lines->held[into] = row;
    return into;
}

/* Two source rows, act offsets of column 0, and their weights; `above` alone where both
   are one row. */
typedef struct resize_between {
    mts_u32 above, below;
    float above_weight, below_weight;
    int nearest;
} resize_between;

/* Row y of the output; taps: those of VEC rows from `first` on, which are found here when
   y is not among them. */
INLINE resize_between resize_row(GLOBAL const mts_resize_params *r, mts_u32 plane, mts_u32 y, mts_u32 *first,
                                 resize_taps *taps) {
    resize_between rows;
    if (y - *first >= VEC) {
        *first = y;
        *taps = resize_find(r, 0, resize_ramp(y), r->dest.dims[4]);
    }
    const mts_u32 i = y - *first;
    rows.nearest = taps->count == 1;
    rows.above = plane + (mts_u32)((const float *)&taps->at[0])[i] * r->src.stride[4];
    rows.below = plane + (mts_u32)((const float *)&taps->at[1])[i] * r->src.stride[4];
    rows.above_weight = ((const float *)&taps->weight[0])[i];
    rows.below_weight = ((const float *)&taps->weight[1])[i];
    return rows;
}

/* n columns of the stretch from column x of the output on, at act + to; room: floats that
   may be written. */
INLINE void resize_by_rows(GLOBAL mts_real *act, GLOBAL const mts_resize_params *r, const resize_between *rows,
                           mts_u32 x, mts_u32 n, mts_u32 to, mts_u32 room, resize_lines *lines) {
    /* whole rows where they can be kept, so that work-items which begin within one find
       places once as well */
    const int whole = r->dest.dims[5] <= RESIZE_LINE;
    const mts_u32 from = whole ? 0 : x - x % 2, skip = x - from;
    const mts_vec a = mts_vec_splat(rows->above_weight), b = mts_vec_splat(rows->below_weight);
    resize_columns(r, from, whole ? r->dest.dims[5] : n + skip, lines);
    if (rows->nearest) {
        const float *line = lines->line[resize_hold(act, r, rows->above, MTS_PARAM_NONE - 1, lines)] + skip;
        for (mts_u32 i = 0; i < n; i += VEC)
            mts_row_store(act + to + i, mts_vec_get(line + i), n - i, room - i);
        return;
    }
    const float *above = lines->line[resize_hold(act, r, rows->above, rows->below, lines)] + skip;
    const float *below = lines->line[resize_hold(act, r, rows->below, rows->above, lines)] + skip;
    for (mts_u32 i = 0; i < n; i += VEC) {
        const mts_vec v = mts_vec_mul(a, mts_vec_get(above + i));
        mts_row_store(act + to + i, mts_vec_fma(b, mts_vec_get(below + i), v), n - i, room - i);
    }
}

#ifdef MTS_DIALECT_C
#include "kernels/resize/resize_twice.h"
#endif

INLINE int resize_is_by_rows(GLOBAL const mts_resize_params *r) {
    const int kept = r->dest.dims[5] <= RESIZE_LINE || resize_pairs(r, 1) != RESIZE_ANY;
    return r->mode != MTS_RESIZE_CUBIC && r->coord != MTS_COORD_TF_CROP && r->src.stride[5] == 1 && kept;
}

INLINE void resize_all_by_rows(GLOBAL mts_real *act, GLOBAL const mts_resize_params *r, mts_span *s) {
    resize_lines lines;
    resize_taps taps;
    mts_u32 first = MTS_PARAM_NONE - VEC;
    lines.held[0] = lines.held[1] = MTS_PARAM_NONE;
    lines.x = lines.n = 0;
    lines.pairs = resize_pairs(r, 1);
    lines.end = mts_view_end(&r->src, &r->dest, r->in[0], r->in[1]);
    taps.count = 0;
    while (mts_span_next(act, &r->dest, s)) {
        const resize_between rows = resize_row(r, mts_view_plane(&r->src, s), s->y, &first, &taps);
        for (mts_u32 i = 0; i < s->n; i += RESIZE_LINE)
            resize_by_rows(act, r, &rows, s->x + i, mts_least(s->n - i, RESIZE_LINE), s->to + i, s->stop - s->to - i,
                           &lines);
    }
}
#endif

KERNEL void resize_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_resize_params *r = MTS_MEMBER(mts_resize_params);
    mts_span s = mts_span_open(act, &r->dest);
#if VEC > 1
#ifdef MTS_DIALECT_C
    if (!r->lane_bits && resize_is_twice(r)) {
        resize_twice(act, r, &s, resize_pairs(r, 1));
        return;
    }
#endif
    if (!r->lane_bits && resize_is_by_rows(r)) {
        resize_all_by_rows(act, r, &s);
        return;
    }
#endif
    while (mts_span_next(act, &r->dest, &s)) {
        GLOBAL const mts_real *plane = act + mts_view_plane(&r->src, &s);
        const resize_taps rows = resize_find(r, 0, mts_vec_splat((float)s.y), r->dest.dims[4]);
        for (mts_u32 i = 0; i < s.n; i += r->lane_bits ? 1 : VEC) { /* lanes one by one */
            const mts_u32 left = r->lane_bits ? 1 : s.n - i, room = r->lane_bits ? 1 : s.stop - s.to - i;
            const mts_u32 pixel = (s.x + i) >> r->lane_bits, lane = s.x + i - (pixel << r->lane_bits);
            const resize_taps columns = resize_find(r, 1, resize_ramp(pixel), r->dest.dims[5] >> r->lane_bits);
            mts_vec v = resize_value(plane + lane, r, &rows, &columns);
            if (r->coord == MTS_COORD_TF_CROP) v = resize_outside(r, &rows, &columns, v);
            mts_row_store(act + s.to + i, v, left, room);
        }
    }
}
