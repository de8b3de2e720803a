/*
 * bench_backend.c: see bench_backend.h.
 */
#include "bench_backend.h"

#include <string.h>

mts_device *bench_backend_open(const char *backend, mts_error *error)
{
    size_t count = 0;
    const mts_backend *const *table = mts_backend_table(&count);
    const mts_device_options options = {.allocator = mts_allocator_default()};
    mts_device *device = NULL;
    for (size_t i = 0; i < count && !device; i++) {
        if (strcmp(table[i]->name, backend) == 0 && table[i]->count() > 0) {
            (void)table[i]->open(0, &options, &device, error);
        }
    }
    return device;
}
