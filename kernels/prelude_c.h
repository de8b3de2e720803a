/*
 * prelude_c.h: the dialect's words in C, with vectors of GCC and Clang (prelude.h says
 * what they mean).
 *
 * platform/cpu compiles every kernel with this file instead of prelude_opencl.h and
 * prelude_operators.h, once for each instruction set: VEC is the set's width, so -D
 * options other than HALF choose nothing at run time. A kernel computes one work-item,
 * whose ids it gets from its caller. What the language has no word for is in
 * prelude_c_vec.h (operations of an instruction set) and prelude_c_math.h (exp and its
 * kin). No driver gets this text.
 */
#ifndef MTS_KERNELS_PRELUDE_C_H
#define MTS_KERNELS_PRELUDE_C_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if VEC != 4 && VEC != 8 && VEC != 16
#error "VEC is 4, 8 or 16"
#endif

#define MTS_DIALECT_C 1

typedef uint32_t mts_u32;
typedef int32_t mts_i32;
typedef float mts_f32;
typedef uint32_t uint;
typedef unsigned char uchar;

#define KERNEL
#define GLOBAL
#define CONSTANT static const
#define LOCAL_PTR
#define BARRIER() /* a group has one work-item */
#define RESTRICT restrict
#define INLINE static inline __attribute__((always_inline, unused))
/* A function that many cases of a kernel share, so that they stay small. */
#define OUTLINE static __attribute__((noinline, unused))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#define NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#define NO_UNROLL _Pragma("GCC unroll 1")
#endif

#include "kernels/item.h"

#define mts_global_id(d) (mts_item->group[d] * mts_item->group_size[d] + mts_item->local[d])
#define mts_group_id(d) (mts_item->group[d])
#define mts_global_size(d) (mts_item->global_size[d])
#define mts_local_id(d) (mts_item->local[d])
#define mts_local_size(d) (mts_item->group_size[d])

#define mts_fma(a, b, c) ((a) * (b) + (c))
#define mts_exp(x) expf(x)
#define mts_log(x) logf(x)
#define mts_sqrt(x) sqrtf(x)
#define mts_tanh(x) tanhf(x)
#define mts_floor(x) floorf(x)
#define mts_ceil(x) ceilf(x)
#define mts_trunc(x) truncf(x)
#define mts_rint(x) rintf(x)
#define mts_fabs(x) fabsf(x)

INLINE float mts_as_float(mts_u32 bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
INLINE mts_u32 mts_as_u32(float x) {
    mts_u32 bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

typedef uint16_t mts_half;
#if HALF
typedef mts_half mts_real;
#else
typedef float mts_real;
#endif

#define MTS_ARGS                                                                                             \
    mts_real *restrict act, const mts_real *restrict pool, const mts_u32 *restrict params, mts_u32 first,    \
        const mts_cpu_item *restrict mts_item
#define LOCAL_SCRATCH(name, count) mts_vec *const name = (mts_vec *)mts_item->scratch
#define mts_fetch(p, to_write) __builtin_prefetch((const void *)(p), to_write, 3)

typedef float mts_vec __attribute__((vector_size(VEC * 4)));
typedef float mts_vec_any __attribute__((vector_size(VEC * 4), aligned(4), may_alias));
typedef int32_t mts_vec_bits __attribute__((vector_size(VEC * 4)));

#define mts_vec_get(p) ((mts_vec) * (const mts_vec_any *)(p))
#define mts_vec_put(p, v) (*(mts_vec_any *)(p) = (v))
#define mts_vec_spill(lanes, v) mts_vec_put(lanes, v)

#include "kernels/prelude_c_vec.h"

#if HALF
#define mts_load(p) mts_half_value(*(p))
#define mts_store(p, x) (*(p) = mts_half_make(x))
#define mts_vec_load(p) mts_vec_load_half(p)
#define mts_vec_store(p, v) mts_vec_store_half(p, v)
#else
#define mts_load(p) (*(p))
#define mts_store(p, x) (*(p) = (x))
#define mts_vec_load(p) mts_vec_get(p)
#define mts_vec_store(p, v) mts_vec_put(p, v)
#endif
#define mts_vec_store_any(p, v) mts_vec_store(p, v)
#define mts_vec_gather(p, step) mts_vec_gathered(p, step)
#define mts_vec_three(p) mts_vec_thirds(mts_vec_load(p), mts_vec_load((p) + VEC), mts_vec_load((p) + 2 * VEC - 2))
#define mts_vec_two(p) mts_vec_even_odd(mts_vec_load(p), mts_vec_load((p) + VEC - 1))

#define mts_vec_fma(a, b, c) mts_fma(a, b, c)
#define mts_vec_add(a, b) ((a) + (b))
#define mts_vec_sub(a, b) ((a) - (b))
#define mts_vec_mul(a, b) ((a) * (b))
#define mts_vec_div(a, b) ((a) / (b))
#define mts_vec_neg(v) (-(v))
#define mts_vec_zero() ((mts_vec){0.0f})
INLINE mts_vec mts_vec_above(mts_vec a, mts_vec b) { return mts_vec_if_above(a, b, mts_vec_splat(1.0f), mts_vec_zero()); }
INLINE mts_vec mts_vec_same(mts_vec a, mts_vec b) { return mts_vec_if_same(a, b, mts_vec_splat(1.0f), mts_vec_zero()); }
INLINE mts_vec mts_vec_keep(mts_vec m, mts_vec v) { return mts_vec_if_same(m, mts_vec_zero(), mts_vec_zero(), v); }
INLINE mts_vec mts_vec_select(mts_vec m, mts_vec a, mts_vec b) { return mts_vec_if_same(m, mts_vec_zero(), b, a); }
INLINE mts_vec mts_vec_slope(mts_vec v, mts_vec k) { return mts_vec_if_above(v, mts_vec_zero(), v, k * v); }

#include "kernels/prelude_c_math.h"

/* Functions without a word, lane by lane but for those that prelude_c_math.h has. */
#define MTS_VEC_CALL(name)                                                                                   \
    INLINE mts_vec mts_vec_call_##name(mts_vec v) {                                                          \
        NO_UNROLL for (int i = 0; i < VEC; i++)((float *)&v)[i] = name##f(((float *)&v)[i]);                 \
        return v;                                                                                            \
    }
#define MTS_VEC_CALL_2(name)                                                                                 \
    INLINE mts_vec mts_vec_call_##name(mts_vec a, mts_vec b) {                                               \
        NO_UNROLL for (int i = 0; i < VEC; i++)((float *)&a)[i] =                                            \
            name##f(((float *)&a)[i], ((const float *)&b)[i]);                                               \
        return a;                                                                                            \
    }
#define mts_vec_call(name, v) mts_vec_call_##name(v)
#define mts_vec_call_2(name, a, b) mts_vec_call_##name(a, b)
MTS_VEC_CALLS_FAR(MTS_VEC_CALL)
MTS_VEC_CALL_2(pow)
MTS_VEC_CALL_2(fmod)

/* An element function that no convolution ends with, of *v in place
   (platform/cpu/alone.c). */
void MTS_CPU_SYMBOL(mts_cpu_alone_)(mts_u32 fn, float *v, float a, float b);
INLINE mts_vec mts_vec_alone(mts_u32 fn, mts_vec v, float a, float b) {
    float lanes[VEC];
    mts_vec_put(lanes, v);
    MTS_CPU_SYMBOL(mts_cpu_alone_)(fn, lanes, a, b);
    return mts_vec_get(lanes);
}

#endif
