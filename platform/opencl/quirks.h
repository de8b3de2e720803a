/*
 * quirks.h: what is known about particular drivers, as data.
 */
#ifndef MTS_PLATFORM_OPENCL_QUIRKS_H
#define MTS_PLATFORM_OPENCL_QUIRKS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mts_cl_quirks {
    const char *match;        /* part of "<platform>|<vendor>|<device>|<driver>"; "" matches every driver */
    uint32_t flush_every;     /* launches after which the queue is flushed; 0: only at a command list's end */
    uint32_t work_group_most; /* cap on a group's work-items; 0: what the driver says */
    bool no_binaries;         /* its program binaries cannot be relied upon */
    bool no_replay;           /* replay is slower than launches one by one, or wrong */
    bool no_gemm;             /* a library's matrix products are slower than our kernels */
    bool host_buffers;        /* on a CPU: a buffer over host memory is that memory, without a copy to map */
    uint32_t host_alignment;  /* bytes; the driver copies other host memory once, when the buffer is made */
    bool finish_by_marker;    /* clFinish returns too early; the event of a marker does not */
    const char *options;      /* more build options, "" if none */
} mts_cl_quirks;

/* The first row of the table that matches; never NULL. */
const mts_cl_quirks *mts_cl_quirks_find(const char *identity);

#endif
