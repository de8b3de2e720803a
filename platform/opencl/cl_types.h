/*
 * cl_types.h: the types and numbers of OpenCL 1.2 that the backend uses.
 *
 * Written from the specification, so that no OpenCL header is needed to build for a
 * phone. Not a replacement of CL/cl.h: what the backend does not use is not here. Never
 * include both.
 */
#ifndef MTS_PLATFORM_OPENCL_CL_TYPES_H
#define MTS_PLATFORM_OPENCL_CL_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef cl_uint cl_bool;
typedef cl_ulong cl_bitfield;
typedef struct mts_cl_opaque_platform *cl_platform_id;
typedef struct mts_cl_opaque_device *cl_device_id;
typedef struct mts_cl_opaque_context *cl_context;
typedef struct mts_cl_opaque_queue *cl_command_queue;
typedef struct mts_cl_opaque_mem *cl_mem;
typedef struct mts_cl_opaque_program *cl_program;
typedef struct mts_cl_opaque_kernel *cl_kernel;
typedef struct mts_cl_opaque_event *cl_event;

#define CL_SUCCESS 0
#define CL_DEVICE_NOT_AVAILABLE (-2)
#define CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)
#define CL_OUT_OF_RESOURCES (-5)
#define CL_OUT_OF_HOST_MEMORY (-6)
#define CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST (-14)
#define CL_INVALID_VALUE (-30)
#define CL_INVALID_CONTEXT (-34)
#define CL_INVALID_COMMAND_QUEUE (-36)
#define CL_INVALID_HOST_PTR (-37)
#define CL_INVALID_PROPERTY (-64)

#define CL_FALSE 0u
#define CL_TRUE 1u

#define CL_PLATFORM_VERSION 0x0901u
#define CL_PLATFORM_NAME 0x0902u

#define CL_DEVICE_TYPE_CPU ((cl_bitfield)1 << 1)
#define CL_DEVICE_TYPE_GPU ((cl_bitfield)1 << 2)
#define CL_DEVICE_TYPE_ALL ((cl_bitfield)0xffffffffu)

#define CL_DEVICE_TYPE 0x1000u
#define CL_DEVICE_MAX_COMPUTE_UNITS 0x1002u
#define CL_DEVICE_MAX_WORK_GROUP_SIZE 0x1004u
#define CL_DEVICE_MAX_MEM_ALLOC_SIZE 0x1010u
#define CL_DEVICE_IMAGE_SUPPORT 0x1016u
#define CL_DEVICE_GLOBAL_MEM_SIZE 0x101fu
#define CL_DEVICE_LOCAL_MEM_SIZE 0x1023u
#define CL_DEVICE_AVAILABLE 0x1027u
#define CL_DEVICE_COMPILER_AVAILABLE 0x1028u
#define CL_DEVICE_NAME 0x102bu
#define CL_DEVICE_VENDOR 0x102cu
#define CL_DRIVER_VERSION 0x102du
#define CL_DEVICE_VERSION 0x102fu
#define CL_DEVICE_EXTENSIONS 0x1030u
#define CL_DEVICE_PARTITION_MAX_SUB_DEVICES 0x1043u
#define CL_DEVICE_PARTITION_BY_COUNTS 0x1087
#define CL_DEVICE_HOST_UNIFIED_MEMORY 0x1035u
#define CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT 0x103au
#define CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF 0x103cu
#define CL_DEVICE_IMAGE_MAX_BUFFER_SIZE 0x1040u

/* of cl_khr_integer_dot_product: which products of four packed bytes are instructions */
#define CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED_KHR 0x1075u
typedef struct cl_dot_products {
    cl_bool of_signed, of_unsigned, of_mixed; /* the sum of the products alone */
    cl_bool added_signed, added_unsigned, added_mixed;
} cl_dot_products;

