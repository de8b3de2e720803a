/*
 * prelude_c_words.h: vectors of words that hold four codes of 8 bits each
 * (kernels/abi/bytes.h), in the words of the instruction set. Only kernels of bytes get
 * this text behind prelude_c.h, and have its vectors in the sets CPU_BYTES of
 * kernels/variants.def (cmake/cpu_kernels.cmake defines MTS_CPU_BYTES); the other dialects
 * have no such vectors.
 *
 * mts_words_dot(sum, x, w, r) adds to each lane the four products of the bytes of x and
 * the signed bytes of weight r, without saturation. x comes from mts_words_input, which
 * takes MTS_WORDS_ZERO off each code; w comes from mts_words_weight(p, r), and r is a
 * literal. MTS_WORDS_DOT is 1 where an instruction does it: VPDPBUSD of AVX512-VNNI, SDOT
 * of arm64. platform/cpu asks the processor for it (sets.c). Elsewhere there are no such
 * vectors, and kernels compute word by word: the same numbers, to the bit.
 */
#ifndef MTS_KERNELS_PRELUDE_C_WORDS_H
#define MTS_KERNELS_PRELUDE_C_WORDS_H

#ifdef MTS_CPU_BYTES
#define MTS_WORDS_DOT 1

typedef int32_t mts_words __attribute__((vector_size(VEC * 4)));
typedef int32_t mts_words_any __attribute__((vector_size(VEC * 4), aligned(4), may_alias));

#define mts_words_get(p) ((mts_words) * (const mts_words_any *)(p))
#define mts_words_put(p, v) (*(mts_words_any *)(p) = (v))

INLINE mts_words mts_words_splat(int32_t x) {
#define MTS_SAME_WORD(i) x
    return (mts_words){MTS_EACH_LANE(MTS_SAME_WORD)};
}

#if VEC == 16

#define MTS_WORDS_ZERO 0
#define mts_words_input(p) mts_words_get(p)
#define mts_words_weight(p, r) mts_words_splat((p)[r])
#define mts_words_dot(sum, x, w, r) mts_words_dot_all(sum, x, w)
#define mts_words_floats(v) ((mts_vec)_mm512_cvtepi32_ps((__m512i)(v)))
/* v where the mask is not 0, else `word`. */
#define mts_words_keep(mask, v, word)                                                                        \
    ((mts_words)_mm512_mask_mov_epi32(_mm512_set1_epi32(word), _mm512_cmp_ps_mask(mask, mts_vec_zero(), _CMP_NEQ_OQ), \
                                      (__m512i)(v)))
/* VPDPBUSD, whose sums wrap; its sibling VPDPBUSDS saturates. Written so that only this
   one instruction is asked of the processor beyond the set's. */
INLINE mts_words mts_words_dot_all(mts_words sum, mts_words x, mts_words w) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
    return sum;
}
/* The four products of a word of input, the same for all lanes, and each lane's weights. */
INLINE mts_words mts_words_dot_rows(mts_words sum, mts_u32 x, mts_words w) {
    return mts_words_dot_all(sum, mts_words_splat((mts_i32)x), w);
}
/* A float rounded to the nearest integer (halves to the even one), and `zero` added. What
   is far away is cut before it is no int32; NaN becomes the least integer, so that its
   code is 0. */
INLINE __m512i mts_words_round(mts_vec v, int32_t zero) {
    return _mm512_add_epi32(_mm512_cvtps_epi32(mts_vec_min(mts_vec_splat(1.0e6f), v)), _mm512_set1_epi32(zero));
}
/* Four floats of a pixel -> their codes; saturation to int16 and to bytes clamps them to
   0..255. */
INLINE mts_words mts_words_codes(mts_vec a, mts_vec b, mts_vec c, mts_vec d, int32_t zero) {
    const __m512i ab = _mm512_packs_epi32(mts_words_round(a, zero), mts_words_round(b, zero));
    const __m512i cd = _mm512_packs_epi32(mts_words_round(c, zero), mts_words_round(d, zero));
    const __m512i order = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    return (mts_words)_mm512_shuffle_epi8(_mm512_packus_epi16(ab, cd), order);
}
/* VEC floats times `inverse` -> their codes, in words one after the other. */
INLINE void mts_words_of_floats(mts_i32 *to, const float *x, float inverse, mts_i32 zero) {
    const __m512i v = mts_words_round(mts_vec_get(x) * mts_vec_splat(inverse), zero);
    _mm_storeu_si128((__m128i *)to, _mm512_cvtusepi32_epi8(_mm512_max_epi32(v, _mm512_setzero_si512())));
}
/* The codes of channel c, as floats. */
INLINE mts_vec mts_words_lane(mts_words v, const int c) {
    return (mts_vec)_mm512_cvtepi32_ps(_mm512_and_si512(_mm512_srli_epi32((__m512i)v, 8 * c), _mm512_set1_epi32(255)));
}
/* The larger of two bytes each. */
INLINE mts_words mts_words_larger(mts_words a, mts_words b) {
    return (mts_words)_mm512_max_epu8((__m512i)a, (__m512i)b);
}
/* Words 0, 2, .. of a, then of b. */
INLINE mts_words mts_words_even(mts_words a, mts_words b) {
    const __m512i order = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return (mts_words)_mm512_permutex2var_epi32((__m512i)a, order, (__m512i)b);
}
/* p[0] to p[n - 1], n from 0 to 16; other lanes are 0, and nothing else is touched. */
INLINE mts_vec mts_words_load_some(const float *p, mts_u32 n) {
    return (mts_vec)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1u), p);
}
INLINE void mts_words_put_some(int32_t *p, mts_words v, mts_u32 n) {
    _mm512_mask_storeu_epi32(p, (__mmask16)((1u << n) - 1u), (__m512i)v);
}

