/*
 * gemm.c: finds CLBlast and calls it.
 *
 * The numbers of its C interface are written from its documentation; its header is not
 * needed.
 */
#include "platform/opencl/gemm.h"

#include <string.h>

enum { ROW_MAJOR = 101, AS_IT_LIES = 111, TRANSPOSED = 112 };

static const char *const default_names[] = {"libclblast.so.1", "libclblast.so", NULL};

/* ISO C has no conversion from an object pointer to a function pointer; POSIX promises
 * that the bytes are the same. */
static bool find(mts_os_library *library, const char *name, void *function)
{
    void *const symbol = mts_os_library_symbol(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol;
}

bool mts_cl_gemm_open_any(const mts_cl_library *cl, const char *const *names, mts_cl_gemm *out)
{
    memset(out, 0, sizeof *out);
    if (!cl->is_loader) {
        return false;
    }
    for (; *names; names++) {
        mts_cl_gemm found = {.library = mts_os_library_open(*names, NULL, 0)};
        if (!found.library) {
            continue;
        }
        if (find(found.library, "CLBlastSgemmStridedBatched", &found.product) &&
            find(found.library, "CLBlastSgemm", &found.single) &&
            find(found.library, "CLBlastClearCache", &found.clear)) {
            *out = found;
            return true;
        }
        mts_os_library_close(found.library);
    }
    return false;
}

bool mts_cl_gemm_open(const mts_cl_library *cl, mts_cl_gemm *out)
{
    return mts_cl_gemm_open_any(cl, default_names, out);
}

void mts_cl_gemm_close(mts_cl_gemm *gemm)
{
    if (gemm->library) {
        (void)gemm->clear();
        mts_os_library_close(gemm->library);
        memset(gemm, 0, sizeof *gemm);
    }
}

cl_int mts_cl_gemm_enqueue(const mts_cl_gemm *gemm, const mts_gemm *what, cl_mem act, cl_mem pool,
                           cl_command_queue queue, cl_event *event)
{
    const cl_mem a = what->a_pool ? pool : act;
    const cl_mem b = what->b_pool ? pool : act;
    const int b_lies = what->b_transposed ? TRANSPOSED : AS_IT_LIES;
    if (what->batch == 1) {
        return gemm->single(ROW_MAJOR, AS_IT_LIES, b_lies, what->m, what->n, what->k, 1.0f, a, what->a,
                            what->a_ld, b, what->b, what->b_ld, 0.0f, act, what->c, what->c_ld, &queue,
                            event);
    }
    return gemm->product(ROW_MAJOR, AS_IT_LIES, b_lies, what->m, what->n, what->k, 1.0f, a, what->a,
                         what->a_ld, what->a_stride, b, what->b, what->b_ld, what->b_stride, 0.0f, act,
                         what->c, what->c_ld, what->c_stride, what->batch, &queue, event);
}
