/*
 * emulate.h: what a CUDA program finds around it when it is compiled as C++ for the processor.
 *
 * Responsible for the language's words, the built-in variables and functions that the kernels use, float16,
 * and for the door through which the fake driver (launch.c) gets in. The fake runtime compiler puts this text
 * before a program. Not responsible for the order in which threads run: a barrier is a call into the driver.
 *
 * Threads of a block run one after another in one thread of the host, so what a block shares is static here.
 */
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define MTS_EMULATED 1

#define __global__ __attribute__((visibility("default"), used))
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
/* In a section of its own, so that the driver can spoil it before a block and knows how much there is. */
#define __shared__ static __attribute__((section("emulated_shared"), aligned(16)))

extern "C" {
float expf(float), logf(float), sqrtf(float), tanhf(float), powf(float, float), floorf(float), ceilf(float),
    truncf(float), fabsf(float), fmaf(float, float, float), fmaxf(float, float), fminf(float, float),
    rintf(float), exp2f(float), log2f(float), erff(float), sinf(float), cosf(float), tanf(float),
    asinf(float), acosf(float), atanf(float), sinhf(float), coshf(float), asinhf(float), acoshf(float),
    atanhf(float), expm1f(float), log1pf(float), fmodf(float, float);
void *memcpy(void *, const void *, __SIZE_TYPE__) noexcept;
}

struct dim3 {
    unsigned int x, y, z;
};

/* Shared with launch.c, which has the same in C. */
struct emulated_world {
    dim3 thread, block, block_size, grid_size;
    void *driver;
    /* Ends when all threads of the block (or of the warp) have called it in the same line. */
    void (*meet)(void *driver, int whole_block, int line);
    unsigned int *shared_begin, *shared_end;
    const char *meets; /* NULL: no kernel here has a barrier, so each thread can run to its end */
};

extern unsigned int __start_emulated_shared[] __attribute__((weak, visibility("hidden")));
extern unsigned int __stop_emulated_shared[] __attribute__((weak, visibility("hidden")));
extern const char __start_emulated_meets[] __attribute__((weak, visibility("hidden")));

static emulated_world emulated;

extern "C" __attribute__((visibility("default"), used)) emulated_world *emulated_world_get()
{
    emulated.shared_begin = __start_emulated_shared;
    emulated.shared_end = __stop_emulated_shared;
    emulated.meets = __start_emulated_meets;
    return &emulated;
}

#define threadIdx emulated.thread
#define blockIdx emulated.block
#define blockDim emulated.block_size
#define gridDim emulated.grid_size
#define warpSize 32

/* The byte is there if the code is. */
#define EMULATED_MARK() asm volatile(".pushsection emulated_meets,\"a\"\n .byte 1\n .popsection")
#define __syncthreads() (({ EMULATED_MARK(); }), emulated.meet(emulated.driver, 1, __LINE__))
#define __syncwarp(...) (({ EMULATED_MARK(); }), emulated.meet(emulated.driver, 0, __LINE__))

/* Threads and blocks run one after another: memory is in order. */
#define __threadfence()
static inline unsigned int atomicAdd(unsigned int *p, unsigned int x)
{
    const unsigned int before = *p;
    *p = before + x;
    return before;
}

