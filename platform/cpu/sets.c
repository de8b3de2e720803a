/*
 * sets.c: which instruction sets this build has (rows of kernels/variants.def), which of
 * them the processor can run, and where they have a kernel. Not responsible for the tables
 * of functions (table.c).
 */
#include "platform/cpu/sets.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

/* ---- what the processor has ---- */

/* Not every set has to be in a build (MTS_CPU_SETS). */
#define UNUSED __attribute__((unused))

#if defined(__x86_64__)
UNUSED static bool has_v2(void)
{
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") &&
           __builtin_cpu_supports("popcnt");
}

/* Bits that __builtin_cpu_supports has no name for in every compiler. Their registers are
   those of AVX. */
UNUSED static bool has_f16c_and_lzcnt(void)
{
    enum { F16C = 1 << 29, MOVBE = 1 << 22, LZCNT = 1 << 5 };
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & F16C) && (c & MOVBE) &&
           __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & LZCNT);
}

UNUSED static bool has_v3(void)
{
    return has_v2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && has_f16c_and_lzcnt();
}

UNUSED static bool has_v4(void)
{
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

UNUSED static bool has_vnni(void)
{
    return has_v4() && __builtin_cpu_supports("avx512vnni");
}
#elif defined(__aarch64__)
UNUSED static bool has_neon(void)
{
    return true; /* every 64-bit ARM processor of an operating system has it */
}

UNUSED static bool has_dotprod(void)
{
#if defined(__linux__)
    enum { ASIMDDP = 1 << 20 }; /* SDOT and UDOT; not every <sys/auxv.h> names the bit */
    return (getauxval(AT_HWCAP) & ASIMDDP) != 0;
#else
    return false;
#endif
}
#endif

/* ---- the sets ---- */

#define CPU_SET(set, arch, vec, regs, flags, whole, mixed, half)                                             \
    enum { VECTOR_##set = vec };                                                                             \
    extern const mts_cpu_entry mts_cpu_table_##set##_0[], mts_cpu_table_##set##_1[];
#define CPU_BYTES(set, beside, flags) extern const mts_cpu_entry mts_cpu_table_##set##_0[];
#include <cpu_sets.def>
#undef CPU_SET
#undef CPU_BYTES

#define ENTRY(set, vec, half)                                                                                \
    {.name = #set, .vector = vec, .supported = has_##set, .tables = {mts_cpu_table_##set##_0, half}},

#define CPU_SET(set, arch, vec, regs, flags, whole, mixed, half) ENTRY(set, vec, mts_cpu_table_##set##_1)
#define CPU_BYTES(set, beside, flags)
static const mts_cpu_set sets[] = {
#include <cpu_sets.def>
    {.name = NULL},
};
#undef CPU_SET
#undef CPU_BYTES

#define CPU_SET(set, arch, vec, regs, flags, whole, mixed, half)
#define CPU_BYTES(set, beside, flags) ENTRY(set, VECTOR_##beside, NULL)
static const mts_cpu_set byte_sets[] = {
#include <cpu_sets.def>
    {.name = NULL},
};

/* The first of the sets that has vectors of so many floats, or any vectors for 0. */
static const mts_cpu_set *first_of(const mts_cpu_set *set, uint32_t vector)
{
    for (; set->name; set++) {
        if ((vector == 0 || set->vector == vector) && set->supported()) {
            return set;
        }
    }
    return NULL;
}

const mts_cpu_set *mts_cpu_set_best(void)
{
    return first_of(sets, 0);
}

const mts_cpu_set *mts_cpu_set_of(uint32_t vector)
{
    return first_of(sets, vector);
}

const mts_cpu_set *mts_cpu_set_bytes(const mts_cpu_set *set)
{
    return first_of(byte_sets, set->vector);
}

static mts_cpu_function *find(const mts_cpu_entry *entry, const char *name, uint32_t chains)
{
    for (; entry->name; entry++) {
        if (strcmp(entry->name, name) == 0 && (entry->chains == 0 || entry->chains == chains)) {
            return entry->run;
        }
    }
    return NULL;
}

mts_cpu_function *mts_cpu_find(const mts_cpu_set *set, const char *name, bool half, uint32_t chains)
{
    const mts_cpu_set *bytes = half ? NULL : mts_cpu_set_bytes(set);
    mts_cpu_function *run = bytes ? find(bytes->tables[0], name, chains) : NULL;
    return run ? run : find(set->tables[half ? 1 : 0], name, chains);
}
