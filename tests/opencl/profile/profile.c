/*
 * profile.c: an OpenCL layer that makes any driver's devices pose as a GPU of given limits, and refuses what such a
 * GPU would refuse. With it the library's GPU paths run where there is a CPU driver only.
 *
 * The loader puts the layer in front of the drivers where OPENCL_LAYERS names it. MTS_PROFILE has the limits:
 * "group=64,local=16384,alloc=16777216" (work-items of a group, bytes of local memory, bytes of a buffer; what is not
 * named is the driver's). A call beyond the limits fails as on the GPU, and says so on stderr. With "dot=N" they say to
 * have products of bytes as instructions (cl_khr_integer_dot_product), those of the bits of N: 1, of unsigned and signed
 * bytes; 2, added to a sum; 4, of signed bytes; 8, added to a sum. Programs then find the functions of that extension
 * that N names, written in OpenCL C, and no others, and a program of codes that is not built for the best of them fails.
 * With "broken=1" a program for any of them fails, as with a driver whose compiler lacks what it says. With "texels=N"
 * they have images over buffers of so many pixels; with "image_most=N" there is no memory for larger ones. With
 * "refuse=conv_packed" programs whose text has this word do not build. With "name=mali-g78" a device has this name, and with
 * "version=Adreno(TM) 640" this behind its version's number, as Adreno's drivers say what GPU it is; both end at a comma.
 * Devices of a profile have no other images, no arithmetic in float16 and 64 KB of constant memory. Not a simulator: speed, caches and the order of work-items are the driver's.
 */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS

#include <CL/cl_ext.h>
#include <CL/cl_layer.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROFILE_API __attribute__((visibility("default")))

enum { CONSTANT_BYTES = 65536, DIMENSIONS = 3, STRINGS_MOST = 64 };
enum { DOT_MIXED = 1, DOT_MIXED_SUM = 2, DOT_SIGNED = 4, DOT_SIGNED_SUM = 8 };

typedef struct limits {
    size_t group; /* 0, here and below: the driver's */
    cl_ulong local;
    cl_ulong alloc;
    cl_ulong texels;     /* of an image over a buffer; 0: there are none */
    cl_ulong image_most; /* pixels of one; 0: all */
    unsigned dot;        /* bits of DOT_ */
    bool broken;
} limits;

static cl_icd_dispatch target;
static cl_icd_dispatch table;
static limits most;

/* The number behind `name` in MTS_PROFILE, 0 if it is not there. */
static unsigned long long limit_of(const char *name)
{
    const char *text = getenv("MTS_PROFILE");
    const char *at = text ? strstr(text, name) : NULL;
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static cl_int refuse(cl_int result, const char *call, unsigned long long value, unsigned long long limit)
{
    (void)fprintf(stderr, "profile: %s: %llu, and the device has %llu\n", call, value, limit);
    return result;
}

/* ---- what the device says ---- */

static cl_int answer(const void *value, size_t bytes, size_t size, void *out, size_t *size_out)
{
    if (size_out) {
        *size_out = bytes;
    }
    if (out && size < bytes) {
        return CL_INVALID_VALUE;
    }
    if (out) {
        memcpy(out, value, bytes);
    }
    return CL_SUCCESS;
}

static cl_ulong lesser(cl_ulong limit, cl_ulong own)
{
    return limit && limit < own ? limit : own;
}

/* A number of the driver's, of at most 8 bytes. */
static cl_ulong own_number(cl_device_id device, cl_device_info what, size_t bytes)
{
    cl_ulong value = 0;
    return target.clGetDeviceInfo(device, what, bytes, &value, NULL) == CL_SUCCESS ? value : 0;
}

/* The text behind `name` in MTS_PROFILE, up to a comma; NULL if it is not there. */
static const char *text_of(const char *name, int *length)
{
    const char *text = getenv("MTS_PROFILE");
    const char *at = text ? strstr(text, name) : NULL;
    at = at ? at + strlen(name) : NULL;
    *length = at ? (int)strcspn(at, ",") : 0;
    return at;
}

static cl_int answer_name(cl_device_id device, size_t size, void *out, size_t *size_out)
{
    char own[256] = "";
    char name[320];
    int length = 0;
    const char *given = text_of("name=", &length);
    (void)target.clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof own - 1, own, NULL);
    (void)snprintf(name, sizeof name, "GPU profile of %s", own);
    if (given) {
        (void)snprintf(name, sizeof name, "%.*s", length, given);
    }
    return answer(name, strlen(name) + 1, size, out, size_out);
}

