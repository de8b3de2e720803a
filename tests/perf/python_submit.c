/*
 * python_submit.c: the C side of python_submit.py: submits a frame to a session as a C program would, and
 * measures the calls. It is loaded by the Python process, so that both sides use one session.
 */
#include <time.h>

#include "mts/mts.h"

/* Submits and waits `runs` times. submits[i] and outputs[i] become the microseconds of the submission and of
   reading the address of output 0 of `task`. */
MTS_API mts_status mts_bench_submits(mts_session *session, const mts_frame *frame, const char *task,
                                     uint32_t runs, double *submits, double *outputs);

static double now_us(void)
{
    struct timespec at = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e6 + (double)at.tv_nsec * 1e-3;
}

mts_status mts_bench_submits(mts_session *session, const mts_frame *frame, const char *task, uint32_t runs,
                             double *submits, double *outputs)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < runs; i++) {
        mts_ticket ticket = 0;
        mts_tensor tensor = {0};
        const double start = now_us();
        status = mts_session_submit(session, frame, &ticket);
        submits[i] = now_us() - start;
        if (status == MTS_STATUS_OK) {
            status = mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE);
        }
        const double finished = now_us();
        if (status == MTS_STATUS_OK) {
            status = mts_session_output(session, task, 0, &tensor);
        }
        outputs[i] = now_us() - finished;
    }
    return status;
}
