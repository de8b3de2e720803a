/*
 * ceilings.h: what a device can do at most, measured: the ceilings of a roofline.
 */
#ifndef MTS_TUNE_CEILINGS_H
#define MTS_TUNE_CEILINGS_H

#include "device/device.h"

typedef struct mts_probe {
    double flops; /* floating-point operations a second, a multiply-add is two */
    double copy;  /* bytes a second that a copy in device memory reads and writes together */
} mts_probe;

/* Takes a second or two and some device memory, which it gives back. UNSUPPORTED: the
 * backend has no such kernels. */
mts_status mts_probe_run(mts_device *device, mts_probe *out, mts_error *error);

#endif
