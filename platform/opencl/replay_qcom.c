/*
 * replay_qcom.c: recordings of cl_qcom_recordable_queues.
 *
 * A queue of its own takes launches between two calls and keeps them; the device's queue
 * enqueues what was kept, with other arguments and sizes where they are handed over. Not
 * responsible for when a list is recorded or enqueued (replay.c).
 */
#include <string.h>

#include "platform/opencl/opencl.h"

/* Drivers export these functions; not all of them hand them out by name. */
static mts_cl_function find_function(const mts_cl_library *cl, cl_platform_id platform, const char *name)
{
    const mts_cl_function found = mts_cl_library_extension(cl, platform, name);
    return found ? found : mts_cl_library_function(cl, name);
}

bool mts_cl_qcom_find(const mts_cl_library *cl, cl_platform_id platform, cl_device_id id, const char *has,
                      mts_cl_qcom *out)
{
    memset(out, 0, sizeof *out);
    if (!mts_cl_has_word(has, "cl_qcom_recordable_queues") ||
        cl->clGetDeviceInfo(id, CL_DEVICE_RECORDABLE_QUEUE_MAX_SIZE, sizeof out->most, &out->most, NULL) !=
            CL_SUCCESS) {
        memset(out, 0, sizeof *out);
        return false;
    }
#define FIND(member, name)                                                                                   \
    {                                                                                                        \
        const mts_cl_function found = find_function(cl, platform, name);                                     \
        memcpy(&out->member, &found, sizeof found);                                                          \
    }
    FIND(create, "clNewRecordingQCOM")
    FIND(end, "clEndRecordingQCOM")
    FIND(release, "clReleaseRecordingQCOM")
    FIND(enqueue, "clEnqueueRecordingQCOM")
#undef FIND
    if (out->most < 2 || !out->create || !out->end || !out->release || !out->enqueue) {
        memset(out, 0, sizeof *out);
        return false;
    }
    return true;
}

/* The queue takes no other property beside this one, hints included. */
static cl_int open_queue(mts_cl_device *device)
{
    cl_int result = CL_SUCCESS;
    if (!device->record_queue) {
        device->record_queue =
            device->cl.clCreateCommandQueue(device->context, device->id, CL_QUEUE_RECORDABLE_QCOM, &result);
        device->record_queue = result == CL_SUCCESS ? device->record_queue : NULL;
    }
    return result;
}

cl_int mts_cl_qcom_record(mts_cl_device *device, const mts_cl_command_list *list, size_t first, size_t count,
                          mts_cl_recording *out, const char **call)
{
    const mts_cl_qcom *qcom = &device->replay.qcom;
    *out = NULL;
    *call = "clCreateCommandQueue";
    cl_int result = open_queue(device);
    if (result != CL_SUCCESS) {
        return result;
    }
    *call = "clNewRecordingQCOM";
    *out = qcom->create(device->record_queue, &result);
    if (result != CL_SUCCESS || !*out) {
        *out = NULL; /* a driver may leave anything there */
        return result != CL_SUCCESS ? result : CL_INVALID_VALUE;
    }
    for (size_t i = first; i < first + count && result == CL_SUCCESS; i++) {
        const mts_cl_launch *launch = &list->launches[i];
        *call = "clEnqueueNDRangeKernel";
        result = device->cl.clEnqueueNDRangeKernel(device->record_queue, launch->handle, 3, NULL,
                                                   launch->global, launch->local, 0, NULL, NULL);
    }
    /* Also after a failure: the queue takes no other recording before. */
    const cl_int ended = qcom->end(*out);
    if (result == CL_SUCCESS) {
        *call = "clEndRecordingQCOM";
        result = ended;
    }
    return result;
}

/* ---- launches that changed ---- */

