/*
 * map_bytes: element-wise operators on planes of codes (mts_map_params): sums, products
 * and extremes of two operands, and SCALE or rounding of one. Codes become the numbers
 * that they stand for. The result's nearest code is stored, four channels of a pixel at a
 * time, and the number itself where something reads floats. A work-item owns words of one
 * plane, the border among them (kernels/codes.h). Not responsible for windows
 * (pool_bytes).
 */
#if HALF
/* Elements of two bytes hold no words. */
KERNEL void map_bytes__i32_words(MTS_ARGS) { (void)act; }
#else

/* The channels of a word: number = scale (factor (code + least)) + bias, as the kernels
   of floats compute it. */
typedef struct map_word {
    float factor[2], lows[2]; /* of the operands; factor 0 where one has no such word */
    float scale[4], bias[4];
    float step, inverse, least;
} map_word;

INLINE float map_vector(GLOBAL const mts_real *pool, mts_u32 at, mts_u32 channel, mts_u32 channels, float without) {
    return at == MTS_PARAM_NONE || channel >= channels ? without : mts_load(pool + (at + channel));
}

INLINE void map_open(map_word *to, GLOBAL const mts_real *pool, GLOBAL const mts_map_params *r, mts_u32 word) {
    for (int i = 0; i < 2; i++) {
        to->factor[i] = word < r->in[i].words ? r->in[i].factor : 0.0f;
        to->lows[i] = r->in[i].least;
    }
    for (mts_u32 c = 0; c < 4; c++) {
        to->scale[c] = map_vector(pool, r->scale, 4 * word + c, r->dest.channels, 1.0f);
        to->bias[c] = map_vector(pool, r->bias, 4 * word + c, r->dest.channels, 0.0f);
    }
    to->step = r->step;
    to->inverse = r->dest.inverse;
    to->least = r->dest.least;
}

#if MTS_WORDS_DOT
/* The numbers of channel c of operand i. They are rounded before anything is done with
   them, as those that floats hold. */
INLINE mts_vec map_operand(const map_word *w, mts_words words, int c, int i) {
    return mts_words_rounded((mts_words_lane(words, c) + mts_vec_splat(w->lows[i])) * mts_vec_splat(w->factor[i]));
}

/* v / step, rounded as a division rounds it, since `inverse` is the float nearest to 1 /
   step: what is left of v is known exactly. What is too large for a code stays so. */
INLINE mts_vec map_quotient(const map_word *w, mts_vec v) {
    const mts_vec inverse = mts_vec_splat(w->inverse), near = mts_vec_min(mts_vec_splat(1.0e6f), v * inverse);
    return mts_vec_fma(mts_vec_fma(mts_vec_splat(0.0f - w->step), near, v), inverse, near);
}

/* Channel c of a vector of words of the result, in steps. */
INLINE mts_vec map_steps(const map_word *w, mts_u32 kind, mts_words a, mts_words b, int c) {
    const mts_vec x = map_operand(w, a, c, 0);
    if (kind == MTS_MAP_ALONE) return map_quotient(w, mts_vec_fma(x, mts_vec_splat(w->scale[c]), mts_vec_splat(w->bias[c])));
    const mts_vec y = map_operand(w, b, c, 1);
    return map_quotient(w, kind == MTS_BIN_ADD   ? x + y
                           : kind == MTS_BIN_MUL ? mts_words_rounded(x * y)
                           : kind == MTS_BIN_MAX ? mts_vec_max(x, y)
                                                 : mts_vec_min(x, y));
}

INLINE void map_span(mts_real *act, const map_word *w, mts_u32 to, mts_u32 a, mts_u32 b, mts_u32 n, const mts_u32 kind) {
    const mts_i32 zero = (mts_i32)(0.0f - w->least);
    for (mts_u32 i = 0; i < n; i += VEC) {
        const mts_u32 count = mts_least(n - i, VEC);
        const mts_words x = (mts_words)mts_words_load_some(act + a + i, count);
        const mts_words y = (mts_words)mts_words_load_some(act + b + i, count);
        mts_words_put_some((mts_i32 *)act + to + i,
                           mts_words_codes(map_steps(w, kind, x, y, 0), map_steps(w, kind, x, y, 1),
                                           map_steps(w, kind, x, y, 2), map_steps(w, kind, x, y, 3), zero),
                           count);
    }
}

