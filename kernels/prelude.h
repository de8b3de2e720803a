/*
 * prelude.h: one dialect for OpenCL C 1.2 and CUDA.
 *
 * Responsible for what differs between the two languages (qualifiers, work-item ids, the vector type and its
 * helpers) and for the defaults of the tunables every kernel shares. It is the first part of a kernel's program text
 * (README.md has the others). Not responsible for any operator.
 *
 * Tunables (all guarded, pass with -D):
 *   VEC   floats of a mts_vec: 1, 2, 4, 8, 16. CPU: the width of a register; GPU: 1 (scalar loads of
 *         neighbouring work-items coalesce at any tap offset) or 4
 *   REGS  vector registers a work-item may fill
 *   FETCH 1: mts_fetch may be an instruction of the processor; not every OpenCL compiler knows it
 *   HALF  0: float32 everywhere. 1: what lies in act and pool is float16, arithmetic is float32. 2: likewise, and
 *         kernels may multiply in float16 (mts_h2), where the device is fast at it
 *
 * What lies in act and pool are mts_reals, which only these touch: mts_load and mts_store (one), mts_vec_load and
 * mts_vec_store_any (VEC of them at the address of any one), mts_vec_store (the same, but in CUDA the address is a
 * multiple of the vector's size or of 16 bytes, whichever is less). mts_vec_get and mts_vec_put are for floats at any
 * address: private and LOCAL scratch, which stays float or is mts_half by choice, and the caller's memory.
 *
 * Vector helpers: mts_vec_spill (to private floats), mts_vec_splat, mts_vec_of (of a literal), mts_vec_fma(a, b, c) =
 * a b + c, mts_vec_max, mts_vec_min (NaN in b stays), mts_vec_keep(m, v) = m != 0 ? v : 0, mts_vec_select(m, a, b) = m != 0 ? a : b, mts_vec_slope(v, s) = v > 0 ?
 * v : s v, mts_vec_above(a, b) = a > b ? 1 : 0, mts_vec_same(a, b) = a == b ? 1 : 0, add, sub, mul, div, neg and the
 * componentwise mathematics; mts_vec_call(name, v) and mts_vec_call_2(name, a, b) for functions without a word. Of the 2 VEC floats a b: mts_vec_even, mts_vec_odd; of a0 b0 a1 b1 ..:
 * the first VEC, mts_vec_zip_low, and the others, mts_vec_zip_high. LOCAL declares memory of a work-group, LOCAL_PTR
 * points to it.
 */
#ifndef MTS_KERNELS_PRELUDE_H
#define MTS_KERNELS_PRELUDE_H

#ifndef VEC
#define VEC 4 /* 1, 2, 4, 8, 16 */
#endif

#ifndef REGS
#if VEC == 16
#define REGS 32
#else
#define REGS 16
#endif
#endif

#ifndef HALF
#define HALF 0 /* 0, 1, 2 */
#endif

#ifdef __CUDACC__

typedef unsigned int mts_u32;
typedef int mts_i32;
typedef float mts_f32;

#define KERNEL extern "C" __global__
#define GLOBAL
#define CONSTANT static __device__ const
#define LOCAL __shared__
#define LOCAL_PTR
#define RESTRICT __restrict__
#define INLINE static __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("unroll 1")
#define BARRIER() __syncthreads()
#ifndef INFINITY /* the runtime compiler has no header for it */
#define INFINITY __int_as_float(0x7f800000)
#endif

INLINE mts_u32 mts_global_id(int d) {
    return d == 0   ? blockIdx.x * blockDim.x + threadIdx.x
           : d == 1 ? blockIdx.y * blockDim.y + threadIdx.y
                    : blockIdx.z * blockDim.z + threadIdx.z;
}
INLINE mts_u32 mts_global_size(int d) {
    return d == 0 ? gridDim.x * blockDim.x : d == 1 ? gridDim.y * blockDim.y : gridDim.z * blockDim.z;
}
INLINE mts_u32 mts_group_id(int d) { return d == 0 ? blockIdx.x : d == 1 ? blockIdx.y : blockIdx.z; }
INLINE mts_u32 mts_local_id(int d) { return d == 0 ? threadIdx.x : d == 1 ? threadIdx.y : threadIdx.z; }
INLINE mts_u32 mts_local_size(int d) { return d == 0 ? blockDim.x : d == 1 ? blockDim.y : blockDim.z; }

