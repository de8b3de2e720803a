/*
 * spread_bytes: depth to space of planes of codes (mts_spread_params). A word of the
 * source has the four neighbours of one channel; a word of the result has four channels
 * of one pixel. A work-item owns rows of one word of the result, with the border beside
 * them. Not responsible for other numbers of neighbours (deconv_any, in floats).
 *
 *     source, planes 4 w to 4 w + 3    a0 a1 a2 a3 | b0 b1 b2 b3 | c0 c1 c2 c3 | d0 d1 d2 d3
 *     result, plane w, row 2 y         a0 b0 c0 d0 | a1 b1 c1 d1
 *                      row 2 y + 1     a2 b2 c2 d2 | a3 b3 c3 d3
 */
#ifndef MTS_WORDS_DOT
#define MTS_WORDS_DOT 0 /* 1: kernels/prelude_c_words.h has vectors of words */
#endif

#if HALF
/* Elements of two bytes hold no words. */
KERNEL void spread_bytes__i32_words(MTS_ARGS) { (void)act; }
#else

/* Rows of the source's planes, for a row of the result. */
typedef struct spread_row {
    mts_u32 from;   /* act offset of the first plane's row */
    mts_u32 planes; /* of the source: 1 to 4 */
    mts_u32 pitch;
    mts_u32 bit; /* of the left neighbour in a word */
} spread_row;

INLINE mts_u32 spread_one(GLOBAL const mts_real *act, const spread_row *r, mts_u32 x) {
    mts_u32 word = 0;
    for (mts_u32 c = 0; c < r->planes; c++) {
        const mts_u32 source = ((GLOBAL const mts_u32 *)act)[r->from + c * r->pitch + x / 2];
        word |= (source >> (r->bit + 8 * (x & 1u)) & 255u) << (8 * c);
    }
    return word;
}

#if MTS_WORDS_DOT
/* As many words of the result as there are in two vectors of the source, or `left`. */
INLINE void spread_vectors(mts_real *act, const spread_row *r, mts_u32 to, mts_u32 x, mts_u32 left) {
    const mts_u32 n = mts_least((left + 1) / 2, VEC);
    mts_words even = mts_words_splat(0), odd = even;
    for (mts_u32 c = 0; c < r->planes; c++) {
        const mts_words source = (mts_words)mts_words_load_some(act + r->from + c * r->pitch + x / 2, n);
        even |= (source >> (int)r->bit & 255) << (int)(8 * c);
        odd |= (source >> (int)(r->bit + 8) & 255) << (int)(8 * c);
    }
    mts_words_put_some((mts_i32 *)act + to, (mts_words)mts_vec_zip_low((mts_vec)even, (mts_vec)odd), mts_least(left, VEC));
    if (left > VEC)
        mts_words_put_some((mts_i32 *)act + to + VEC, (mts_words)mts_vec_zip_high((mts_vec)even, (mts_vec)odd),
                           mts_least(left - VEC, VEC));
}
#endif

INLINE void spread_words(GLOBAL mts_real *act, const spread_row *r, mts_u32 to, mts_u32 n) {
#if MTS_WORDS_DOT
    for (mts_u32 x = 0; x < n; x += 2 * VEC) spread_vectors(act, r, to + x, x, n - x);
#else
    for (mts_u32 x = 0; x < n; x++) ((GLOBAL mts_u32 *)act)[to + x] = spread_one(act, r, x);
#endif
}

KERNEL void spread_bytes__i32_words(MTS_ARGS) {
    GLOBAL const mts_spread_params *r = MTS_MEMBER(mts_spread_params);
    GLOBAL const mts_codes_dest *d = &r->dest;
    const mts_u32 words = MTS_CODE_WORDS(d->channels), q = mts_global_id(1), channel = q % words * 4;
    mts_codes_rows s = mts_codes_open(d, mts_global_id(0), mts_global_size(0), q);
    spread_row row;
    if (s.start == s.end) return;
    row.planes = mts_least(d->channels - channel, 4u);
    row.pitch = r->in.pitch;
    for (mts_u32 y = s.top; y < s.bottom; y++) {
        const mts_u32 at = y - d->top;
        row.from = r->in.src + (q / words * d->channels + channel) * r->in.pitch + at / 2 * r->in.row;
        row.bit = 16 * (at & 1u);
        spread_words(act, &row, mts_codes_until(act, d, &s, y, d->width), d->width);
    }
    mts_codes_close(act, d, &s);
}

#endif