/* n words of the result from `to` on, of those from a and b on. */
INLINE void map_words(mts_real *act, const map_word *w, mts_u32 to, mts_u32 a, mts_u32 b, mts_u32 n, mts_u32 kind) {
    switch (kind) {
    case MTS_BIN_ADD: map_span(act, w, to, a, b, n, MTS_BIN_ADD); break;
    case MTS_BIN_MUL: map_span(act, w, to, a, b, n, MTS_BIN_MUL); break;
    case MTS_BIN_MAX: map_span(act, w, to, a, b, n, MTS_BIN_MAX); break;
    case MTS_BIN_MIN: map_span(act, w, to, a, b, n, MTS_BIN_MIN); break;
    default: map_span(act, w, to, a, a, n, MTS_MAP_ALONE); break;
    }
}

/* n numbers of channel c of the words from act offset `from` on. */
INLINE void map_floats(mts_real *act, const mts_map_params *r, mts_u32 to, mts_u32 from, mts_u32 n, int c) {
    for (mts_u32 i = 0; i < n; i += VEC) {
        const mts_u32 count = mts_least(n - i, VEC);
        const mts_words x = (mts_words)mts_words_load_some((const float *)act + from + i, count);
        const mts_vec v = (mts_words_lane(x, c) + mts_vec_splat(r->dest.least)) * mts_vec_splat(r->step);
        mts_words_put_some((mts_i32 *)act + to + i, (mts_words)v, count);
    }
}

/* The numbers of n rows of word plane q, of which row y begins at act offset `from`, and
   the zeros beside them. */
INLINE void map_store(mts_real *act, const mts_map_params *r, mts_u32 q, mts_u32 from, mts_u32 y, mts_u32 n) {
    const mts_dest_params *f = &r->floats;
    const mts_u32 channels = r->dest.channels, words = MTS_CODE_WORDS(channels), planes = r->dest.images * channels;
    for (mts_u32 c = 0; c < 4 && q % words * 4 + c < channels; c++) {
        const mts_u32 plane = q / words * channels + q % words * 4 + c, to = f->base - f->gap + plane * f->pitch;
        for (mts_u32 i = 0; i < n; i++)
            map_floats(act, r, to + f->gap + (y + i) * f->row, from + i * r->dest.row, r->dest.width, (int)c);
        mts_rows_zero(act, f, to, y, n);
        if (plane + 1 == planes && y + n == r->dest.height) mts_zero(act + to + f->pitch, f->tail);
    }
}

/* Rows of word plane q, of operands whose planes begin at from. */
INLINE void map_plane(mts_real *act, const mts_map_params *r, const map_word *w, const mts_u32 *from, mts_u32 q,
                      mts_u32 item, mts_u32 items) {
    const mts_codes_dest *d = &r->dest;
    mts_codes_rows s = mts_codes_open(d, item, items, q);
    if (s.start == s.end) return;
    const int flat = d->row == d->width && r->in[0].row == d->width && r->in[1].row == d->width;
    for (mts_u32 y = s.top; y < s.bottom; y++) {
        const mts_u32 n = flat ? (s.bottom - s.top) * d->width : d->width;
        const mts_u32 to = mts_codes_until(act, d, &s, y, n);
        map_words(act, w, to, from[0] + (y - d->top) * r->in[0].row, from[1] + (y - d->top) * r->in[1].row, n, r->kind);
        if (flat) break;
    }
    mts_codes_close(act, d, &s);
    if (r->floats.base != MTS_PARAM_NONE && s.top < s.bottom)
        map_store(act, r, q, s.plane + s.top * d->row + d->left, s.top - d->top, s.bottom - s.top);
}

#else

INLINE float map_number(const map_word *w, mts_u32 kind, mts_u32 a, mts_u32 b, int c) {
    const float x = ((float)(a >> (8 * c) & 255u) + w->lows[0]) * w->factor[0];
    const float y = ((float)(b >> (8 * c) & 255u) + w->lows[1]) * w->factor[1];
    if (kind == MTS_BIN_ADD) return x + y;
    if (kind == MTS_BIN_MUL) return x * y;
    if (kind == MTS_BIN_MAX) return mts_most(x, y);
    if (kind == MTS_BIN_MIN) return mts_least(x, y);
    return x * w->scale[c] + w->bias[c];
}

