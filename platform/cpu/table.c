/*
 * table.c: the functions of one instruction set and precision by name. The build compiles
 * it with the kernels, once for each of them (cmake/cpu_kernels.cmake); with MTS_CPU_BYTES
 * for a set that has kernels of bytes alone.
 */
#include "platform/cpu/sets.h"

#include "platform/cpu/symbol.h"

#define ROW_gpu(ROW, name)
#define ROW_large_gpu(ROW, name)
#ifdef MTS_CPU_BYTES
#define ROW_any(ROW, name)
#define ROW_cpu(ROW, name)
#else
#define ROW_any(ROW, name) ROW(name)
#define ROW_cpu(ROW, name) ROW(name)
#endif
#if defined(MTS_CPU_FN_SHARED) || defined(MTS_CPU_BYTES) /* the smallest library */
#define ROW_large(ROW, name)
#else
#define ROW_large(ROW, name) ROW(name)
#endif
#if defined(MTS_CPU_FN_SHARED) && !defined(MTS_CPU_BYTES)
#define ROW_bytes(ROW, name)
#else
#define ROW_bytes(ROW, name) ROW(name)
#endif
#ifdef MTS_CPU_FN_SHARED
#define ROW_cpu_bytes(ROW, name)
#else
#define ROW_cpu_bytes(ROW, name) ROW(name)
#endif
#define KERNEL_tiles(...) KERNEL_IN(__VA_ARGS__)
#define KERNEL_lanes(...) KERNEL_IN(__VA_ARGS__)
#define KERNEL_dest(...) KERNEL_IN(__VA_ARGS__)
#define KERNEL_channels(...) KERNEL_IN(__VA_ARGS__)
#define KERNEL_pixels(...) KERNEL_IN(__VA_ARGS__)
#define KERNEL_sets(...) KERNEL_IN(__VA_ARGS__)
#define KERNEL_probe(...)
#define KERNEL_mixed(...)
#define KERNEL_persist(...)
#define KERNEL(folder, name, params, walk, made_for) KERNEL_##walk(name, made_for)

#define DECLARE(name) mts_cpu_function MTS_CPU_SYMBOL(name##_);
#define KERNEL_IN(name, made_for) ROW_##made_for(DECLARE, name)
#include "kernels/manifest.def"
#undef KERNEL_IN

#ifdef MTS_CPU_BYTES
#define PROBES(M)
#else
#define PROBES(M) M(8) M(12) M(16) M(20) M(24)
#endif
#define DECLARE_PROBE(chains) mts_cpu_function MTS_CPU_SYMBOL(fma_peak_##chains##_);
PROBES(DECLARE_PROBE)

extern const mts_cpu_entry MTS_CPU_SYMBOL(mts_cpu_table_)[];

#define ENTRY(name) {#name, 0, MTS_CPU_SYMBOL(name##_)},
#define ENTRY_PROBE(chains) {"fma_peak__f32", chains, MTS_CPU_SYMBOL(fma_peak_##chains##_)},

const mts_cpu_entry MTS_CPU_SYMBOL(mts_cpu_table_)[] = {
#define KERNEL_IN(name, made_for) ROW_##made_for(ENTRY, name)
#include "kernels/manifest.def"
    PROBES(ENTRY_PROBE){0},
};
