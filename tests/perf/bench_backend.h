/*
 * bench_backend.h: the device that a bench's argument names.
 */
#ifndef MTS_BENCH_BACKEND_H
#define MTS_BENCH_BACKEND_H

#include "device/device.h"

/* The first device of a backend, or NULL: `error` says why it does not open, and is empty where
   there is none. */
mts_device *bench_backend_open(const char *backend, mts_error *error);

#endif
