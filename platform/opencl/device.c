/*
 * device.c: finds, describes, opens and closes OpenCL devices, and holds the backend's
 * vtable.
 *
 * Every platform's devices are numbered together, GPUs before the others. Devices below
 * OpenCL 1.2 or without a compiler are passed over.
 */
#include "platform/opencl/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define FOUND_MOST 32 /* platforms, and devices in all; more are not looked at */
#define DRIVER_MOST (3 * 256 + 16)
#define IDENTITY_MOST (4 * 256 + 16)
#define GROUP_MULTIPLE_MOST 1024 /* larger ones are a driver's mistake */
/* mts_device_info.launch_ns: usual times, which differ by a few times between drivers. */
#define GPU_LAUNCH_NS 8000
#define CPU_LAUNCH_NS 8000
/* MTS_QUEUE_SMOOTH: Adreno's number (quirks.c). */
#define SMOOTH_LAUNCHES 4

typedef struct found_device {
    cl_platform_id platform;
    cl_device_id id;
} found_device;

typedef struct found_devices {
    uint32_t count;
    found_device devices[FOUND_MOST];
} found_devices;

/* A value of fixed size, 0 if the driver does not answer. */
static uint64_t get_number(const mts_cl_library *cl, cl_device_id id, cl_uint what, size_t size)
{
    uint64_t value64 = 0;
    uint32_t value32 = 0;
    void *value = size == sizeof value32 ? (void *)&value32 : (void *)&value64;
    if (cl->clGetDeviceInfo(id, what, size, value, NULL) != CL_SUCCESS) {
        return 0;
    }
    return size == sizeof value32 ? value32 : value64;
}

/* Cut to fit and without spaces at the ends. */
static void copy_trimmed(char *out, size_t size, const char *text)
{
    text += strspn(text, " \t\r\n");
    size_t length = strlen(text);
    while (length && strchr(" \t\r\n", text[length - 1])) {
        length--;
    }
    (void)snprintf(out, size, "%.*s", (int)length, text);
}

static void get_text(const mts_cl_library *cl, cl_device_id id, cl_uint what, char *out, size_t size)
{
    char text[256] = "";
    if (cl->clGetDeviceInfo(id, what, sizeof text - 1, text, NULL) != CL_SUCCESS) {
        text[0] = '\0';
    }
    copy_trimmed(out, size, text);
}

static void get_platform_text(const mts_cl_library *cl, cl_platform_id id, cl_uint what, char *out,
                              size_t size)
{
    char text[256] = "";
    if (cl->clGetPlatformInfo(id, what, sizeof text - 1, text, NULL) != CL_SUCCESS) {
        text[0] = '\0';
    }
    copy_trimmed(out, size, text);
}

/* The version of OpenCL times 10; 0: no version is to be read. */
static long version_of(const mts_cl_library *cl, cl_device_id id)
{
    static const char prefix[] = "OpenCL ";
    char version[64];
    get_text(cl, id, CL_DEVICE_VERSION, version, sizeof version);
    if (strncmp(version, prefix, sizeof prefix - 1) != 0) {
        return 0;
    }
    char *rest = NULL;
    const long major = strtol(version + sizeof prefix - 1, &rest, 10);
    const long minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
    return major > 0 && major < 100 && minor >= 0 && minor < 10 ? major * 10 + minor : 0;
}

static bool is_usable(const mts_cl_library *cl, cl_device_id id)
{
    return version_of(cl, id) >= 12 && get_number(cl, id, CL_DEVICE_AVAILABLE, sizeof(cl_bool)) != 0 &&
           get_number(cl, id, CL_DEVICE_COMPILER_AVAILABLE, sizeof(cl_bool)) != 0;
}

static bool is_gpu(const mts_cl_library *cl, cl_device_id id)
{
    return (get_number(cl, id, CL_DEVICE_TYPE, sizeof(cl_bitfield)) & CL_DEVICE_TYPE_GPU) != 0;
}

/* How kernels of codes multiply on a GPU that has instructions for it
   (kernels/prelude_opencl.h), NULL on others. Compilers declare the functions in OpenCL C
   3.0. */
