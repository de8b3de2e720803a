/*
 * item.h: what a kernel that was compiled ahead of time is called with besides its
 * buffers: a work-item's place.
 *
 * Shared by the kernels (prelude_c.h) and their caller (platform/cpu).
 */
#ifndef MTS_KERNELS_ITEM_H
#define MTS_KERNELS_ITEM_H

#include <stdint.h>

typedef struct mts_cpu_item {
    uint32_t group[3], local[3];
    uint32_t group_size[3], global_size[3];
    /* Memory of the work-group (LOCAL_SCRATCH), aligned to 64 bytes. */
    void *scratch;
} mts_cpu_item;

typedef void mts_cpu_function(void *act, const void *pool, const uint32_t *params, uint32_t first,
                              const mts_cpu_item *item);

#endif
