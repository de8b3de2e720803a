/*
 * gemm.h: matrix products by CLBlast, if it is installed.
 *
 * The library is opened when a device is, by name, and never needed: without it the
 * device takes no launches of that kind. It is linked with the system's OpenCL loader, so
 * it is used only where our functions come from there too.
 */
#ifndef MTS_PLATFORM_OPENCL_GEMM_H
#define MTS_PLATFORM_OPENCL_GEMM_H

#include "device/device.h"
#include "platform/opencl/library.h"

/* All or none of the functions. */
typedef struct mts_cl_gemm {
    mts_os_library *library; /* NULL: there is none */
    int (*product)(int layout, int a_transposed, int b_transposed, size_t m, size_t n, size_t k, float alpha,
                   cl_mem a, size_t a_offset, size_t a_ld, size_t a_stride, cl_mem b, size_t b_offset,
                   size_t b_ld, size_t b_stride, float beta, cl_mem c, size_t c_offset, size_t c_ld,
                   size_t c_stride, size_t batch, cl_command_queue *queue, cl_event *event);
    int (*single)(int layout, int a_transposed, int b_transposed, size_t m, size_t n, size_t k, float alpha,
                  cl_mem a, size_t a_offset, size_t a_ld, cl_mem b, size_t b_offset, size_t b_ld, float beta,
                  cl_mem c, size_t c_offset, size_t c_ld, cl_command_queue *queue, cl_event *event);
    int (*clear)(void);
} mts_cl_gemm;

/* Tries the names under which it is installed. False, and *out zero: there is none with
   these functions. */
bool mts_cl_gemm_open(const mts_cl_library *cl, mts_cl_gemm *out);
/* The same for a list of names that ends with NULL. */
bool mts_cl_gemm_open_any(const mts_cl_library *cl, const char *const *names, mts_cl_gemm *out);
/* Before the context goes: the library keeps programs by the context's address, which
   another may get. */
void mts_cl_gemm_close(mts_cl_gemm *gemm);
/* Enqueues the product; the library may build programs and take memory for it. event may
 * be NULL; it is that of the last command. Returns an OpenCL result, or one of the
 * library's own. */
cl_int mts_cl_gemm_enqueue(const mts_cl_gemm *gemm, const mts_gemm *what, cl_mem act, cl_mem pool,
                           cl_command_queue queue, cl_event *event);

#endif
