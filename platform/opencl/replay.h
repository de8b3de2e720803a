/*
 * replay.h: command lists that the driver records and takes with one call, or with one for
 * every few launches.
 *
 * Two extensions can do that: cl_khr_command_buffer (what its versions 0.9.0 to 0.9.5 have in
 * common; with mutable dispatch from 0.9.3 on), and cl_qcom_recordable_queues. A driver
 * without both, or one that fails to record, is an ordinary answer: the command list is then
 * submitted launch by launch.
 */
#ifndef MTS_PLATFORM_OPENCL_REPLAY_H
#define MTS_PLATFORM_OPENCL_REPLAY_H

#include <stdbool.h>

#include "platform/opencl/library.h"

/* cl_command_buffer_khr or cl_recording_qcom */
typedef struct mts_cl_opaque_recording *mts_cl_recording;

/* The functions of cl_khr_command_buffer; all or none. */
typedef struct mts_cl_khr {
    bool simultaneous; /* a recording may be enqueued again before it has run */
    mts_cl_recording (*create)(cl_uint queues, const cl_command_queue *queue, const cl_ulong *properties,
                               cl_int *result);
    cl_int (*launch)(mts_cl_recording recording, cl_command_queue queue, const cl_ulong *properties,
                     cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global,
                     const size_t *local, cl_uint waits, const cl_uint *wait_list, cl_uint *sync_point,
                     cl_mutable_command *command);
    cl_int (*finalize)(mts_cl_recording recording);
    cl_int (*enqueue)(cl_uint queues, cl_command_queue *queue, mts_cl_recording recording, cl_uint waits,
                      const cl_event *wait_list, cl_event *event);
    cl_int (*release)(mts_cl_recording recording);
    /* Of mutable dispatch; NULL: arguments and sizes cannot be changed. */
    cl_int (*update)(mts_cl_recording recording, cl_uint count, const cl_uint *types, const void **configs);
} mts_cl_khr;

/* The functions of cl_qcom_recordable_queues; all or none. */
typedef struct mts_cl_qcom {
    cl_uint most; /* launches of a recording */
    mts_cl_recording (*create)(cl_command_queue queue, cl_int *result);
    cl_int (*end)(mts_cl_recording recording);
    cl_int (*release)(mts_cl_recording recording);
    cl_int (*enqueue)(cl_command_queue queue, mts_cl_recording recording, size_t args,
                      const cl_array_arg_qcom *arg_list, size_t offsets, const cl_offset_qcom *offset_list,
                      size_t globals, const cl_workgroup_qcom *global_list, size_t locals,
                      const cl_workgroup_qcom *local_list, cl_uint waits, const cl_event *wait_list,
                      cl_event *event);
} mts_cl_qcom;

typedef enum mts_cl_replay_way {
    MTS_CL_REPLAY_NONE = 0,
    MTS_CL_REPLAY_KHR,
    MTS_CL_REPLAY_MUTABLE, /* KHR, and launches may be changed */
    MTS_CL_REPLAY_QCOM,
    MTS_CL_REPLAY_WAYS
} mts_cl_replay_way;

typedef struct mts_cl_replay {
    mts_cl_khr khr;   /* all NULL: the device has none */
    mts_cl_qcom qcom; /* likewise */
    /* How lists are recorded, and those whose launches have changed. NONE: they are not; while
       `asked`, they will be if a measurement says that it pays. */
    mts_cl_replay_way way, changed_way;
    bool asked;
} mts_cl_replay;

/* Launches of a recording whose arguments or sizes are no longer those it was recorded with
   (QCOM): they come with each call that enqueues it. */
typedef struct mts_cl_overrides {
    bool *changed; /* per launch */
    cl_array_arg_qcom *args;
    cl_workgroup_qcom *globals, *locals;
    size_t *first_arg, *first_group; /* per part, and one behind the last: where its own begin */
} mts_cl_overrides;

/* A command list as the driver recorded it. */
typedef struct mts_cl_recorded {
    mts_cl_replay_way way;
    mts_cl_recording *parts; /* NULL: it is not recorded */
    size_t part_count;
    size_t part_launches;         /* of each part but the last */
    cl_mutable_command *commands; /* per launch; NULL: they cannot be changed */
    mts_cl_overrides overrides;   /* all NULL: none */
    uint64_t replayed;            /* the device's `replays` when it was enqueued last */
} mts_cl_recorded;

/* What a device has, and how its lists are to be recorded without a measurement. False, and *out
 * all NULL: it has neither extension, or not all of its functions, or needs a queue of another
 * kind. */
bool mts_cl_replay_find(const mts_cl_library *cl, cl_platform_id platform, cl_device_id id,
                        mts_cl_replay *out);
/* replay_khr.c, replay_qcom.c */
bool mts_cl_khr_find(const mts_cl_library *cl, cl_platform_id platform, cl_device_id id, const char *has,
                     mts_cl_khr *out);
bool mts_cl_qcom_find(const mts_cl_library *cl, cl_platform_id platform, cl_device_id id, const char *has,
                      mts_cl_qcom *out);

#endif
