/*
 * pool_bytes: the largest codes of windows of planes of codes (mts_pool_codes_params).
 * Source and result have one grid, so that the largest number has the largest code. A
 * work-item owns rows of one word, with the border beside them. Not responsible for
 * averages, which floats compute (pool_any).
 */
#ifndef MTS_WORDS_DOT
#define MTS_WORDS_DOT 0 /* 1: kernels/prelude_c_words.h has vectors of words */
#endif

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
#else
#define pool_vectors(act, r, plane, y, rows, to, from, until) (from)
#endif

INLINE void pool_row(GLOBAL mts_real *act, GLOBAL const mts_pool_codes_params *r, mts_u32 plane, mts_u32 to, mts_u32 row) {
    const mts_i32 y = (mts_i32)(row * r->stride[0]) - r->pad[0];
    const pool_taps rows = pool_inside(y, r->window[0], r->in_h);
    const mts_u32 width = r->dest.width, pad = (mts_u32)r->pad[1], room = r->in_w + pad;
    /* columns whose window begins and ends in the image */
    const mts_u32 low = mts_least((pad + r->stride[1] - 1) / r->stride[1], width);
    mts_u32 high = room >= r->window[1] ? (room - r->window[1]) / r->stride[1] + 1 : 0;
    high = mts_most(mts_least(high, width), low);
    mts_u32 x = 0;
    GLOBAL mts_u32 *words = (GLOBAL mts_u32 *)act;
    for (; x < low; x++) words[to + x] = pool_one(act, r, plane, y, rows, x);
    for (x = pool_vectors(act, r, plane, y, rows, to, low, high); x < width; x++)
        words[to + x] = pool_one(act, r, plane, y, rows, x);
}

KERNEL void pool_bytes__i32_words(MTS_ARGS) {
    GLOBAL const mts_pool_codes_params *r = MTS_MEMBER(mts_pool_codes_params);
    GLOBAL const mts_codes_dest *d = &r->dest;
    const mts_u32 q = mts_global_id(1);
    mts_codes_rows s = mts_codes_open(d, mts_global_id(0), mts_global_size(0), q);
    if (s.start == s.end) return;
    for (mts_u32 y = s.top; y < s.bottom; y++)
        pool_row(act, r, r->in.src + q * r->in.pitch, mts_codes_until(act, d, &s, y, d->width), y - d->top);
    mts_codes_close(act, d, &s);
}

#endif