static const char *find_dot(const mts_cl_library *cl, cl_device_id id)
{
    cl_dot_products has = {0};
    if (!is_gpu(cl, id) || version_of(cl, id) < 30 ||
        cl->clGetDeviceInfo(id, CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED_KHR,
                            sizeof has, &has, NULL) != CL_SUCCESS) {
        return NULL;
    }
    return has.added_mixed    ? "-DDOT=1 -DDOT_SUM"
           : has.of_mixed     ? "-DDOT=1"
           : has.added_signed ? "-DDOT=2 -DDOT_SUM"
           : has.of_signed    ? "-DDOT=2"
                              : NULL;
}

static void find_on(const mts_cl_library *cl, cl_platform_id platform, bool gpus, found_devices *found)
{
    cl_device_id ids[FOUND_MOST];
    cl_uint count = 0;
    if (cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, FOUND_MOST, ids, &count) != CL_SUCCESS) {
        return;
    }
    for (cl_uint i = 0; i < count && i < FOUND_MOST && found->count < FOUND_MOST; i++) {
        if (is_gpu(cl, ids[i]) == gpus && is_usable(cl, ids[i])) {
            found->devices[found->count].platform = platform;
            found->devices[found->count].id = ids[i];
            found->count++;
        }
    }
}

static void find_devices(const mts_cl_library *cl, found_devices *found)
{
    cl_platform_id platforms[FOUND_MOST];
    cl_uint count = 0;
    found->count = 0;
    if (cl->clGetPlatformIDs(FOUND_MOST, platforms, &count) != CL_SUCCESS) {
        return;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (cl_uint i = 0; i < count && i < FOUND_MOST; i++) {
            find_on(cl, platforms[i], pass == 0, found);
        }
    }
}

/* "<platform>|<vendor>|<device>|<driver>", what the quirks are matched with. */
static const mts_cl_quirks *find_quirks(const mts_cl_library *cl, const found_device *found)
{
    char platform[256];
    char vendor[256];
    char name[256];
    char driver[256];
    char identity[IDENTITY_MOST];
    get_platform_text(cl, found->platform, CL_PLATFORM_NAME, platform, sizeof platform);
    get_text(cl, found->id, CL_DEVICE_VENDOR, vendor, sizeof vendor);
    get_text(cl, found->id, CL_DEVICE_NAME, name, sizeof name);
    get_text(cl, found->id, CL_DRIVER_VERSION, driver, sizeof driver);
    (void)snprintf(identity, sizeof identity, "%s|%s|%s|%s", platform, vendor, name, driver);
    return mts_cl_quirks_find(identity);
}

/* Version texts of driver, device and platform: all of them change what a compiler
   does. */
static void describe_driver(const mts_cl_library *cl, const found_device *found, char out[DRIVER_MOST])
{
    char driver[256];
    char device[256];
    char platform[256];
    get_text(cl, found->id, CL_DRIVER_VERSION, driver, sizeof driver);
    get_text(cl, found->id, CL_DEVICE_VERSION, device, sizeof device);
    get_platform_text(cl, found->platform, CL_PLATFORM_VERSION, platform, sizeof platform);
    (void)snprintf(out, DRIVER_MOST, "%s; %s; %s", driver, device, platform);
}

/*
 * Options of programs whose work-groups wait for each other; NULL: the device has none
 * such. Acquire and release at the scope of the device are in OpenCL 2.0 to 2.2, and in
 * 3.0 where the device reports them. Below, a processor has coherent caches and
 * instructions that order memory (kernels/counters.h); a GPU promises nothing.
 */
static const char *find_atomics(const mts_cl_library *cl, cl_device_id id)
{
#ifdef MTS_SMALL
    (void)cl;
    (void)id;
    return NULL; /* the smallest library has no persistent programs */
#else
    const cl_bitfield needed = CL_DEVICE_ATOMIC_ORDER_ACQ_REL | CL_DEVICE_ATOMIC_SCOPE_DEVICE;
    const long version = version_of(cl, id);
    if (version >= 20 && version < 30) {
        return "-cl-std=CL2.0 -DATOMICS=2";
    }
    if (version >= 30 &&
        (get_number(cl, id, CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES, sizeof(cl_bitfield)) & needed) == needed) {
        return "-cl-std=CL3.0 -DATOMICS=2";
    }
    return (get_number(cl, id, CL_DEVICE_TYPE, sizeof(cl_bitfield)) & CL_DEVICE_TYPE_CPU) != 0
               ? "-cl-std=CL1.2 -DATOMICS=1"
               : NULL;
#endif
}

