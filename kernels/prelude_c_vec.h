/*
 * prelude_c_vec.h: operations on vectors that C has no operator for, in the words of the
 * instruction set.
 *
 * Responsible for choosing by comparison, rounding, square roots, shuffles, float16 and
 * gathering. What an instruction set has no branch for is written in plain vector C, so
 * that any processor works. Part of prelude_c.h.
 */
#ifndef MTS_KERNELS_PRELUDE_C_VEC_H
#define MTS_KERNELS_PRELUDE_C_VEC_H

#if defined(__SSE4_1__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif
#include <stddef.h>

INLINE mts_vec mts_vec_splat(float x) {
#define MTS_SAME(i) x
    return (mts_vec){MTS_EACH_LANE(MTS_SAME)};
}

/*
 * A value that is loaded once and stays in a register: GCC else loads again with each
 * operation that takes an operand from memory, and an unaligned load costs two.
 */
#if defined(__AVX512F__)
#define mts_vec_hold(v) __asm__("" : "+v"(v))
#elif defined(__SSE__)
#define mts_vec_hold(v) __asm__("" : "+x"(v))
#elif defined(__ARM_NEON) && defined(__aarch64__)
#define mts_vec_hold(v) __asm__("" : "+w"(v))
#else
#define mts_vec_hold(v)
#endif

/* ---- shuffles ---- */

#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define MTS_SHUFFLE(a, b, M) __builtin_shufflevector(a, b, MTS_EACH_LANE(M))
#endif
#endif
#ifndef MTS_SHUFFLE
#define MTS_SHUFFLE(a, b, M) __builtin_shuffle(a, b, (mts_vec_bits){MTS_EACH_LANE(M)})
#endif
#define MTS_EVEN(i) 2 * (i)
#define MTS_ODD(i) 2 * (i) + 1
#define MTS_EVEN_ODD(i) (i) < VEC / 2 ? 2 * (i) : 2 * (i) + 1
#define MTS_ZIP_LOW(i) (i) / 2 + (i) % 2 * VEC
#define MTS_ZIP_HIGH(i) ((i) + VEC) / 2 + (i) % 2 * VEC
INLINE mts_vec mts_vec_even(mts_vec a, mts_vec b) { return MTS_SHUFFLE(a, b, MTS_EVEN); }
INLINE mts_vec mts_vec_odd(mts_vec a, mts_vec b) { return MTS_SHUFFLE(a, b, MTS_ODD); }
INLINE mts_vec mts_vec_zip_low(mts_vec a, mts_vec b) { return MTS_SHUFFLE(a, b, MTS_ZIP_LOW); }
INLINE mts_vec mts_vec_zip_high(mts_vec a, mts_vec b) { return MTS_SHUFFLE(a, b, MTS_ZIP_HIGH); }
/* Every third float of the 3 VEC - 2 from p on, which three vectors hold: of the first
   two of them, then of the third. */
#define MTS_THIRD(i) 3 * (i) < 2 * VEC ? 3 * (i) : 0
#define MTS_THIRD_MORE(i) 3 * (i) < 2 * VEC ? (i) : 3 * (i)-VEC + 2
INLINE mts_vec mts_vec_thirds(mts_vec a, mts_vec b, mts_vec c) {
    const mts_vec low = MTS_SHUFFLE(a, b, MTS_THIRD);
    return MTS_SHUFFLE(low, c, MTS_THIRD_MORE);
}
/* The even lanes of a, then the odd ones of b. */
INLINE mts_vec mts_vec_even_odd(mts_vec a, mts_vec b) { return MTS_SHUFFLE(a, b, MTS_EVEN_ODD); }

/* ---- operations of the instruction set ---- */