#define mts_as_float(x) __int_as_float((int)(x))
#define mts_as_u32(x) ((mts_u32)__float_as_int(x))
#define mts_fma(a, b, c) fmaf(a, b, c)
#define mts_exp(x) expf(x)
#define mts_log(x) logf(x)
#define mts_sqrt(x) sqrtf(x)
#define mts_tanh(x) tanhf(x)
#define mts_pow(x, y) powf(x, y)
#define mts_floor(x) floorf(x)
#define mts_ceil(x) ceilf(x)
#define mts_trunc(x) truncf(x)
#define mts_rint(x) rintf(x)
#define mts_fabs(x) fabsf(x)
#define mts_math(name) name##f

/* Float16 as bits: the runtime compiler has no header for it. A program that runs on no GPU (tests) brings its own. */
typedef unsigned short mts_half;
typedef unsigned int mts_h2; /* the first of two in the low bits */
#ifndef MTS_EMULATED
INLINE float mts_half_value(mts_half h) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}
INLINE mts_half mts_half_make(float x) {
    mts_half h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
#if HALF == 2
#if __CUDA_ARCH__ < 530
#error "float16 products need compute capability 5.3"
#endif
INLINE mts_h2 mts_h2_fma(mts_h2 a, mts_h2 b, mts_h2 c) {
    mts_h2 d;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}
#endif
#endif
INLINE mts_h2 mts_h2_pair(mts_half low, mts_half high) { return low | (mts_h2)high << 16; }
INLINE float mts_h2_low(mts_h2 v) { return mts_half_value((mts_half)(v & 0xffff)); }
INLINE float mts_h2_high(mts_h2 v) { return mts_half_value((mts_half)(v >> 16)); }

#if HALF
typedef mts_half mts_real;
#define mts_load(p) mts_half_value(*(p))
#define mts_store(p, x) (*(p) = mts_half_make(x))
#else
typedef float mts_real;
#define mts_load(p) (*(p))
#define mts_store(p, x) (*(p) = (x))
#endif

#if VEC == 1
typedef float mts_vec;
#else
typedef struct __align__(VEC * 4 > 16 ? 16 : VEC * 4) mts_vec {
    float s[VEC];
} mts_vec;
#endif

#else /* OpenCL C */

typedef uint mts_u32;
typedef int mts_i32;
typedef float mts_f32;

#define KERNEL __kernel
#define GLOBAL __global
#define CONSTANT __constant
#define LOCAL __local
#define LOCAL_PTR __local
#define RESTRICT restrict
#ifdef __clang__
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("nounroll")
#else
#define INLINE static inline
#define UNROLL
#define NO_UNROLL
#endif
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)

#define mts_global_id(d) ((mts_u32)get_global_id(d))
#define mts_group_id(d) ((mts_u32)get_group_id(d))
#define mts_global_size(d) ((mts_u32)get_global_size(d))
#define mts_local_id(d) ((mts_u32)get_local_id(d))
#define mts_local_size(d) ((mts_u32)get_local_size(d))

#define mts_as_float(x) as_float(x)
#define mts_as_u32(x) as_uint(x)
/* Not fma(): slow where the hardware has none. Not mad(): PoCL does not fuse it. One expression may be contracted. */
#define mts_fma(a, b, c) ((a) * (b) + (c))
#define mts_exp(x) exp(x)
#define mts_log(x) log(x)
#define mts_sqrt(x) sqrt(x)
#define mts_tanh(x) tanh(x)
#define mts_pow(x, y) pow(x, y)
#define mts_floor(x) floor(x)
#define mts_ceil(x) ceil(x)
#define mts_trunc(x) trunc(x)
#define mts_rint(x) rint(x)
#define mts_fabs(x) fabs(x)
#define mts_math(name) name

/* Without cl_khr_fp16 a half is only loaded and stored, which OpenCL 1.2 can everywhere. */
typedef half mts_half;
#if HALF == 2
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half2 mts_h2;
#define mts_half_value(h) ((float)(h))
#define mts_half_make(x) ((half)(x))
#define mts_h2_fma(a, b, c) fma(a, b, c)
#define mts_h2_pair(low, high) ((half2)(low, high))
#define mts_h2_low(v) ((float)(v).x)
#define mts_h2_high(v) ((float)(v).y)
#endif

#if HALF
typedef half mts_real;
#define mts_load(p) vload_half(0, p)
#define mts_store(p, x) vstore_half(x, 0, p)
#else
typedef float mts_real;
#define mts_load(p) (*(p))
#define mts_store(p, x) (*(p) = (x))
#endif

