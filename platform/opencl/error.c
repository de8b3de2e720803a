/*
 * error.c: from OpenCL's results to the library's codes.
 */
#include "platform/opencl/opencl.h"

#define VENDOR_FIRST (-9000) /* below: codes of vendors for crashed kernels and lost devices, e.g. -9999 */

static const char *const general_names[] = {
    "CL_SUCCESS",
    "CL_DEVICE_NOT_FOUND",
    "CL_DEVICE_NOT_AVAILABLE",
    "CL_COMPILER_NOT_AVAILABLE",
    "CL_MEM_OBJECT_ALLOCATION_FAILURE",
    "CL_OUT_OF_RESOURCES",
    "CL_OUT_OF_HOST_MEMORY",
    "CL_PROFILING_INFO_NOT_AVAILABLE",
    "CL_MEM_COPY_OVERLAP",
    "CL_IMAGE_FORMAT_MISMATCH",
    "CL_IMAGE_FORMAT_NOT_SUPPORTED",
    "CL_BUILD_PROGRAM_FAILURE",
    "CL_MAP_FAILURE",
    "CL_MISALIGNED_SUB_BUFFER_OFFSET",
    "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
    "CL_COMPILE_PROGRAM_FAILURE",
    "CL_LINKER_NOT_AVAILABLE",
    "CL_LINK_PROGRAM_FAILURE",
    "CL_DEVICE_PARTITION_FAILED",
    "CL_KERNEL_ARG_INFO_NOT_AVAILABLE",
};

static const char *const invalid_names[] = {
    "CL_INVALID_VALUE",           "CL_INVALID_DEVICE_TYPE",
    "CL_INVALID_PLATFORM",        "CL_INVALID_DEVICE",
    "CL_INVALID_CONTEXT",         "CL_INVALID_QUEUE_PROPERTIES",
    "CL_INVALID_COMMAND_QUEUE",   "CL_INVALID_HOST_PTR",
    "CL_INVALID_MEM_OBJECT",      "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
    "CL_INVALID_IMAGE_SIZE",      "CL_INVALID_SAMPLER",
    "CL_INVALID_BINARY",          "CL_INVALID_BUILD_OPTIONS",
    "CL_INVALID_PROGRAM",         "CL_INVALID_PROGRAM_EXECUTABLE",
    "CL_INVALID_KERNEL_NAME",     "CL_INVALID_KERNEL_DEFINITION",
    "CL_INVALID_KERNEL",          "CL_INVALID_ARG_INDEX",
    "CL_INVALID_ARG_VALUE",       "CL_INVALID_ARG_SIZE",
    "CL_INVALID_KERNEL_ARGS",     "CL_INVALID_WORK_DIMENSION",
    "CL_INVALID_WORK_GROUP_SIZE", "CL_INVALID_WORK_ITEM_SIZE",
    "CL_INVALID_GLOBAL_OFFSET",   "CL_INVALID_EVENT_WAIT_LIST",
    "CL_INVALID_EVENT",           "CL_INVALID_OPERATION",
    "CL_INVALID_GL_OBJECT",       "CL_INVALID_BUFFER_SIZE",
    "CL_INVALID_MIP_LEVEL",       "CL_INVALID_GLOBAL_WORK_SIZE",
    "CL_INVALID_PROPERTY",
};

/* OpenCL has no word for a lost device; these are what drivers answer instead. */
static bool means_lost(cl_int result, mts_cl_stage stage)
{
    const bool waiting = stage == MTS_CL_STAGE_WAIT;
    return result == CL_DEVICE_NOT_AVAILABLE || result == CL_INVALID_CONTEXT ||
           result == CL_INVALID_COMMAND_QUEUE || result <= VENDOR_FIRST ||
           (waiting && result == CL_OUT_OF_RESOURCES) ||
           (waiting && result == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
}

static bool means_memory(cl_int result, mts_cl_stage stage)
{
    return result == CL_MEM_OBJECT_ALLOCATION_FAILURE || result == CL_OUT_OF_HOST_MEMORY ||
           (result == CL_OUT_OF_RESOURCES && stage == MTS_CL_STAGE_CREATE);
}

const char *mts_cl_error_name(cl_int result)
{
    const long general = -(long)result;
    const long invalid = general - 30;
    if (general >= 0 && general < (long)(sizeof general_names / sizeof general_names[0])) {
        return general_names[general];
    }
    if (invalid >= 0 && invalid < (long)(sizeof invalid_names / sizeof invalid_names[0])) {
        return invalid_names[invalid];
    }
    return result == -1001 ? "CL_PLATFORM_NOT_FOUND_KHR" : "an unknown code";
}

mts_status mts_cl_check(mts_cl_device *device, cl_int result, mts_cl_stage stage, const char *call,
                        mts_error *error)
{
    mts_status status = MTS_STATUS_DEVICE;
    if (result == CL_SUCCESS) {
        return MTS_STATUS_OK;
    }
    if (device && means_lost(result, stage)) {
        mts_device_lose(&device->base);
        status = MTS_STATUS_DEVICE_LOST;
    } else if (means_memory(result, stage)) {
        status = MTS_STATUS_OUT_OF_MEMORY;
        if (device && result != CL_OUT_OF_HOST_MEMORY) {
            device->base.full = true;
        }
    }
    return mts_fail(error, status, "%s on '%s' failed with %s (%d)", call,
                    device ? device->base.info.name : "OpenCL", mts_cl_error_name(result), result);
}