static uint32_t find_imports(const mts_cl_library *cl, const found_device *found, const mts_device_info *info)
{
    mts_cl_import import;
    mts_cl_import_find(cl, found->platform, found->id, &import);
    const bool host =
        find_quirks(cl, found)->host_buffers && info->unified_memory &&
        (get_number(cl, found->id, CL_DEVICE_TYPE, sizeof(cl_bitfield)) & CL_DEVICE_TYPE_CPU) != 0;
    return (host ? MTS_MEMORY_BIT(MTS_MEMORY_HOST) : 0) |
           (import.dmabuf ? MTS_MEMORY_BIT(MTS_MEMORY_DMABUF) : 0) |
           (import.android ? MTS_MEMORY_BIT(MTS_MEMORY_ANDROID) : 0);
}

/* Pixels of an image over a buffer; 0: none. */
static uint64_t find_image_texels(const mts_cl_library *cl, cl_device_id id)
{
#ifdef MTS_SMALL
    (void)cl;
    (void)id;
    return 0; /* the smallest library has no kernels that read images */
#else
    return cl->clCreateImage && get_number(cl, id, CL_DEVICE_IMAGE_SUPPORT, sizeof(cl_bool)) != 0
               ? get_number(cl, id, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, sizeof(size_t))
               : 0;
#endif
}

/* Work-items that run together, which OpenCL 3.0 tells of a device; 0: it does not. */
static uint32_t find_group_multiple(const mts_cl_library *cl, cl_device_id id)
{
#ifdef MTS_SMALL
    (void)cl;
    (void)id;
    return 0; /* the smallest library has one shape of tiles */
#else
    const uint64_t multiple =
        get_number(cl, id, CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, sizeof(size_t));
    return multiple > GROUP_MULTIPLE_MOST ? 0 : (uint32_t)multiple;
#endif
}

static void describe_found(const mts_cl_library *cl, const found_device *found, mts_device_info *info)
{
    const cl_device_id id = found->id;
    char driver[DRIVER_MOST];
    const uint32_t cap = find_quirks(cl, found)->work_group_most;
    memset(info, 0, sizeof *info);
    (void)snprintf(info->backend, sizeof info->backend, "opencl");
    get_text(cl, id, CL_DEVICE_NAME, info->name, sizeof info->name);
    describe_driver(cl, found, driver);
    copy_trimmed(info->driver, sizeof info->driver, driver);
    info->is_gpu = is_gpu(cl, id);
    info->packed_lanes = MTS_CHANNEL_PACK;
    info->image_texels = find_image_texels(cl, id);
    info->unified_memory = get_number(cl, id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(cl_bool)) != 0;
    info->maps = info->unified_memory && cl->clEnqueueMapBuffer && cl->clEnqueueUnmapMemObject;
    info->imports = find_imports(cl, found, info);
    info->compute_units = (uint32_t)get_number(cl, id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint));
    const uint64_t width = get_number(cl, id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof(cl_uint));
    info->vector_floats = width >= 16 ? 16 : width >= 8 ? 8 : 4;
    info->launch_ns = info->is_gpu ? GPU_LAUNCH_NS : CPU_LAUNCH_NS;
    info->persistent = find_atomics(cl, id) != NULL;
    info->builds_aside = true;
    const uint64_t group = get_number(cl, id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t));
    info->work_group_size = group > UINT32_MAX ? UINT32_MAX : (uint32_t)group;
    info->group_multiple = find_group_multiple(cl, id);
    info->local_bytes = get_number(cl, id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong));
    info->half_products = /* a width of 0: there is no cl_khr_fp16 */
        info->is_gpu && get_number(cl, id, CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF, sizeof(cl_uint)) > 0;
    info->byte_products = find_dot(cl, id) != NULL;
    if (cap && info->work_group_size > cap) {
        info->work_group_size = cap;
    }
    info->memory_bytes = get_number(cl, id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong));
    info->buffer_bytes = get_number(cl, id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong));
}

static mts_status open_found(mts_cl_library *cl, uint32_t index, found_device *out, mts_error *error)
{
    found_devices found;
    const mts_status status = mts_cl_library_open(cl, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    find_devices(cl, &found);
    if (index >= found.count) {
        mts_cl_library_close(cl);
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "there is no OpenCL device %u; %u were found", index,
                        found.count);
    }
    *out = found.devices[index];
    return MTS_STATUS_OK;
}

