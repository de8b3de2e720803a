/* Generated: the backends that this build contains, in order of preference. */
#include "device/device.h"

extern const mts_backend mts_backend_cuda;
extern const mts_backend mts_backend_opencl;
extern const mts_backend mts_backend_cpu;
extern const mts_backend mts_backend_reference;
extern const mts_backend mts_backend_null;

static const mts_backend *const backends[] = {
    &mts_backend_cuda,
    &mts_backend_opencl,
    &mts_backend_cpu,
    &mts_backend_reference,
    &mts_backend_null,
    NULL,
};

const mts_backend *const *mts_backend_table(size_t *count)
{
    *count = sizeof backends / sizeof backends[0] - 1;
    return backends;
}
