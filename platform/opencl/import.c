/*
 * import.c: finds the extensions for foreign memory, and makes buffers by them.
 *
 * An import is never a copy. It may take many milliseconds, so a caller that imports the
 * same memory again keeps the buffer. Not responsible for acquiring and releasing around
 * a run (list.c).
 */
#include "platform/opencl/import.h"

#include <string.h>

#include "platform/opencl/opencl.h"
#include "platform/os/descriptor.h"

static void find_functions(const mts_cl_library *cl, cl_platform_id platform, mts_cl_import *out)
{
#define FIND(member, name)                                                                                   \
    {                                                                                                        \
        const mts_cl_function found = mts_cl_library_extension(cl, platform, name);                          \
        memcpy(&out->member, &found, sizeof found);                                                          \
    }
    FIND(arm, "clImportMemoryARM")
    FIND(acquire, "clEnqueueAcquireExternalMemObjectsKHR")
    FIND(release, "clEnqueueReleaseExternalMemObjectsKHR")
#undef FIND
}

void mts_cl_import_find(const mts_cl_library *cl, cl_platform_id platform, cl_device_id id,
                        mts_cl_import *out)
{
    char has[MTS_CL_EXTENSIONS_MOST];
    memset(out, 0, sizeof *out);
    mts_cl_extensions(cl, id, has);
    find_functions(cl, platform, out);
    const bool khr = out->acquire && out->release && cl->clCreateBufferWithProperties &&
                     mts_cl_has_word(has, "cl_khr_external_memory");
    if (out->arm && mts_cl_has_word(has, "cl_arm_import_memory_dma_buf")) {
        out->dmabuf = MTS_CL_IMPORT_ARM;
    } else if (khr && mts_cl_has_word(has, "cl_khr_external_memory_dma_buf")) {
        out->dmabuf = MTS_CL_IMPORT_KHR;
    }
    if (out->arm && mts_cl_has_word(has, "cl_arm_import_memory_android_hardware_buffer")) {
        out->android = MTS_CL_IMPORT_ARM;
    } else if (mts_cl_has_word(has, "cl_qcom_ext_host_ptr") &&
               mts_cl_has_word(has, "cl_qcom_android_ahardwarebuffer_host_ptr")) {
        out->android = MTS_CL_IMPORT_QCOM;
    }
}

/* Memory of which the driver would keep a copy is refused, so that the caller copies it
   before each run. */
static cl_mem import_host(mts_cl_device *device, const mts_memory *memory, cl_int *result)
{
    const uint32_t alignment = device->quirks->host_alignment;
    if (alignment != 0 && (uintptr_t)memory->host % alignment != 0) {
        *result = CL_INVALID_HOST_PTR;
        return NULL;
    }
    return device->cl.clCreateBuffer(device->context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, memory->size,
                                     (void *)(uintptr_t)memory->host, result);
}

/*
 * Newer drivers keep a dma-buf consistent with the host's caches only if asked to; older
 * ones always do, and do not know the question.
 */
static cl_mem import_dmabuf_arm(mts_cl_device *device, const mts_memory *memory, cl_int *result)
{
    const intptr_t asked[] = {CL_IMPORT_TYPE_ARM, CL_IMPORT_TYPE_DMA_BUF_ARM,
                              CL_IMPORT_DMA_BUF_DATA_CONSISTENCY_WITH_HOST_ARM, CL_TRUE, 0};
    const intptr_t plain[] = {CL_IMPORT_TYPE_ARM, CL_IMPORT_TYPE_DMA_BUF_ARM, 0};
    int fd = memory->fd;
    cl_mem handle = device->import.arm(device->context, CL_MEM_READ_ONLY, asked, &fd, memory->size, result);
    if (*result == CL_INVALID_PROPERTY || *result == CL_INVALID_VALUE) {
        handle = device->import.arm(device->context, CL_MEM_READ_ONLY, plain, &fd, memory->size, result);
    }
    return handle;
}

