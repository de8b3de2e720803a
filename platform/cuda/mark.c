/*
 * mark.c: how far the stream has come, by events that are made when the device is opened.
 */
#include "platform/cuda/cuda.h"

mts_status mts_cu_event_record(mts_device *base, uint32_t index, mts_error *error)
{
    mts_cu_device *device = (mts_cu_device *)base;
    mts_cu_event *mark = &device->marks[index];
    mts_status code = mts_cu_enter(device, error);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    code = mts_cu_check(device, device->cu.cuEventRecord(mark->event, device->stream), MTS_CU_CALL_ENQUEUE,
                        "cuEventRecord", error);
    mts_cu_leave(device);
    mark->set = code == MTS_STATUS_OK;
    mark->submits = device->submits;
    return code;
}

mts_status mts_cu_event_query(mts_device *base, uint32_t index, bool wait, bool *passed, mts_error *error)
{
    mts_cu_device *device = (mts_cu_device *)base;
    mts_cu_event *mark = &device->marks[index];
    *passed = !mark->set;
    if (!mark->set) {
        return MTS_STATUS_OK;
    }
    mts_status code = mts_cu_enter(device, error);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    const CUresult result =
        wait ? device->cu.cuEventSynchronize(mark->event) : device->cu.cuEventQuery(mark->event);
    if (wait || result != CUDA_ERROR_NOT_READY) {
        code = mts_cu_check(device, result, MTS_CU_CALL_WAIT, wait ? "cuEventSynchronize" : "cuEventQuery",
                            error);
        *passed = code == MTS_STATUS_OK;
        mark->set = code != MTS_STATUS_OK;
        if (*passed && mark->submits > device->finished) {
            device->finished = mark->submits;
        }
    }
    mts_cu_leave(device);
    return code;
}

mts_status mts_cu_events_make(mts_cu_device *device, mts_error *error)
{
    for (uint32_t i = 0; i < MTS_DEVICE_EVENTS; i++) {
        CUevent event = NULL;
        const mts_status code =
            mts_cu_check(device, device->cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING),
                         MTS_CU_CALL_CREATE, "cuEventCreate", error);
        if (code != MTS_STATUS_OK) {
            return code;
        }
        device->marks[i].event = event;
    }
    return MTS_STATUS_OK;
}

void mts_cu_events_release(mts_cu_device *device)
{
    for (uint32_t i = 0; i < MTS_DEVICE_EVENTS; i++) {
        if (device->marks[i].event) {
            (void)device->cu.cuEventDestroy_v2(device->marks[i].event);
        }
        device->marks[i] = (mts_cu_event){.event = NULL};
    }
}