static bool allocate(mts_cl_device *device, const mts_cl_command_list *list, mts_cl_recorded *recorded)
{
    const mts_allocator *a = device->base.allocator;
    mts_cl_overrides *o = &recorded->overrides;
    const size_t args = list->made * MTS_CL_ARGUMENTS;
    if (o->changed) {
        return true;
    }
    *o = (mts_cl_overrides){
        .changed = mts_alloc_zero(a, list->made, sizeof *o->changed),
        .args = mts_alloc_zero(a, args, sizeof *o->args),
        .globals = mts_alloc_zero(a, list->made, sizeof *o->globals),
        .locals = mts_alloc_zero(a, list->made, sizeof *o->locals),
        .first_arg = mts_alloc_zero(a, recorded->part_count + 1, sizeof *o->first_arg),
        .first_group = mts_alloc_zero(a, recorded->part_count + 1, sizeof *o->first_group),
    };
    const bool ready = o->changed && o->args && o->globals && o->locals && o->first_arg && o->first_group;
    if (!ready) {
        mts_cl_overrides_release(device, o);
    }
    return ready;
}

void mts_cl_overrides_release(mts_cl_device *device, mts_cl_overrides *overrides)
{
    const mts_allocator *a = device->base.allocator;
    mts_alloc_free(a, overrides->changed);
    mts_alloc_free(a, overrides->args);
    mts_alloc_free(a, overrides->globals);
    mts_alloc_free(a, overrides->locals);
    mts_alloc_free(a, overrides->first_arg);
    mts_alloc_free(a, overrides->first_group);
    *overrides = (mts_cl_overrides){.changed = NULL};
}

/* The values are read where they lie, in the list, whenever it is enqueued. A driver may or may
   not remember them, so a launch that changed once has its own from then on. */
static void fill(const mts_cl_command_list *list, const mts_cl_recorded *recorded)
{
    const mts_cl_overrides *o = &recorded->overrides;
    size_t arg = 0;
    size_t group = 0;
    for (size_t i = 0; i < list->made; i++) {
        const cl_uint dispatch = (cl_uint)(i % recorded->part_launches);
        const mts_cl_launch *launch = &list->launches[i];
        if (dispatch == 0) {
            o->first_arg[i / recorded->part_launches] = arg;
            o->first_group[i / recorded->part_launches] = group;
        }
        if (!o->changed[i]) {
            continue;
        }
        o->globals[group] = (cl_workgroup_qcom){dispatch, launch->global};
        o->locals[group++] = (cl_workgroup_qcom){dispatch, launch->local};
        size_t size = 0;
        for (cl_uint k = 0; k < MTS_CL_ARGUMENTS; k++) {
            const void *value = mts_cl_launch_argument(launch, k, &size);
            if (value) {
                o->args[arg++] = (cl_array_arg_qcom){dispatch, k, size, value};
            }
        }
    }
    o->first_arg[recorded->part_count] = arg;
    o->first_group[recorded->part_count] = group;
}

bool mts_cl_qcom_change(mts_cl_device *device, const mts_cl_command_list *list, mts_cl_recorded *recorded,
                        const bool *changed)
{
    if (!allocate(device, list, recorded)) {
        return false;
    }
    for (size_t i = 0; i < list->made; i++) {
        recorded->overrides.changed[i] = recorded->overrides.changed[i] || changed[i];
    }
    fill(list, recorded);
    return true;
}

cl_int mts_cl_qcom_enqueue(mts_cl_device *device, const mts_cl_recorded *recorded, size_t part)
{
    const mts_cl_overrides *o = &recorded->overrides;
    const size_t arg = o->changed ? o->first_arg[part] : 0;
    const size_t group = o->changed ? o->first_group[part] : 0;
    const size_t args = o->changed ? o->first_arg[part + 1] - arg : 0;
    const size_t groups = o->changed ? o->first_group[part + 1] - group : 0;
    return device->replay.qcom.enqueue(
        device->queue, recorded->parts[part], args, args ? &o->args[arg] : NULL, 0, NULL, groups,
        groups ? &o->globals[group] : NULL, groups, groups ? &o->locals[group] : NULL, 0, NULL, NULL);
}
