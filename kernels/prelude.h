/*
 * prelude.h: one dialect for OpenCL C 1.2, CUDA and C.
 *
 * Responsible for the defaults of the tunables that every kernel shares, and for the
 * words of the dialect that are the same everywhere. What differs (qualifiers, work-item
 * ids, the vector type and its helpers) is in prelude_cuda.h, prelude_opencl.h and
 * prelude_operators.h, which follow this file in a program's text, and in prelude_c.h,
 * with which platform/cpu compiles the kernels ahead of time. Not responsible for any
 * operator.
 *
 * Tunables (all guarded, pass with -D):
 *   VEC   floats of a mts_vec: 1, 2, 4, 8, 16. CPU: the width of a register; GPU: 1 (scalar loads of
 *         neighbouring work-items coalesce at any tap offset) or 4
 *   REGS  vector registers a work-item may fill
 *   FETCH 1: mts_fetch may be an instruction of the processor; not every OpenCL compiler
 *   knows it
 *   IMAGES 1: OpenCL kernels with MTS_WEIGHT_ARGS read packed weights through an image over the pool, where a
 *         device has a cache for images that buffers do not go through
 *   HALF  0: float32 everywhere. 1: what lies in act and pool is float16, arithmetic is float32. 2: likewise, and
 *         kernels may multiply in float16 (mts_h2), where the device is fast at it
 *
 * What lies in act and pool are mts_reals, which only these touch: mts_load and mts_store
 * (one), mts_vec_load and mts_vec_store_any (VEC of them at the address of any one),
 * mts_vec_store (the same, but in CUDA the address is a multiple of the vector's size or
 * of 16 bytes, whichever is less). mts_vec_get and mts_vec_put are for floats at any
 * address: private and LOCAL scratch, which stays float or is mts_half by choice, and the
 * caller's memory.
 *
 * Vector helpers: mts_vec_spill (to private floats), mts_vec_splat, mts_vec_of (of a
 * literal), mts_vec_fma(a, b, c) = a b + c, mts_vec_max, mts_vec_min (NaN in b stays),
 * mts_vec_keep(m, v) = m != 0 ? v : 0, mts_vec_select(m, a, b) = m != 0 ? a : b,
 * mts_vec_slope(v, s) = v > 0 ? v : s v, mts_vec_above(a, b) = a > b ? 1 : 0,
 * mts_vec_same(a, b) = a == b ? 1 : 0, add, sub, mul, div, neg and the componentwise
 * mathematics; mts_vec_call(name, v) and mts_vec_call_2(name, a, b) for functions without
 * a word. Of the 2 VEC floats a b: mts_vec_even, mts_vec_odd; of a0 b0 a1 b1 ..: the
 * first VEC, mts_vec_zip_low, and the others, mts_vec_zip_high. mts_vec_two(p): every
 * second float from p on, of 2 VEC - 1. Of C alone: mts_vec_three(p), every third float,
 * of 3 VEC - 2; mts_vec_gather(p, step), every step-th. mts_vec_hold(v): v is in a
 * register from here on, where a compiler may else load it again with each use.
 * MTS_SHUFFLE(a, b, M), where the language has it: lane i is lane M(i) of the 2 VEC
 * floats a b.
 *
 * Packed weights, VEC=4: a function takes them as an argument of type mts_weights, which a
 * kernel of parameters MTS_WEIGHT_ARGS calls MTS_WEIGHTS. mts_weights_load(w, i): the four
 * numbers from 4 i on, as a mts_vec. The one place that knows whether this is an image.
 * HALF=2, VEC=4: mts_h4 is four float16: mts_h4_load(p) at a multiple of its size,
 * mts_weights_half(w, i), mts_h4_splat(v, i) of lane i, mts_h4_fma, mts_h4_zero() and
 * mts_h4_float(v). mts_h8 is two of them, mts_h8_low(v) and mts_h8_high(v), which one load
 * brings from a buffer: mts_weights_two(w, i), of an even i.
 *
 * VEC=1: where the language loads four numbers at the address of any one, mts_quad is four
 * floats s0 to s3, and mts_quad_load(p) and mts_quad_store(p, v) are macros.
 *
 * mts_dot(sum, x, w), where the device has an instruction for it: a macro, see codes.h.
 *
 * MTS_ARGS: the parameters of a kernel. Only a kernel itself may ask for the ids and
 * sizes of its work-item (mts_global_id, mts_global_size, mts_group_id, mts_local_id,
 * mts_local_size): in C these are values that it is called with; a function takes what it
 * needs as an argument. LOCAL declares memory of a work-group, LOCAL_PTR points to it;
 * LOCAL_SCRATCH(name, count) declares `name`, `count` vectors that need not be cleared.
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

#ifndef IMAGES
#define IMAGES 0 /* 0, 1 */
#endif

