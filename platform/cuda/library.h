/*
 * library.h: the shared libraries of the driver and of NVRTC, the compiler, and their
 * functions.
 *
 * A device owns its own; nothing is kept globally. A missing library or function is an
 * ordinary answer, not a failure.
 */
#ifndef MTS_PLATFORM_CUDA_LIBRARY_H
#define MTS_PLATFORM_CUDA_LIBRARY_H

#include "base/status.h"
#include "platform/cuda/cuda_types.h"
#include "platform/os/os.h"

#define MTS_CU_REQUIRED(result, name, parameters) result(*name) parameters;
#define MTS_CU_OPTIONAL(result, name, parameters) result(*name) parameters;
#define MTS_RTC_REQUIRED(result, name, parameters)
#define MTS_RTC_OPTIONAL(result, name, parameters)
typedef struct mts_cu_library {
    mts_os_library *handle;
    int version; /* of CUDA that the driver knows, e.g. 12040 */
#include "platform/cuda/symbols.def"
} mts_cu_library;
#undef MTS_CU_REQUIRED
#undef MTS_CU_OPTIONAL
#undef MTS_RTC_REQUIRED
#undef MTS_RTC_OPTIONAL

#define MTS_CU_REQUIRED(result, name, parameters)
#define MTS_CU_OPTIONAL(result, name, parameters)
#define MTS_RTC_REQUIRED(result, name, parameters) result(*name) parameters;
#define MTS_RTC_OPTIONAL(result, name, parameters) result(*name) parameters;
typedef struct mts_rtc_library {
    mts_os_library *handle; /* NULL: there is none */
    int version;            /* as the driver's; 0: not asked for yet */
#include "platform/cuda/symbols.def"
} mts_rtc_library;
#undef MTS_CU_REQUIRED
#undef MTS_CU_OPTIONAL
#undef MTS_RTC_REQUIRED
#undef MTS_RTC_OPTIONAL

/* Tries the names under which the driver is installed. NOT_FOUND: none has the required
 * functions; UNSUPPORTED: the driver is too old. *library is zero then. */
mts_status mts_cu_library_open(mts_cu_library *library, mts_error *error);
/* The same for a list of names that ends with NULL. */
mts_status mts_cu_library_open_any(mts_cu_library *library, const char *const *names, mts_error *error);
void mts_cu_library_close(mts_cu_library *library);
/* Name of a result, e.g. "CUDA_ERROR_OUT_OF_MEMORY"; never NULL. */
const char *mts_cu_library_error_name(const mts_cu_library *library, CUresult result);

/* Likewise for NVRTC. */
mts_status mts_rtc_library_open(mts_rtc_library *library, mts_error *error);
mts_status mts_rtc_library_open_any(mts_rtc_library *library, const char *const *names, mts_error *error);
void mts_rtc_library_close(mts_rtc_library *library);

#endif
