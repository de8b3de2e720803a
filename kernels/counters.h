/*
 * counters.h: counters in global memory that the work-groups of a launch share.
 *
 * Part of the text of the persistent program alone (kernels/persist). mts_counter_add adds
 * 1 and returns what was there before. What a work-item wrote before it added to a
 * counter, or set it, is seen by each work-item of the device that gets the new value; with
 * MTS_GROUP_MEETS before and behind, that holds of all work-items of the two groups.
 *
 * OpenCL with ATOMICS 2 says so: acquire and release at the scope of the device (OpenCL C
 * 2.0; 3.0 where the device reports them). With ATOMICS 1, the language of 1.2, atomic
 * functions order nothing else, and a fence counts inside of a work-group only: it holds
 * on processors whose caches are coherent, where compilers make instructions of a total
 * order of them, and backends offer it for nothing else. CUDA: a fence of the device
 * before and behind, as in NVIDIA's own grid barriers.
 */
#ifdef __CUDACC__

INLINE mts_u32 mts_counter_add(mts_u32 *counter) {
    __threadfence();
    const mts_u32 before = atomicAdd(counter, 1u);
    __threadfence();
    return before;
}
INLINE mts_u32 mts_counter_get(mts_u32 *counter) {
    const mts_u32 value = *(volatile mts_u32 *)counter;
    __threadfence();
    return value;
}
INLINE void mts_counter_set(mts_u32 *counter, mts_u32 value) {
    __threadfence();
    *(volatile mts_u32 *)counter = value;
}
#define MTS_GROUP_MEETS() __syncthreads()

#else

#if ATOMICS == 2
#define MTS_COUNTER(p) ((volatile GLOBAL atomic_uint *)(p))
#define mts_counter_add(p) \
    ((mts_u32)atomic_fetch_add_explicit(MTS_COUNTER(p), 1u, memory_order_acq_rel, memory_scope_device))
#define mts_counter_get(p) ((mts_u32)atomic_load_explicit(MTS_COUNTER(p), memory_order_acquire, memory_scope_device))
#define mts_counter_set(p, value) atomic_store_explicit(MTS_COUNTER(p), value, memory_order_release, memory_scope_device)
#else
INLINE mts_u32 mts_counter_add(GLOBAL mts_u32 *counter) {
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    const mts_u32 before = atomic_inc((volatile GLOBAL mts_u32 *)counter);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    return before;
}
INLINE mts_u32 mts_counter_get(GLOBAL mts_u32 *counter) {
    const mts_u32 value = *(volatile GLOBAL mts_u32 *)counter;
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    return value;
}
INLINE void mts_counter_set(GLOBAL mts_u32 *counter, mts_u32 value) {
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    (void)atomic_xchg((volatile GLOBAL mts_u32 *)counter, value);
}
#endif
#define MTS_GROUP_MEETS() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

#endif
