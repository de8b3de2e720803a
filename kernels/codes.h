/*
 * codes.h: how a kernel writes planes of codes (kernels/abi/bytes.h), and products of
 * codes.
 *
 * Responsible for the words of a plane that a work-item owns, and for the codes of 0
 * around the image. With vectors of words (kernels/prelude_c_words.h) each of n
 * work-items owns equally many rows of a plane, the border beside them included; the last
 * one also owns what follows the last row. It meets the image's rows in order. Elsewhere
 * it owns every n-th word, so that neighbours touch neighbours. The program text of a
 * kernel has this file after dest.h. Not responsible for any operator.
 */
#ifndef MTS_KERNELS_CODES_H
#define MTS_KERNELS_CODES_H

#ifndef MTS_WORDS_DOT
#define MTS_WORDS_DOT 0 /* 1: kernels/prelude_c_words.h has vectors of words */
#define MTS_WORDS_ZERO MTS_DOT_ZERO
#endif

/* A word of codes of 0, where `least` is the least number of the grid. */
#define mts_codes_zero(least) MTS_CODE_WORD((mts_u32)(mts_i32)(0.0f - (least)))

/* The words from act offset `from` to before `until`. */
INLINE void mts_codes_fill(GLOBAL mts_real *act, mts_u32 from, mts_u32 until, mts_u32 word) {
    for (mts_u32 i = from; i < until; i++) ((GLOBAL mts_u32 *)act)[i] = word;
}

#if MTS_WORDS_DOT

/* Rows of a plane: from start to before end, those of the image from top to before
   bottom. */
typedef struct mts_codes_rows {
    mts_u32 plane; /* act offset of row 0 */
    mts_u32 start, end, top, bottom;
    mts_u32 done; /* act offset of the first word that is not written yet */
    mts_u32 zero;
} mts_codes_rows;

/* The rows that work-item `item` of `items` owns of word plane q; start is end if there
   are none. */
INLINE mts_codes_rows mts_codes_open(GLOBAL const mts_codes_dest *d, mts_u32 item, mts_u32 items, mts_u32 q) {
    const mts_u32 each = (d->rows + items - 1) / items, rows = q < d->images * MTS_CODE_WORDS(d->channels) ? d->rows : 0;
    mts_codes_rows s;
    s.plane = d->out + q * d->pitch;
    s.start = mts_least(item * each, rows);
    s.end = mts_least(s.start + each, rows);
    s.top = mts_most(s.start, d->top);
    s.bottom = mts_least(s.end, d->top + d->height);
    s.done = s.plane + s.start * d->row;
    s.zero = mts_codes_zero(d->least);
    return s;
}

/* Codes of 0 up to the image's pixels in row y. The caller writes n words from the offset
   that is returned. */
INLINE mts_u32 mts_codes_until(GLOBAL mts_real *act, GLOBAL const mts_codes_dest *d, mts_codes_rows *s, mts_u32 y, mts_u32 n) {
    const mts_u32 to = s->plane + y * d->row + d->left;
    mts_codes_fill(act, s->done, to, s->zero);
    s->done = to + n;
    return to;
}

/* Codes of 0 behind the last row that was written. */
INLINE void mts_codes_close(GLOBAL mts_real *act, GLOBAL const mts_codes_dest *d, const mts_codes_rows *s) {
    mts_codes_fill(act, s->done, s->end == d->rows ? s->plane + d->pitch : s->plane + s->end * d->row, s->zero);
}

#else

/*
 * mts_dot(sum, x, w): sum and the four products of the bytes of x and the signed bytes of
 * w. x comes from mts_dot_input, which takes MTS_DOT_ZERO off each code: with 0 its bytes
 * are unsigned, with 128 they are signed. Sums fit int32 (sdk/plan/bytes.c).
 */
#ifndef MTS_DOT_ZERO
#define MTS_DOT_ZERO 0
#endif
#if MTS_DOT_ZERO
#define mts_dot_input(code) ((code) ^ 0x80808080u)
#else
#define mts_dot_input(code) (code)
#endif
#ifndef mts_dot
INLINE mts_i32 mts_dot(mts_i32 sum, mts_u32 x, mts_u32 w) {
    for (int i = 0; i < 32; i += 8) sum += (mts_i32)(x >> i & 255u) * (mts_i32)(((w >> i & 255u) ^ 128u) - 128u);
    return sum;
}
#endif

/* Where word p of a plane lies in the image. */
typedef struct mts_codes_pixel {
    mts_u32 y, x;
    int inside;
} mts_codes_pixel;

INLINE mts_codes_pixel mts_codes_find(GLOBAL const mts_codes_dest *d, mts_u32 p) {
    mts_codes_pixel s;
    s.y = p / d->row;
    s.x = p - s.y * d->row - d->left;
    s.y -= d->top;
    s.inside = s.y < d->height && s.x < d->width;
    return s;
}

/* The words of word plane q: 0 if there is no such plane. */
INLINE mts_u32 mts_codes_words(GLOBAL const mts_codes_dest *d, mts_u32 q) {
    return q < d->images * MTS_CODE_WORDS(d->channels) ? d->pitch : 0;
}

#endif

#endif
