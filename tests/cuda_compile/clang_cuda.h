/*
 * clang_cuda.h: what NVRTC has built in and the kernels use, declared for clang without a CUDA toolkit. For
 * compiling only (cuda_compile.py): the mathematics stays undefined.
 */
#define __CUDACC__ 1
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

struct clang_cuda_index {
    unsigned int x, y, z;
};
#define CLANG_CUDA_INDEX(name, sreg)                                                                         \
    static __device__ __forceinline__ clang_cuda_index clang_cuda_##name()                                   \
    {                                                                                                        \
        clang_cuda_index i = {(unsigned int)__nvvm_read_ptx_sreg_##sreg##_x(),                               \
                              (unsigned int)__nvvm_read_ptx_sreg_##sreg##_y(),                               \
                              (unsigned int)__nvvm_read_ptx_sreg_##sreg##_z()};                              \
        return i;                                                                                            \
    }
CLANG_CUDA_INDEX(thread, tid)
CLANG_CUDA_INDEX(threads, ntid)
CLANG_CUDA_INDEX(block, ctaid)
CLANG_CUDA_INDEX(blocks, nctaid)
#define threadIdx clang_cuda_thread()
#define blockDim clang_cuda_threads()
#define blockIdx clang_cuda_block()
#define gridDim clang_cuda_blocks()

static __device__ __forceinline__ float __int_as_float(int i)
{
    return __builtin_bit_cast(float, i);
}
static __device__ __forceinline__ int __float_as_int(float f)
{
    return __builtin_bit_cast(int, f);
}
static __device__ __forceinline__ unsigned int __float_as_uint(float f)
{
    return __builtin_bit_cast(unsigned int, f);
}
static __device__ __forceinline__ float __uint_as_float(unsigned int u)
{
    return __builtin_bit_cast(float, u);
}

static __device__ __forceinline__ void __threadfence()
{
    __nvvm_membar_gl();
}
static __device__ __forceinline__ unsigned int atomicAdd(unsigned int *at, unsigned int value)
{
    return (unsigned int)__nvvm_atom_add_gen_i((int *)at, (int)value);
}
extern "C" {
__device__ float fmaf(float, float, float);
__device__ float expf(float);
__device__ float logf(float);
__device__ float sqrtf(float);
__device__ float tanhf(float);
__device__ float erff(float);
__device__ float sinf(float);
__device__ float cosf(float);
__device__ float tanf(float);
__device__ float asinf(float);
__device__ float acosf(float);
__device__ float atanf(float);
__device__ float sinhf(float);
__device__ float coshf(float);
__device__ float asinhf(float);
__device__ float acoshf(float);
__device__ float atanhf(float);
__device__ float expm1f(float);
__device__ float log1pf(float);
__device__ float fmodf(float, float);
__device__ float powf(float, float);
__device__ float floorf(float);
__device__ float rintf(float);
__device__ float ceilf(float);
__device__ float truncf(float);
__device__ float fabsf(float);
__device__ float fmaxf(float, float);
__device__ float fminf(float, float);
}
