/*
 * library.c: finds the driver's library, NVRTC's, and their functions at run time.
 */
#include "platform/cuda/library.h"

#include <string.h>

#define VERSION_LEAST 10020 /* CUDA 10.2, the last one of Jetson Nano and TX2 */

static const char *const driver_names[] = {"libcuda.so.1", "libcuda.so", NULL};

static const char *const compiler_names[] = {
    "libnvrtc.so",      "libnvrtc.so.13",   "libnvrtc.so.12",   "libnvrtc.so.11.2",
    "libnvrtc.so.11.1", "libnvrtc.so.11.0", "libnvrtc.so.10.2", NULL,
};

/* ISO C has no conversion from an object pointer to a function pointer; POSIX promises
 * that the bytes are the same. */
typedef void (*any_function)(void);
static any_function to_function(void *symbol)
{
    any_function function = NULL;
    memcpy(&function, &symbol, sizeof function);
    return function;
}

#define LOAD(result, name, parameters)                                                                       \
    symbol = mts_os_library_symbol(handle, #name);                                                           \
    library->name = (result(*) parameters)to_function(symbol);
#define LOAD_REQUIRED(result, name, parameters)                                                              \
    LOAD(result, name, parameters)                                                                           \
    if (!symbol && !missing) {                                                                               \
        missing = #name;                                                                                     \
    }

/* Name of the first required function that is missing, or NULL. */
static const char *load_driver(mts_cu_library *library, mts_os_library *handle)
{
    const char *missing = NULL;
    void *symbol = NULL;
#define MTS_CU_REQUIRED LOAD_REQUIRED
#define MTS_CU_OPTIONAL LOAD
#define MTS_RTC_REQUIRED(result, name, parameters)
#define MTS_RTC_OPTIONAL(result, name, parameters)
#include "platform/cuda/symbols.def"
#undef MTS_CU_REQUIRED
#undef MTS_CU_OPTIONAL
#undef MTS_RTC_REQUIRED
#undef MTS_RTC_OPTIONAL
    return missing;
}

static const char *load_compiler(mts_rtc_library *library, mts_os_library *handle)
{
    const char *missing = NULL;
    void *symbol = NULL;
#define MTS_CU_REQUIRED(result, name, parameters)
#define MTS_CU_OPTIONAL(result, name, parameters)
#define MTS_RTC_REQUIRED LOAD_REQUIRED
#define MTS_RTC_OPTIONAL LOAD
#include "platform/cuda/symbols.def"
#undef MTS_CU_REQUIRED
#undef MTS_CU_OPTIONAL
#undef MTS_RTC_REQUIRED
#undef MTS_RTC_OPTIONAL
    return missing;
}

/* An old driver lacks functions too; its version makes the error say that it is old. */
static mts_status check_driver(mts_cu_library *library, const char *name, const char *missing,
                               mts_error *error)
{
    if (library->cuDriverGetVersion) {
        const CUresult result = library->cuDriverGetVersion(&library->version);
        if (result != CUDA_SUCCESS) {
            return mts_fail(error, MTS_STATUS_DEVICE, "cuDriverGetVersion of %s failed with %s (%d)", name,
                            mts_cu_library_error_name(library, result), result);
        }
        if (library->version < VERSION_LEAST) {
            return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                            "the NVIDIA driver is too old: it knows CUDA %d.%d, and CUDA %d.%d is needed",
                            library->version / 1000, library->version % 1000 / 10, VERSION_LEAST / 1000,
                            VERSION_LEAST % 1000 / 10);
        }
    }
    return missing ? mts_fail(error, MTS_STATUS_NOT_FOUND, "%s has no %s", name, missing) : MTS_STATUS_OK;
}

mts_status mts_cu_library_open_any(mts_cu_library *library, const char *const *names, mts_error *error)
{
    mts_error why; /* the error if no name can be opened */
    mts_status status = mts_fail(&why, MTS_STATUS_NOT_FOUND, "no NVIDIA driver (%s) is installed", names[0]);
    memset(library, 0, sizeof *library);
    for (; *names; names++) {
        mts_os_library *handle = mts_os_library_open(*names, NULL, 0);
        if (!handle) {
            continue;
        }
        const char *missing = load_driver(library, handle);
        status = check_driver(library, *names, missing, &why);
        if (status == MTS_STATUS_OK) {
            library->handle = handle;
            return MTS_STATUS_OK;
        }
        mts_os_library_close(handle);
        memset(library, 0, sizeof *library);
    }
    return mts_fail(error, status, "%s", why.text);
}

mts_status mts_cu_library_open(mts_cu_library *library, mts_error *error)
{
    return mts_cu_library_open_any(library, driver_names, error);
}

void mts_cu_library_close(mts_cu_library *library)
{
    mts_os_library_close(library->handle);
    memset(library, 0, sizeof *library);
}

const char *mts_cu_library_error_name(const mts_cu_library *library, CUresult result)
{
    const char *name = NULL;
    if (library->cuGetErrorName && library->cuGetErrorName(result, &name) == CUDA_SUCCESS && name) {
        return name;
    }
    return "an unknown code";
}

mts_status mts_rtc_library_open_any(mts_rtc_library *library, const char *const *names, mts_error *error)
{
    mts_error why;
    mts_status status = mts_fail(&why, MTS_STATUS_NOT_FOUND, "CUDA's compiler (%s) was not found", names[0]);
    memset(library, 0, sizeof *library);
    for (; *names; names++) {
        mts_os_library *handle = mts_os_library_open(*names, NULL, 0);
        if (!handle) {
            continue;
        }
        const char *missing = load_compiler(library, handle);
        if (!missing) {
            library->handle = handle;
            return MTS_STATUS_OK;
        }
        status = mts_fail(&why, MTS_STATUS_NOT_FOUND, "%s has no %s", *names, missing);
        mts_os_library_close(handle);
        memset(library, 0, sizeof *library);
    }
    return mts_fail(error, status, "%s", why.text);
}

mts_status mts_rtc_library_open(mts_rtc_library *library, mts_error *error)
{
    return mts_rtc_library_open_any(library, compiler_names, error);
}

void mts_rtc_library_close(mts_rtc_library *library)
{
    mts_os_library_close(library->handle);
    memset(library, 0, sizeof *library);
}
