/*
 * event.c: waits for the whole stream, or tests how far it has come by events that exist
 * from the device's opening on.
 */
#include "platform/cuda/cuda.h"

mts_status mts_cu_finish(mts_cu_device *device, mts_error *error)
{
    const CUresult result = device->cu.cuStreamSynchronize(device->stream);
    if (result == CUDA_SUCCESS) {
        device->finished = device->submits;
    }
    return mts_cu_check(device, result, MTS_CU_CALL_WAIT, "cuStreamSynchronize", error);
}

mts_status mts_cu_event_record(mts_device *base, uint32_t index, mts_error *error)
{
    mts_cu_device *device = (mts_cu_device *)base;
    mts_cu_event *recorded = &device->events[index];
    mts_status status = mts_cu_enter(device, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    status = mts_cu_check(device, device->cu.cuEventRecord(recorded->event, device->stream),
                          MTS_CU_CALL_ENQUEUE, "cuEventRecord", error);
    mts_cu_leave(device);
    recorded->set = status == MTS_STATUS_OK;
    recorded->submits = device->submits;
    return status;
}

mts_status mts_cu_event_query(mts_device *base, uint32_t index, bool wait, bool *passed, mts_error *error)
{
    mts_cu_device *device = (mts_cu_device *)base;
    mts_cu_event *recorded = &device->events[index];
    *passed = !recorded->set;
    if (!recorded->set) {
        return MTS_STATUS_OK;
    }
    mts_status status = mts_cu_enter(device, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const CUresult result =
        wait ? device->cu.cuEventSynchronize(recorded->event) : device->cu.cuEventQuery(recorded->event);
    if (wait || result != CUDA_ERROR_NOT_READY) {
        status = mts_cu_check(device, result, MTS_CU_CALL_WAIT, wait ? "cuEventSynchronize" : "cuEventQuery",
                              error);
        *passed = status == MTS_STATUS_OK;
        recorded->set = status != MTS_STATUS_OK;
        if (*passed && recorded->submits > device->finished) {
            device->finished = recorded->submits;
        }
    }
    mts_cu_leave(device);
    return status;
}

mts_status mts_cu_events_make(mts_cu_device *device, mts_error *error)
{
    for (uint32_t i = 0; i < MTS_DEVICE_EVENTS; i++) {
        CUevent event = NULL;
        const mts_status status =
            mts_cu_check(device, device->cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING),
                         MTS_CU_CALL_CREATE, "cuEventCreate", error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
        device->events[i].event = event;
    }
    return MTS_STATUS_OK;
}

void mts_cu_events_release(mts_cu_device *device)
{
    for (uint32_t i = 0; i < MTS_DEVICE_EVENTS; i++) {
        if (device->events[i].event) {
            (void)device->cu.cuEventDestroy_v2(device->events[i].event);
        }
        device->events[i] = (mts_cu_event){.event = NULL};
    }
}