#if VEC == 1
typedef float mts_vec;
#elif VEC == 2
typedef float2 mts_vec;
#define MTS_VLOAD vload2
#define MTS_VSTORE vstore2
#define MTS_VLOAD_HALF vload_half2
#define MTS_VSTORE_HALF vstore_half2
typedef ushort2 mts_half_bits;
#elif VEC == 4
typedef float4 mts_vec;
#define MTS_VLOAD vload4
#define MTS_VSTORE vstore4
#define MTS_VLOAD_HALF vload_half4
#define MTS_VSTORE_HALF vstore_half4
typedef ushort4 mts_half_bits;
#elif VEC == 8
typedef float8 mts_vec;
#define MTS_VLOAD vload8
#define MTS_VSTORE vstore8
#define MTS_VLOAD_HALF vload_half8
#define MTS_VSTORE_HALF vstore_half8
typedef ushort8 mts_half_bits;
#else
typedef float16 mts_vec;
#define MTS_VLOAD vload16
#define MTS_VSTORE vstore16
#define MTS_VLOAD_HALF vload_half16
#define MTS_VSTORE_HALF vstore_half16
typedef ushort16 mts_half_bits;
#endif

#endif /* language */

#define mts_number(x) x##f
#define mts_vec_of(x) mts_vec_splat(x##f)

#if defined(__CUDACC__) && VEC > 1

#define MTS_VEC_MAKE(expression)                                                                             \
    mts_vec r;                                                                                               \
    UNROLL for (int i = 0; i < VEC; i++) r.s[i] = (expression);                                              \
    return r

INLINE mts_vec mts_vec_get(const float *p) { MTS_VEC_MAKE(p[i]); }
INLINE void mts_vec_put(float *p, mts_vec v) { UNROLL for (int i = 0; i < VEC; i++) p[i] = v.s[i]; }
#if HALF
INLINE mts_vec mts_vec_load(const mts_real *p) { MTS_VEC_MAKE(mts_load(p + i)); }
INLINE void mts_vec_store_any(mts_real *p, mts_vec v) { UNROLL for (int i = 0; i < VEC; i++) mts_store(p + i, v.s[i]); }
INLINE void mts_vec_store(mts_real *p, mts_vec v) { mts_vec_store_any(p, v); }
#else
INLINE mts_vec mts_vec_load(const mts_real *p) { return mts_vec_get(p); }
INLINE void mts_vec_store_any(mts_real *p, mts_vec v) { mts_vec_put(p, v); }
INLINE void mts_vec_store(mts_real *p, mts_vec v) { *(mts_vec *)p = v; }
#endif
INLINE void mts_vec_spill(float *lanes, mts_vec v) { UNROLL for (int i = 0; i < VEC; i++) lanes[i] = v.s[i]; }
INLINE mts_vec mts_vec_splat(float x) { MTS_VEC_MAKE(x); }
INLINE mts_vec mts_vec_fma(mts_vec a, mts_vec b, mts_vec c) { MTS_VEC_MAKE(fmaf(a.s[i], b.s[i], c.s[i])); }
INLINE mts_vec mts_vec_add(mts_vec a, mts_vec b) { MTS_VEC_MAKE(a.s[i] + b.s[i]); }
INLINE mts_vec mts_vec_max(mts_vec a, mts_vec b) { MTS_VEC_MAKE(a.s[i] > b.s[i] ? a.s[i] : b.s[i]); }
INLINE mts_vec mts_vec_min(mts_vec a, mts_vec b) { MTS_VEC_MAKE(a.s[i] < b.s[i] ? a.s[i] : b.s[i]); }
INLINE mts_vec mts_vec_keep(mts_vec m, mts_vec v) { MTS_VEC_MAKE(m.s[i] != 0.0f ? v.s[i] : 0.0f); }
INLINE mts_vec mts_vec_select(mts_vec m, mts_vec a, mts_vec b) { MTS_VEC_MAKE(m.s[i] != 0.0f ? a.s[i] : b.s[i]); }
INLINE mts_vec mts_vec_slope(mts_vec v, mts_vec k) { MTS_VEC_MAKE(v.s[i] > 0.0f ? v.s[i] : k.s[i] * v.s[i]); }
INLINE mts_vec mts_vec_above(mts_vec a, mts_vec b) { MTS_VEC_MAKE(a.s[i] > b.s[i] ? 1.0f : 0.0f); }
INLINE mts_vec mts_vec_same(mts_vec a, mts_vec b) { MTS_VEC_MAKE(a.s[i] == b.s[i] ? 1.0f : 0.0f); }
INLINE mts_vec mts_vec_neg(mts_vec v) { MTS_VEC_MAKE(-v.s[i]); }
INLINE mts_vec mts_vec_sub(mts_vec a, mts_vec b) { MTS_VEC_MAKE(a.s[i] - b.s[i]); }
INLINE mts_vec mts_vec_mul(mts_vec a, mts_vec b) { MTS_VEC_MAKE(a.s[i] * b.s[i]); }
INLINE mts_vec mts_vec_div(mts_vec a, mts_vec b) { MTS_VEC_MAKE(a.s[i] / b.s[i]); }
INLINE mts_vec mts_vec_even(mts_vec a, mts_vec b) {
    MTS_VEC_MAKE(i < VEC / 2 ? a.s[i * 2 % VEC] : b.s[i * 2 % VEC]);
}
INLINE mts_vec mts_vec_odd(mts_vec a, mts_vec b) {
    MTS_VEC_MAKE(i < VEC / 2 ? a.s[(i * 2 + 1) % VEC] : b.s[(i * 2 + 1) % VEC]);
}
INLINE mts_vec mts_vec_zip_low(mts_vec a, mts_vec b) { MTS_VEC_MAKE(i % 2 ? b.s[i / 2] : a.s[i / 2]); }
INLINE mts_vec mts_vec_zip_high(mts_vec a, mts_vec b) {
    MTS_VEC_MAKE(i % 2 ? b.s[(i + VEC) / 2] : a.s[(i + VEC) / 2]);
}
#define MTS_VEC_MAP(name)                                                                                    \
    INLINE mts_vec mts_vec_##name(mts_vec v) { MTS_VEC_MAKE(mts_##name(v.s[i])); }
