/*
 * pack_bytes: floats whose values have 8 bits, or planes of their codes -> planes of
 * codes, four channels to a word, with the border and the phases that a convolution reads
 * (mts_pack_params). A work-item owns words of one plane in all phases (kernels/codes.h).
 * Not responsible for codes that a convolution stores itself (conv_bytes).
 */
#if HALF
/* Elements of two bytes hold no words. */
KERNEL void pack_bytes__i32_words(MTS_ARGS) { (void)act; }
#else

INLINE mts_u32 pack_code(GLOBAL const mts_pack_params *r, float x) {
    const float code = mts_rint(x * r->inverse) - r->least;
    return (mts_u32)mts_least(mts_most(code, 0.0f), 255.0f);
}

#if MTS_WORDS_DOT

/* A row of one phase. */
typedef struct pack_span {
    mts_u32 src;         /* act offset of the image's row, of the first channel of the word */
    mts_u32 channels;    /* of the word: 1 to 4 */
    mts_i32 x;           /* image column of position 0, may be outside */
    mts_i32 step;        /* columns from one position to the next */
    mts_u32 to, n;       /* act offset and number of the positions */
    mts_i32 from, until; /* positions that the image has */
} pack_span;

INLINE mts_u32 pack_word(const mts_real *act, const mts_pack_params *r, const pack_span *s, mts_i32 i) {
    mts_u32 word = 0;
    if (r->coded) return ((const mts_u32 *)act)[s->src + (mts_u32)(s->x + i * s->step)];
    for (mts_u32 c = 0; c < 4; c++) { /* channels that are not there hold 0 */
        const float x =
            c < s->channels ? mts_load(act + (s->src + c * r->src_pitch + (mts_u32)(s->x + i * s->step) * r->src_column)) : 0.0f;
        word |= pack_code(r, x) << (8 * c);
    }
    return word;
}

/* VEC positions of channel c, which are columns `column` and further on and lie apart. */
INLINE mts_vec pack_apart(const mts_real *act, const mts_pack_params *r, const pack_span *s, mts_u32 c, mts_u32 column) {
    const mts_real *p = act + s->src + c * r->src_pitch + column * r->src_column;
    const mts_i32 step = s->step * (mts_i32)r->src_column;
    if (c >= s->channels) return mts_vec_zero();
    return (step == 3 ? mts_vec_three(p) : mts_vec_gather(p, step)) * mts_vec_splat(r->inverse);
}

/* Whole vectors of positions whose columns lie apart: images with their channels inside,
   which a TRANSPOSE would put in planes. The first position that is left. */
INLINE mts_i32 pack_vectors_apart(mts_real *act, const mts_pack_params *r, const pack_span *s) {
    const mts_i32 zero = (mts_i32)(0.0f - r->least);
    mts_i32 i = s->from;
    for (; i + VEC <= s->until; i += VEC) {
        const mts_u32 column = (mts_u32)(s->x + i * s->step);
        const mts_vec a = pack_apart(act, r, s, 0, column), b = pack_apart(act, r, s, 1, column);
        const mts_vec c = pack_apart(act, r, s, 2, column), d = pack_apart(act, r, s, 3, column);
        mts_words_put((mts_i32 *)act + s->to + i, mts_words_codes(a, b, c, d, zero));
    }
    return i;
}

/* n positions of channel c, which are columns `column` and further on. */
INLINE mts_vec pack_load(const mts_real *act, const mts_pack_params *r, const pack_span *s, mts_u32 c, mts_u32 column,
                         mts_u32 n) {
    const mts_real *p = act + s->src + c * r->src_pitch + column;
    if (c >= s->channels) return mts_vec_zero();
    if (s->step == 1) return (n < VEC ? mts_words_load_some(p, n) : mts_vec_load(p)) * mts_vec_splat(r->inverse);
    return (n == VEC ? mts_vec_two(p) : (mts_vec)mts_words_load_apart(p, n, 2)) * mts_vec_splat(r->inverse);
}

/* All positions that the image has, where vectors can: the first position that is
   left. */
INLINE mts_i32 pack_vectors(mts_real *act, const mts_pack_params *r, const pack_span *s) {
    const mts_i32 zero = (mts_i32)(0.0f - r->least);
    mts_i32 i = s->from;
    if (r->src_column != 1) return pack_vectors_apart(act, r, s);
    for (; s->step <= 2 && i < s->until; i += VEC) {
        const mts_u32 n = (mts_u32)mts_least(s->until - i, VEC), column = (mts_u32)(s->x + i * s->step);
        if (r->coded) {
            mts_words_put_some((mts_i32 *)act + s->to + i, mts_words_load_apart(act + s->src + column, n, (mts_u32)s->step), n);
            continue;
        }
        const mts_vec a = pack_load(act, r, s, 0, column, n), b = pack_load(act, r, s, 1, column, n);
        const mts_vec c = pack_load(act, r, s, 2, column, n), d = pack_load(act, r, s, 3, column, n);
        mts_words_put_some((mts_i32 *)act + s->to + i, mts_words_codes(a, b, c, d, zero), n);
    }
    return mts_least(i, s->until);
}

