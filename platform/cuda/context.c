/*
 * context.c: makes a device's context the calling thread's current one, and restores the
 * one before it.
 *
 * Not responsible for making or releasing the context (device.c).
 */
#include "platform/cuda/cuda.h"

mts_status mts_cu_enter(mts_cu_device *device, mts_error *error)
{
    return mts_cu_check(device, device->cu.cuCtxPushCurrent_v2(device->context), MTS_CU_CALL_CREATE,
                        "cuCtxPushCurrent", error);
}

bool mts_cu_enter_to_release(mts_cu_device *device)
{
    bool entered = false;
    for (int attempt = 0; attempt < 2 && !entered; attempt++) {
        entered = mts_cu_enter(device, NULL) == MTS_STATUS_OK;
    }
    return entered;
}

void mts_cu_leave(mts_cu_device *device)
{
    CUcontext ours = NULL;
    (void)device->cu.cuCtxPopCurrent_v2(&ours);
}
