/*
 * library.h: the driver's shared library and its functions.
 *
 * A device owns one; nothing is kept globally. A missing library or symbol is an ordinary
 * answer, not a failure.
 */
#ifndef MTS_PLATFORM_OPENCL_LIBRARY_H
#define MTS_PLATFORM_OPENCL_LIBRARY_H

#include <stdbool.h>

#include "base/status.h"
#include "platform/opencl/cl_types.h"
#include "platform/os/os.h"

#define MTS_CL_REQUIRED(result, name, parameters) result(*name) parameters;
#define MTS_CL_OPTIONAL(result, name, parameters) result(*name) parameters;
typedef struct mts_cl_library {
    mts_os_library *handle;
    bool is_loader;                  /* the system's ICD loader, not a driver by itself */
    void *(*load)(const char *name); /* hands out its functions; NULL: they are looked up in it */
#include "platform/opencl/symbols.def"
} mts_cl_library;
#undef MTS_CL_REQUIRED
#undef MTS_CL_OPTIONAL

/* Tries the names under which drivers install it. NOT_FOUND: none has the required
 * functions; *library is zero. */
mts_status mts_cl_library_open(mts_cl_library *library, mts_error *error);
/* The same for a list of names that ends with NULL. */
mts_status mts_cl_library_open_any(mts_cl_library *library, const char *const *names, mts_error *error);
void mts_cl_library_close(mts_cl_library *library);

/* A device's extensions, several times as many as drivers have; "" if it does not say. */
#define MTS_CL_EXTENSIONS_MOST 16384
void mts_cl_extensions(const mts_cl_library *library, cl_device_id id, char out[MTS_CL_EXTENSIONS_MOST]);
/* Whether a word stands in a list of them, as a driver's extensions are; a longer word is
   another one. */
bool mts_cl_has_word(const char *list, const char *word);
typedef void (*mts_cl_function)(void);
/* A function of an extension, to be cast to its type; NULL: the platform has none of that
   name. */
mts_cl_function mts_cl_library_extension(const mts_cl_library *library, cl_platform_id platform,
                                         const char *name);
/* A function that the library exports; NULL: it has none of that name. */
mts_cl_function mts_cl_library_function(const mts_cl_library *library, const char *name);

#endif
