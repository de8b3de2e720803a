/*
 * front.c: see front.h.
 */
#include "device/front.h"

void mts_device_drain(mts_device *device)
{
    if (device->ops->drain) {
        device->ops->drain(device);
    }
}

bool mts_front_see_loss(mts_device *device)
{
    const bool lost = mts_device_is_lost(device);
    if (lost && !atomic_load_explicit(&device->drained, memory_order_relaxed)) {
        atomic_store_explicit(&device->drained, true, memory_order_relaxed);
        mts_device_drain(device);
    }
    return lost;
}

mts_status mts_front_check(mts_device *device, mts_error *error)
{
    if (!device || !device->ops) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "device is NULL");
    }
    if (device->ops->abi != MTS_DEVICE_ABI) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "device '%s' has interface version %u, and this library needs %u", device->info.name,
                        device->ops->abi, MTS_DEVICE_ABI);
    }
    if (mts_front_see_loss(device)) {
        return mts_fail(error, MTS_STATUS_DEVICE_LOST, "device '%s' was lost; destroy it and open it again",
                        device->info.name);
    }
    return MTS_STATUS_OK;
}

mts_status mts_front_after(mts_device *device, mts_status status, mts_error *error)
{
    const bool lost = mts_front_see_loss(device);
    if (status != MTS_STATUS_OK && lost && status != MTS_STATUS_DEVICE_LOST) {
        status = MTS_STATUS_DEVICE_LOST;
        if (error) {
            error->code = status;
        }
    }
    return status;
}

mts_status mts_front_check_create(mts_device *device, bool has_out, const char *call, mts_error *error)
{
    return has_out ? mts_front_check(device, error)
                   : mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s: out is NULL", call);
}

mts_status mts_front_check_made(const mts_device *device, bool made, mts_error *error)
{
    return made ? MTS_STATUS_OK
                : mts_fail(error, MTS_STATUS_INTERNAL, "backend '%s' reported success without an object",
                           device->info.backend);
}
