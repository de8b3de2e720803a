/*
 * import.h: buffers over memory that the device did not allocate, by the drivers'
 * extensions for it.
 *
 * cl_arm_import_memory (dma-buf, AHardwareBuffer), cl_khr_external_memory_dma_buf, and
 * cl_qcom_android_ahardwarebuffer_host_ptr. A kind of memory for which a driver says no
 * extension, or lacks a function, is not offered.
 */
#ifndef MTS_PLATFORM_OPENCL_IMPORT_H
#define MTS_PLATFORM_OPENCL_IMPORT_H

#include <stdbool.h>

#include "platform/opencl/library.h"

/* How memory of a kind becomes a buffer. */
typedef enum mts_cl_import_way {
    MTS_CL_IMPORT_NONE = 0,
    MTS_CL_IMPORT_HOST, /* CL_MEM_USE_HOST_PTR */
    MTS_CL_IMPORT_ARM,
    MTS_CL_IMPORT_KHR, /* has to be acquired before it is used, and released before others write to it */
    MTS_CL_IMPORT_QCOM
} mts_cl_import_way;

typedef struct mts_cl_import {
    mts_cl_import_way dmabuf, android;
    cl_mem (*arm)(cl_context context, cl_bitfield flags, const intptr_t *properties, void *memory,
                  size_t size, cl_int *result);
    cl_int (*acquire)(cl_command_queue queue, cl_uint count, const cl_mem *memory, cl_uint waits,
                      const cl_event *wait_list, cl_event *event);
    cl_int (*release)(cl_command_queue queue, cl_uint count, const cl_mem *memory, cl_uint waits,
                      const cl_event *wait_list, cl_event *event);
} mts_cl_import;

/* What a driver offers for a device; allocates nothing. */
void mts_cl_import_find(const mts_cl_library *cl, cl_platform_id platform, cl_device_id id,
                        mts_cl_import *out);

#endif
