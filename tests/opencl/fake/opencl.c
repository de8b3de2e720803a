/*
 * opencl.c: see fake.h. The functions are handed out as the wrapper on Pixel phones does.
 */
#define _GNU_SOURCE

#include "opencl/fake/fake.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/opencl/cl_types.h"

#define RECORDS 64
#define TEXT_MOST 32768

/* Memory behind an imported buffer. */
typedef struct record {
    cl_mem buffer; /* NULL: the place is free */
    void *map;
    size_t size;
    int fd; /* that the driver owns, or -1 */
    bool copied, acquired;
} record;

static fake_opencl state;
static record records[RECORDS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

FAKE_API void enableOpenCL(void);
FAKE_API void *loadOpenCLPointer(const char *name);

fake_opencl *fake_opencl_state(void)
{
    return &state;
}

void *fake_opencl_real(const char *name)
{
    static void *library;
    if (!library) {
        library = dlopen(MTS_FAKE_OPENCL_REAL, RTLD_NOW | RTLD_LOCAL);
    }
    return library ? dlsym(library, name) : NULL;
}

static int take_failure(int *failure)
{
    const int result = *failure;
    *failure = 0;
    return result;
}

/* ---- memory ---- */

static void destroyed(cl_mem buffer, void *context)
{
    record *r = context;
    (void)buffer;
    (void)pthread_mutex_lock(&mutex);
    (void)munmap(r->map, r->size);
    if (r->fd >= 0) {
        (void)close(r->fd);
    }
    state.alive--;
    state.acquired -= r->acquired;
    r->buffer = NULL;
    (void)pthread_mutex_unlock(&mutex);
}

static record *find_record(cl_mem buffer)
{
    for (size_t i = 0; i < RECORDS; i++) {
        if (records[i].buffer == buffer) {
            return &records[i];
        }
    }
    return NULL;
}

/* Size 0: all of it. */
static cl_int make_map(int fd, size_t size, record *out)
{
    struct stat about;
    if (fstat(fd, &about) != 0 || (size_t)about.st_size < size) {
        return CL_INVALID_VALUE;
    }
    out->size = size ? size : (size_t)about.st_size;
    out->map = mmap(NULL, out->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return out->map == MAP_FAILED ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
}

/* copied: not the memory itself. */
static cl_mem make_buffer(cl_context context, int fd, size_t size, bool copied, cl_int *result)
{
    FAKE_REAL(cl_mem, clCreateBuffer, cl_context, cl_bitfield, size_t, void *, cl_int *)
    FAKE_REAL(cl_int, clSetMemObjectDestructorCallback, cl_mem, void (*)(cl_mem, void *), void *)
    record *place = find_record(NULL);
    record made = {.fd = -1, .copied = copied};
    *result = take_failure(&state.fail);
    if (*result == CL_SUCCESS) {
        *result = place ? make_map(fd, size, &made) : CL_OUT_OF_HOST_MEMORY;
    }
    if (*result != CL_SUCCESS) {
        return NULL;
    }
    made.buffer = clCreateBuffer(context, copied ? CL_MEM_READ_ONLY : CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR,
                                 made.size, copied ? NULL : made.map, result);
    if (*result != CL_SUCCESS) {
        (void)munmap(made.map, made.size);
        return NULL;
    }
    *place = made;
    state.imports++;
    state.alive++;
    (void)clSetMemObjectDestructorCallback(made.buffer, destroyed, place);
    return made.buffer;
}

static cl_mem import_arm(cl_context context, cl_bitfield flags, const intptr_t *properties, void *memory,
                         size_t size, cl_int *result)
{
    intptr_t type = 0;
    *result = flags != CL_MEM_READ_ONLY || !memory ? CL_INVALID_VALUE : CL_SUCCESS;
    for (; *properties; properties += 2) {
        if (properties[0] == CL_IMPORT_TYPE_ARM) {
            type = properties[1];
        } else if (properties[0] != CL_IMPORT_DMA_BUF_DATA_CONSISTENCY_WITH_HOST_ARM ||
                   state.knows_no_consistency) {
            *result = CL_INVALID_PROPERTY;
        }
    }
    if (*result != CL_SUCCESS) {
        return NULL;
    }
    if (type == CL_IMPORT_TYPE_DMA_BUF_ARM) {
        return make_buffer(context, *(const int *)memory, size, false, result);
    }
    const fake_hardware_buffer *hardware = memory;
    if (type != CL_IMPORT_TYPE_ANDROID_HARDWARE_BUFFER_ARM || size != CL_IMPORT_MEMORY_WHOLE_ALLOCATION_ARM ||
        hardware->magic != FAKE_HARDWARE_BUFFER) {
        *result = CL_INVALID_VALUE;
        return NULL;
    }
    return make_buffer(context, hardware->fd, 0, false, result);
}

/* Takes the descriptor if it succeeds. */
static cl_mem create_with_properties(cl_context context, const cl_ulong *properties, cl_bitfield flags,
                                     size_t size, void *host, cl_int *result)
{
    if (!properties || properties[0] != CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF || properties[2] != 0 || host ||
        (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR)) != 0) {
        *result = CL_INVALID_VALUE;
        return NULL;
    }
    cl_mem buffer = make_buffer(context, (int)properties[1], size, true, result);
    if (buffer) {
        find_record(buffer)->fd = (int)properties[1];
    }
    return buffer;
}

static cl_mem create(cl_context context, cl_bitfield flags, size_t size, void *host, cl_int *result)
{
    FAKE_REAL(cl_mem, clCreateBuffer, cl_context, cl_bitfield, size_t, void *, cl_int *)
    if ((flags & CL_MEM_EXT_HOST_PTR_QCOM) == 0) {
        return clCreateBuffer(context, flags, size, host, result);
    }
    const cl_mem_ahardwarebuffer_host_ptr *what = host;
    const fake_hardware_buffer *hardware = what->ahb_ptr;
    if (what->allocation_type != CL_MEM_ANDROID_AHARDWAREBUFFER_HOST_PTR_QCOM ||
        what->host_cache_policy != CL_MEM_HOST_WRITEBACK_QCOM || (flags & CL_MEM_USE_HOST_PTR) == 0 ||
        hardware->magic != FAKE_HARDWARE_BUFFER) {
        *result = CL_INVALID_VALUE;
        return NULL;
    }
    return make_buffer(context, hardware->fd, size, false, result);
}

/* ---- commands ---- */

static cl_int acquire(cl_command_queue queue, cl_uint count, const cl_mem *memory, cl_uint waits,
                      const cl_event *wait_list, cl_event *event)
{
    FAKE_REAL(cl_int, clEnqueueWriteBuffer, cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *,
              cl_uint, const cl_event *, cl_event *)
    const cl_int failure = take_failure(&state.fail);
    if (failure) {
        return failure;
    }
    for (cl_uint i = 0; i < count; i++) {
        record *r = find_record(memory[i]);
        if (!r || !r->copied || waits || wait_list || event) {
            return -38; /* CL_INVALID_MEM_OBJECT */
        }
        state.misuses += r->acquired;
        state.acquired += !r->acquired;
        r->acquired = true;
        const cl_int result =
            clEnqueueWriteBuffer(queue, memory[i], CL_FALSE, 0, r->size, r->map, 0, NULL, NULL);
        if (result != CL_SUCCESS) {
            return result;
        }
    }
    state.acquires++;
    return CL_SUCCESS;
}

static cl_int release(cl_command_queue queue, cl_uint count, const cl_mem *memory, cl_uint waits,
                      const cl_event *wait_list, cl_event *event)
{
    (void)queue;
    for (cl_uint i = 0; i < count; i++) {
        record *r = find_record(memory[i]);
        if (!r || waits || wait_list || event) {
            return -38;
        }
        state.misuses += !r->acquired;
        state.acquired -= r->acquired;
        r->acquired = false;
    }
    state.releases++;
    return CL_SUCCESS;
}

/* ---- names ---- */

bool fake_opencl_says(const char *extension)
{
    const size_t length = strlen(extension);
    const char *at = state.extensions ? strstr(state.extensions, extension) : NULL;
    while (at && at[length] != ' ' && at[length] != '\0') {
        at = strstr(at + length, extension);
    }
    return at;
}

static cl_int platform_info(cl_platform_id platform, cl_uint what, size_t size, void *value, size_t *size_out)
{
    FAKE_REAL(cl_int, clGetPlatformInfo, cl_platform_id, cl_uint, size_t, void *, size_t *)
    if (what != CL_PLATFORM_NAME || !state.platform) {
        return clGetPlatformInfo(platform, what, size, value, size_out);
    }
    if (size_out) {
        *size_out = strlen(state.platform) + 1;
    }
    if (value) {
        (void)snprintf(value, size, "%s", state.platform);
    }
    return CL_SUCCESS;
}

/* What the extensions for recordings are asked for. */
static bool record_info(cl_uint what, void *value, size_t *size_out)
{
    cl_bitfield answer = 0;
    cl_name_version version = {.version = state.mutable_version,
                               .name = "cl_khr_command_buffer_mutable_dispatch"};
    size_t bytes = sizeof answer;
    const void *from = &answer;
    switch (what) {
    case CL_DEVICE_COMMAND_BUFFER_CAPABILITIES:
        answer = state.simultaneous ? CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE : 0;
        break;
    case CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES:
        break;
    case CL_DEVICE_MUTABLE_DISPATCH_CAPABILITIES:
        answer =
            CL_MUTABLE_DISPATCH_GLOBAL_SIZE | CL_MUTABLE_DISPATCH_LOCAL_SIZE | CL_MUTABLE_DISPATCH_ARGUMENTS;
        break;
    case CL_DEVICE_EXTENSIONS_WITH_VERSION:
        from = &version;
        bytes = sizeof version;
        break;
    case CL_DEVICE_RECORDABLE_QUEUE_MAX_SIZE:
        from = &state.record_most;
        bytes = sizeof state.record_most;
        break;
    default:
        return false;
    }
    memcpy(value, from, bytes);
    if (size_out) {
        *size_out = bytes;
    }
    return true;
}

static cl_int device_info(cl_device_id id, cl_uint what, size_t size, void *value, size_t *size_out)
{
    static char text[TEXT_MOST];
    FAKE_REAL(cl_int, clGetDeviceInfo, cl_device_id, cl_uint, size_t, void *, size_t *)
    if (state.extensions && record_info(what, value, size_out)) {
        return CL_SUCCESS;
    }
    if (what != CL_DEVICE_EXTENSIONS) {
        return clGetDeviceInfo(id, what, size, value, size_out);
    }
    memset(text, 0, sizeof text);
    const cl_int result = clGetDeviceInfo(id, what, sizeof text / 2, text, NULL);
    if (result != CL_SUCCESS) {
        return result;
    }
    /* A driver that poses as another one has recordings only as that one says. */
    char *const recordings = state.platform ? strstr(text, "cl_khr_command_buffer") : NULL;
    if (recordings) {
        recordings[0] = 'x';
    }
    const size_t length = strlen(text);
    (void)snprintf(text + length, sizeof text - length, " %s", state.extensions ? state.extensions : "");
    state.asked++;
    if (size_out) {
        *size_out = strlen(text) + 1;
    }
    if (value && size <= strlen(text)) {
        return CL_INVALID_VALUE;
    }
    if (value) {
        memcpy(value, text, strlen(text) + 1);
    }
    return CL_SUCCESS;
}

static void *own(const char *name);

static void *extension_address(cl_platform_id platform, const char *name)
{
    FAKE_REAL(void *, clGetExtensionFunctionAddressForPlatform, cl_platform_id, const char *)
    void *const ours = own(name);
    const bool missing = state.missing && strcmp(state.missing, name) == 0;
    return missing ? NULL : ours ? ours : clGetExtensionFunctionAddressForPlatform(platform, name);
}

static void *own(const char *name)
{
    static const struct {
        const char *name;
        fake_function address;
    } table[] = {
        {"clGetDeviceInfo", (fake_function)device_info},
        {"clGetPlatformInfo", (fake_function)platform_info},
        {"clGetExtensionFunctionAddressForPlatform", (fake_function)extension_address},
        {"clCreateBuffer", (fake_function)create},
        {"clCreateBufferWithProperties", (fake_function)create_with_properties},
        {"clImportMemoryARM", (fake_function)import_arm},
        {"clEnqueueAcquireExternalMemObjectsKHR", (fake_function)acquire},
        {"clEnqueueReleaseExternalMemObjectsKHR", (fake_function)release},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].name, name) == 0) {
            void *address = NULL;
            memcpy(&address, &table[i].address, sizeof address);
            return address;
        }
    }
    void *address = NULL;
    fake_function other = fake_opencl_queue_function(name);
    other = other ? other : fake_opencl_record_function(name);
    other = other ? other : fake_opencl_memory_function(name);
    memcpy(&address, &other, sizeof other);
    return address;
}

static void print_counts(void)
{
    (void)fprintf(stderr, "OpenCL: %llu bytes written, %llu read, %u maps\n",
                  (unsigned long long)state.written, (unsigned long long)state.read, state.maps);
}

/* For measurements: MTS_FAKE_OPENCL_MISSING names a function that is not there; with it ("" for none) what was copied
   is printed at the end. */
void enableOpenCL(void)
{
    static bool known;
    if (!known && getenv("MTS_FAKE_OPENCL_MISSING")) {
        state.missing = getenv("MTS_FAKE_OPENCL_MISSING");
        (void)atexit(print_counts);
    }
    known = true;
}

void *loadOpenCLPointer(const char *name)
{
    void *const ours = own(name);
    const bool missing = state.missing && strcmp(state.missing, name) == 0;
    return missing || !fake_opencl_real("clGetPlatformIDs") ? NULL : ours ? ours : fake_opencl_real(name);
}
