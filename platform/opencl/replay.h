/*
 * replay.h: command lists that the driver records (cl_khr_command_buffer) and takes with
 * one call.
 *
 * What the versions 0.9.0 to 0.9.5 of the extension have in common, on one in-order
 * queue. A driver without it, or one that fails to record, is an ordinary answer: the
 * command list is then submitted launch by launch.
 */
#ifndef MTS_PLATFORM_OPENCL_REPLAY_H
#define MTS_PLATFORM_OPENCL_REPLAY_H

#include <stdbool.h>

#include "platform/opencl/library.h"

typedef struct mts_cl_opaque_recording *mts_cl_recording; /* cl_command_buffer_khr */

/* The extension's functions; all or none. */
typedef struct mts_cl_replay {
    bool simultaneous; /* a recording may be enqueued again before it has run */
    mts_cl_recording (*create)(cl_uint queues, const cl_command_queue *queue, const cl_ulong *properties,
                               cl_int *result);
    cl_int (*launch)(mts_cl_recording recording, cl_command_queue queue, const cl_ulong *properties,
                     cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global,
                     const size_t *local, cl_uint waits, const cl_uint *wait_list, cl_uint *sync_point,
                     void **handle);
    cl_int (*finalize)(mts_cl_recording recording);
    cl_int (*enqueue)(cl_uint queues, cl_command_queue *queue, mts_cl_recording recording, cl_uint waits,
                      const cl_event *wait_list, cl_event *event);
    cl_int (*release)(mts_cl_recording recording);
} mts_cl_replay;

/* False, and *out all NULL: the device has no such extension, or not all of its
 * functions, or needs a queue of another kind. */
bool mts_cl_replay_find(const mts_cl_library *cl, cl_platform_id platform, cl_device_id id,
                        const mts_allocator *allocator, mts_cl_replay *out);

#endif
