/*
 * clang_opencl.h: what an OpenCL driver's library has and the kernels use, for clang
 * without one, so that a kernel becomes one function as on a device. For compiling only
 * (gpu_static.py): sizes and registers are near a driver's, results are not.
 *
 * Responsible for amdgcn and nvptx64 (ids from registers, mathematics from the machine's
 * own instructions). The target spir64 needs none of it: there these are names.
 */
#if defined(__AMDGCN__) || defined(__NVPTX__)

#define STATIC_INLINE static inline __attribute__((always_inline, overloadable))
#ifdef __NVPTX__
#define STATIC_PICK(d, name)                                                                                 \
    ((d) == 0   ? __nvvm_read_ptx_sreg_##name##_x()                                                          \
     : (d) == 1 ? __nvvm_read_ptx_sreg_##name##_y()                                                          \
                : __nvvm_read_ptx_sreg_##name##_z())
#define get_local_id(d) STATIC_PICK(d, tid)
#define get_group_id(d) STATIC_PICK(d, ctaid)
#define get_local_size(d) STATIC_PICK(d, ntid)
#define get_global_size(d) (STATIC_PICK(d, nctaid) * STATIC_PICK(d, ntid))
#define barrier(flags) __syncthreads()
#define mem_fence(flags) __nvvm_membar_gl()
#else
#define STATIC_PICK(d, name)                                                                                 \
    ((d) == 0   ? __builtin_amdgcn_##name##_x()                                                              \
     : (d) == 1 ? __builtin_amdgcn_##name##_y()                                                              \
                : __builtin_amdgcn_##name##_z())

#define get_local_id(d) STATIC_PICK(d, workitem_id)
#define get_group_id(d) STATIC_PICK(d, workgroup_id)
#define get_local_size(d) STATIC_PICK(d, workgroup_size)
#define get_global_size(d) STATIC_PICK(d, grid_size)
#define barrier(flags) __builtin_amdgcn_s_barrier()
#define mem_fence(flags) __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent")
#endif
#define get_global_id(d) (get_group_id(d) * get_local_size(d) + get_local_id(d))

/* One of these for a number, and lane by lane for the vectors. */
#define STATIC_OF_LANES(type, count, name)                                                                   \
    STATIC_INLINE type##count name(type##count v)                                                            \
    {                                                                                                        \
        type##count r;                                                                                       \
        for (int i = 0; i < count; i++) {                                                                    \
            r[i] = name(v[i]);                                                                               \
        }                                                                                                    \
        return r;                                                                                            \
    }
#define STATIC_MATH(name, expression)                                                                        \
    STATIC_INLINE float static_##name(float x)                                                               \
    {                                                                                                        \
        return expression;                                                                                   \
    }                                                                                                        \
    STATIC_OF_LANES(float, 4, static_##name)
#ifdef __NVPTX__
STATIC_MATH(exp, __nvvm_ex2_approx_f(x * 1.44269504f))
STATIC_MATH(log, __nvvm_lg2_approx_f(x) * 0.693147181f)
#else
STATIC_MATH(exp, __builtin_exp2f(x * 1.44269504f))
STATIC_MATH(log, __builtin_log2f(x) * 0.693147181f)
#endif
STATIC_MATH(sqrt, __builtin_sqrtf(x))
STATIC_MATH(floor, __builtin_floorf(x))
STATIC_MATH(ceil, __builtin_ceilf(x))
STATIC_MATH(trunc, __builtin_truncf(x))
STATIC_MATH(rint, __builtin_rintf(x))
STATIC_MATH(fabs, __builtin_fabsf(x))
STATIC_MATH(tanh, 1.0f - 2.0f / (1.0f + static_exp(2.0f * x)))
#define exp static_exp
#define log static_log
#define sqrt static_sqrt
#define floor static_floor
#define ceil static_ceil
#define trunc static_trunc
#define rint static_rint
#define fabs static_fabs
#define tanh static_tanh
STATIC_INLINE float static_pow(float x, float y)
{
    return static_exp(y * static_log(x));
}
#define pow static_pow

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
STATIC_INLINE half2 static_fma(half2 a, half2 b, half2 c)
{
    return a * b + c;
}
STATIC_INLINE half4 static_fma(half4 a, half4 b, half4 c)
{
    return a * b + c;
}
#define fma static_fma
#define convert_float4(v) __builtin_convertvector(v, float4)

/* An image over a buffer, read as one load: that of a texture unit is one too. */
#undef __read_only
#define __read_only
#if HALF
#define image1d_buffer_t __global const half4 *
#define read_imagef(image, i) __builtin_convertvector((image)[i], float4)
#define read_imageh(image, i) ((image)[i])
#else
#define image1d_buffer_t __global const float4 *
#define read_imagef(image, i) ((image)[i])
#endif

#define atomic_inc(p) __atomic_fetch_add(p, 1u, __ATOMIC_RELAXED)
#define atomic_xchg(p, x) __atomic_exchange_n(p, x, __ATOMIC_RELAXED)

#define vload_half(i, p) __builtin_load_halff((p) + (i))
#define vstore_half(x, i, p) __builtin_store_halff(x, (p) + (i))
typedef half4 half4_any __attribute__((aligned(2)));
#define STATIC_HALF4(space, suffix, type)                                                                    \
    STATIC_INLINE float4 static_vload##suffix(size_t i, space const half *p)                                 \
    {                                                                                                        \
        return __builtin_convertvector(*(space const type *)(p + 4 * i), float4);                            \
    }                                                                                                        \
    STATIC_INLINE void static_vstore##suffix(float4 v, size_t i, space half *p)                              \
    {                                                                                                        \
        *(space type *)(p + 4 * i) = __builtin_convertvector(v, half4);                                      \
    }
STATIC_HALF4(__global, _half4, half4_any)
STATIC_HALF4(__private, _half4, half4_any)
STATIC_HALF4(__global, a_half4, half4)

/* Vectors at the address of any number. */
#define STATIC_VECTOR4(type)                                                                                 \
    typedef type##4 type##4_any __attribute__((aligned(sizeof(type))));                                      \
    STATIC_INLINE __attribute__((overloadable)) type##4 static_vload4(size_t i, __global const type *p)      \
    {                                                                                                        \
        return *(__global const type##4_any *)(p + 4 * i);                                                   \
    }                                                                                                        \
    STATIC_INLINE __attribute__((overloadable)) void static_vstore4(type##4 v, size_t i, __global type *p)   \
    {                                                                                                        \
        *(__global type##4_any *)(p + 4 * i) = v;                                                            \
    }
STATIC_VECTOR4(float)
STATIC_VECTOR4(ushort)
#define vload4 static_vload4
#define vstore4 static_vstore4
#define vload_half4 static_vload_half4
#define vstore_half4 static_vstore_half4
#define vloada_half4 static_vloada_half4
#define vstorea_half4 static_vstorea_half4

#endif
