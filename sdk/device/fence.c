/*
 * fence.c: fences are marks in turns. The queue is in order: with a fence all earlier ones have passed.
 */
#include "device/fence.h"

static uint32_t mark_of(uint64_t fence)
{
    return (uint32_t)(fence % MTS_DEVICE_MARKS);
}

/* `fence` is one of the last MTS_DEVICE_MARKS: only these have a mark. */
static mts_code look(mts_device *device, uint64_t fence, bool wait, bool *passed, mts_error *error)
{
    mts_code code = MTS_CODE_OK;
    *passed = fence <= device->fences_passed;
    if (*passed) {
        return code;
    }
    if (wait) {
        code = mts_device_wait_mark(device, mark_of(fence), error);
        *passed = code == MTS_CODE_OK;
    } else {
        code = mts_device_passed(device, mark_of(fence), passed, error);
    }
    if (*passed) {
        device->fences_passed = fence;
    }
    return code;
}

mts_code mts_fence_set(mts_device *device, uint64_t *fence, mts_error *error)
{
    const uint64_t next = device->fences + 1;
    mts_code code = MTS_CODE_OK;
    if (next > MTS_DEVICE_MARKS) {
        bool passed = false;
        code = look(device, next - MTS_DEVICE_MARKS, true, &passed, error);
    }
    if (code == MTS_CODE_OK) {
        code = mts_device_mark(device, mark_of(next), error);
    }
    if (code == MTS_CODE_OK) {
        device->fences = next;
        *fence = next;
    }
    return code;
}

mts_code mts_fence_passed(mts_device *device, uint64_t fence, bool *passed, mts_error *error)
{
    return look(device, fence, false, passed, error);
}

mts_code mts_fence_wait(mts_device *device, uint64_t fence, mts_error *error)
{
    bool passed = false;
    return look(device, fence, true, &passed, error);
}
