/*
 * kernel_mix.h: members of several kernels, as a launch of the combined program (kernels/abi/mixed.h).
 *
 * Responsible for its entries and for running it on the tensors of a kernel_pair. Everything fails the
 * running cmocka test.
 */
#ifndef MTS_TESTS_SUPPORT_KERNEL_MIX_H
#define MTS_TESTS_SUPPORT_KERNEL_MIX_H

#include "support/kernel_pair.h"

/* Members of several kernels as one launch of the combined program (kernels/abi/mixed.h). */
#define KERNEL_MIX_ENTRIES 64
typedef struct kernel_mix {
    uint32_t local; /* work-items of a group */
    uint32_t groups, count;
    uint32_t kernels; /* a bit for each */
    mts_mixed_params entries[KERNEL_MIX_ENTRIES];
} kernel_mix;

/* A kernel's number in the combined program; larger than any: it is not in it. */
uint32_t kernel_mix_number(const char *kernel);
/* Whether kernel_mix_add takes members of the kernel. */
bool kernel_mix_has(const char *kernel);
/* Adds the members of a launch. Returns the work-groups so far. */
uint32_t kernel_mix_add(kernel_mix *mix, const char *kernel, uint32_t first, const uint32_t *grid);
/* As kernel_pair_result, of such a launch. */
float *kernel_mix_result(kernel_pair *pair, mts_device *device, const kernel_mix *mix, const char *defines);

#endif
