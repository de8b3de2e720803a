/*
 * pool_bytes: the largest codes of windows of planes of codes (mts_pool_codes_params).
 * Source and result have one grid, so that the largest number has the largest code. A
 * work-item owns words of one plane, the border among them (kernels/codes.h). Not
 * responsible for averages, which floats compute (pool_any).
 */
#if HALF
/* Elements of two bytes hold no words. */
KERNEL void pool_bytes__i32_words(MTS_ARGS) { (void)act; }
#else

/* Taps of a window that lie in the image: from first to before `end`. */
typedef struct pool_taps {
    mts_u32 first, end;
} pool_taps;

INLINE pool_taps pool_inside(mts_i32 at, mts_u32 window, mts_u32 size) {
    pool_taps taps;
    taps.first = at < 0 ? mts_least((mts_u32)(0 - at), window) : 0;
    taps.end = at < (mts_i32)size ? mts_least(window, (mts_u32)((mts_i32)size - at)) : 0;
    return taps;
}

INLINE mts_u32 pool_larger(mts_u32 a, mts_u32 b) {
    mts_u32 word = 0;
    for (mts_u32 mask = 255u; mask; mask <<= 8) word |= mts_most(a & mask, b & mask);
    return word;
}

/* Output column x of a row whose windows begin at image row `y`. */
INLINE mts_u32 pool_one(GLOBAL const mts_real *act, GLOBAL const mts_pool_codes_params *r, mts_u32 plane, mts_i32 y,
                        pool_taps rows, mts_u32 x) {
    const mts_i32 left = (mts_i32)(x * r->stride[1]) - r->pad[1];
    const pool_taps columns = pool_inside(left, r->window[1], r->in_w);
    mts_u32 word = 0;
    for (mts_u32 ky = rows.first; ky < rows.end; ky++)
        for (mts_u32 kx = columns.first; kx < columns.end; kx++)
            word = pool_larger(
                word, ((GLOBAL const mts_u32 *)act)[plane + (mts_u32)(y + (mts_i32)ky) * r->in.row + (mts_u32)(left + (mts_i32)kx)]);
    return word;
}

#if MTS_WORDS_DOT
/* Columns `from` to `until` of a row, whose windows lie in the image. */
INLINE mts_u32 pool_vectors(mts_real *act, const mts_pool_codes_params *r, mts_u32 plane, mts_i32 y, pool_taps rows,
                            mts_u32 to, mts_u32 from, mts_u32 until) {
    if (r->stride[1] > 2) return from;
    for (mts_u32 x = from; x < until; x += VEC) {
        const mts_u32 n = mts_least(until - x, VEC);
        const mts_real *p = act + plane + (mts_u32)(y + (mts_i32)rows.first) * r->in.row + (x * r->stride[1] - (mts_u32)r->pad[1]);
        mts_words v = mts_words_splat(0);
        for (mts_u32 ky = rows.first; ky < rows.end; ky++, p += r->in.row)
            for (mts_u32 kx = 0; kx < r->window[1]; kx++) v = mts_words_larger(v, mts_words_load_apart(p + kx, n, r->stride[1]));
        mts_words_put_some((mts_i32 *)act + to + x, v, n);
    }
    return until;
}

INLINE void pool_row(mts_real *act, const mts_pool_codes_params *r, mts_u32 plane, mts_u32 to, mts_u32 row) {
    const mts_i32 y = (mts_i32)(row * r->stride[0]) - r->pad[0];
    const pool_taps rows = pool_inside(y, r->window[0], r->in_h);
    const mts_u32 width = r->dest.width, pad = (mts_u32)r->pad[1], room = r->in_w + pad;
    /* columns whose window begins and ends in the image */
    const mts_u32 low = mts_least((pad + r->stride[1] - 1) / r->stride[1], width);
    mts_u32 high = room >= r->window[1] ? (room - r->window[1]) / r->stride[1] + 1 : 0;
    high = mts_most(mts_least(high, width), low);
    mts_u32 x = 0;
    mts_u32 *words = (mts_u32 *)act;
    for (; x < low; x++) words[to + x] = pool_one(act, r, plane, y, rows, x);
    for (x = pool_vectors(act, r, plane, y, rows, to, low, high); x < width; x++)
        words[to + x] = pool_one(act, r, plane, y, rows, x);
}

INLINE void pool_plane(mts_real *act, const mts_pool_codes_params *r, mts_u32 q, mts_u32 item, mts_u32 items) {
    const mts_codes_dest *d = &r->dest;
    mts_codes_rows s = mts_codes_open(d, item, items, q);
    if (s.start == s.end) return;
    for (mts_u32 y = s.top; y < s.bottom; y++)
        pool_row(act, r, r->in.src + q * r->in.pitch, mts_codes_until(act, d, &s, y, d->width), y - d->top);
    mts_codes_close(act, d, &s);
}
#else
INLINE void pool_plane(GLOBAL mts_real *act, GLOBAL const mts_pool_codes_params *r, mts_u32 q, mts_u32 item, mts_u32 items) {
    GLOBAL const mts_codes_dest *d = &r->dest;
    for (mts_u32 p = item; p < mts_codes_words(d, q); p += items) {
        const mts_codes_pixel s = mts_codes_find(d, p);
        const mts_i32 y = (mts_i32)(s.y * r->stride[0]) - r->pad[0];
        const pool_taps rows = pool_inside(y, r->window[0], r->in_h);
        ((GLOBAL mts_u32 *)act)[d->out + q * d->pitch + p] =
            s.inside ? pool_one(act, r, r->in.src + q * r->in.pitch, y, rows, s.x) : mts_codes_zero(d->least);
    }
}
#endif

KERNEL void pool_bytes__i32_words(MTS_ARGS) {
    GLOBAL const mts_pool_codes_params *r = MTS_MEMBER(mts_pool_codes_params);
    const mts_u32 q = mts_global_id(1);
    if (q < r->dest.images * MTS_CODE_WORDS(r->dest.channels)) pool_plane(act, r, q, mts_global_id(0), mts_global_size(0));
}

#endif