/* The driver owns the descriptor that it took, so it gets one of its own. */
static cl_mem import_dmabuf_khr(mts_cl_device *device, const mts_memory *memory, cl_int *result)
{
    const int fd = mts_os_descriptor_copy(memory->fd);
    if (fd < 0) {
        *result = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    const cl_ulong properties[] = {CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF, (cl_ulong)fd, 0};
    cl_mem handle = device->cl.clCreateBufferWithProperties(device->context, properties, CL_MEM_READ_ONLY,
                                                            memory->size, NULL, result);
    if (*result != CL_SUCCESS) {
        mts_os_descriptor_close(fd);
    }
    return handle;
}

static cl_mem import_android_arm(mts_cl_device *device, const mts_memory *memory, cl_int *result)
{
    static const intptr_t properties[] = {CL_IMPORT_TYPE_ARM, CL_IMPORT_TYPE_ANDROID_HARDWARE_BUFFER_ARM, 0};
    return device->import.arm(device->context, CL_MEM_READ_ONLY, properties, (void *)(uintptr_t)memory->host,
                              CL_IMPORT_MEMORY_WHOLE_ALLOCATION_ARM, result);
}

/* For memory that the host writes through its caches the driver has to see to these; for
 * other memory that is superfluous and does no harm. */
static cl_mem import_android_qcom(mts_cl_device *device, const mts_memory *memory, cl_int *result)
{
    cl_mem_ahardwarebuffer_host_ptr what = {
        .allocation_type = CL_MEM_ANDROID_AHARDWAREBUFFER_HOST_PTR_QCOM,
        .host_cache_policy = CL_MEM_HOST_WRITEBACK_QCOM,
        .ahb_ptr = (void *)(uintptr_t)memory->host,
    };
    return device->cl.clCreateBuffer(device->context,
                                     CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR | CL_MEM_EXT_HOST_PTR_QCOM,
                                     memory->size, &what, result);
}

static mts_cl_import_way way_of(const mts_cl_device *device, mts_memory_kind kind)
{
    return kind == MTS_MEMORY_DMABUF    ? device->import.dmabuf
           : kind == MTS_MEMORY_ANDROID ? device->import.android
                                        : MTS_CL_IMPORT_HOST;
}

static mts_status check_descriptor(const mts_memory *memory, mts_error *error)
{
    uint64_t size = 0;
    if (!mts_os_descriptor_size(memory->fd, &size)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "descriptor %d of a dma-buf is not open",
                        memory->fd);
    }

    if (size < memory->size) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%zu bytes of a dma-buf that has %llu",
                        memory->size, (unsigned long long)size);
    }
    return MTS_STATUS_OK;
}

static cl_mem import(mts_cl_device *device, const mts_memory *memory, const char **call, cl_int *result)
{
    const bool dmabuf = memory->kind == MTS_MEMORY_DMABUF;
    *call = "clCreateBuffer";
    switch (way_of(device, memory->kind)) {
    case MTS_CL_IMPORT_HOST:
        return import_host(device, memory, result);
    case MTS_CL_IMPORT_ARM:
        *call = "clImportMemoryARM";
        return dmabuf ? import_dmabuf_arm(device, memory, result)
                      : import_android_arm(device, memory, result);
    case MTS_CL_IMPORT_KHR:
        *call = "clCreateBufferWithProperties";
        return import_dmabuf_khr(device, memory, result);
    case MTS_CL_IMPORT_QCOM:
        return import_android_qcom(device, memory, result);
    default: /* info.imports has no bit for it */
        *result = CL_INVALID_VALUE;
        return NULL;
    }
}

mts_status mts_cl_import_buffer(mts_cl_device *device, const mts_memory *memory, mts_cl_buffer *buffer,
                                mts_error *error)
{
    const char *call = "";
    cl_int result = CL_SUCCESS;
    mts_status status = memory->kind == MTS_MEMORY_DMABUF ? check_descriptor(memory, error) : MTS_STATUS_OK;
    if (status != MTS_STATUS_OK) {
        return status;
    }
    cl_mem handle = import(device, memory, &call, &result);
    status = mts_cl_check(device, result, MTS_CL_STAGE_CREATE, call, error);
    if (status == MTS_STATUS_DEVICE) { /* not this memory: the caller may copy it instead */
        return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                        "%zu bytes of foreign memory cannot be used by '%s': %s failed with %s (%d)",
                        memory->size, device->base.info.name, call, mts_cl_error_name(result), result);
    }
    if (status == MTS_STATUS_OK) {
        buffer->handle = handle;
        buffer->acquired = way_of(device, memory->kind) == MTS_CL_IMPORT_KHR;
    }
    return status;
}
