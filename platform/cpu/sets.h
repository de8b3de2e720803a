/*
 * sets.h: the instruction sets that kernels were compiled for, and their functions by
 * name.
 */
#ifndef MTS_CPU_SETS_H
#define MTS_CPU_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/item.h"

typedef struct mts_cpu_entry {
    /* NULL ends a table. */
    const char *name;
    /* Of the probe, which is compiled for some numbers of chains; else 0. */
    uint32_t chains;
    mts_cpu_function *run;
} mts_cpu_entry;

typedef struct mts_cpu_set {
    const char *name;
    /* Floats of a vector register. */
    uint32_t vector;
    /* Whether this processor has the instructions. */
    bool (*supported)(void);
    /* Functions for float32 and for float16 storage; a set of kernels of bytes has none for
       the latter. */
    const mts_cpu_entry *tables[2];
} mts_cpu_set;

/* The best set that this processor has; NULL: none. */
const mts_cpu_set *mts_cpu_set_best(void);
/* The set that has vectors of so many floats; NULL: none that this processor has. */
const mts_cpu_set *mts_cpu_set_of(uint32_t vector);
/* The set beside another whose kernels multiply bytes by an instruction that this
   processor has; NULL: none. */
const mts_cpu_set *mts_cpu_set_bytes(const mts_cpu_set *set);
/* A kernel of the set, or of the one that multiplies bytes beside it. NULL: the kernel is
   not there, or not for so many chains. */
mts_cpu_function *mts_cpu_find(const mts_cpu_set *set, const char *name, bool half, uint32_t chains);

#endif
