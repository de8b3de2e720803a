/*
 * resize_twice.h: resize_any for twice as many rows and columns, in pairs (RESIZE_MIDDLE
 * or RESIZE_TWICE).
 *
 * Strips of VEC source columns go down the rows. A source row is stretched once, and stays
 * in registers for the rows above and below it. A part of resize_any that only device cpu
 * has, so that the texts for OpenCL and CUDA stay small.
 */
#ifndef MTS_KERNELS_RESIZE_TWICE_H
#define MTS_KERNELS_RESIZE_TWICE_H

typedef struct resize_wide {
    mts_vec low, high;
} resize_wide;

/* A strip: source columns k .. k + VEC - 1; lanes of the image's first and last column. */
typedef struct resize_strip {
    mts_u32 pairs, plane, end;
    mts_i32 k, last;
    mts_vec first_lane, last_lane;
} resize_strip;

INLINE resize_strip resize_strip_of(GLOBAL const mts_resize_params *r, const mts_span *s, mts_u32 pairs, mts_u32 k) {
    resize_strip strip;
    strip.pairs = pairs;
    strip.plane = mts_view_plane(&r->src, s);
    strip.end = mts_view_end(&r->src, &r->dest, r->in[0], r->in[1]);
    strip.k = (mts_i32)k;
    strip.last = (mts_i32)r->in[1] - 1;
    strip.first_lane = mts_vec_between((float)k, 1.0f, 0.0f, 1.0f);
    strip.last_lane = mts_vec_between((float)k, 1.0f, (float)strip.last, (float)r->in[1]);
    return strip;
}

/* Source row y, which counts from -1 (the first row again) to in[0] (the last one). */
INLINE resize_wide resize_widen(GLOBAL const mts_real *act, GLOBAL const mts_resize_params *r, const resize_strip *s,
                                mts_i32 y) {
    const mts_vec quarter = mts_vec_splat(0.25f), rest = mts_vec_splat(0.75f);
    const mts_u32 row = s->plane + (mts_u32)mts_least(mts_most(y, 0), (mts_i32)r->in[0] - 1) * r->src.stride[4];
    const mts_vec here = resize_source(act, row, s->k, s->last, r->src.base, s->end);
    mts_vec even = here, odd = here;
    resize_wide wide;
    if (s->pairs == RESIZE_MIDDLE) {
        const mts_vec left = resize_source(act, row, s->k - 1, s->last, r->src.base, s->end);
        const mts_vec right = resize_source(act, row, s->k + 1, s->last, r->src.base, s->end);
        even = mts_vec_fma(rest, here, mts_vec_mul(quarter, mts_vec_select(s->first_lane, here, left)));
        odd = mts_vec_fma(quarter, mts_vec_select(s->last_lane, here, right), mts_vec_mul(rest, here));
    }
    wide.low = mts_vec_zip_low(even, odd);
    wide.high = mts_vec_zip_high(even, odd);
    return wide;
}

/* n columns of an output row at act + to; room: floats that may be written. */
INLINE void resize_put(GLOBAL mts_real *act, mts_u32 to, mts_u32 n, mts_u32 room, float a, const resize_wide *above,
                       float b, const resize_wide *below) {
    const mts_vec va = mts_vec_splat(a), vb = mts_vec_splat(b);
    mts_row_store(act + to, mts_vec_fma(vb, below->low, mts_vec_mul(va, above->low)), n, room);
    if (n > VEC)
        mts_row_store(act + to + VEC, mts_vec_fma(vb, below->high, mts_vec_mul(va, above->high)), n - VEC,
                      room > VEC ? room - VEC : 0);
}

/* Rows of the output that begin before position `at` of a plane. */
INLINE mts_u32 resize_rows_before(GLOBAL const mts_dest_params *d, mts_u32 at) {
    return at <= d->gap ? 0 : mts_least(d->dims[4], (at - d->gap + d->row - 1) / d->row);
}

/* A work-item owns the rows that begin in its run. A strip that is alone may store beyond
   its rows' columns: what lies there is written later. */
INLINE void resize_twice(GLOBAL mts_real *act, GLOBAL const mts_resize_params *r, const mts_span *s, mts_u32 pairs) {
    GLOBAL const mts_dest_params *d = &r->dest;
    const mts_u32 first = resize_rows_before(d, s->at), last = resize_rows_before(d, s->end), width = d->dims[5];
    const mts_u32 stop = last == d->dims[4] ? d->pitch : d->gap + last * d->row;
    const int middle = pairs == RESIZE_MIDDLE;
    const mts_u32 shift = middle ? 1 : 0; /* row y is between source rows (y + shift) / 2 - shift and that + 1 */
    if (first >= last) return;
    for (mts_u32 k = 0; k < r->in[1]; k += VEC) {
        const resize_strip strip = resize_strip_of(r, s, pairs, k);
        const mts_u32 n = mts_least(width - 2 * k, 2 * VEC);
        mts_i32 source = (mts_i32)((first + shift) / 2) - (mts_i32)shift;
        resize_wide above = resize_widen(act, r, &strip, source), below = above;
        mts_u32 y = first;
        while (y < last) {
            if (middle) below = resize_widen(act, r, &strip, source + 1);
            for (mts_u32 odd = (y + shift) % 2; odd < 2 && y < last; odd++, y++) {
                const mts_u32 to = d->gap + y * d->row + 2 * k, room = width <= 2 * VEC ? stop - to : 0;
                const float b = !middle ? 0.0f : odd ? 0.75f : 0.25f;
                resize_put(act, s->plane + to, n, room, 1.0f - b, &above, b, &below);
            }
            source++;
            above = middle ? below : resize_widen(act, r, &strip, source);
        }
    }
    mts_rows_zero(act, d, s->plane, first, last - first);
}

INLINE int resize_is_twice(GLOBAL const mts_resize_params *r) {
    const mts_u32 pairs = r->mode == MTS_RESIZE_CUBIC ? RESIZE_ANY : resize_pairs(r, 1);
    return (pairs == RESIZE_MIDDLE || pairs == RESIZE_TWICE) && pairs == resize_pairs(r, 0) && r->src.stride[5] == 1;
}

#endif
