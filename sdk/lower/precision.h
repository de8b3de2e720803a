/*
 * precision.h: how a session stores and multiplies numbers, and what follows from it for
 * sizes.
 *
 * Offsets and counts of a plan are in elements; only here they become bytes. Not
 * responsible for how a kernel reads float16 (kernels/prelude.h).
 */
#ifndef MTS_LOWER_PRECISION_H
#define MTS_LOWER_PRECISION_H

#include "device/device.h"

/* The values of mts_precision are those of -DHALF: see kernels/prelude.h. */
#define MTS_PRECISION_COUNT 3

/* What a session takes that leaves the precision to the device. */
mts_precision mts_precision_preferred(const mts_device_info *device);
/* What a device makes of a wish: without half_products FLOAT16 is FLOAT16_STORAGE. */
mts_precision mts_precision_used(const mts_device_info *device, mts_precision wanted);
/* Bytes of an element in the arena and in the pool. */
size_t mts_precision_size(mts_precision precision);
/* Bytes of a buffer of so many elements: whole 32-bit words. */
uint64_t mts_precision_bytes(mts_precision precision, uint64_t elements);
/* "float32", "float16-storage", "float16" */
const char *mts_precision_name(mts_precision precision);

#endif