static uint32_t backend_count(void)
{
    mts_cl_library cl;
    found_devices found;
    if (mts_cl_library_open(&cl, NULL) != MTS_STATUS_OK) {
        return 0;
    }
    find_devices(&cl, &found);
    mts_cl_library_close(&cl);
    return found.count;
}

static mts_status backend_describe(uint32_t index, mts_device_info *info, mts_error *error)
{
    mts_cl_library cl;
    found_device found;
    memset(info, 0, sizeof *info);
    const mts_status status = open_found(&cl, index, &found, error);
    if (status == MTS_STATUS_OK) {
        describe_found(&cl, &found, info);
        mts_cl_library_close(&cl);
    }
    return status;
}

static mts_status device_wait(mts_device *base, mts_error *error)
{
    return mts_cl_finish((mts_cl_device *)base, error);
}

static void device_drain(mts_device *base)
{
    (void)mts_cl_finish((mts_cl_device *)base, NULL);
}

/* Also of a half-opened device. */
static void device_destroy(mts_device *base)
{
    mts_cl_device *device = (mts_cl_device *)base;
    const mts_allocator *allocator = base->allocator;
    if (device->queue && !mts_device_is_lost(base)) {
        (void)mts_cl_finish(device, NULL);
    }
    mts_cl_events_release(device);
    mts_cl_programs_release(device);
    mts_cl_gemm_close(&device->gemm);
    if (device->profile_queue) {
        (void)device->cl.clReleaseCommandQueue(device->profile_queue);
    }
    if (device->record_queue) {
        (void)device->cl.clReleaseCommandQueue(device->record_queue);
    }
    if (device->queue) {
        (void)device->cl.clReleaseCommandQueue(device->queue);
    }
    if (device->context) {
        (void)device->cl.clReleaseContext(device->context);
    }
#ifndef MTS_SMALL
    if (device->sub_device) {
        (void)device->cl.clReleaseDevice(device->sub_device);
    }
#endif
    mts_cl_library_close(&device->cl);
    mts_alloc_free(allocator, device->cache_dir);
    mts_alloc_free(allocator, device);
}

static const mts_device_ops ops = {
    .abi = MTS_DEVICE_ABI,
    .destroy = device_destroy,
    .buffer_create = mts_cl_buffer_create,
    .buffer_destroy = mts_cl_buffer_destroy,
    .buffer_write = mts_cl_buffer_write,
    .buffer_read = mts_cl_buffer_read,
    .buffer_read_async = mts_cl_buffer_read_async,
    .buffer_fill = mts_cl_buffer_fill,
    .kernel_create = mts_cl_kernel_create,
    .kernel_destroy = mts_cl_kernel_destroy,
    .command_list_create = mts_cl_command_list_create,
    .command_list_destroy = mts_cl_command_list_destroy,
    .command_list_update = mts_cl_command_list_update,
    .command_list_submit = mts_cl_command_list_submit,
    .wait = device_wait,
    .event_record = mts_cl_event_record,
    .event_query = mts_cl_event_query,
    .command_list_profile = mts_cl_command_list_profile,
    .drain = device_drain,
    .command_list_calibrate = mts_cl_command_list_calibrate,
    .buffer_map = mts_cl_buffer_map,
    .buffer_unmap = mts_cl_buffer_unmap,
};

/* Launches after which the queue is flushed: a GPU draws the screen in between. */
static uint32_t flush_interval(const mts_device_options *options, const mts_cl_device *device)
{
    const uint32_t known = options->flush_launches ? options->flush_launches : device->quirks->flush_every;
    const bool smooth = options->queue == MTS_QUEUE_SMOOTH && device->base.info.is_gpu;
    return known ? known : smooth ? SMOOTH_LAUNCHES : 0;
}

static bool wants_gemm(const mts_device_options *options, const mts_cl_quirks *quirks)
{
    return options->gemm == MTS_USE_ON || (options->gemm == MTS_USE_AUTO && !quirks->no_gemm);
}

/* Where neither the caller nor the table of quirks knows, a measurement says whether it pays. */
static void find_replay(const mts_device_options *options, cl_platform_id platform, mts_cl_device *device)
{
    const bool known = options->replay == MTS_USE_ON;
    if (known || (options->replay == MTS_USE_AUTO && !device->quirks->no_replay)) {
        device->replay.asked =
            mts_cl_replay_find(&device->cl, platform, device->id, &device->replay) && !known;
    }
}

