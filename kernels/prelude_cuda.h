/*
 * prelude_cuda.h: the dialect's words in CUDA (prelude.h says what they mean).
 *
 * Part of every kernel's program text; OpenCL passes over it. Vectors are structs here,
 * whose loops are unrolled. Not responsible for vectors of one float
 * (prelude_operators.h).
 */
#ifdef __CUDACC__

typedef unsigned int mts_u32;
typedef int mts_i32;
typedef float mts_f32;

#define MTS_KERNEL extern "C" __global__
#define KERNEL MTS_KERNEL
#define GLOBAL
#define CONSTANT static __device__ const
#define LOCAL __shared__
#define LOCAL_PTR
#define RESTRICT __restrict__
#define INLINE static __device__ __forceinline__
#define OUTLINE INLINE
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
#define mts_floor(x) floorf(x)
#define mts_ceil(x) ceilf(x)
#define mts_trunc(x) truncf(x)
#define mts_rint(x) rintf(x)
#define mts_fabs(x) fabsf(x)
#define mts_math(name) name##f

/* Products of four bytes (kernels/codes.h). The language's __dp4a takes bytes of one
   kind. */
#if !defined(MTS_EMULATED) && __CUDA_ARCH__ >= 610
INLINE mts_i32 mts_dot(mts_i32 sum, mts_u32 x, mts_u32 w) {
    mts_i32 d;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(w), "r"(sum));
    return d;
}
#define mts_dot mts_dot
#endif

/* Float16 as bits: the runtime compiler has no header for it. A program that runs on no
   GPU (tests) brings its own. */
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

#define MTS_KERNEL_ARGS                                                                                      \
    GLOBAL mts_real *RESTRICT act, GLOBAL const mts_real *RESTRICT pool, GLOBAL const mts_u32 *RESTRICT params, \
        mts_u32 first
#define MTS_ARGS MTS_KERNEL_ARGS
#define MTS_WEIGHT_ARGS MTS_KERNEL_ARGS
#define MTS_WEIGHTS pool
#define mts_weights const mts_real *
#if HALF
#define mts_weights_load(w, i) mts_h4_float(mts_h4_load((w) + 4 * (i)))
#define mts_weights_half(w, i) mts_h4_load((w) + 4 * (i))
#define mts_weights_two(w, i) (*(const mts_h8 *)((w) + 4 * (i)))
#else
#define mts_weights_load(w, i) (((const mts_vec *)(w))[i])
#endif
#define LOCAL_SCRATCH(name, count) LOCAL mts_vec name[count]
#define mts_fetch(p, to_write)
#if VEC == 1
#define mts_vec_two(p) mts_load(p)
#else
#define mts_vec_hold(v)
#define mts_vec_two(p) mts_row_lanes(p, 2, VEC) /* dest.h */
#endif

#if VEC > 1

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
#if HALF && VEC == 4
typedef struct __align__(8) mts_h4 {
    mts_h2 low, high;
} mts_h4;
typedef struct __align__(16) mts_h8 {
    mts_h4 low, high;
} mts_h8;
#define mts_h8_low(v) ((v).low)
#define mts_h8_high(v) ((v).high)
INLINE mts_h4 mts_h4_load(const mts_real *p) { return *(const mts_h4 *)p; }
INLINE mts_vec mts_h4_float(mts_h4 h) {
    mts_vec v;
    v.s[0] = mts_h2_low(h.low), v.s[1] = mts_h2_high(h.low);
    v.s[2] = mts_h2_low(h.high), v.s[3] = mts_h2_high(h.high);
    return v;
}
INLINE mts_h4 mts_h4_zero() {
    mts_h4 h = {0, 0};
    return h;
}
INLINE mts_h4 mts_h4_splat(mts_h4 h, int i) {
    const mts_h2 pair = i < 2 ? h.low : h.high;
    const mts_half lane = (mts_half)(i % 2 == 0 ? pair & 0xffff : pair >> 16);
    h.low = h.high = mts_h2_pair(lane, lane);
    return h;
}
#if HALF == 2
INLINE mts_h4 mts_h4_fma(mts_h4 a, mts_h4 b, mts_h4 c) {
    c.low = mts_h2_fma(a.low, b.low, c.low);
    c.high = mts_h2_fma(a.high, b.high, c.high);
    return c;
}
#endif
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
/* Of functions that have programs of their own (-DFN, -DKIND). */
#if defined(FN) || defined(KIND)
MTS_VEC_CALLS(MTS_VEC_CALL)
MTS_VEC_CALL_2(fmod)
#endif
MTS_VEC_CALL_2(pow)

#endif

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
#endif
