/*
 * sub_device.c: divides a device into parts of its compute units.
 *
 * Each part is opened by itself, so all parts of a division are made each time and all but
 * one are released. A driver deals out units in the order of the list, so that the same
 * part has the same units however often it is made.
 */
#include "platform/opencl/opencl.h"

#ifndef MTS_SMALL

#include <stdlib.h>
#include <string.h>

#define PARTS_MOST 64u

bool mts_cl_sub_device_parse(const char *text, uint32_t *index, uint32_t *part, uint32_t *parts)
{
    static const char *const ends[] = {"/", "of", ""};
    uint32_t *const numbers[] = {index, part, parts};
    for (int i = 0; i < 3; i++) {
        const size_t digits = strspn(text, "0123456789");
        if (digits == 0 || digits > 5 || strncmp(text + digits, ends[i], strlen(ends[i])) != 0) {
            return false;
        }
        *numbers[i] = (uint32_t)strtoul(text, NULL, 10);
        text += digits + strlen(ends[i]);
    }
    return *text == '\0' && *part < *parts;
}

static uint32_t get_uint(const mts_cl_library *cl, cl_device_id id, cl_uint what)
{
    cl_uint value = 0;
    return cl->clGetDeviceInfo(id, what, sizeof value, &value, NULL) == CL_SUCCESS ? value : 0;
}

mts_status mts_cl_sub_device(const mts_cl_library *cl, cl_device_id id, uint32_t part, uint32_t parts,
                             cl_device_id *out, mts_error *error)
{
    intptr_t properties[PARTS_MOST + 3] = {CL_DEVICE_PARTITION_BY_COUNTS};
    cl_device_id made[PARTS_MOST];
    cl_uint count = 0;
    const uint32_t units = get_uint(cl, id, CL_DEVICE_MAX_COMPUTE_UNITS);
    const uint32_t most = get_uint(cl, id, CL_DEVICE_PARTITION_MAX_SUB_DEVICES);
    if (!cl->clCreateSubDevices || !cl->clReleaseDevice) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "the driver has no sub-devices");
    }
    if (parts > units || parts > most || parts > PARTS_MOST) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                        "%u parts: the device has %u compute units, and its driver makes %u parts at most",
                        parts, units, most < PARTS_MOST ? most : PARTS_MOST);
    }
    for (uint32_t i = 0; i < parts; i++) {
        properties[1 + i] = (intptr_t)(units / parts);
    }
    const cl_int result = cl->clCreateSubDevices(id, properties, parts, made, &count);
    if (result != CL_SUCCESS || count != parts) {
        for (cl_uint i = 0; result == CL_SUCCESS && i < count && i < parts; i++) {
            (void)cl->clReleaseDevice(made[i]);
        }
        return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                        "clCreateSubDevices by counts, %u times %u units: %s (%d)", parts, units / parts,
                        mts_cl_error_name(result), result);
    }
    for (uint32_t i = 0; i < parts; i++) {
        if (i != part) {
            (void)cl->clReleaseDevice(made[i]);
        }
    }
    *out = made[part];
    return MTS_STATUS_OK;
}

#endif