/* "OpenCL 3.0 " and what the driver says, or what the profile does. */
static cl_int answer_version(cl_device_id device, size_t size, void *out, size_t *size_out)
{
    char own[256] = "";
    char version[320];
    int length = 0;
    const char *given = text_of("version=", &length);
    const cl_int result = target.clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof own - 1, own, NULL);
    (void)snprintf(version, sizeof version, "%s", own);
    if (given) {
        (void)snprintf(version, sizeof version, "%.10s %.*s", own, length, given);
    }
    return result == CL_SUCCESS ? answer(version, strlen(version) + 1, size, out, size_out) : result;
}

static cl_int answer_sizes(cl_device_id device, size_t size, void *out, size_t *size_out)
{
    size_t sizes[DIMENSIONS];
    const cl_int result =
        target.clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL);
    for (int i = 0; i < DIMENSIONS; i++) {
        sizes[i] = (size_t)lesser(most.group, sizes[i]);
    }
    return result == CL_SUCCESS ? answer(sizes, sizeof sizes, size, out, size_out) : result;
}

/* Products of bytes that are instructions. */
static cl_int answer_dot(size_t size, void *out, size_t *size_out)
{
    const cl_device_integer_dot_product_acceleration_properties_khr has = {
        .signed_accelerated = (most.dot & DOT_SIGNED) != 0,
        .mixed_signedness_accelerated = (most.dot & DOT_MIXED) != 0,
        .accumulating_saturating_signed_accelerated = (most.dot & DOT_SIGNED_SUM) != 0,
        .accumulating_saturating_mixed_signedness_accelerated = (most.dot & DOT_MIXED_SUM) != 0};
    return most.dot ? answer(&has, sizeof has, size, out, size_out) : CL_INVALID_VALUE;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info what, size_t size, void *out,
                                          size_t *size_out)
{
    cl_ulong value = 0;
    size_t bytes = sizeof(cl_ulong);
    switch (what) {
    case CL_DEVICE_NAME:
        return answer_name(device, size, out, size_out);
    case CL_DEVICE_VERSION:
        return answer_version(device, size, out, size_out);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
        return answer_sizes(device, size, out, size_out);
    case CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED_KHR:
        return answer_dot(size, out, size_out);
    case CL_DEVICE_TYPE:
        value = CL_DEVICE_TYPE_GPU;
        break;
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        value = lesser(most.group, own_number(device, what, sizeof(size_t)));
        bytes = sizeof(size_t);
        break;
    case CL_DEVICE_LOCAL_MEM_SIZE:
        value = lesser(most.local, own_number(device, what, bytes));
        break;
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        value = lesser(most.alloc, own_number(device, what, bytes));
        break;
    case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE:
        value = CONSTANT_BYTES;
        break;
    case CL_DEVICE_IMAGE_SUPPORT:
        value = most.texels > 0;
        bytes = sizeof(cl_bool);
        break;
    case CL_DEVICE_IMAGE_MAX_BUFFER_SIZE:
        value = lesser(most.texels, own_number(device, what, sizeof(size_t)));
        bytes = sizeof(size_t);
        break;
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF:
        bytes = sizeof(cl_uint);
        break;
    default:
        return target.clGetDeviceInfo(device, what, size, out, size_out);
    }
    return answer(&value, bytes, size, out, size_out);
}

/* Every device is a GPU. */
static cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint size,
                                         cl_device_id *devices, cl_uint *count)
{
    const bool wanted = (type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)) != 0;
    return wanted ? target.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, size, devices, count)
                  : CL_DEVICE_NOT_FOUND;
}

