/*
 * null.h: the backend that computes nothing, with limits to choose.
 *
 * For tests of everything above the device (limits, memory budgets, planning without a
 * driver), and the skeleton to clone for a new backend; see README.md. Opened through the
 * registry it has the default limits.
 */
#ifndef MTS_PLATFORM_NULL_NULL_H
#define MTS_PLATFORM_NULL_NULL_H

#include "device/device.h"

typedef struct mts_null_limits {
    mts_device_info info; /* what the device says of itself; memory_bytes is enforced over all live buffers */
    uint64_t launch_ns;   /* what command_list_profile says that every launch takes */
} mts_null_limits;

extern const mts_backend mts_backend_null;

/* A small CPU with 1 GiB. */
void mts_null_limits_default(mts_null_limits *limits);
/* Like mts_backend_null.open, with limits. */
mts_status mts_null_open(const mts_null_limits *limits, const mts_device_options *options, mts_device **out,
                         mts_error *error);

#endif