/* M of every lane: M(0), M(1), .. */
#if VEC == 4
#define MTS_EACH_LANE(M) M(0), M(1), M(2), M(3)
#elif VEC == 8
#define MTS_EACH_LANE(M) M(0), M(1), M(2), M(3), M(4), M(5), M(6), M(7)
#elif VEC == 16
#define MTS_EACH_LANE(M)                                                                                     \
    M(0), M(1), M(2), M(3), M(4), M(5), M(6), M(7), M(8), M(9), M(10), M(11), M(12), M(13), M(14), M(15)
#endif

#define mts_number(x) x##f
#define mts_vec_of(x) mts_vec_splat(x##f)

/* X(name): functions of one number that mts_vec_call knows. Where a language has none of
 * vectors, its prelude calls them lane by lane; C has those of MTS_VEC_CALLS_NEAR for
 * vectors (prelude_c_math.h). */
#define MTS_VEC_CALLS_FAR(X) \
    X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh)
#define MTS_VEC_CALLS_NEAR(X) X(expm1) X(log1p)
#define MTS_VEC_CALLS(X) MTS_VEC_CALLS_FAR(X) MTS_VEC_CALLS_NEAR(X)

/*
 * mts_fetch(p, to_write), in CPUs' dialects, asks for memory that is needed soon, where
 * the processor's own prefetcher does not follow (planes lie kilobytes apart) or begins
 * late (weights of a large network come from far). A hint without effect on results.
 * MTS_FETCH_STEPS: how many steps ahead weights are wanted.
 */
#define MTS_FETCH_STEPS 64

/*
 * Element functions (kernels/abi/functions.h) that a few vector instructions do:
 * MTS_FN_NONE to MTS_FN_PRELU and MTS_FN_LEAKY_BOUND are y = clip(slope(v, s), lo, hi).
 * They are macros because the program text has the kinds after this file.
 */
#define mts_fn_is_simple(fn) ((fn) <= MTS_FN_PRELU || (fn) == MTS_FN_LEAKY_BOUND)
#define mts_fn_bends(fn) ((fn) == MTS_FN_LEAKY || (fn) == MTS_FN_PRELU || (fn) == MTS_FN_LEAKY_BOUND)
#define mts_fn_slope(fn, a) ((fn) == MTS_FN_LEAKY || (fn) == MTS_FN_LEAKY_BOUND ? (a) : 1.0f)
#define mts_fn_low(fn, a, b)                                                                                 \
    ((fn) == MTS_FN_RELU ? 0.0f : (fn) == MTS_FN_CLIP ? (a) : (fn) == MTS_FN_LEAKY_BOUND ? (b) : -INFINITY)
#define mts_fn_high(fn, b) ((fn) == MTS_FN_CLIP ? (b) : INFINITY)

/*
 * Groups of a fixed size, and matrix units. KERNEL_OF(n): a kernel whose groups have n
 * work-items, always. MATRIX_ALIGN: of LOCAL arrays that hold matrices. The 32 work-items
 * of a warp together multiply A (16 x 16) by B (16 x 16), float16, and add to a float32
 * sum; all of them call, with equal arguments. Element (row i, k) of A lies at p[k * step
 * + i], (k, column j) of B at p[k * step + j], (i, j) of the sum at p[i * step + j]; p is
 * LOCAL and 32 bytes aligned, step a multiple of 16. Each work-item holds 8 words of
 * each, which ones is the hardware's business.
 */

#endif
