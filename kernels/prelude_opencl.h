/*
 * prelude_opencl.h: the dialect's words in OpenCL C 1.2 (prelude.h says what they mean).
 *
 * Part of every kernel's program text; CUDA passes over it. Not responsible for what
 * operators of the language do (prelude_operators.h).
 */
#ifndef __CUDACC__

typedef uint mts_u32;
typedef int mts_i32;
typedef float mts_f32;

#define MTS_KERNEL __kernel
#define KERNEL MTS_KERNEL
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
#define OUTLINE INLINE
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)

#define mts_global_id(d) ((mts_u32)get_global_id(d))
#define mts_group_id(d) ((mts_u32)get_group_id(d))
#define mts_global_size(d) ((mts_u32)get_global_size(d))
#define mts_local_id(d) ((mts_u32)get_local_id(d))
#define mts_local_size(d) ((mts_u32)get_local_size(d))

#define mts_as_float(x) as_float(x)
#define mts_as_u32(x) as_uint(x)
/* Not fma(): slow where the hardware has none. Not mad(): PoCL does not fuse it. One
   expression may be contracted. */
#define mts_fma(a, b, c) ((a) * (b) + (c))
#define mts_exp(x) exp(x)
#define mts_log(x) log(x)
#define mts_sqrt(x) sqrt(x)
#define mts_tanh(x) tanh(x)
#define mts_floor(x) floor(x)
#define mts_ceil(x) ceil(x)
#define mts_trunc(x) trunc(x)
#define mts_rint(x) rint(x)
#define mts_fabs(x) fabs(x)
#define mts_math(name) name

/* Products of four bytes (kernels/codes.h). DOT says which are instructions of the
   device: 1, of unsigned and signed bytes; 2, of signed ones. With DOT_SUM they add to a
   sum, which saturates. */
#if defined(cl_khr_integer_dot_product) || defined(__opencl_c_integer_dot_product_input_4x8bit_packed)
#if DOT == 1 && defined(DOT_SUM)
#define mts_dot(sum, x, w) dot_acc_sat_4x8packed_us_int(x, w, sum)
#elif DOT == 1
#define mts_dot(sum, x, w) ((sum) + dot_4x8packed_us_int(x, w))
#elif DOT == 2 && defined(DOT_SUM)
#define mts_dot(sum, x, w) dot_acc_sat_4x8packed_ss_int(x, w, sum)
#elif DOT == 2
#define mts_dot(sum, x, w) ((sum) + dot_4x8packed_ss_int(x, w))
#endif
#if DOT == 2
#define MTS_DOT_ZERO 128
#endif
#endif

/* Without cl_khr_fp16 a half is only loaded and stored, which OpenCL 1.2 can
   everywhere. */
typedef half mts_half;
#if HALF == 2
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half2 mts_h2;
#define mts_half_value(h) ((float)(h))
#define mts_half_make(x) ((half)(x))
#define mts_h2_fma(a, b, c) fma(a, b, c)
#define mts_h2_pair(low, high) ((half2)(low, high))
typedef half4 mts_h4;
#define mts_h4_load(p) (*(GLOBAL const half4 *)(p))
#define mts_h4_splat(v, i) ((half4)((v).s##i))
#define mts_h4_fma(a, b, c) fma(a, b, c)
#define mts_h4_zero() ((half4)(0))
#define mts_h4_float(v) convert_float4(v)
typedef half8 mts_h8;
#define mts_h8_low(v) ((v).lo)
#define mts_h8_high(v) ((v).hi)
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

#define MTS_QUADS (VEC == 1)
#if MTS_QUADS
typedef float4 mts_quad;
#if HALF
#define mts_quad_load(p) vload_half4(0, p)
#define mts_quad_store(p, v) vstore_half4(v, 0, p)
#else
#define mts_quad_load(p) vload4(0, p)
#define mts_quad_store(p, v) vstore4(v, 0, p)
#endif
#endif

#define MTS_KERNEL_ARGS                                                                                      \
    GLOBAL mts_real *RESTRICT act, GLOBAL const mts_real *RESTRICT pool, GLOBAL const mts_u32 *RESTRICT params, \
        mts_u32 first
#define MTS_ARGS MTS_KERNEL_ARGS
#if IMAGES
#define MTS_WEIGHT_ARGS MTS_KERNEL_ARGS, __read_only image1d_buffer_t texels
#define MTS_WEIGHTS texels
#define mts_weights __read_only image1d_buffer_t
#define mts_weights_load(w, i) read_imagef(w, (int)(i))
#define mts_weights_half(w, i) read_imageh(w, (int)(i))
#define mts_weights_two(w, i) ((half8)(read_imageh(w, (int)(i)), read_imageh(w, (int)(i) + 1)))
#else
#define MTS_WEIGHT_ARGS MTS_KERNEL_ARGS
#define MTS_WEIGHTS pool
#define mts_weights GLOBAL const mts_real *
#define mts_weights_half(w, i) (((GLOBAL const half4 *)(w))[i])
#define mts_weights_two(w, i) (*(GLOBAL const half8 *)((w) + 4 * (i)))
#if HALF
#define mts_weights_load(w, i) vloada_half4(i, w)
#else
#define mts_weights_load(w, i) (((GLOBAL const mts_vec *)(w))[i])
#endif
#endif
#define LOCAL_SCRATCH(name, count) LOCAL mts_vec name[count]
/* To C, global memory is another address space, hence the integer. */
#if VEC > 1 && defined(FETCH)
#define mts_fetch(p, to_write) __builtin_prefetch((const void *)(size_t)(p), to_write, 3)
#else
#define mts_fetch(p, to_write)
#endif
#if VEC == 1
#define mts_vec_two(p) mts_load(p)
#elif VEC == 2
#define mts_vec_two(p) ((mts_vec)(mts_load(p), mts_load((p) + 2)))
#else
#define mts_vec_two(p) ((mts_vec)(mts_vec_load(p).even, mts_vec_load((p) + VEC - 1).odd))
#endif

#define KERNEL_OF(n) __kernel __attribute__((reqd_work_group_size(n, 1, 1)))
#define MATRIX_ALIGN

#endif