/* x86's max and min give b where either is not a number, as a > b ? a : b does. */
#if VEC == 16 && defined(__AVX512F__)
#define mts_vec_max(a, b) ((mts_vec)_mm512_max_ps(a, b))
#define mts_vec_min(a, b) ((mts_vec)_mm512_min_ps(a, b))
#define mts_vec_if_above(a, b, x, y) ((mts_vec)_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), y, x))
#define mts_vec_if_same(a, b, x, y) ((mts_vec)_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ), y, x))
#define MTS_ROUND(v, how) ((mts_vec)_mm512_roundscale_ps(v, (how) | _MM_FROUND_NO_EXC))
#define mts_vec_sqrt(v) ((mts_vec)_mm512_sqrt_ps(v))
#elif VEC == 8 && defined(__AVX__)
#define mts_vec_max(a, b) ((mts_vec)_mm256_max_ps(a, b))
#define mts_vec_min(a, b) ((mts_vec)_mm256_min_ps(a, b))
#define mts_vec_if_above(a, b, x, y) ((mts_vec)_mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_GT_OQ)))
#define mts_vec_if_same(a, b, x, y) ((mts_vec)_mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_EQ_OQ)))
#define MTS_ROUND(v, how) ((mts_vec)_mm256_round_ps(v, (how) | _MM_FROUND_NO_EXC))
#define mts_vec_sqrt(v) ((mts_vec)_mm256_sqrt_ps(v))
#elif VEC == 4 && defined(__SSE4_1__)
#define mts_vec_max(a, b) ((mts_vec)_mm_max_ps(a, b))
#define mts_vec_min(a, b) ((mts_vec)_mm_min_ps(a, b))
#define mts_vec_if_above(a, b, x, y) ((mts_vec)_mm_blendv_ps(y, x, _mm_cmpgt_ps(a, b)))
#define mts_vec_if_same(a, b, x, y) ((mts_vec)_mm_blendv_ps(y, x, _mm_cmpeq_ps(a, b)))
#define MTS_ROUND(v, how) ((mts_vec)_mm_round_ps(v, (how) | _MM_FROUND_NO_EXC))
#define mts_vec_sqrt(v) ((mts_vec)_mm_sqrt_ps(v))
#elif VEC == 4 && defined(__ARM_NEON) && defined(__aarch64__)
#define MTS_NEON(v) ((float32x4_t)(v))
#define mts_vec_if_above(a, b, x, y) ((mts_vec)vbslq_f32(vcgtq_f32(MTS_NEON(a), MTS_NEON(b)), MTS_NEON(x), MTS_NEON(y)))
#define mts_vec_if_same(a, b, x, y) ((mts_vec)vbslq_f32(vceqq_f32(MTS_NEON(a), MTS_NEON(b)), MTS_NEON(x), MTS_NEON(y)))
#define mts_vec_floor(v) ((mts_vec)vrndmq_f32(MTS_NEON(v)))
#define mts_vec_ceil(v) ((mts_vec)vrndpq_f32(MTS_NEON(v)))
#define mts_vec_trunc(v) ((mts_vec)vrndq_f32(MTS_NEON(v)))
#define mts_vec_rint(v) ((mts_vec)vrndnq_f32(MTS_NEON(v)))
#define mts_vec_sqrt(v) ((mts_vec)vsqrtq_f32(MTS_NEON(v)))
#else
INLINE mts_vec mts_vec_choose(mts_vec_bits mask, mts_vec x, mts_vec y) {
    return (mts_vec)(((mts_vec_bits)x & mask) | ((mts_vec_bits)y & ~mask));
}
#define mts_vec_if_above(a, b, x, y) mts_vec_choose((a) > (b), x, y)
#define mts_vec_if_same(a, b, x, y) mts_vec_choose((a) == (b), x, y)
#define MTS_LANES(name)                                                                                      \
    INLINE mts_vec mts_vec_##name(mts_vec v) {                                                               \
        for (int i = 0; i < VEC; i++) v[i] = name##f(v[i]);                                                  \
        return v;                                                                                            \
    }
MTS_LANES(floor)
MTS_LANES(ceil)
MTS_LANES(trunc)
MTS_LANES(rint)
MTS_LANES(sqrt)
#endif
#ifdef MTS_ROUND
#define mts_vec_floor(v) MTS_ROUND(v, _MM_FROUND_TO_NEG_INF)
#define mts_vec_ceil(v) MTS_ROUND(v, _MM_FROUND_TO_POS_INF)
#define mts_vec_trunc(v) MTS_ROUND(v, _MM_FROUND_TO_ZERO)
#define mts_vec_rint(v) MTS_ROUND(v, _MM_FROUND_TO_NEAREST_INT)
#endif
#ifndef mts_vec_max
INLINE mts_vec mts_vec_max(mts_vec a, mts_vec b) { return mts_vec_if_above(a, b, a, b); }
INLINE mts_vec mts_vec_min(mts_vec a, mts_vec b) { return mts_vec_if_above(b, a, a, b); }
#endif
INLINE mts_vec mts_vec_fabs(mts_vec v) { return (mts_vec)((mts_vec_bits)v & 0x7fffffff); }

/* ---- the first n of a vector's floats, 1 to VEC - 1: nothing else is touched, and other lanes get the first one ---- */

