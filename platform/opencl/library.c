/*
 * library.c: finds the OpenCL library and its functions at run time.
 */
#include "platform/opencl/library.h"

#include <string.h>

/* Where a name is looked up: in the library, or by a function that the library offers for
   it. */
typedef struct resolver {
    mts_os_library *handle;
    void *(*load)(const char *name);
} resolver;

static const char loader_name[] = "libOpenCL.so.1"; /* as other libraries name it that are linked with it */

static const char *const default_names[] = {
    loader_name,
    "libOpenCL.so",
    "libOpenCL-pixel.so",
    "libGLES_mali.so",
    "libmali.so",
    "libPVROCL.so",
    "/vendor/lib64/libOpenCL.so",
    "/system/vendor/lib64/libOpenCL.so",
    "/vendor/lib64/egl/libGLES_mali.so",
    "/system/vendor/lib64/egl/libGLES_mali.so",
    /* processes of 32 bits; in others the loader refuses these */
    "/vendor/lib/libOpenCL.so",
    "/system/vendor/lib/libOpenCL.so",
    "/vendor/lib/egl/libGLES_mali.so",
    NULL,
};

/* ISO C has no conversion from an object pointer to a function pointer; POSIX promises
 * that the bytes are the same. */
static mts_cl_function to_function(void *symbol)
{
    mts_cl_function function = NULL;
    memcpy(&function, &symbol, sizeof function);
    return function;
}

/* Pixel phones: a wrapper that must be switched on and hands out the functions itself. */
static resolver resolver_make(mts_os_library *handle)
{
    resolver made = {handle, NULL};
    void *enable = mts_os_library_symbol(handle, "enableOpenCL");
    void *load = mts_os_library_symbol(handle, "loadOpenCLPointer");
    if (enable && load) {
        to_function(enable)();
        made.load = (void *(*)(const char *))to_function(load);
    }
    return made;
}

static void *resolve(const resolver *from, const char *name)
{
    return from->load ? from->load(name) : mts_os_library_symbol(from->handle, name);
}

/* Name of the first required function that is missing, or NULL. */
static const char *load_symbols(mts_cl_library *library, const resolver *from)
{
    const char *missing = NULL;
    void *symbol = NULL;
#define MTS_CL_OPTIONAL(result, name, parameters)                                                            \
    symbol = resolve(from, #name);                                                                           \
    library->name = (result(*) parameters)to_function(symbol);
#define MTS_CL_REQUIRED(result, name, parameters)                                                            \
    MTS_CL_OPTIONAL(result, name, parameters)                                                                \
    if (!symbol && !missing) {                                                                               \
        missing = #name;                                                                                     \
    }
#include "platform/opencl/symbols.def"
#undef MTS_CL_REQUIRED
#undef MTS_CL_OPTIONAL
    return missing;
}

mts_status mts_cl_library_open_any(mts_cl_library *library, const char *const *names, mts_error *error)
{
    mts_status status = mts_fail(error, MTS_STATUS_NOT_FOUND, "no OpenCL library is installed");
    memset(library, 0, sizeof *library);
    for (; *names; names++) {
        mts_os_library *handle = mts_os_library_open(*names, NULL, 0);
        if (!handle) {
            continue;
        }
        const resolver from = resolver_make(handle);
        const char *missing = load_symbols(library, &from);
        if (!missing) {
            library->handle = handle;
            library->load = from.load;
            library->is_loader = strcmp(*names, loader_name) == 0;
            return MTS_STATUS_OK;
        }
        status = mts_fail(error, MTS_STATUS_NOT_FOUND, "%s has no %s", *names, missing);
        mts_os_library_close(handle);
        memset(library, 0, sizeof *library);
    }
    return status;
}

mts_status mts_cl_library_open(mts_cl_library *library, mts_error *error)
{
    return mts_cl_library_open_any(library, default_names, error);
}

void mts_cl_library_close(mts_cl_library *library)
{
    mts_os_library_close(library->handle);
    memset(library, 0, sizeof *library);
}

void mts_cl_extensions(const mts_cl_library *library, cl_device_id id, char out[MTS_CL_EXTENSIONS_MOST])
{
    memset(out, 0, MTS_CL_EXTENSIONS_MOST);
    if (library->clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, MTS_CL_EXTENSIONS_MOST - 1, out, NULL) !=
        CL_SUCCESS) {
        out[0] = '\0';
    }
}

bool mts_cl_has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = strstr(list, word); at; at = strstr(at + length, word)) {
        const bool starts = at == list || at[-1] == ' ';
        if (starts && (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

mts_cl_function mts_cl_library_extension(const mts_cl_library *library, cl_platform_id platform,
                                         const char *name)
{
    return library->clGetExtensionFunctionAddressForPlatform
               ? to_function(library->clGetExtensionFunctionAddressForPlatform(platform, name))
               : NULL;
}

mts_cl_function mts_cl_library_function(const mts_cl_library *library, const char *name)
{
    const resolver from = {library->handle, library->load};
    return to_function(resolve(&from, name));
}