static inline unsigned int emulated_lane()
{
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

static inline float __int_as_float(int x)
{
    float y;
    memcpy(&y, &x, sizeof y);
    return y;
}
static inline int __float_as_int(float x)
{
    int y;
    memcpy(&y, &x, sizeof y);
    return y;
}
static inline float __uint_as_float(unsigned int x)
{
    return __int_as_float((int)x);
}
static inline unsigned int __float_as_uint(float x)
{
    return (unsigned int)__float_as_int(x);
}
template <class T>
static inline T __ldg(const T *p)
{
    return *p;
}

/* ---- float16, from and to its bits: calls, because programs have hundreds and compile for seconds with copies ---- */

static __attribute__((noinline)) float mts_half_value(unsigned short h)
{
    const unsigned int sign = (h & 0x8000u) << 16, rest = h & 0x7fffu;
    if (rest >= 0x7c00u)
        return __uint_as_float(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    /* the bits in place of a float's, 112 powers of two too small; subnormals come out right as well */
    const float magnitude = __uint_as_float(rest << 13) * 0x1p112f;
    return sign ? -magnitude : magnitude;
}

static inline double emulated_power(int exponent)
{
    const unsigned long long bits = (unsigned long long)(exponent + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* One rounding, to the nearest even. */
static __attribute__((noinline)) unsigned short emulated_half(double x)
{
    unsigned long long bits;
    memcpy(&bits, &x, sizeof bits);
    const unsigned short sign = (unsigned short)(bits >> 48 & 0x8000u);
    const double magnitude = x < 0 ? -x : x;
    if (x != x)
        return sign | 0x7e00u;
    if (magnitude >= 65520.0)
        return sign | 0x7c00u;
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    exponent = exponent < -14 ? -14 : exponent; /* below are the subnormals, which lie as far apart */
    /* a double has no bits below this one's last: adding rounds where float16 does */
    const double anchor = emulated_power(exponent - 10 + 52);
    const double rounded = (magnitude + anchor) - anchor;
    const unsigned int steps = (unsigned int)(rounded * emulated_power(10 - exponent));
    return (unsigned short)(sign | (((unsigned int)(exponent + 14) << 10) + steps));
}
static inline unsigned short mts_half_make(float x)
{
    return emulated_half((double)x);
}

/* a b is exact in a double; where adding c is not, the sum is far from the middle between two float16s. */
static inline unsigned short emulated_half_fma(unsigned int a, unsigned int b, unsigned int c)
{
    return emulated_half((double)mts_half_value((unsigned short)a) *
                             (double)mts_half_value((unsigned short)b) +
                         (double)mts_half_value((unsigned short)c));
}
static inline unsigned int mts_h2_fma(unsigned int a, unsigned int b, unsigned int c)
{
    return emulated_half_fma(a & 0xffffu, b & 0xffffu, c & 0xffffu) |
           (unsigned int)emulated_half_fma(a >> 16, b >> 16, c >> 16) << 16;
}

/*
 * ---- matrix units ----
 *
 * Lane l holds the elements 8 l .. 8 l + 7 of a row-major 16 x 16 matrix, one in a word. The types are the
 * prelude's, which comes later, hence the templates. A wrong address fails as one on a device would: by an
 * access to nowhere.
 */
#define EMULATED_MATRIX(m, i, j, value)                                                                      \
    for (unsigned int w = 0; w < 8; w++) {                                                                   \
        const unsigned int i = (emulated_lane() % 32 * 8 + w) / 16, j = (emulated_lane() % 32 * 8 + w) % 16; \
        (m)->r[w] = (value);                                                                                 \
    }

static inline void emulated_aligned(const void *p, unsigned int step)
{
    if ((__UINTPTR_TYPE__)p % 32 || step % 16)
        *(volatile int *)16 = 0;
}
template <class M>
static inline void mts_matrix_load_a(M *m, const unsigned short *p, unsigned int step)
{
    emulated_aligned(p, step);
    EMULATED_MATRIX(m, i, k, p[k * step + i])
}
template <class M>
static inline void mts_matrix_load_b(M *m, const unsigned short *p, unsigned int step)
{
    emulated_aligned(p, step);
    EMULATED_MATRIX(m, k, j, p[k * step + j])
}

/* Each thread puts its words where the warp sees them. A thread may be one product ahead of others: two
 * places. */
template <class S, class M>
static inline void emulated_multiply(S *c, const M *a, const M *b, int line)
{
    static float left[2][32][256], right[2][32][256];
    static unsigned char turn[1024];
    const unsigned int lane = emulated_lane(), at = lane % 32 * 8;
    const unsigned int place = turn[lane]++ % 2;
    float *l = left[place][lane / 32], *r = right[place][lane / 32];
    for (unsigned int w = 0; w < 8; w++) {
        l[at + w] = mts_half_value((unsigned short)a->r[w]);
        r[at + w] = mts_half_value((unsigned short)b->r[w]);
    }
    EMULATED_MARK();
    emulated.meet(emulated.driver, 0, line);
    for (unsigned int w = 0; w < 8; w++) {
        const unsigned int i = (at + w) / 16, j = (at + w) % 16;
        for (unsigned int k = 0; k < 16; k++)
            c->r[w] = fmaf(l[i * 16 + k], r[k * 16 + j], c->r[w]);
    }
}
#define mts_matrix_multiply(c, a, b) emulated_multiply(c, a, b, __LINE__)

template <class S>
static inline void mts_matrix_store(float *p, unsigned int step, const S *c)
{
    emulated_aligned(p, step);
    for (unsigned int w = 0; w < 8; w++) {
        const unsigned int at = emulated_lane() % 32 * 8 + w;
        p[at / 16 * step + at % 16] = c->r[w];
    }
}
