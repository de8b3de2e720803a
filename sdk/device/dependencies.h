/*
 * dependencies.h: which launches of a list have to wait for which earlier ones.
 *
 * A launch waits for the writer of what it reads, and for the readers and the writer of
 * what it overwrites, as far as accesses (mts_launch) say. Launches that do not wait for
 * each other, directly or through others, may run at the same time or in any order, and
 * compute the same bits. A launch without accesses waits for all before it, and all after
 * it wait for that one. Not responsible for running anything.
 */
#ifndef MTS_DEVICE_DEPENDENCIES_H
#define MTS_DEVICE_DEPENDENCIES_H

#include "device/device.h"

/* The dependencies of a list of launches, in one block of memory. */
typedef struct mts_dependencies {
    uint32_t count;
    /* [count]: how many earlier launches each waits for. */
    uint32_t *waits;
    /* next[next_first[i] .. next_first[i + 1]): launches that wait for launch i, all
       later than i. */
    uint32_t *next_first, *next;
} mts_dependencies;

/* Errors: OUT_OF_MEMORY; *out has nothing to free then. */
mts_status mts_dependencies_find(const mts_launch *launches, size_t count, const mts_allocator *allocator,
                                 mts_dependencies *out, mts_error *error);
void mts_dependencies_release(mts_dependencies *dependencies, const mts_allocator *allocator);

#endif