INLINE void pack_row(mts_real *act, const mts_pack_params *r, const pack_span *s, mts_u32 zero) {
    mts_codes_fill(act, s->to, s->to + (mts_u32)s->from, zero);
    for (mts_i32 i = pack_vectors(act, r, s); i < s->until; i++)
        ((mts_u32 *)act)[s->to + (mts_u32)i] = pack_word(act, r, s, i);
    mts_codes_fill(act, s->to + (mts_u32)s->until, s->to + s->n, zero);
}

/* First position whose column is at least `column`. */
INLINE mts_i32 pack_position(const pack_span *s, mts_i32 column) {
    const mts_i32 ahead = column - s->x;
    return ahead <= 0 ? 0 : mts_least((ahead + s->step - 1) / s->step, (mts_i32)s->n);
}

/* Rows of one phase, whose plane begins at act offset `plane`, of word plane q. */
INLINE void pack_plane(mts_real *act, const mts_pack_params *r, mts_u32 plane, mts_u32 phase, mts_u32 src, mts_u32 channels,
                       mts_u32 item, mts_u32 items) {
    const mts_u32 each = (r->rows + items - 1) / items, end = mts_least((item + 1) * each, r->rows);
    const mts_u32 zero = mts_codes_zero(r->least);
    for (mts_u32 y = item * each; y < end; y++) {
        const mts_i32 in_y = (mts_i32)(y * r->sy + phase / r->sx) - r->top;
        pack_span s;
        s.channels = channels;
        s.src = src + (mts_u32)(in_y * (mts_i32)r->src_row);
        s.x = (mts_i32)(phase % r->sx) - r->left;
        s.step = (mts_i32)r->sx;
        s.to = plane + y * r->row;
        s.n = r->row;
        s.from = in_y >= 0 && in_y < (mts_i32)r->in_h ? pack_position(&s, 0) : (mts_i32)s.n;
        s.until = in_y >= 0 && in_y < (mts_i32)r->in_h ? mts_most(s.from, pack_position(&s, (mts_i32)r->in_w)) : s.from;
        pack_row(act, r, &s, zero);
    }
    if (end == r->rows && item * each < end) mts_codes_fill(act, plane + r->rows * r->row, plane + r->pitch, zero);
}
#else
INLINE void pack_plane(GLOBAL mts_real *act, GLOBAL const mts_pack_params *r, mts_u32 plane, mts_u32 phase, mts_u32 src,
                       mts_u32 channels, mts_u32 item, mts_u32 items) {
    GLOBAL mts_u32 *words = (GLOBAL mts_u32 *)act;
    for (mts_u32 p = item; p < r->pitch; p += items) {
        const mts_u32 row = p / r->row, y = row * r->sy + phase / r->sx - (mts_u32)r->top;
        const mts_u32 x = (p - row * r->row) * r->sx + phase % r->sx - (mts_u32)r->left;
        const mts_u32 at = src + y * r->src_row + x * r->src_column;
        mts_u32 word = mts_codes_zero(r->least);
        if (row < r->rows && y < r->in_h && x < r->in_w) {
            word = r->coded ? words[at] : 0;
            for (mts_u32 c = 0; c < 4 && !r->coded; c++) /* channels that are not there hold 0 */
                word |= pack_code(r, c < channels ? mts_load(act + (at + c * r->src_pitch)) : 0.0f) << (8 * c);
        }
        words[plane + p] = word;
    }
}
#endif

KERNEL void pack_bytes__i32_words(MTS_ARGS) {
    GLOBAL const mts_pack_params *r = MTS_MEMBER(mts_pack_params);
    const mts_u32 words = MTS_CODE_WORDS(r->channels), q = mts_global_id(1), image = q / words, w = q % words;
    const mts_u32 src = r->src + (r->coded ? q : image * r->channels + 4 * w) * r->src_pitch;
    if (image >= r->images) return;
    for (mts_u32 phase = 0; phase < r->phases; phase++)
        pack_plane(act, r, r->out + (q * r->phases + phase) * r->pitch, phase, src, mts_least(r->channels - 4 * w, 4u),
                   mts_global_id(0), mts_global_size(0));
}

#endif
