/*
 * event.c: waits for the whole queue, or tests how far it has come by events of markers.
 */
#include "platform/opencl/opencl.h"

static bool has_markers(const mts_cl_library *cl)
{
    return cl->clEnqueueMarkerWithWaitList && cl->clGetEventInfo && cl->clWaitForEvents && cl->clReleaseEvent;
}

static mts_status wait_event(mts_cl_device *device, cl_event event, mts_error *error)
{
    const cl_int result = device->cl.clWaitForEvents(1, &event);
    return mts_cl_check(device, result, MTS_CL_STAGE_WAIT, "clWaitForEvents", error);
}

static mts_status finish_by_marker(mts_cl_device *device, cl_command_queue queue, mts_error *error)
{
    cl_event event = NULL;
    const cl_int result = device->cl.clEnqueueMarkerWithWaitList(queue, 0, NULL, &event);
    mts_status status =
        mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clEnqueueMarkerWithWaitList", error);
    if (status == MTS_STATUS_OK) {
        status = wait_event(device, event, error);
        (void)device->cl.clReleaseEvent(event);
    }
    return status;
}

mts_status mts_cl_queue_finish(mts_cl_device *device, cl_command_queue queue, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    if (device->quirks->finish_by_marker && has_markers(&device->cl)) {
        status = finish_by_marker(device, queue, error);
    }
    /* Also behind a marker that failed: what is queued may still write to the caller's
       memory. */
    const cl_int result = device->cl.clFinish(queue);
    return status == MTS_STATUS_OK ? mts_cl_check(device, result, MTS_CL_STAGE_WAIT, "clFinish", error)
                                   : status;
}

mts_status mts_cl_finish(mts_cl_device *device, mts_error *error)
{
    const mts_status status = mts_cl_queue_finish(device, device->queue, error);
    if (status == MTS_STATUS_OK) {
        device->finished = device->replays;
    }
    return status;
}

static void forget(mts_cl_device *device, mts_cl_event *recorded)
{
    if (recorded->event) {
        (void)device->cl.clReleaseEvent(recorded->event);
    }
    *recorded = (mts_cl_event){.set = false};
}

mts_status mts_cl_event_record(mts_device *base, uint32_t index, mts_error *error)
{
    mts_cl_device *device = (mts_cl_device *)base;
    mts_cl_event *recorded = &device->events[index];
    forget(device, recorded);
    if (has_markers(&device->cl)) {
        cl_event event = NULL;
        const cl_int result = device->cl.clEnqueueMarkerWithWaitList(device->queue, 0, NULL, &event);
        const mts_status status =
            mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clEnqueueMarkerWithWaitList", error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
        recorded->event = event;
    }
    recorded->set = true;
    recorded->replays = device->replays;
    return mts_cl_check(device, device->cl.clFlush(device->queue), MTS_CL_STAGE_ENQUEUE, "clFlush", error);
}

/* An event's state is no point of synchronisation by itself; waiting for an event that is
   complete is one. */
static mts_status poll_event(mts_cl_device *device, cl_event event, bool *passed, mts_error *error)
{
    cl_int status = CL_COMPLETE;
    const cl_int result =
        device->cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    mts_status code = mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clGetEventInfo", error);
    if (code == MTS_STATUS_OK && status < 0) {
        code = mts_cl_check(device, status, MTS_CL_STAGE_WAIT, "a command", error);
    }
    *passed = code == MTS_STATUS_OK && status == CL_COMPLETE;
    return *passed ? wait_event(device, event, error) : code;
}

/* What failed stays so until the event is set again. */
mts_status mts_cl_event_query(mts_device *base, uint32_t index, bool wait, bool *passed, mts_error *error)
{
    mts_cl_device *device = (mts_cl_device *)base;
    mts_cl_event *recorded = &device->events[index];
    mts_status status = MTS_STATUS_OK;
    *passed = true;
    if (!recorded->set) {
        return MTS_STATUS_OK;
    }
    if (!recorded->event) {
        status = mts_cl_finish(device, error);
    } else if (wait) {
        status = wait_event(device, recorded->event, error);
    } else {
        status = poll_event(device, recorded->event, passed, error);
    }
    if (status == MTS_STATUS_OK && *passed) {
        device->finished = recorded->replays > device->finished ? recorded->replays : device->finished;
        forget(device, recorded);
    }
    return status;
}

void mts_cl_events_release(mts_cl_device *device)
{
    for (uint32_t i = 0; i < MTS_DEVICE_EVENTS; i++) {
        forget(device, &device->events[i]);
    }
}
