/*
 * error.c: from the driver's results to the library's codes; when a device counts as
 * lost.
 */
#include "platform/cuda/cuda.h"

/* The context is of no more use, and every later call in it fails likewise. */
static bool breaks_context(CUresult result, mts_cu_call kind)
{
    switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
        return true;
    case CUDA_ERROR_UNKNOWN:
        return kind == MTS_CU_CALL_WAIT;
    default:
        return false;
    }
}

/* The context, or the driver itself, was taken away. */
static bool is_gone(CUresult result)
{
    return result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_INVALID_CONTEXT ||
           result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

mts_status mts_cu_check(mts_cu_device *device, CUresult result, mts_cu_call kind, const char *call,
                        mts_error *error)
{
    mts_status status = MTS_STATUS_DEVICE;
    if (result == CUDA_SUCCESS) {
        return MTS_STATUS_OK;
    }
    if (breaks_context(result, kind)) {
        device->broken = true;
        mts_device_lose(&device->base);
        status = MTS_STATUS_DEVICE_LOST;
    } else if (is_gone(result)) {
        mts_device_lose(&device->base);
        status = MTS_STATUS_DEVICE_LOST;
    } else if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        device->base.full = true;
        status = MTS_STATUS_OUT_OF_MEMORY;
    }
    return mts_fail(error, status, "%s on '%s' failed with %s (%d)", call, device->base.info.name,
                    mts_cu_library_error_name(&device->cu, result), result);
}
