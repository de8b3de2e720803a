/*
 * replay_khr.c: recordings of cl_khr_command_buffer, and of its mutable dispatch.
 *
 * A recording is for the device's one in-order queue. Not responsible for when a list is
 * recorded or enqueued (replay.c).
 */
#include <string.h>

#include "platform/opencl/opencl.h"

#define MUTABLE_NAME "cl_khr_command_buffer_mutable_dispatch"
#define VERSIONS_MOST 512 /* extensions with their versions: several times what drivers have */

/* Before 0.9.3 the function had other parameters. A driver tells its version in OpenCL 3.0. */
static bool has_mutable_version(const mts_cl_library *cl, cl_device_id id)
{
    cl_name_version versions[VERSIONS_MOST];
    size_t size = 0;
    if (cl->clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS_WITH_VERSION, sizeof versions, versions, &size) !=
        CL_SUCCESS) {
        return false;
    }
    for (size_t i = 0; i < size / sizeof *versions && i < VERSIONS_MOST; i++) {
        if (strncmp(versions[i].name, MUTABLE_NAME, sizeof versions[i].name) == 0) {
            return versions[i].version >= CL_VERSION_OF(0, 9, 3);
        }
    }
    return false;
}

static bool can_change(const mts_cl_library *cl, cl_device_id id)
{
    const cl_bitfield needed =
        CL_MUTABLE_DISPATCH_GLOBAL_SIZE | CL_MUTABLE_DISPATCH_LOCAL_SIZE | CL_MUTABLE_DISPATCH_ARGUMENTS;
    cl_bitfield able = 0;
    return cl->clGetDeviceInfo(id, CL_DEVICE_MUTABLE_DISPATCH_CAPABILITIES, sizeof able, &able, NULL) ==
               CL_SUCCESS &&
           (able & needed) == needed && has_mutable_version(cl, id);
}

bool mts_cl_khr_find(const mts_cl_library *cl, cl_platform_id platform, cl_device_id id, const char *has,
                     mts_cl_khr *out)
{
    cl_bitfield needed = 0;
    cl_bitfield able = 0;
    memset(out, 0, sizeof *out);
    if (!mts_cl_has_word(has, "cl_khr_command_buffer") ||
        cl->clGetDeviceInfo(id, CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES, sizeof needed, &needed,
                            NULL) != CL_SUCCESS ||
        needed != 0) {
        return false;
    }
#define FIND(member, name)                                                                                   \
    {                                                                                                        \
        const mts_cl_function found = mts_cl_library_extension(cl, platform, name);                          \
        memcpy(&out->member, &found, sizeof found);                                                          \
    }
    FIND(create, "clCreateCommandBufferKHR")
    FIND(launch, "clCommandNDRangeKernelKHR")
    FIND(finalize, "clFinalizeCommandBufferKHR")
    FIND(enqueue, "clEnqueueCommandBufferKHR")
    FIND(release, "clReleaseCommandBufferKHR")
    if (!out->create || !out->launch || !out->finalize || !out->enqueue || !out->release) {
        memset(out, 0, sizeof *out);
        return false;
    }
    if (mts_cl_has_word(has, MUTABLE_NAME) && can_change(cl, id)) {
        FIND(update, "clUpdateMutableCommandsKHR")
    }
#undef FIND
    out->simultaneous = cl->clGetDeviceInfo(id, CL_DEVICE_COMMAND_BUFFER_CAPABILITIES, sizeof able, &able,
                                            NULL) == CL_SUCCESS &&
                        (able & CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE) != 0;
    return true;
}

cl_int mts_cl_khr_record(mts_cl_device *device, const mts_cl_command_list *list, mts_cl_recorded *recorded,
                         size_t first, size_t count, mts_cl_recording *out, const char **call)
{
    static const cl_ulong changeable[] = {
        CL_MUTABLE_DISPATCH_UPDATABLE_FIELDS,
        CL_MUTABLE_DISPATCH_GLOBAL_SIZE | CL_MUTABLE_DISPATCH_LOCAL_SIZE | CL_MUTABLE_DISPATCH_ARGUMENTS, 0};
    const mts_cl_khr *khr = &device->replay.khr;
    const bool changes = recorded->commands;
    const cl_bitfield flags = (khr->simultaneous ? CL_COMMAND_BUFFER_SIMULTANEOUS_USE : 0) |
                              (changes ? CL_COMMAND_BUFFER_MUTABLE : 0);
    const cl_ulong properties[] = {CL_COMMAND_BUFFER_FLAGS, flags, 0};
    cl_int result = CL_SUCCESS;
    *call = "clCreateCommandBufferKHR";
    *out = khr->create(1, &device->queue, flags ? properties : NULL, &result);
    if (result != CL_SUCCESS || !*out) {
        *out = NULL; /* a driver may leave anything there */
        return result != CL_SUCCESS ? result : CL_INVALID_VALUE;
    }
    for (size_t i = first; i < first + count && result == CL_SUCCESS; i++) {
        const mts_cl_launch *launch = &list->launches[i];
        *call = "clCommandNDRangeKernelKHR";
        result = khr->launch(*out, NULL, changes ? changeable : NULL, launch->handle, 3, NULL, launch->global,
                             launch->local, 0, NULL, NULL, changes ? &recorded->commands[i] : NULL);
    }
    if (result == CL_SUCCESS) {
        *call = "clFinalizeCommandBufferKHR";
        result = khr->finalize(*out);
    }
    return result;
}

cl_int mts_cl_khr_change(mts_cl_device *device, const mts_cl_command_list *list,
                         const mts_cl_recorded *recorded, size_t index)
{
    static const cl_uint types[] = {CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG};
    const mts_cl_launch *launch = &list->launches[index];
    cl_mutable_dispatch_arg args[MTS_CL_ARGUMENTS];
    cl_uint count = 0;
    for (cl_uint i = 0; i < MTS_CL_ARGUMENTS; i++) {
        size_t size = 0;
        const void *value = mts_cl_launch_argument(launch, i, &size);
        if (value) {
            args[count++] = (cl_mutable_dispatch_arg){i, size, value};
        }
    }
    const cl_mutable_dispatch_config config = {.command = recorded->commands[index],
                                               .args = count,
                                               .dimensions = 3,
                                               .arg_list = args,
                                               .global = launch->global,
                                               .local = launch->local};
    const void *configs[] = {&config};
    return device->replay.khr.update(recorded->parts[index / recorded->part_launches], 1, types, configs);
}