MTS_VEC_MAP(exp)
MTS_VEC_MAP(log)
MTS_VEC_MAP(sqrt)
MTS_VEC_MAP(tanh)
MTS_VEC_MAP(floor)
MTS_VEC_MAP(ceil)
MTS_VEC_MAP(trunc)
MTS_VEC_MAP(rint)
MTS_VEC_MAP(fabs)
#define mts_vec_call(name, v) mts_vec_call_##name(v)
#define mts_vec_call_2(name, a, b) mts_vec_call_##name(a, b)
#define MTS_VEC_CALL(name)                                                                                   \
    INLINE mts_vec mts_vec_call_##name(mts_vec v) { MTS_VEC_MAKE(name##f(v.s[i])); }
#define MTS_VEC_CALL_2(name)                                                                                 \
    INLINE mts_vec mts_vec_call_##name(mts_vec a, mts_vec b) { MTS_VEC_MAKE(name##f(a.s[i], b.s[i])); }
MTS_VEC_CALL(erf)
MTS_VEC_CALL(sin)
MTS_VEC_CALL(cos)
MTS_VEC_CALL(tan)
MTS_VEC_CALL(asin)
MTS_VEC_CALL(acos)
MTS_VEC_CALL(atan)
MTS_VEC_CALL(sinh)
MTS_VEC_CALL(cosh)
MTS_VEC_CALL(asinh)
MTS_VEC_CALL(acosh)
MTS_VEC_CALL(atanh)
MTS_VEC_CALL(expm1)
MTS_VEC_CALL(log1p)
MTS_VEC_CALL_2(pow)
MTS_VEC_CALL_2(fmod)

#else /* OpenCL vectors and plain scalars have operators */

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
/* Not vload_half<VEC> and vstore_half<VEC> of global memory: PoCL up to 7.1 takes it for aligned to the vector, and crashes
   where it is not. */
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
/* One instruction each: PoCL puts vload<VEC> and vstore<VEC> together from smaller ones, which are not always joined. */
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

/*
 * ---- groups of a fixed size, and matrix units ----
 *
 * KERNEL_OF(n): a kernel whose groups have n work-items, always. MATRIX_ALIGN: of LOCAL arrays that hold matrices.
 * The 32 work-items of a warp together multiply A (16 x 16) by B (16 x 16), float16, and add to a float32 sum; all of
 * them call, with equal arguments. Element (row i, k) of A lies at p[k * step + i], (k, column j) of B at
 * p[k * step + j], (i, j) of the sum at p[i * step + j]; p is LOCAL and 32 bytes aligned, step a multiple of 16.
 * Each work-item holds 8 words of each, which ones is the hardware's business.
 */
