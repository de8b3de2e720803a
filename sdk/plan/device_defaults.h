/*
 * device_defaults.h: what is chosen for a device where nothing was measured on it.
 *
 * One ordered table of rows by vendor, architecture and device (device_defaults.c): the
 * only place that knows figures of particular GPUs. docs/MOBILE.md has the table with the
 * source of each figure. A session's options and measured kernel configurations come
 * before it. What a driver gets wrong is platform/opencl/quirks.c's. Pure.
 */
#ifndef MTS_PLAN_DEVICE_DEFAULTS_H
#define MTS_PLAN_DEVICE_DEFAULTS_H

#include "plan/kernel_config.h"

typedef struct mts_device_defaults {
    /* For reports and tests, e.g. "adreno 6xx". */
    const char *title;
    /* Parts of the device's name or driver's, any case, '|' between them; '#' stands for a
       digit, and a digit of the device ends no part. NULL: any. */
    const char *names;
    bool is_gpu;
    /* At least: the device's vector_floats, and its arch (a compute capability), which alone finds
       a row that has one. */
    uint32_t vector_floats, arch;
    /* conv_tile, and tiles that each compute unit should get at least. */
    mts_kernel_config tile;
    uint32_t tiles_per_unit;
    /* Convolutions take packs of channels; their weights are read through images. */
    bool packed, images;
    /* Sessions that leave the precision to the device multiply in float16, where it is fast at it. */
    bool half;
    /* Work-items that run as one, waves of them that each compute unit should get at least to
       hide what memory takes, and registers of 32 bits that a work-item can have; 0: not
       known. */
    uint32_t wave, waves, registers;
    /* Programs are built for one size of work-groups where it is known. */
    bool exact_groups;
} mts_device_defaults;

/* Work-items of a device that run as one: the multiple that its driver prefers for work-groups,
   else its row's; 0: not known. */
uint32_t mts_device_wave(const mts_device_info *device);
/* The last row of the table that fits; never NULL. */
const mts_device_defaults *mts_device_defaults_find(const mts_device_info *device);

#endif