INLINE mts_u32 map_one(const map_word *w, mts_u32 kind, mts_u32 a, mts_u32 b) {
    mts_u32 word = 0;
    for (int c = 0; c < 4; c++) {
        const float far = mts_least(mts_most(map_number(w, kind, a, b, c) / w->step, -1.0e6f), 1.0e6f);
        word |= (mts_u32)mts_least(mts_most(mts_rint(far) - w->least, 0.0f), 255.0f) << (8 * c);
    }
    return word;
}

/* The zeros beside the numbers of word plane q, and behind the last plane. */
INLINE void map_zero(GLOBAL mts_real *act, GLOBAL const mts_map_params *r, mts_u32 q, mts_u32 item, mts_u32 items) {
    GLOBAL const mts_dest_params *f = &r->floats;
    const mts_u32 channels = r->dest.channels, words = MTS_CODE_WORDS(channels);
    for (mts_u32 c = 0; c < 4 && q % words * 4 + c < channels; c++) {
        const mts_u32 plane = q / words * channels + q % words * 4 + c;
        const mts_u32 pitch = f->pitch + (plane + 1 == r->dest.images * channels ? f->tail : 0);
        for (mts_u32 p = item; p < pitch; p += items)
            if (p < f->gap || (p - f->gap) % f->row >= f->dims[5] || (p - f->gap) / f->row >= f->dims[4])
                mts_store(act + (f->base - f->gap + plane * f->pitch + p), 0.0f);
    }
}

/* The numbers of the codes of a pixel of word plane q. */
INLINE void map_floats(GLOBAL mts_real *act, GLOBAL const mts_map_params *r, mts_u32 q, const mts_codes_pixel *s, mts_u32 word) {
    GLOBAL const mts_dest_params *f = &r->floats;
    const mts_u32 channels = r->dest.channels, words = MTS_CODE_WORDS(channels), first = q % words * 4;
    for (mts_u32 c = 0; c < 4 && first + c < channels; c++)
        mts_store(act + (f->base + (q / words * channels + first + c) * f->pitch + s->y * f->row + s->x),
                  ((float)(word >> (8 * c) & 255u) + r->dest.least) * r->step);
}

INLINE void map_plane(GLOBAL mts_real *act, GLOBAL const mts_map_params *r, const map_word *w, const mts_u32 *from,
                      mts_u32 q, mts_u32 item, mts_u32 items) {
    GLOBAL const mts_codes_dest *d = &r->dest;
    GLOBAL mts_u32 *words = (GLOBAL mts_u32 *)act;
    const int floats = r->floats.base != MTS_PARAM_NONE;
    for (mts_u32 p = item; p < mts_codes_words(d, q); p += items) {
        const mts_codes_pixel s = mts_codes_find(d, p);
        mts_u32 word = mts_codes_zero(d->least);
        if (s.inside) {
            word = map_one(w, r->kind, words[from[0] + s.y * r->in[0].row + s.x], words[from[1] + s.y * r->in[1].row + s.x]);
            if (floats) map_floats(act, r, q, &s, word);
        }
        words[d->out + q * d->pitch + p] = word;
    }
    if (floats) map_zero(act, r, q, item, items);
}
#endif

KERNEL void map_bytes__i32_words(MTS_ARGS) {
    GLOBAL const mts_map_params *r = MTS_MEMBER(mts_map_params);
    const mts_u32 words = MTS_CODE_WORDS(r->dest.channels), q = mts_global_id(1), word = q % words;
    mts_u32 from[2];
    map_word w;
    if (q >= r->dest.images * words) return;
    map_open(&w, pool, r, word);
    for (int i = 0; i < 2; i++) { /* an operand without this word counts 0, wherever it is read */
        const mts_u32 has = mts_least(word, r->in[i].words ? r->in[i].words - 1 : 0);
        from[i] = r->in[i].src + (q / words * r->in[i].words + has) * r->in[i].pitch;
    }
    map_plane(act, r, &w, from, q, mts_global_id(0), mts_global_size(0));
}

#endif
