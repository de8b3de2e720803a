/*
 * mean_bytes: the means of planes of codes (mts_mean_params), as floats: what global
 * average pools and means over rows and columns compute. Sums are integers. Not
 * responsible for windows (pool_any), nor for rounding a mean to codes (map_bytes,
 * unary_any).
 */
#if HALF
/* Elements of two bytes hold no words. */
KERNEL void mean_bytes__i32_words(MTS_ARGS) { (void)act; }
#else

/* The codes of channel `bit` / 8 of n words from act offset `at` on. */
INLINE mts_u32 mean_sum(GLOBAL const mts_real *act, mts_u32 at, mts_u32 n, mts_u32 bit) {
    mts_u32 sum = 0;
#if MTS_WORDS_DOT
    mts_words lanes = mts_words_splat(0);
    for (mts_u32 i = 0; i < n; i += VEC)
        lanes += (mts_words)mts_words_load_some(act + at + i, mts_least(n - i, VEC)) >> (int)bit & 255;
    for (int i = 0; i < VEC; i++) sum += (mts_u32)lanes[i];
#else
    for (mts_u32 i = 0; i < n; i++) sum += ((GLOBAL const mts_u32 *)act)[at + i] >> bit & 255u;
#endif
    return sum;
}

/* All words from the first pixel to the last: those beside the image stand for 0. */
INLINE float mean_of(GLOBAL const mts_real *act, GLOBAL const mts_mean_params *r, mts_u32 image, mts_u32 channel) {
    const mts_u32 plane = r->in.src + (image * r->in.words + channel / 4) * r->in.pitch;
    const mts_u32 words = (r->height - 1) * r->in.row + r->width;
    const mts_i32 sum = (mts_i32)mean_sum(act, plane, words, 8 * (channel % 4)) + (mts_i32)words * (mts_i32)r->in.least;
    return (float)sum * r->in.factor / (float)(r->height * r->width);
}

KERNEL void mean_bytes__i32_words(MTS_ARGS) {
    GLOBAL const mts_mean_params *r = MTS_MEMBER(mts_mean_params);
    const mts_u32 item = mts_global_id(0), items = mts_global_size(0), plane = mts_global_id(1);
    if (plane >= mts_planes(&r->dest)) return;
    mts_span s = mts_span_of(act, &r->dest, item, items, plane);
    while (mts_span_next(act, &r->dest, &s))
        for (mts_u32 i = 0; i < s.n; i++) mts_store(act + (s.to + i), mean_of(act, r, s.c[2], s.c[3]));
}

#endif