/* ---- what it takes ---- */

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                                        cl_int *result)
{
    if (most.alloc && size > most.alloc) {
        const cl_int refused = refuse(CL_INVALID_BUFFER_SIZE, "bytes of a buffer", size, most.alloc);
        if (result) {
            *result = refused;
        }
        return NULL;
    }
    return target.clCreateBuffer(context, flags, size, host, result);
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                                       const cl_image_desc *desc, void *host, cl_int *result)
{
    if (desc && (desc->image_type != CL_MEM_OBJECT_IMAGE1D_BUFFER || desc->image_width > most.texels)) {
        const cl_int refused =
            refuse(CL_INVALID_IMAGE_SIZE, "pixels of an image over a buffer", desc->image_width, most.texels);
        if (result) {
            *result = refused;
        }
        return NULL;
    }
    if (desc && most.image_most && desc->image_width > most.image_most) {
        const cl_int refused = refuse(CL_MEM_OBJECT_ALLOCATION_FAILURE, "memory for pixels of an image",
                                      desc->image_width, most.image_most);
        if (result) {
            *result = refused;
        }
        return NULL;
    }
    return target.clCreateImage(context, flags, format, desc, host, result);
}

static cl_int CL_API_CALL get_kernel_info(cl_kernel kernel, cl_device_id device,
                                          cl_kernel_work_group_info what, size_t size, void *out,
                                          size_t *size_out)
{
    const cl_int result = target.clGetKernelWorkGroupInfo(kernel, device, what, size, out, size_out);
    if (result == CL_SUCCESS && what == CL_KERNEL_WORK_GROUP_SIZE && out) {
        size_t group = 0;
        memcpy(&group, out, sizeof group);
        group = (size_t)lesser(most.group, group);
        memcpy(out, &group, sizeof group);
    }
    return result;
}

/* Whether a group of these sizes runs, and its local memory is there. */
static cl_int check_group(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *global,
                          const size_t *local)
{
    cl_device_id device = NULL;
    cl_ulong bytes = 0;
    size_t items = 1;
    for (cl_uint i = 0; local && i < dimensions; i++) {
        items *= local[i];
        if (local[i] == 0 || global[i] % local[i] != 0) {
            return refuse(CL_INVALID_WORK_GROUP_SIZE, "work-items that groups do not divide", global[i],
                          local[i]);
        }
    }
    if (most.group && items > most.group) {
        return refuse(CL_INVALID_WORK_GROUP_SIZE, "work-items of a group", items, most.group);
    }
    cl_int result = target.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    if (result == CL_SUCCESS) {
        result = target.clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes,
                                                 &bytes, NULL);
    }
    if (result == CL_SUCCESS && most.local && bytes > most.local) {
        return refuse(CL_OUT_OF_RESOURCES, "bytes of local memory", bytes, most.local);
    }
    return result;
}

static cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                         const size_t *offset, const size_t *global, const size_t *local,
                                         cl_uint wait_count, const cl_event *waits, cl_event *event)
{
    const cl_int result = check_group(queue, kernel, dimensions, global, local);
    return result == CL_SUCCESS ? target.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global,
                                                                local, wait_count, waits, event)
                                : result;
}

/* ---- products of bytes ---- */

/* The first line names them for programs; saturation is the extension's. */
static const char dot_text[] =
    "#define cl_khr_integer_dot_product 1\n"
    "int profile_dot(uint x, int low, uint w) {\n"
    "    int sum = 0;\n"
    "    for (int i = 0; i < 32; i += 8)\n"
    "        sum += (low ? (int)(char)(x >> i & 255u) : (int)(x >> i & 255u)) * (int)(char)(w >> i & 255u);\n"
    "    return sum;\n"
    "}\n";
static const char *const dot_functions[] = {
    "int dot_4x8packed_us_int(uint x, uint w) { return profile_dot(x, 0, w); }\n",
    "int dot_acc_sat_4x8packed_us_int(uint x, uint w, int sum) { return add_sat(profile_dot(x, 0, w), sum); "
    "}\n",
    "int dot_4x8packed_ss_int(uint x, uint w) { return profile_dot(x, 1, w); }\n",
    "int dot_acc_sat_4x8packed_ss_int(uint x, uint w, int sum) { return add_sat(profile_dot(x, 1, w), sum); "
    "}\n"};
enum { DOT_FUNCTIONS = sizeof dot_functions / sizeof dot_functions[0] };

