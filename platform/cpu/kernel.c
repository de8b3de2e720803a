/*
 * kernel.c: from a kernel's name and -D options to the function that was compiled for
 * them.
 *
 * VEC names the instruction set, HALF the precision, SCRATCH how much memory a work-group
 * needs, CHAINS the probe. Other options say how a driver is to build what is compiled
 * here in one form for all; they are passed over.
 */
#include "platform/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

/* The number behind "-DNAME=" in the options, else `otherwise`. */
static uint32_t option(const char *defines, const char *name, uint32_t otherwise)
{
    const char *at = strstr(defines, name);
    return at ? (uint32_t)strtoul(at + strlen(name), NULL, 10) : otherwise;
}

mts_status mts_cpu_kernel_create(mts_device *base, const mts_kernel_desc *desc, mts_kernel **out,
                                 mts_error *error)
{
    mts_cpu_device *device = (mts_cpu_device *)base;
    const uint32_t vector = option(desc->defines, "-DVEC=", device->set->vector);
    const uint32_t chains = option(desc->defines, "-DCHAINS=", 16);
    const size_t scratch = (size_t)option(desc->defines, "-DSCRATCH=", 0) * vector * sizeof(float);
    const mts_cpu_set *set = vector == device->set->vector ? device->set : mts_cpu_set_of(vector);
    if (!set) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                        "kernel '%s' asks for vectors of %u floats; this processor's have %u", desc->name,
                        (unsigned)vector, (unsigned)device->set->vector);
    }
    if (option(desc->defines, "-DGROUP=", 1) > 1) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                        "kernel '%s' asks for work-items that wait for each other (%s); those of the cpu "
                        "backend run one after the other",
                        desc->name, desc->defines);
    }
    mts_cpu_function *run = mts_cpu_find(set, desc->name, option(desc->defines, "-DHALF=", 0) > 0, chains);
    if (!run) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "the cpu backend has no kernel '%s' (%s)", desc->name,
                        desc->defines);
    }
    mts_cpu_kernel *kernel = mts_alloc_zero(base->allocator, 1, sizeof *kernel);
    if (!kernel) {
        return mts_fail_memory(error);
    }
    kernel->base.work_group_size = base->info.work_group_size;
    kernel->run = run;
    device->scratch_wanted = scratch > device->scratch_wanted ? scratch : device->scratch_wanted;
    *out = &kernel->base;
    return MTS_STATUS_OK;
}

void mts_cpu_kernel_destroy(mts_device *device, mts_kernel *kernel)
{
    mts_alloc_free(device->allocator, kernel);
}
