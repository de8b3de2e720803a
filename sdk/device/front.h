/*
 * front.h: what the files of a device's front share: the checks before a call of the backend,
 * and what follows it. Internal to device.c and memory.c.
 */
#ifndef MTS_DEVICE_FRONT_H
#define MTS_DEVICE_FRONT_H

#include "device/device.h"

/* Drains a lost device before a caller learns of the loss and frees memory that the queue
   still uses. Returns whether it is lost. */
bool mts_front_see_loss(mts_device *device);
mts_status mts_front_check(mts_device *device, mts_error *error);
/* A backend that notices the loss within a call may return any code. */
mts_status mts_front_after(mts_device *device, mts_status status, mts_error *error);
/* Begins `call`, which makes an object of the device. */
mts_status mts_front_check_create(mts_device *device, bool has_out, const char *call, mts_error *error);
mts_status mts_front_check_made(const mts_device *device, bool made, mts_error *error);
/* Frees host memory that outlived the loss of a device, behind the device. */
void mts_front_free_parked(const mts_allocator *allocator, mts_host_head *parked);

/* What an entry of the backend says. `error` is that of the function around. */
#define MTS_FRONT_CALL(device, entry, ...)                                                                   \
    mts_front_after(device, (device)->ops->entry(device, __VA_ARGS__, error), error)

/* Destroys an object of a device and clears the caller's handle. */
#define MTS_FRONT_DESTROY(handle, entry)                                                                     \
    do {                                                                                                     \
        if ((handle) && *(handle)) {                                                                         \
            mts_device *device = (*(handle))->device;                                                        \
            device->ops->entry(device, *(handle));                                                           \
            *(handle) = NULL;                                                                                \
            (void)mts_front_see_loss(device);                                                                \
        }                                                                                                    \
    } while (0)

#endif