#ifdef __CUDACC__
#define KERNEL_OF(n) extern "C" __global__ __launch_bounds__(n)
#define MATRIX_ALIGN __align__(32)
typedef struct mts_matrix {
    mts_u32 r[8];
} mts_matrix;
typedef struct mts_matrix_sum {
    float r[8];
} mts_matrix_sum;
INLINE void mts_matrix_clear(mts_matrix_sum *c) { UNROLL for (int i = 0; i < 8; i++) c->r[i] = 0.0f; }
#if !defined(MTS_EMULATED) && __CUDA_ARCH__ >= 700
#define MTS_MATRIX_LOAD(what, order)                                                                         \
    asm volatile("wmma.load." what ".sync.aligned." order ".m16n16k16.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;" \
                 : "=r"(m->r[0]), "=r"(m->r[1]), "=r"(m->r[2]), "=r"(m->r[3]), "=r"(m->r[4]), "=r"(m->r[5]), \
                   "=r"(m->r[6]), "=r"(m->r[7])                                                              \
                 : "l"(p), "r"(step)                                                                         \
                 : "memory")
INLINE void mts_matrix_load_a(mts_matrix *m, const mts_half *p, mts_u32 step) { MTS_MATRIX_LOAD("a", "col"); }
INLINE void mts_matrix_load_b(mts_matrix *m, const mts_half *p, mts_u32 step) { MTS_MATRIX_LOAD("b", "row"); }
INLINE void mts_matrix_multiply(mts_matrix_sum *c, const mts_matrix *a, const mts_matrix *b) {
    asm volatile("wmma.mma.sync.aligned.col.row.m16n16k16.f32.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, "
                 "{%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19,%20,%21,%22,%23}, {%0,%1,%2,%3,%4,%5,%6,%7};"
                 : "+f"(c->r[0]), "+f"(c->r[1]), "+f"(c->r[2]), "+f"(c->r[3]), "+f"(c->r[4]), "+f"(c->r[5]),
                   "+f"(c->r[6]), "+f"(c->r[7])
                 : "r"(a->r[0]), "r"(a->r[1]), "r"(a->r[2]), "r"(a->r[3]), "r"(a->r[4]), "r"(a->r[5]), "r"(a->r[6]),
                   "r"(a->r[7]), "r"(b->r[0]), "r"(b->r[1]), "r"(b->r[2]), "r"(b->r[3]), "r"(b->r[4]), "r"(b->r[5]),
                   "r"(b->r[6]), "r"(b->r[7]));
}
INLINE void mts_matrix_store(float *p, mts_u32 step, const mts_matrix_sum *c) {
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8}, %9;" ::"l"(p),
                 "f"(c->r[0]), "f"(c->r[1]), "f"(c->r[2]), "f"(c->r[3]), "f"(c->r[4]), "f"(c->r[5]), "f"(c->r[6]),
                 "f"(c->r[7]), "r"(step)
                 : "memory");
}
#endif
#else
#define KERNEL_OF(n) __kernel __attribute__((reqd_work_group_size(n, 1, 1)))
#define MATRIX_ALIGN
#endif

/*
 * mts_fetch(p, to_write) asks a CPU for memory that is needed soon, where its own prefetcher does not follow (planes lie
 * kilobytes apart) or begins late (weights of a large network come from far). A hint without effect on results. To C,
 * global memory is another address space, hence the integer. MTS_FETCH_STEPS: how many steps ahead weights are wanted.
 */
#define MTS_FETCH_STEPS 64
#if VEC > 1 && defined(FETCH) && !defined(__CUDACC__)
#define mts_fetch(p, to_write) __builtin_prefetch((const void *)(size_t)(p), to_write, 3)
#else
#define mts_fetch(p, to_write)
#endif

/*
 * Element functions (kernels/abi/functions.h) that a few vector instructions do: MTS_FN_NONE to MTS_FN_PRELU are y =
 * clip(slope(v, s), lo, hi). They are macros because the program text has the kinds after this file.
 */
#define mts_fn_is_simple(fn) ((fn) <= MTS_FN_PRELU)
#define mts_fn_slope(fn, a) ((fn) == MTS_FN_LEAKY ? (a) : 1.0f)
#define mts_fn_low(fn, a) ((fn) == MTS_FN_RELU ? 0.0f : (fn) == MTS_FN_CLIP ? (a) : -INFINITY)
#define mts_fn_high(fn, b) ((fn) == MTS_FN_CLIP ? (b) : INFINITY)

#endif