/* of OpenCL 3.0 */
#define CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES 0x1063u
#define CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE 0x1067u
#define CL_DEVICE_ATOMIC_ORDER_ACQ_REL ((cl_bitfield)1 << 1)
#define CL_DEVICE_ATOMIC_SCOPE_DEVICE ((cl_bitfield)1 << 5)

/* of cl_khr_command_buffer */
#define CL_DEVICE_COMMAND_BUFFER_CAPABILITIES 0x12a9u
#define CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES 0x12aau
#define CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE ((cl_bitfield)1 << 2)
#define CL_COMMAND_BUFFER_FLAGS 0x1293u
#define CL_COMMAND_BUFFER_SIMULTANEOUS_USE ((cl_bitfield)1 << 0)

/* of cl_khr_command_buffer_mutable_dispatch, as it is from version 0.9.3 on */
#define CL_COMMAND_BUFFER_MUTABLE ((cl_bitfield)1 << 1)
#define CL_DEVICE_MUTABLE_DISPATCH_CAPABILITIES 0x12b0u
#define CL_MUTABLE_DISPATCH_UPDATABLE_FIELDS ((cl_ulong)0x12b1)
#define CL_MUTABLE_DISPATCH_GLOBAL_SIZE ((cl_bitfield)1 << 1)
#define CL_MUTABLE_DISPATCH_LOCAL_SIZE ((cl_bitfield)1 << 2)
#define CL_MUTABLE_DISPATCH_ARGUMENTS ((cl_bitfield)1 << 3)
#define CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG 0u
typedef struct mts_cl_opaque_command *cl_mutable_command;
typedef struct cl_mutable_dispatch_arg {
    cl_uint index;
    size_t size;
    const void *value;
} cl_mutable_dispatch_arg;
typedef struct cl_mutable_dispatch_config {
    cl_mutable_command command;
    cl_uint args, svm_args, exec_infos;
    cl_uint dimensions;
    const cl_mutable_dispatch_arg *arg_list, *svm_list;
    const void *exec_list;
    const size_t *offset, *global, *local;
} cl_mutable_dispatch_config;

/* of OpenCL 3.0: extensions with their versions */
#define CL_DEVICE_EXTENSIONS_WITH_VERSION 0x1060u
#define CL_VERSION_OF(major, minor, patch)                                                                   \
    ((cl_uint)(major) << 22 | (cl_uint)(minor) << 12 | (cl_uint)(patch))
typedef struct cl_name_version {
    cl_uint version;
    char name[64];
} cl_name_version;

/* of cl_qcom_recordable_queues */
#define CL_DEVICE_RECORDABLE_QUEUE_MAX_SIZE 0x41deu
#define CL_QUEUE_RECORDABLE_QCOM ((cl_bitfield)1 << 30)
typedef struct cl_array_arg_qcom {
    cl_uint dispatch, index;
    size_t size;
    const void *value;
} cl_array_arg_qcom;
typedef struct cl_offset_qcom {
    cl_uint dispatch;
    size_t offsets[3];
} cl_offset_qcom;
typedef struct cl_workgroup_qcom {
    cl_uint dispatch;
    const size_t *size;
} cl_workgroup_qcom;

#define CL_CONTEXT_PLATFORM ((intptr_t)0x1084)
#define CL_QUEUE_PROPERTIES ((cl_ulong)0x1093)
#define CL_QUEUE_PROFILING_ENABLE ((cl_bitfield)1 << 1)

/* of cl_qcom_perf_hint and cl_qcom_priority_hint: properties of contexts */
#define CL_CONTEXT_PERF_HINT_QCOM ((intptr_t)0x40c2)
#define CL_PERF_HINT_HIGH_QCOM ((intptr_t)0x40c3)
#define CL_PERF_HINT_LOW_QCOM ((intptr_t)0x40c5)
#define CL_CONTEXT_PRIORITY_HINT_QCOM ((intptr_t)0x40c9)
#define CL_PRIORITY_HINT_HIGH_QCOM ((intptr_t)0x40ca)
#define CL_PRIORITY_HINT_LOW_QCOM ((intptr_t)0x40cc)

