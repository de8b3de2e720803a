/*
 * second_device.c: see second_device.h.
 */
#include "support/second_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *second_device_backend(const char *name)
{
    const char *other = getenv("MTS_TEST_DEVICE");
    return other && *other && strcmp(name, "opencl") == 0 ? other : name;
}

const char *second_device_id(const char *id)
{
    static char made[64];
    const char *other = getenv("MTS_TEST_DEVICE");
    if (!other || !*other || strcmp(id, "opencl:0") != 0) {
        return id;
    }
    (void)snprintf(made, sizeof made, "%s:0", other);
    return made;
}

const char *second_device_cache(const char *backend, const char *folder)
{
    return strncmp(backend, "opencl", strlen("opencl")) == 0 ? NULL : folder;
}

bool second_device_has_dot(void)
{
    const char *profile = getenv("MTS_PROFILE");
    return profile && strstr(profile, "dot=");
}