#else

/* SDOT multiplies signed bytes only, so codes less 128 are what it gets. */
#define MTS_WORDS_ZERO 128
INLINE mts_words mts_words_input(const int32_t *p) {
    return (mts_words)veorq_u8((uint8x16_t)mts_words_get(p), vdupq_n_u8(0x80));
}
/* Four rows' weights are one register, of which SDOT takes a lane. */
#define mts_words_weight(p, r) mts_words_get((p) + (r) / 4 * 4)
#define mts_words_dot(sum, x, w, r)                                                                          \
    ((mts_words)vdotq_laneq_s32((int32x4_t)(sum), (int8x16_t)(x), (int8x16_t)(w), (r) % 4))
#define mts_words_floats(v) ((mts_vec)vcvtq_f32_s32((int32x4_t)(v)))
/* v where the mask is not 0, else `word`. */
INLINE mts_words mts_words_keep(mts_vec mask, mts_words v, int32_t word) {
    return (mts_words)vbslq_s32(vceqzq_f32(MTS_NEON(mask)), vdupq_n_s32(word), (int32x4_t)v);
}
/* The four products of a word of input, the same for all lanes, and each lane's weights. */
INLINE mts_words mts_words_dot_rows(mts_words sum, mts_u32 x, mts_words w) {
    return (mts_words)vdotq_s32((int32x4_t)sum, (int8x16_t)vdupq_n_u32(x ^ 0x80808080u), (int8x16_t)w);
}
/* A float rounded to the nearest integer (halves to the even one), and `zero` added. Both
   saturate; NaN becomes `zero`. */
INLINE int32x4_t mts_words_round(mts_vec v, int32_t zero) {
    return vqaddq_s32(vcvtnq_s32_f32(MTS_NEON(v)), vdupq_n_s32(zero));
}
/* Four floats of a pixel -> their codes; saturation to int16 and to bytes clamps them to
   0..255. */
INLINE mts_words mts_words_codes(mts_vec a, mts_vec b, mts_vec c, mts_vec d, int32_t zero) {
    const int16x8_t ab = vqmovn_high_s32(vqmovn_s32(mts_words_round(a, zero)), mts_words_round(b, zero));
    const int16x8_t cd = vqmovn_high_s32(vqmovn_s32(mts_words_round(c, zero)), mts_words_round(d, zero));
    const uint8x16_t order = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    return (mts_words)vqtbl1q_u8(vqmovun_high_s16(vqmovun_s16(ab), cd), order);
}
/* VEC floats times `inverse` -> their codes, in words one after the other. */
INLINE void mts_words_of_floats(mts_i32 *to, const float *x, float inverse, mts_i32 zero) {
    const int16x4_t v = vqmovn_s32(mts_words_round(mts_vec_get(x) * mts_vec_splat(inverse), zero));
    *to = (mts_i32)vget_lane_u32(vreinterpret_u32_u8(vqmovun_s16(vcombine_s16(v, v))), 0);
}
/* The codes of channel c, as floats. */
INLINE mts_vec mts_words_lane(mts_words v, const int c) {
    typedef uint32_t unsigned_words __attribute__((vector_size(VEC * 4)));
    return (mts_vec)vcvtq_f32_u32((uint32x4_t)((unsigned_words)v >> (uint32_t)(8 * c) & 255u));
}
/* The larger of two bytes each. */
INLINE mts_words mts_words_larger(mts_words a, mts_words b) {
    return (mts_words)vmaxq_u8((uint8x16_t)a, (uint8x16_t)b);
}
/* Words 0, 2, .. of a, then of b. */
INLINE mts_words mts_words_even(mts_words a, mts_words b) {
    return (mts_words)vuzp1q_s32((int32x4_t)a, (int32x4_t)b);
}
/* p[0] to p[n - 1], n from 0 to 4; other lanes are 0, and nothing else is touched. */
INLINE mts_vec mts_words_load_some(const float *p, mts_u32 n) {
    if (n >= VEC) return mts_vec_get(p);
    mts_vec v = mts_vec_zero();
    if (n > 0) v[0] = p[0];
    if (n > 1) v[1] = p[1];
    if (n > 2) v[2] = p[2];
    return v;
}
INLINE void mts_words_put_some(int32_t *p, mts_words v, mts_u32 n) {
    if (n >= VEC) {
        mts_words_put(p, v);
        return;
    }
    if (n > 0) p[0] = v[0];
    if (n > 1) p[1] = v[1];
    if (n > 2) p[2] = v[2];
}

#endif

/* v itself, which no multiply-add takes up before it is rounded. */
INLINE mts_vec mts_words_rounded(mts_vec v) {
#if VEC == 16
    __asm__("" : "+v"(v));
#else
    __asm__("" : "+w"(v));
#endif
    return v;
}

/* n words, `step` apart: 1 or 2. */
INLINE mts_words mts_words_load_apart(const float *p, mts_u32 n, mts_u32 step) {
    if (step == 1) return (mts_words)mts_words_load_some(p, n);
    const mts_u32 read = 2 * n - 1, low = read < VEC ? read : VEC;
    return mts_words_even((mts_words)mts_words_load_some(p, low), (mts_words)mts_words_load_some(p + VEC, read - low));
}

#endif

#endif
