/*
 * half.c: binary16 conversion by integer arithmetic, so that it is the same on every
 * host.
 */
#include "base/half.h"

#include <string.h>

static float float_of(uint32_t bits)
{
    float value = 0.0f;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_of_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t magnitude = (uint32_t)(half & 0x7fffu) << 13;
    /* no branches, so that compilers make vectors of loops around it: all ones where it
       holds */
    const uint32_t is_small = 0u - (uint32_t)(magnitude < 1u << 23);
    const uint32_t is_special = 0u - (uint32_t)(magnitude >= 0x1fu << 23);
    /* zero and subnormals: exact, as 2^-14 and what is above it */
    const uint32_t small = bits_of(float_of(magnitude + (113u << 23)) - 0x1p-14f);
    const uint32_t other = magnitude + (112u << 23) + (is_special & 112u << 23);
    return float_of(sign | (small & is_small) | (other & ~is_small));
}

float mts_half_to_float(uint16_t half)
{
    return float_of_half(half);
}

/* Without branches, as above: random values would take the wrong one half of the time. */
static inline uint16_t half_of(float value)
{
    const uint32_t bits = bits_of(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    /* below 2^-14: one half has the bits of a subnormal float16 as its last, so that the sum rounds as float16 */
    const uint32_t small = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
    /* a carry of the rounding runs into the exponent as it should; 2^-15 and less are not this case */
    const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    /* The top bits of a NaN's payload stay; the quiet bit keeps it from becoming infinity. */
    const uint32_t is_nan = 0u - (uint32_t)(magnitude > 0x7f800000u);
    const uint32_t special = 0x7c00u | (is_nan & (0x200u | (magnitude >> 13 & 0x3ffu)));
    const uint32_t is_small = 0u - (uint32_t)(magnitude < 0x38800000u);
    const uint32_t is_special = 0u - (uint32_t)(magnitude >= 0x477ff000u); /* 65520 rounds to infinity */
    const uint32_t rest = (special & is_special) | (normal & ~is_special);
    return (uint16_t)((bits >> 16 & 0x8000u) | (small & is_small) | (rest & ~is_small));
}

uint16_t mts_half_from_float(float value)
{
    return half_of(value);
}

/* Compilers make vectors of both loops, as wide as their caller's target has them. */
static inline void array_to_float(const uint16_t *restrict in, float *restrict out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = float_of_half(in[i]);
    }
}

static inline void array_from_float(const float *restrict in, uint16_t *restrict out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = half_of(in[i]);
    }
}

/* Most of a session's weights may come this way: the smallest library alone does without. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(MTS_SMALL)
__attribute__((target("avx2"))) static void array_to_float_avx2(const uint16_t *restrict in,
                                                                float *restrict out, size_t count)
{
    array_to_float(in, out, count);
}

__attribute__((target("avx2"))) static void array_from_float_avx2(const float *restrict in,
                                                                  uint16_t *restrict out, size_t count)
{
    array_from_float(in, out, count);
}

void mts_half_array_to_float(const uint16_t *in, float *out, size_t count)
{
    if (__builtin_cpu_supports("avx2")) {
        array_to_float_avx2(in, out, count);
    } else {
        array_to_float(in, out, count);
    }
}

void mts_half_array_from_float(const float *in, uint16_t *out, size_t count)
{
    if (__builtin_cpu_supports("avx2")) {
        array_from_float_avx2(in, out, count);
    } else {
        array_from_float(in, out, count);
    }
}
#else
void mts_half_array_to_float(const uint16_t *in, float *out, size_t count)
{
    array_to_float(in, out, count);
}

void mts_half_array_from_float(const float *in, uint16_t *out, size_t count)
{
    array_from_float(in, out, count);
}
#endif