#if !HALF && VEC == 16 && defined(__AVX512F__)
#define MTS_SOME_VECTORS 1
INLINE mts_vec mts_vec_load_some(const float *p, mts_u32 n) {
    return (mts_vec)_mm512_mask_loadu_ps(_mm512_set1_ps(*p), (__mmask16)((1u << n) - 1u), p);
}
INLINE void mts_vec_store_some(float *p, mts_vec v, mts_u32 n) {
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1u), (__m512)v);
}
#elif !HALF && VEC == 8 && defined(__AVX2__)
#define MTS_SOME_VECTORS 1
INLINE __m256i mts_vec_first(mts_u32 n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE mts_vec mts_vec_load_some(const float *p, mts_u32 n) {
    const __m256i first = mts_vec_first(n);
    return (mts_vec)_mm256_blendv_ps(_mm256_set1_ps(*p), _mm256_maskload_ps(p, first), _mm256_castsi256_ps(first));
}
INLINE void mts_vec_store_some(float *p, mts_vec v, mts_u32 n) {
    _mm256_maskstore_ps(p, mts_vec_first(n), (__m256)v);
}
#endif

/* ---- float16 ---- */

#if defined(__F16C__)
INLINE float mts_half_value(mts_half h) { return _cvtsh_ss(h); }
INLINE mts_half mts_half_make(float x) { return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }
#if VEC == 16 && defined(__AVX512F__)
INLINE mts_vec mts_vec_load_half(const mts_half *p) {
    return (mts_vec)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
INLINE void mts_vec_store_half(mts_half *p, mts_vec v) {
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
#define MTS_HALF_VECTORS 1
#elif VEC == 8
INLINE mts_vec mts_vec_load_half(const mts_half *p) { return (mts_vec)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
INLINE void mts_vec_store_half(mts_half *p, mts_vec v) {
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
#define MTS_HALF_VECTORS 1
#endif
#elif defined(__ARM_NEON) && defined(__aarch64__)
INLINE float mts_half_value(mts_half h) {
    __fp16 x;
    memcpy(&x, &h, sizeof x);
    return (float)x;
}
INLINE mts_half mts_half_make(float x) {
    const __fp16 y = (__fp16)x;
    mts_half h;
    memcpy(&h, &y, sizeof h);
    return h;
}
#if VEC == 4
INLINE mts_vec mts_vec_load_half(const mts_half *p) {
    return (mts_vec)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
INLINE void mts_vec_store_half(mts_half *p, mts_vec v) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(MTS_NEON(v)))); }
#define MTS_HALF_VECTORS 1
#endif
#else /* no instruction: copies at every load and store would make an object seven times as large */
OUTLINE float mts_half_value(mts_half h) {
    const mts_u32 magnitude = h & 0x7fffu;
    const float value = magnitude >= 0x7c00u   ? mts_as_float(magnitude << 13 | 0x7f800000u)
                        : magnitude >= 0x0400u ? mts_as_float((magnitude << 13) + (112u << 23))
                                               : (float)magnitude * 5.9604644775390625e-8f;
    return h & 0x8000u ? -value : value;
}
/* To the nearest, halves to the even one. */
OUTLINE mts_half mts_half_make(float x) {
    const mts_u32 bits = mts_as_u32(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return (mts_half)(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u) return (mts_half)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) /* denormal: the sum's low bits are the half's */
        return (mts_half)(sign | (mts_as_u32(mts_as_float(magnitude) + 0.5f) - 0x3f000000u));
    return (mts_half)(sign | ((magnitude + 0xc8000fffu + (magnitude >> 13 & 1)) >> 13));
}
#endif
#ifndef MTS_HALF_VECTORS
INLINE mts_vec mts_vec_load_half(const mts_half *p) {
    float lanes[VEC];
    for (int i = 0; i < VEC; i++) lanes[i] = mts_half_value(p[i]);
    return mts_vec_get(lanes);
}
INLINE void mts_vec_store_half(mts_half *p, mts_vec v) {
    float lanes[VEC];
    mts_vec_put(lanes, v);
    for (int i = 0; i < VEC; i++) p[i] = mts_half_make(lanes[i]);
}
#endif

/* ---- gathering: every step-th of the reals from p on ---- */

#if !HALF && VEC == 16 && defined(__AVX512F__)
#define MTS_GATHER(p, at) ((mts_vec)_mm512_i32gather_ps((__m512i)(at), p, 4))
#elif !HALF && VEC == 8 && defined(__AVX2__)
#define MTS_GATHER(p, at) ((mts_vec)_mm256_i32gather_ps(p, (__m256i)(at), 4))
#endif
INLINE mts_vec mts_vec_gathered(const mts_real *p, mts_i32 step) {
#ifdef MTS_GATHER
#define MTS_INDEX(i) i
    return MTS_GATHER(p, (mts_vec_bits){MTS_EACH_LANE(MTS_INDEX)} * step);
#else
#if HALF
#define MTS_GATHERED(i) mts_half_value(p[(i) * (ptrdiff_t)step])
#else
#define MTS_GATHERED(i) p[(i) * (ptrdiff_t)step]
#endif
    return (mts_vec){MTS_EACH_LANE(MTS_GATHERED)};
#endif
}

#endif
