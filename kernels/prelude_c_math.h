/*
 * prelude_c_math.h: exp, log, expm1, log1p and tanh of vectors, within 3 units in the
 * last place.
 *
 * Methods and polynomials in the manner of Cephes (S. L. Moshier, "Methods and Programs
 * for Mathematical Functions", 1989): reduce the argument, sum a short polynomial, put
 * the exponent back by integer operations. Infinities and NaN come out as <math.h> has
 * them. Part of prelude_c.h.
 */
#ifndef MTS_KERNELS_PRELUDE_C_MATH_H
#define MTS_KERNELS_PRELUDE_C_MATH_H

/* 2 to the power of the whole numbers n, -126 to 127. */
INLINE mts_vec mts_vec_power(mts_vec_bits n) { return (mts_vec)((n + 127) << 23); }

/*
 * exp(x) = (1 + q) 2^half 2^rest. The power of two has two factors, because its exponent
 * may be one more or much less than one of a float can be.
 */
typedef struct mts_vec_exp_parts {
    mts_vec q;
    mts_vec_bits half, rest;
} mts_vec_exp_parts;

INLINE mts_vec_exp_parts mts_vec_exp_split(mts_vec v) {
    const mts_vec x = mts_vec_min(mts_vec_splat(88.8f), mts_vec_max(mts_vec_splat(-104.0f), v));
    const mts_vec n = mts_vec_rint(x * 1.44269504088896341f);
    const mts_vec r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    mts_vec p = mts_vec_splat(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    const mts_vec_bits whole = __builtin_convertvector(n, mts_vec_bits), half = whole >> 1;
    return (mts_vec_exp_parts){p * (r * r) + r, half, whole - half};
}

INLINE mts_vec mts_vec_exp(mts_vec v) {
    const mts_vec_exp_parts e = mts_vec_exp_split(v);
    return (e.q + 1.0f) * mts_vec_power(e.half) * mts_vec_power(e.rest);
}

/* exp(x) - 1 = (2^half q + (2^half - 2^-rest)) 2^rest: near 0 all powers are 1 and it is
   q. */
INLINE mts_vec mts_vec_call_expm1(mts_vec v) {
    const mts_vec_exp_parts e = mts_vec_exp_split(v);
    const mts_vec low = mts_vec_power(e.half);
    return (e.q * low + (low - mts_vec_power(-e.rest))) * mts_vec_power(e.rest);
}

INLINE mts_vec mts_vec_log(mts_vec v) {
    const mts_vec_bits bits = (mts_vec_bits)v;
    const mts_vec_bits exponent = ((bits >> 23) & 0xff) - 126;
    mts_vec m = (mts_vec)((bits & 0x007fffff) | 0x3f000000); /* 0.5 to 1 */
    mts_vec e = __builtin_convertvector(exponent, mts_vec);
    const mts_vec root = mts_vec_splat(0.707106781186547524f), one = mts_vec_splat(1.0f);
    e = mts_vec_if_above(root, m, e - one, e);
    m = mts_vec_if_above(root, m, m + m, m) - one;
    const mts_vec z = m * m;
    mts_vec p = mts_vec_splat(7.0376836292e-2f);
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = p * m * z + e * -2.12194440e-4f - 0.5f * z;
    p = m + p + e * 0.693359375f;
    /* infinity and NaN give themselves, 0 and what is too small for a normal float gives
       -infinity, the rest NaN */
    const mts_vec most = mts_vec_splat(3.402823466e+38f), least = mts_vec_splat(1.17549435e-38f);
    p = mts_vec_if_above(v, most, v, p);
    p = mts_vec_if_above(least, v, mts_vec_splat(-INFINITY), p);
    p = mts_vec_if_above(mts_vec_splat(-1.17549435e-38f), v, mts_vec_splat(NAN), p);
    return mts_vec_if_same(v, v, p, v);
}

/* With u = 1 + x as it is rounded, log(u) + (x - (u - 1)) / u. */
INLINE mts_vec mts_vec_call_log1p(mts_vec v) {
    const mts_vec u = v + 1.0f, lost = v - (u - 1.0f);
    const mts_vec near = mts_vec_log(u) + mts_vec_keep(lost, lost / u);
    return mts_vec_if_above(v, mts_vec_splat(3.402823466e+38f), v, near);
}

INLINE mts_vec mts_vec_tanh(mts_vec v) {
    const mts_vec x = mts_vec_fabs(v), z = v * v, one = mts_vec_splat(1.0f);
    mts_vec p = mts_vec_splat(-5.70498872745e-3f);
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    p = p * z * v + v;
    const mts_vec far = one - mts_vec_splat(2.0f) / (mts_vec_exp(x + x) + one);
    const mts_vec_bits sign = (mts_vec_bits)v & (int32_t)0x80000000;
    return mts_vec_if_above(x, mts_vec_splat(0.625f), (mts_vec)((mts_vec_bits)far | sign), p);
}

#endif