#ifndef MTS_SMALL
/* Some drivers have images over buffers, but not over those that the host shares. */
static bool has_images(mts_cl_device *device)
{
    enum { BYTES = 4096 };
    mts_buffer *buffer = NULL;
    cl_mem image = NULL;
    if (device->base.info.image_texels == 0 ||
        mts_cl_buffer_create(&device->base, NULL, BYTES, &buffer, NULL) != MTS_STATUS_OK) {
        return false;
    }
    buffer->size = BYTES;
    const mts_status status = mts_cl_buffer_image(device, (mts_cl_buffer *)buffer, false, &image, NULL);
    mts_cl_buffer_destroy(&device->base, buffer);
    return status == MTS_STATUS_OK;
}
#endif

/* parts: 0, or the device is part `part` of so many. */
static mts_status open_device(uint32_t index, uint32_t part, uint32_t parts,
                              const mts_device_options *options, mts_device **out, mts_error *error)
{
    found_device found;
    char driver[DRIVER_MOST];
    *out = NULL;
    mts_cl_device *device = mts_alloc_zero(options->allocator, 1, sizeof *device);
    if (!device) {
        return mts_fail_memory(error);
    }
    device->base.ops = &ops;
    device->base.allocator = options->allocator;
    device->base.log = options->log;
    device->clock = mts_os_clock_ns;
    mts_status status = open_found(&device->cl, index, &found, error);
#ifdef MTS_SMALL
    (void)part;
    (void)parts;
#else
    if (status == MTS_STATUS_OK && parts > 0) {
        status = mts_cl_sub_device(&device->cl, found.id, part, parts, &device->sub_device, error);
        found.id = status == MTS_STATUS_OK ? device->sub_device : found.id;
    }
#endif
    if (status == MTS_STATUS_OK) {
        device->id = found.id;
        device->quirks = find_quirks(&device->cl, &found);
        describe_found(&device->cl, &found, &device->base.info);
        device->dot = find_dot(&device->cl, found.id);
        mts_cl_import_find(&device->cl, found.platform, found.id, &device->import);
        describe_driver(&device->cl, &found, driver);
        device->atomics = find_atomics(&device->cl, device->id);
        device->driver_hash = mts_hash(driver, strlen(driver), 0);
        device->flush_every = flush_interval(options, device);
        find_replay(options, found.platform, device);
        device->base.info.gemm =
            wants_gemm(options, device->quirks) && mts_cl_gemm_open(&device->cl, &device->gemm);
        status = mts_cl_queue_open(device, found.platform, options->queue, error);
    }
    if (status == MTS_STATUS_OK) {
        device->counts = options->programs;
#ifndef MTS_SMALL
        device->base.info.image_texels = has_images(device) ? device->base.info.image_texels : 0;
#endif
    }
    if (status == MTS_STATUS_OK && options->cache_dir) {
        device->cache_dir = mts_alloc_string(options->allocator, options->cache_dir);
        if (!device->cache_dir) {
            status = mts_fail_memory(error);
        }
    }
    if (status != MTS_STATUS_OK) {
        device_destroy(&device->base);
        return status;
    }
    *out = &device->base;
    return MTS_STATUS_OK;
}

static mts_status backend_open(uint32_t index, const mts_device_options *options, mts_device **out,
                               mts_error *error)
{
    return open_device(index, 0, 0, options, out, error);
}

#ifndef MTS_SMALL
static mts_status backend_open_named(const char *name, const mts_device_options *options, mts_device **out,
                                     mts_error *error)
{
    uint32_t index = 0;
    uint32_t part = 0;
    uint32_t parts = 0;
    *out = NULL;
    return mts_cl_sub_device_parse(name, &index, &part, &parts)
               ? open_device(index, part, parts, options, out, error)
               : mts_fail(error, MTS_STATUS_NOT_FOUND,
                          "'%s' names no part of a device: N/KofM is part K, from 0, of M", name);
}
#endif

const mts_backend mts_backend_opencl = {
    .name = "opencl",
    .count = backend_count,
    .describe = backend_describe,
    .open = backend_open,
#ifndef MTS_SMALL
    .open_named = backend_open_named,
#endif
    .loads_drivers = true,
};