/* of cl_khr_priority_hints and cl_khr_throttle_hints: properties of queues */
#define CL_QUEUE_PRIORITY_KHR ((cl_ulong)0x1096)
#define CL_QUEUE_PRIORITY_HIGH_KHR ((cl_ulong)1 << 0)
#define CL_QUEUE_PRIORITY_LOW_KHR ((cl_ulong)1 << 2)
#define CL_QUEUE_THROTTLE_KHR ((cl_ulong)0x1097)
#define CL_QUEUE_THROTTLE_HIGH_KHR ((cl_ulong)1 << 0)
#define CL_QUEUE_THROTTLE_LOW_KHR ((cl_ulong)1 << 2)

#define CL_MEM_READ_WRITE ((cl_bitfield)1 << 0)
#define CL_MEM_READ_ONLY ((cl_bitfield)1 << 2)
#define CL_MEM_USE_HOST_PTR ((cl_bitfield)1 << 3)
#define CL_MEM_ALLOC_HOST_PTR ((cl_bitfield)1 << 4)

#define CL_MAP_READ ((cl_bitfield)1 << 0)
#define CL_MAP_WRITE_INVALIDATE_REGION ((cl_bitfield)1 << 2)

#define CL_RGBA 0x10b5u
#define CL_HALF_FLOAT 0x10ddu
#define CL_FLOAT 0x10deu
typedef struct cl_image_format {
    cl_uint image_channel_order, image_channel_data_type;
} cl_image_format;

#define CL_MEM_OBJECT_IMAGE1D_BUFFER 0x10f6u
typedef struct cl_image_desc {
    cl_uint image_type;
    size_t image_width, image_height, image_depth, image_array_size, image_row_pitch, image_slice_pitch;
    cl_uint num_mip_levels, num_samples;
    cl_mem buffer;
} cl_image_desc;

/* of cl_arm_import_memory */
#define CL_IMPORT_TYPE_ARM ((intptr_t)0x40b2)
#define CL_IMPORT_TYPE_DMA_BUF_ARM ((intptr_t)0x40b4)
#define CL_IMPORT_TYPE_ANDROID_HARDWARE_BUFFER_ARM ((intptr_t)0x41e2)
#define CL_IMPORT_DMA_BUF_DATA_CONSISTENCY_WITH_HOST_ARM ((intptr_t)0x41e3)
#define CL_IMPORT_MEMORY_WHOLE_ALLOCATION_ARM SIZE_MAX

#define CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF ((cl_ulong)0x2067) /* of cl_khr_external_memory_dma_buf */

/* of cl_qcom_ext_host_ptr and cl_qcom_android_ahardwarebuffer_host_ptr */
#define CL_MEM_EXT_HOST_PTR_QCOM ((cl_bitfield)1 << 29)
#define CL_MEM_HOST_WRITEBACK_QCOM 0x40a5u
#define CL_MEM_ANDROID_AHARDWAREBUFFER_HOST_PTR_QCOM 0x4119u
typedef struct cl_mem_ahardwarebuffer_host_ptr {
    cl_uint allocation_type;
    cl_uint host_cache_policy;
    void *ahb_ptr;
} cl_mem_ahardwarebuffer_host_ptr;

#define CL_PROGRAM_BINARY_SIZES 0x1165u
#define CL_PROGRAM_BINARIES 0x1166u
#define CL_PROGRAM_BUILD_LOG 0x1183u
#define CL_KERNEL_WORK_GROUP_SIZE 0x11b0u
#define CL_EVENT_COMMAND_EXECUTION_STATUS 0x11d3u
#define CL_COMPLETE 0
#define CL_PROFILING_COMMAND_QUEUED 0x1280u
#define CL_PROFILING_COMMAND_START 0x1282u
#define CL_PROFILING_COMMAND_END 0x1283u

#endif
