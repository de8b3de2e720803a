/*
 * devices.c: the list of devices and the choice among them.
 *
 * An id is the backend's name and, where a machine can have several, a number: "opencl:0", "reference".
 * Backends come from the generated registry, in order of preference. The null backend computes nothing, so it
 * opens only by its name and stands in no list.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

static const char *const unlisted_backends[] = {"null"};
static const char *const single_backends[] = {"null",
                                              "reference"}; /* one device each: the id needs no number */

static bool backend_in(const mts_backend *backend, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(backend->name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool backend_listed(const mts_backend *backend)
{
    return !backend_in(backend, unlisted_backends, sizeof unlisted_backends / sizeof unlisted_backends[0]);
}

static mts_code describe(const mts_backend *backend, uint32_t index, mts_device_desc *out, mts_error *error)
{
    mts_device_info info = {0};
    const mts_code code = backend->describe(index, &info, error);
    if (code != MTS_CODE_OK) {
        return code;
    }
    memset(out, 0, sizeof *out);
    if (backend_in(backend, single_backends, sizeof single_backends / sizeof single_backends[0])) {
        (void)snprintf(out->id, sizeof out->id, "%s", backend->name);
    } else {
        (void)snprintf(out->id, sizeof out->id, "%s:%" PRIu32, backend->name, index);
    }
    (void)snprintf(out->name, sizeof out->name, "%s", info.name);
    (void)snprintf(out->driver, sizeof out->driver, "%s", info.driver);
    out->is_gpu = info.is_gpu ? 1 : 0;
    out->compute_units = info.compute_units;
    out->vector_floats = info.vector_floats;
    out->memory_bytes = info.memory_bytes;
    return MTS_CODE_OK;
}

/* Finds the backend and the number that an id names. */
static mts_code parse_id(const char *id, const mts_backend **backend, uint32_t *index, mts_error *error)
{
    size_t count = 0;
    const mts_backend *const *table = mts_backend_table(&count);
    const char *colon = strchr(id, ':');
    const size_t length = colon ? (size_t)(colon - id) : strlen(id);
    unsigned long number = 0;
    if (colon) {
        char *end = NULL;
        number = strtoul(colon + 1, &end, 10);
        if (colon[1] < '0' || colon[1] > '9' || *end != '\0' || number > UINT16_MAX) {
            return mts_fail(error, MTS_CODE_NOT_FOUND,
                            "device '%s': the part after ':' is not a device number", id);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (strlen(table[i]->name) == length && strncmp(table[i]->name, id, length) == 0) {
            *backend = table[i];
            *index = (uint32_t)number;
            return MTS_CODE_OK;
        }
    }
    return mts_fail(error, MTS_CODE_NOT_FOUND, "device '%s': this build has no backend '%.*s'", id,
                    (int)length, id);
}

/* A GPU if there is one, else the first listed device that the registry offers. */
static mts_code choose(const mts_backend **backend, uint32_t *index, mts_error *error)
{
    size_t count = 0;
    const mts_backend *const *table = mts_backend_table(&count);
    *backend = NULL;
    for (size_t i = 0; i < count; i++) {
        const uint32_t devices = backend_listed(table[i]) ? table[i]->count() : 0;
        for (uint32_t device = 0; device < devices; device++) {
            mts_device_info info = {0};
            if (table[i]->describe(device, &info, NULL) != MTS_CODE_OK) {
                continue;
            }
            if (info.is_gpu || !*backend) {
                *backend = table[i];
                *index = device;
            }
            if (info.is_gpu) {
                return MTS_CODE_OK;
            }
        }
    }
    return *backend
               ? MTS_CODE_OK
               : mts_fail(error, MTS_CODE_NOT_FOUND, "this machine has no device that this build can open");
}

uint32_t mts_api_device_count(void)
{
    size_t count = 0;
    uint32_t devices = 0;
    const mts_backend *const *table = mts_backend_table(&count);
    for (size_t i = 0; i < count; i++) {
        devices += backend_listed(table[i]) ? table[i]->count() : 0;
    }
    return devices;
}

mts_code mts_api_device_info(uint32_t index, mts_device_desc *out, mts_error *error)
{
    size_t count = 0;
    uint32_t left = index;
    const mts_backend *const *table = mts_backend_table(&count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t devices = backend_listed(table[i]) ? table[i]->count() : 0;
        if (left < devices) {
            return describe(table[i], left, out, error);
        }
        left -= devices;
    }
    return mts_fail(error, MTS_CODE_NOT_FOUND, "there is no device %" PRIu32, index);
}

mts_code mts_api_device_open(const char *id, const mts_device_options *options, mts_device **out,
                             mts_device_desc *desc, mts_error *error)
{
    const mts_backend *backend = NULL;
    uint32_t index = 0;
    const bool automatic = !id || strcmp(id, "auto") == 0;
    mts_code code = automatic ? choose(&backend, &index, error) : parse_id(id, &backend, &index, error);
    if (code != MTS_CODE_OK) {
        return code;
    }
    const uint32_t devices = backend->count();
    if (index >= devices) {
        return mts_fail(error, MTS_CODE_NOT_FOUND, "device '%s': backend '%s' finds %" PRIu32 " devices here",
                        id ? id : "auto", backend->name, devices);
    }
    code = describe(backend, index, desc, error);
    if (code == MTS_CODE_OK) {
        code = backend->open(index, options, out, error);
    }
    return code;
}

uint32_t mts_device_count(void)
{
    return mts_api_device_count();
}

mts_status mts_device_describe(uint32_t index, mts_device_desc *out)
{
    mts_device_desc desc;
    if (!out) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    const mts_code code = mts_api_device_info(index, &desc, NULL);
    if (code == MTS_CODE_OK) {
        *out = desc;
    }
    return (mts_status)code;
}