static cl_program CL_API_CALL create_program(cl_context context, cl_uint count, const char **texts,
                                             const size_t *lengths, cl_int *result)
{
    const char *all[STRINGS_MOST] = {dot_text};
    size_t sizes[STRINGS_MOST] = {0}; /* 0: up to the text's end */
    cl_uint used = 1;
    if (!most.dot || !texts || count + DOT_FUNCTIONS + 1 > STRINGS_MOST) {
        return target.clCreateProgramWithSource(context, count, texts, lengths, result);
    }
    for (unsigned i = 0; i < DOT_FUNCTIONS; i++) {
        if (most.dot >> i & 1u) {
            all[used++] = dot_functions[i];
        }
    }
    for (cl_uint i = 0; i < count; i++) {
        all[used] = texts[i];
        sizes[used++] = lengths ? lengths[i] : 0;
    }
    return target.clCreateProgramWithSource(context, used, all, sizes, result);
}

/* Whether a program's text has a word, of so many characters; one of a binary has no text. */
static bool program_has(cl_program program, const char *word, int length)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s", length, word);
    size_t size = 0;
    if (target.clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &size) != CL_SUCCESS || size == 0) {
        return false;
    }
    char *text = calloc(size + 1, 1);
    const bool is = text &&
                    target.clGetProgramInfo(program, CL_PROGRAM_SOURCE, size, text, NULL) == CL_SUCCESS &&
                    strstr(text, name);
    free(text);
    return is;
}

/* Whether options take the best product that the device has. */
static bool takes_best(const char *options)
{
    const bool sums =
        (most.dot & (DOT_MIXED | DOT_MIXED_SUM) ? most.dot & DOT_MIXED_SUM : most.dot & DOT_SIGNED_SUM) != 0;
    const char *kind = most.dot & (DOT_MIXED | DOT_MIXED_SUM) ? "-DDOT=1" : "-DDOT=2";
    return strstr(options, kind) && (strstr(options, "-DDOT_SUM") != NULL) == sums;
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint count, const cl_device_id *devices,
                                        const char *options,
                                        void(CL_CALLBACK *notify)(cl_program program, void *user), void *user)
{
    const char *given = options ? options : "";
    int length = 0;
    const char *refused = text_of("refuse=", &length);
    if (refused && program_has(program, refused, length)) {
        (void)fprintf(stderr, "profile: a program with %.*s does not build\n", length, refused);
        return CL_BUILD_PROGRAM_FAILURE;
    }
    const bool fails = most.broken ? strstr(given, "-DDOT=") != NULL : !takes_best(given);
    if (most.dot && fails && program_has(program, "__i32_words", 11)) {
        (void)fprintf(stderr, "profile: a program of codes with '%s' does not build\n", given);
        return CL_BUILD_PROGRAM_FAILURE;
    }
    return target.clBuildProgram(program, count, devices, options, notify, user);
}

/* ---- the layer ---- */

PROFILE_API cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *out, size_t *size_out)
{
    static const char name[] = "GPU profile";
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what == CL_LAYER_API_VERSION) {
        return answer(&version, sizeof version, size, out, size_out);
    }
    return what == CL_LAYER_NAME ? answer(name, sizeof name, size, out, size_out) : CL_INVALID_VALUE;
}

PROFILE_API cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch *drivers, cl_uint *count_out,
                                           const cl_icd_dispatch **out)
{
    const cl_uint own = sizeof table / sizeof(void *);
    if (!drivers || !count_out || !out) {
        return CL_INVALID_VALUE;
    }
    memcpy(&target, drivers, (count < own ? count : own) * sizeof(void *));
    table = target;
    table.clGetDeviceInfo = get_device_info;
    table.clGetDeviceIDs = get_device_ids;
    table.clCreateBuffer = create_buffer;
    table.clCreateImage = create_image;
    table.clGetKernelWorkGroupInfo = get_kernel_info;
    table.clEnqueueNDRangeKernel = enqueue_kernel;
    table.clCreateProgramWithSource = create_program;
    table.clBuildProgram = build_program;
    most = (limits){.group = (size_t)limit_of("group="),
                    .local = limit_of("local="),
                    .alloc = limit_of("alloc="),
                    .texels = limit_of("texels="),
                    .image_most = limit_of("image_most="),
                    .dot = (unsigned)limit_of("dot="),
                    .broken = limit_of("broken=") != 0};
    *count_out = count < own ? count : own;
    *out = &table;
    return CL_SUCCESS;
}
