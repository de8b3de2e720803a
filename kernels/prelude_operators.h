/*
 * prelude_operators.h: the vector helpers where a vector has operators: OpenCL's vectors,
 * and plain floats (VEC 1).
 *
 * Part of every kernel's program text, after prelude_cuda.h and prelude_opencl.h.
 */
#if !defined(__CUDACC__) || VEC == 1

#if VEC == 1
#define mts_vec_get(p) (*(p))
#define mts_vec_put(p, v) (*(p) = (v))
#define mts_vec_load(p) mts_load(p)
#define mts_vec_store(p, v) mts_store(p, v)
#define mts_vec_spill(lanes, v) (*(lanes) = (v))
#define mts_vec_splat(x) (x)
#else
#define mts_vec_get(p) MTS_VLOAD(0, p)
#define mts_vec_put(p, v) MTS_VSTORE(v, 0, p)
#if HALF
/* Not vload_half<VEC> and vstore_half<VEC> of global memory: PoCL up to 7.1 takes it for
   aligned to the vector, and crashes where it is not. */
INLINE mts_vec mts_vec_load(GLOBAL const half *p) {
    const mts_half_bits bits = MTS_VLOAD(0, (GLOBAL const ushort *)p);
    return MTS_VLOAD_HALF(0, (const half *)&bits);
}
INLINE void mts_vec_store(GLOBAL half *p, mts_vec v) {
    mts_half_bits bits;
    MTS_VSTORE_HALF(v, 0, (half *)&bits);
    MTS_VSTORE(bits, 0, (GLOBAL ushort *)p);
}
#elif defined(__clang__)
/* One instruction each: PoCL puts vload<VEC> and vstore<VEC> together from smaller ones,
   which are not always joined. */
typedef mts_vec mts_vec_any __attribute__((aligned(4)));
#define mts_vec_load(p) ((mts_vec)(*(GLOBAL const mts_vec_any *)(p)))
#define mts_vec_store(p, v) (*(GLOBAL mts_vec_any *)(p) = (v))
#else
#define mts_vec_load(p) mts_vec_get(p)
#define mts_vec_store(p, v) mts_vec_put(p, v)
#endif
#define mts_vec_spill(lanes, v) MTS_VSTORE(v, 0, lanes)
#define mts_vec_splat(x) ((mts_vec)(x))
#endif
#define mts_vec_store_any(p, v) mts_vec_store(p, v)
#define mts_vec_hold(v)
#define mts_vec_fma(a, b, c) mts_fma(a, b, c)
#define mts_vec_add(a, b) ((a) + (b))
#define mts_vec_sub(a, b) ((a) - (b))
#define mts_vec_mul(a, b) ((a) * (b))
#define mts_vec_div(a, b) ((a) / (b))
#define mts_vec_exp(v) mts_exp(v)
#define mts_vec_log(v) mts_log(v)
#define mts_vec_sqrt(v) mts_sqrt(v)
#define mts_vec_tanh(v) mts_tanh(v)
#define mts_vec_floor(v) mts_floor(v)
#define mts_vec_ceil(v) mts_ceil(v)
#define mts_vec_trunc(v) mts_trunc(v)
#define mts_vec_rint(v) mts_rint(v)
#define mts_vec_fabs(v) mts_fabs(v)
#define mts_vec_neg(v) (-(v))
#define mts_vec_call(name, v) mts_math(name)(v)
#define mts_vec_call_2(name, a, b) mts_math(name)(a, b)
INLINE mts_vec mts_vec_above(mts_vec a, mts_vec b) { return a > b ? mts_vec_splat(1.0f) : mts_vec_splat(0.0f); }
INLINE mts_vec mts_vec_same(mts_vec a, mts_vec b) { return a == b ? mts_vec_splat(1.0f) : mts_vec_splat(0.0f); }
INLINE mts_vec mts_vec_max(mts_vec a, mts_vec b) { return a > b ? a : b; }
INLINE mts_vec mts_vec_min(mts_vec a, mts_vec b) { return a < b ? a : b; }
INLINE mts_vec mts_vec_keep(mts_vec m, mts_vec v) { return m != mts_vec_splat(0.0f) ? v : mts_vec_splat(0.0f); }
INLINE mts_vec mts_vec_select(mts_vec m, mts_vec a, mts_vec b) { return m != mts_vec_splat(0.0f) ? a : b; }
INLINE mts_vec mts_vec_slope(mts_vec v, mts_vec k) { return v > mts_vec_splat(0.0f) ? v : k * v; }
#if VEC == 1
#define mts_vec_even(a, b) (a)
#define mts_vec_odd(a, b) (b)
#define mts_vec_zip_low(a, b) (a)
#define mts_vec_zip_high(a, b) (b)
#else
#if defined(__clang__) && VEC >= 4
#define MTS_SHUFFLE(a, b, M) __builtin_shufflevector(a, b, MTS_EACH_LANE(M))
#endif
INLINE mts_vec mts_vec_even(mts_vec a, mts_vec b) { return (mts_vec)(a.even, b.even); }
INLINE mts_vec mts_vec_odd(mts_vec a, mts_vec b) { return (mts_vec)(a.odd, b.odd); }
INLINE mts_vec mts_vec_zip_low(mts_vec a, mts_vec b) {
    mts_vec r;
    r.even = a.lo;
    r.odd = b.lo;
    return r;
}
INLINE mts_vec mts_vec_zip_high(mts_vec a, mts_vec b) {
    mts_vec r;
    r.even = a.hi;
    r.odd = b.hi;
    return r;
}
#endif

#endif
