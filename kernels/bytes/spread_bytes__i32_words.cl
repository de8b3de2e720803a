/*
 * spread_bytes: depth to space of planes of codes (mts_spread_params). A word of the
 * source has the four neighbours of one channel; a word of the result has four channels
 * of one pixel. A work-item owns words of one plane of the result, the border among them
 * (kernels/codes.h). Not responsible for other numbers of neighbours (deconv_any, in
 * floats).
 *
 *     source, planes 4 w to 4 w + 3    a0 a1 a2 a3 | b0 b1 b2 b3 | c0 c1 c2 c3 | d0 d1 d2 d3
 *     result, plane w, row 2 y         a0 b0 c0 d0 | a1 b1 c1 d1
 *                      row 2 y + 1     a2 b2 c2 d2 | a3 b3 c3 d3
 */
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

/* Rows of word plane q of the result; the source's planes are those of row. */
INLINE void spread_plane(mts_real *act, const mts_spread_params *r, spread_row row, mts_u32 q, mts_u32 item, mts_u32 items) {
    const mts_codes_dest *d = &r->dest;
    const mts_u32 from = row.from;
    mts_codes_rows s = mts_codes_open(d, item, items, q);
    if (s.start == s.end) return;
    for (mts_u32 y = s.top; y < s.bottom; y++) {
        const mts_u32 at = y - d->top, to = mts_codes_until(act, d, &s, y, d->width);
        row.from = from + at / 2 * r->in.row;
        row.bit = 16 * (at & 1u);
        for (mts_u32 x = 0; x < d->width; x += 2 * VEC) spread_vectors(act, &row, to + x, x, d->width - x);
    }
    mts_codes_close(act, d, &s);
}
#else
INLINE void spread_plane(GLOBAL mts_real *act, GLOBAL const mts_spread_params *r, spread_row row, mts_u32 q, mts_u32 item,
                         mts_u32 items) {
    GLOBAL const mts_codes_dest *d = &r->dest;
    GLOBAL mts_u32 *words = (GLOBAL mts_u32 *)act;
    for (mts_u32 p = item; p < mts_codes_words(d, q); p += items) {
        const mts_codes_pixel s = mts_codes_find(d, p);
        mts_u32 word = s.inside ? 0 : mts_codes_zero(d->least);
        for (mts_u32 c = 0; s.inside && c < row.planes; c++) {
            const mts_u32 source = words[row.from + c * row.pitch + s.y / 2 * r->in.row + s.x / 2];
            word |= (source >> (16 * (s.y & 1u) + 8 * (s.x & 1u)) & 255u) << (8 * c);
        }
        words[d->out + q * d->pitch + p] = word;
    }
}
#endif

KERNEL void spread_bytes__i32_words(MTS_ARGS) {
    GLOBAL const mts_spread_params *r = MTS_MEMBER(mts_spread_params);
    const mts_u32 channels = r->dest.channels, words = MTS_CODE_WORDS(channels), q = mts_global_id(1);
    const mts_u32 channel = q % words * 4;
    spread_row row;
    if (q >= r->dest.images * words) return;
    row.planes = mts_least(channels - channel, 4u);
    row.pitch = r->in.pitch;
    row.from = r->in.src + (q / words * channels + channel) * r->in.pitch;
    row.bit = 0;
    spread_plane(act, r, row, q, mts_global_id(0), mts_global_size(0));
}

#endif
