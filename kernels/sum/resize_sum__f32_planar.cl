/*
 * resize_sum: y = fn(x + other), where x is an image resized to twice its rows and
 * columns: resize_any and a sum in one launch, whose bits are those of two.
 *
 * A work-item owns the rows of the output that begin in its run (kernels/dest.h), and goes
 * down them in strips of a vector of source columns. A source row is widened once for the
 * rows above and below its middle.
 */

/* Columns 2k .. 2k + VEC - 1 of a widened row, and the VEC that follow. */
typedef struct twice_wide {
    mts_vec low, high;
} twice_wide;

typedef struct twice_strip {
    GLOBAL const mts_real *plane; /* of the source */
    mts_u32 k, n;                 /* its first source column, and how many there are */
    mts_i32 before, after;        /* whether columns before and behind these exist */
    mts_i32 linear;
} twice_strip;

/* Lanes 1 .. of v, and `last` behind them; lanes before the last one of v behind `first`. */
#if VEC == 1
#define twice_left(v, first) (first)
#define twice_right(v, n, last) (last)
#else
INLINE mts_vec twice_left(mts_vec v, float first) {
    mts_vec x = v;
    for (int i = 1; i < VEC; i++) ((float *)&x)[i] = ((const float *)&v)[i - 1];
    ((float *)&x)[0] = first;
    return x;
}
INLINE mts_vec twice_right(mts_vec v, mts_u32 n, float last) {
    mts_vec x = v;
    for (int i = 0; i + 1 < VEC; i++) ((float *)&x)[i] = ((const float *)&v)[i + 1];
    ((float *)&x)[n - 1] = last;
    return x;
}
#endif

/* Source row y, which counts from -1 (the first row again) to in[0] (the last one). */
INLINE twice_wide twice_widen(GLOBAL const mts_resize_params *r, const twice_strip *s, mts_i32 y) {
    const mts_vec quarter = mts_vec_splat(0.25f), rest = mts_vec_splat(0.75f);
    const mts_i32 row = mts_least(mts_most(y, 0), (mts_i32)r->in[0] - 1);
    GLOBAL const mts_real *at = s->plane + (mts_u32)row * r->src.stride[4] + s->k;
    const mts_vec here = mts_row_load(at, 1, s->n, 0);
    mts_vec even = here, odd = here;
    twice_wide wide;
    if (s->linear) {
        const float first = mts_load(at - s->before), last = mts_load(at + s->n - 1 + s->after);
#ifdef MTS_DIALECT_C
        const mts_vec left = s->before && s->n == VEC ? mts_vec_load(at - 1) : twice_left(here, first);
        const mts_vec right = s->after && s->n == VEC ? mts_vec_load(at + 1) : twice_right(here, s->n, last);
#else
        const mts_vec left = twice_left(here, first), right = twice_right(here, s->n, last);
#endif
        even = mts_vec_fma(rest, here, mts_vec_mul(quarter, left));
        odd = mts_vec_fma(quarter, right, mts_vec_mul(rest, here));
    }
    wide.low = mts_vec_zip_low(even, odd);
    wide.high = mts_vec_zip_high(even, odd);
    return wide;
}

/* n columns at act + to: fn(a above + b below + other). */
INLINE void twice_put(GLOBAL mts_real *to, GLOBAL const mts_real *other, GLOBAL const mts_addend_params *e, mts_u32 n,
                      float a, mts_vec above, float b, mts_vec below) {
    const mts_vec v = mts_vec_fma(mts_vec_splat(b), below, mts_vec_mul(mts_vec_splat(a), above));
    const mts_vec sum = mts_vec_add(v, mts_row_load(other, 1, n, 0));
    mts_row_store(to, mts_row_fn(e->fn, sum, e->a, e->b), n, 0);
}

/* Rows of the output that begin before position `at` of a plane. */
INLINE mts_u32 twice_rows_before(GLOBAL const mts_dest_params *d, mts_u32 at) {
    return at <= d->gap ? 0 : mts_least(d->dims[4], (at - d->gap + d->row - 1) / d->row);
}

KERNEL void resize_sum__f32_planar(MTS_ARGS) {
    GLOBAL const mts_resize_sum_params *all = MTS_MEMBER(mts_resize_sum_params);
    GLOBAL const mts_resize_params *r = &all->resize;
    GLOBAL const mts_addend_params *e = &all->addend;
    GLOBAL const mts_dest_params *d = &r->dest;
    const mts_span span = mts_span_open(act, d);
    const mts_u32 begin = twice_rows_before(d, span.at), end = twice_rows_before(d, span.end);
    const mts_i32 linear = r->mode == MTS_RESIZE_LINEAR, shift = linear;
    GLOBAL const mts_real *other = (e->other_pool ? pool : act) + mts_view_plane(&e->other, &span);
    if (span.end == 0 || begin >= end) return;
    for (mts_u32 k = 0; k < r->in[1]; k += VEC) {
        const mts_u32 n = mts_least(r->in[1] - k, VEC);
        twice_strip s;
        s.plane = act + mts_view_plane(&r->src, &span);
        s.k = k;
        s.n = n;
        s.before = k > 0;
        s.after = k + n < r->in[1];
        s.linear = linear;
        /* row y is between source rows (y + shift) / 2 - shift and that + 1 */
        mts_i32 source = ((mts_i32)begin + shift) / 2 - shift;
        twice_wide above = twice_widen(r, &s, source), below = above;
        mts_u32 y = begin;
        while (y < end) {
            if (linear) below = twice_widen(r, &s, source + 1);
            for (mts_u32 odd = (y + (mts_u32)shift) % 2; odd < 2 && y < end; odd++, y++) {
                GLOBAL mts_real *to = act + span.plane + d->gap + y * d->row + 2 * k;
                GLOBAL const mts_real *at = other + y * e->other.stride[4] + 2 * k;
                const float b = !linear ? 0.0f : odd ? 0.75f : 0.25f;
                twice_put(to, at, e, 2 * n, 1.0f - b, above.low, b, below.low);
                if (2 * n > VEC) twice_put(to + VEC, at + VEC, e, 2 * n - VEC, 1.0f - b, above.high, b, below.high);
            }
            source++;
            above = linear ? below : twice_widen(r, &s, source);
        }
    }
    mts_rows_zero(act, d, span.plane, begin, end - begin);
}
