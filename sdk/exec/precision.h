/*
 * precision.h: how a session stores and multiplies numbers, and what follows from it for sizes.
 *
 * Offsets and counts of a plan are in elements; only here they become bytes. Not responsible for how a kernel
 * reads float16 (kernels/prelude.h). Internal to sdk/exec.
 */
#ifndef MTS_EXEC_PRECISION_H
#define MTS_EXEC_PRECISION_H

#include "device/device.h"

/* The values of -DHALF: see kernels/prelude.h. */
typedef enum mts_precision_kind {
    MTS_PRECISION_KIND_FLOAT32 = 0,
    MTS_PRECISION_KIND_FLOAT16_STORAGE = 1,
    MTS_PRECISION_KIND_FLOAT16 = 2,
    MTS_PRECISION_KIND_COUNT = 3
} mts_precision_kind;

/* What a device makes of a wish: without half_products FLOAT16 is FLOAT16_STORAGE. */
mts_precision_kind mts_precision_used(const mts_device_info *device, mts_precision_kind wanted);
/* Bytes of an element in the arena and in the pool. */
size_t mts_precision_size(mts_precision_kind precision);
/* Bytes of a buffer of so many elements: whole 32-bit words. */
uint64_t mts_precision_bytes(mts_precision_kind precision, uint64_t elements);
/* "float32", "float16-storage", "float16" */
const char *mts_precision_name(mts_precision_kind precision);

#endif
