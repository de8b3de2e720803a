/*
 * mts.h: the run-time API of the MTS SDK: many networks on one camera frame, stitched into one.
 *
 * Five nouns: mts_runtime is a device with its caches, allocator and log. mts_bundle holds compiled
 * tasks. mts_session is a bundle on a device with a plan, ready to run. mts_frame is one camera
 * image, a plain struct. mts_tensor is a plain view of an array.
 *
 *     mts_runtime_options ropts;      mts_runtime_options_default(&ropts);
 *     mts_runtime_create(&ropts, &runtime);
 *     mts_bundle_open(runtime, "app.mtsb", &bundle);
 *     mts_session_options sopts;      mts_session_options_default(&sopts);
 *     mts_session_create(runtime, bundle, &sopts, &session);
 *     for each frame:
 *         mts_session_submit(session, &frame, &ticket);
 *         mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE);
 *         mts_session_output(session, "age", 0, &tensor);
 *
 * Conventions of every function here:
 *   - A function that can fail returns an mts_status. A sentence with the reason goes into the
 *     caller's buffer mts_runtime_options.error_text and to the log callback. A call without a
 *     runtime, bundle or session (NULL) returns INVALID_ARGUMENT and writes no sentence.
 *   - A comment names the statuses that matter. Besides, every call returns INVALID_ARGUMENT for a
 *     NULL pointer that its comment does not allow. Every call that uses memory or the device can
 *     also return OUT_OF_MEMORY, DEVICE or DEVICE_LOST.
 *   - A failed create or open sets *out to NULL. Any other failed call changes nothing, with two
 *     exceptions:
 *       - If the device fails in a call that sets an input or submits, inputs may have changed, and
 *         a zero-copy input has to be set again.
 *       - If a wait or poll fails, but not with TIMEOUT, BUSY or CANCELLED, the run is over and has
 *         no outputs.
 *   - X_destroy(X **) accepts NULL and pointers to NULL, and sets the caller's pointer to NULL.
 *     Destroy sessions first, then bundles, then the runtime. This is safe after DEVICE_LOST.
 *   - A struct that begins with `size` may come from an older header. Missing options have
 *     their defaults; missing results are not written. A size that is larger than this
 *     library knows is INVALID_ARGUMENT.
 *   - Strings are UTF-8. Sizes are in bytes, times in milliseconds.
 *
 * Promises; each has a test. No input crashes the library, hangs it or makes it allocate too much.
 * The library never aborts, never prints and has no global mutable state. A steady-state run builds
 * no kernel and, unless `gemm` is in use, allocates nothing. The same build, device and plan give
 * bit-identical outputs. With every strategy, outputs in float32 differ from the reference by at
 * most 1e-4 of the output's largest magnitude; docs/PRECISION.md has float16.
 *
 * Thread-safety: a runtime and all objects made from it belong to one thread at a time. Different
 * runtimes are independent.
 */
#ifndef MTS_MTS_H
#define MTS_MTS_H

#include "mts/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header; mts_version() names that of the library. Before 1.0 a minor version may
   change the API. */
#define MTS_VERSION_MAJOR 0
/* See MTS_VERSION_MAJOR. */
#define MTS_VERSION_MINOR 1
/* See MTS_VERSION_MAJOR. */
#define MTS_VERSION_PATCH 0

/* Devices of a runtime (mts_runtime_options.devices). */
#define MTS_DEVICES_MOST 8
/* As a timeout_ms: no time limit. */
#define MTS_TIMEOUT_INFINITE UINT32_MAX

/*
 * Names a status.
 * @param status any number
 * @return "ok", "invalid argument", ...; never NULL, and constant
 */
MTS_API const char *mts_status_name(mts_status status);
/*
 * Names the version of the library that is loaded.
 * @return "0.1.0"; constant
 */
MTS_API const char *mts_version(void);

/* ---- devices ---- */

/*
 * Counts the devices that can be opened now.
 * @return their number; a missing driver means fewer devices
 */
MTS_API uint32_t mts_device_count(void);
/*
 * Describes a device without opening it.
 * @param index 0..mts_device_count() - 1, in the order in which "auto" prefers them
 * @param out set its size before
 * @return NOT_FOUND: no such index. INVALID_ARGUMENT: `out` is NULL or its size is not known.
 */
MTS_API mts_status mts_device_describe(uint32_t index, mts_device_desc *out);

/* ---- runtime ---- */

/* A device with its caches, allocator and log. Thread-safety: one thread at a time. */
typedef struct mts_runtime mts_runtime;
/* Compiled tasks, verified. Thread-safety: that of its runtime. */
typedef struct mts_bundle mts_bundle;
/* A bundle on a device with a plan, ready to run. Thread-safety: that of its runtime. */
typedef struct mts_session mts_session;

/* Which device a runtime opens, how it works, and what it uses of the caller. */
typedef struct mts_runtime_options {
    /* sizeof(mts_runtime_options). */
    size_t size;
    /* Id of a device. NULL or "auto" (default): a GPU, else the processor ("cpu"), else another
       OpenCL device, else plain C ("reference"); mts_device_describe counts in this order. OpenCL's
       GPUs come behind "cpu" where the system (Linux, but not Android) shows none in /dev: its
       drivers are then not loaded, which would take 20 ms and more. If the
       runtime's first session cannot be built on that device, the runtime moves to the next one in
       this order, and the log says so; mts_runtime_device then describes that one. A device that is
       named here is never left.
       "cuda:sm_XY" (a compute capability, as "cuda:sm_62") runs nothing. It writes the kernels of a
       session for that capability to cache_dir, for devices that have no compiler. */
    const char *device;
    /* Directory of kernel binaries, plans and tunings; the library creates it when needed, with
       mode 0700. NULL (default): no cache. If the directory cannot be written, calls succeed without
       it. Kernel binaries are code: a directory or file that is a link, does not belong to the
       effective user, or can be written by its group or others, is not used, and a warning in the
       log says why. The string is copied. */
    const char *cache_dir;
    /* Graph replay: the launches of a run are recorded once and submitted with one driver call. */
    mts_use replay;
    /* Matrix products by CLBlast, if it is installed. Tuning (mts_session_options.tuning_ms) then
       measures it too, for layers that are one dense product. CLBlast allocates in every run. A run
       that uses it is not replayed. */
    mts_use gemm;
    /* The caller's CUcontext and CUstream. All work runs on this stream in order. Both must outlive
       the runtime. NULL (default): the device's primary context, and a stream of the library's own.
       A stream requires a context. On a device that is not CUDA's, creating the runtime fails with
       UNSUPPORTED. */
    void *cuda_context, *cuda_stream;
    /* OpenCL: number of launches after which the library flushes the queue. With 2 to 4, a phone
       can draw its screen between them. 0 (default): the library chooses by the driver. */
    uint32_t flush_launches;
    /* 1: the library checks every command before it gives it to the device (slower). 0 (default):
       it does not. A library built with MTS_SMALL has no checks: UNSUPPORTED. */
    uint32_t check;
    /* Buffer of the caller for the sentence of the last failure; NULL (default): none. */
    char *error_text;
    /* Bytes of error_text. */
    size_t error_size;
    /* First argument of the callbacks. */
    void *context;
    /* Receives sentences of the log. While a session changes (mts_session_add), calls may also come
       from a thread of the library. NULL (default): there is no log. */
    void (*log)(void *context, mts_log_severity severity, const char *text);
    /* Allocates `size` bytes, or returns NULL. `alloc` and `free` are both given, or both NULL
       (default: malloc and free). */
    void *(*alloc)(void *context, size_t size);
    /* Frees what `alloc` returned. */
    void (*free)(void *context, void *memory);
    /* Device "cpu": threads that compute, 1 to MTS_THREADS_MOST; other devices ignore it. The thread
       that submits is one of them; the others start with the first session and end with the
       runtime. They inherit the set of processors that the thread creating that session may run on,
       stay within what the process's first thread may run on if they began there, and leave the one
       that the submitting thread is on to it: their affinity follows that thread. They block all signals. A thread without work polls for 30 microseconds at most, then it
       sleeps: between runs none of them uses the processor.
       0 (default): as many as there are processors that the thread calling mts_runtime_create may
       run on. Give fewer where the system grants less than these, as a container with a quota does,
       or where other work has to go on. */
    uint32_t threads;
    /* OpenCL: priority and clocks of the device's queue, where the driver takes such hints
       (cl_qcom_priority_hint, cl_qcom_perf_hint, cl_khr_priority_hints, cl_khr_throttle_hints). */
    mts_queue_mode queue;
    /* Ids of several devices, the runtime's first, second and so on, copied; `device` is NULL then.
       NULL (default): one, as `device` says. Sessions are placed on all of them
       (mts_session_options.placement, docs/PLACEMENT.md). "opencl:N/KofM" is part K, from 0, of
       device "opencl:N" divided into M parts of equally many compute units (a sub-device): each
       part has a queue and threads of its own. The driver has to be able to divide the device by
       counts. An id that stands twice is opened twice. A library built with MTS_SMALL takes one
       device only: UNSUPPORTED. */
    const char *const *devices;
    /* Number of ids, 0 (default) or 1 to MTS_DEVICES_MOST. */
    uint32_t device_count;
} mts_runtime_options;

/*
 * Sets the size and every default.
 * @param options may be NULL
 * @param size of the struct in the caller's header; no byte behind it is written
 */
MTS_API void mts_runtime_options_default_sized(mts_runtime_options *options, size_t size);
/* mts_runtime_options_default_sized with the size that the struct has in this header. */
#define mts_runtime_options_default(options)                                                                 \
    mts_runtime_options_default_sized((options), sizeof(mts_runtime_options))
/*
 * Opens a device.
 * @param options NULL: the defaults
 * @param out the runtime; destroy it with mts_runtime_destroy
 * @return NOT_FOUND: no such device, or its driver is not installed. UNSUPPORTED: the driver is too
 * old, or the device takes no context of the caller's. INVALID_ARGUMENT: `out` is NULL, or an
 * option is out of its range or contradicts another one.
 */
MTS_API mts_status mts_runtime_create(const mts_runtime_options *options, mts_runtime **out);
/*
 * Destroys a runtime.
 * @param runtime destroy its sessions and bundles before
 */
MTS_API void mts_runtime_destroy(mts_runtime **runtime);
/*
 * Describes the device that is open; of several the first one.
 * @param runtime a runtime
 * @param out set its size before
 * @return INVALID_ARGUMENT: `out` is NULL or its size is not known.
 */
MTS_API mts_status mts_runtime_device(const mts_runtime *runtime, mts_device_desc *out);

/*
 * Counts how the cache directory was used.
 * @param runtime a runtime
 * @param stats set its size before
 * @return INVALID_ARGUMENT: `stats` is NULL or its size is not known.
 */
MTS_API mts_status mts_runtime_cache(const mts_runtime *runtime, mts_cache_stats *stats);

/*
 * Measures what the device can do at most. This takes one or two seconds and at most 128 MiB of
 * device memory. A session that runs at the same time makes the results lower.
 * @param runtime a runtime
 * @param out set its size before
 * @return UNSUPPORTED: the device cannot be measured. INVALID_ARGUMENT: `out` is NULL or its size
 * is not known.
 */
MTS_API mts_status mts_runtime_measure(mts_runtime *runtime, mts_ceilings *out);

/*
 * Sets frame->size, and every other field to its default, 0.
 * @param frame may be NULL
 * @param size of the struct in the caller's header; no byte behind it is written
 */
MTS_API void mts_frame_default_sized(mts_frame *frame, size_t size);
/* mts_frame_default_sized with the size that the struct has in this header. */
#define mts_frame_default(frame) mts_frame_default_sized((frame), sizeof(mts_frame))

/* ---- bundles ---- */

/*
 * Opens a bundle file and verifies every byte of it.
 * @param runtime outlives the bundle
 * @param path of the file; while the bundle is open, another file may take this path, but the file itself must not be changed
 * @param out the bundle; destroy it with mts_bundle_destroy
 * @return NOT_FOUND: no such file. IO: it cannot be read. MALFORMED: it is damaged. UNSUPPORTED: it
 * has another format version. LIMIT: it is too large.
 */
MTS_API mts_status mts_bundle_open(mts_runtime *runtime, const char *path, mts_bundle **out);
/*
 * Opens a bundle that is a part of an open file.
 * @param runtime outlives the bundle
 * @param fd descriptor of the file; the caller owns it, and may close it after the call
 * @param offset bytes from the start of the file
 * @param size bytes of the bundle
 * @param out as in mts_bundle_open
 * @return as mts_bundle_open. IO: the file ends before the bundle. INVALID_ARGUMENT: `fd` is
 * negative, or `size` is 0.
 */
MTS_API mts_status mts_bundle_open_fd(mts_runtime *runtime, int fd, uint64_t offset, uint64_t size,
                                      mts_bundle **out);
/*
 * Opens a bundle that lies in memory.
 * @param runtime outlives the bundle
 * @param data the bundle. If it is aligned to 64 bytes, it is used in place and has to outlive the
 * mts_bundle. Else it is copied
 * @param size bytes at `data`
 * @param out as in mts_bundle_open
 * @return as mts_bundle_open
 */
MTS_API mts_status mts_bundle_open_memory(mts_runtime *runtime, const void *data, size_t size,
                                          mts_bundle **out);
/*
 * Destroys a bundle.
 * @param bundle destroy its sessions before
 */
MTS_API void mts_bundle_destroy(mts_bundle **bundle);

/*
 * Counts the tasks of a bundle.
 * @param bundle may be NULL
 * @return their number; 0 for NULL
 */
MTS_API uint32_t mts_bundle_task_count(const mts_bundle *bundle);
/*
 * Describes a task.
 * @param bundle a bundle
 * @param index 0..mts_bundle_task_count() - 1
 * @param out set its size before
 * @return NOT_FOUND: no such task. INVALID_ARGUMENT: `out` is NULL or its size is not known.
 */
MTS_API mts_status mts_bundle_task(const mts_bundle *bundle, uint32_t index, mts_task_desc *out);
/*
 * Describes an input of a task.
 * @param bundle a bundle
 * @param task name of the task
 * @param index 0..input_count - 1
 * @param out set its size before
 * @return NOT_FOUND: no such task or input. INVALID_ARGUMENT: `out` is NULL or its size is not
 * known.
 */
MTS_API mts_status mts_bundle_input(const mts_bundle *bundle, const char *task, uint32_t index,
                                    mts_port_desc *out);
/*
 * Describes an output of a task.
 * @param bundle a bundle
 * @param task name of the task
 * @param index 0..output_count - 1
 * @param out set its size before
 * @return NOT_FOUND: no such task or output. INVALID_ARGUMENT: `out` is NULL or its size is not
 * known.
 */
MTS_API mts_status mts_bundle_output(const mts_bundle *bundle, const char *task, uint32_t index,
                                     mts_port_desc *out);

/*
 * Writes what a bundle holds: tasks, families, bytes of weights with and without sharing.
 * @param bundle a bundle
 * @param report form of the text
 * @param buffer receives the text and a terminating 0; may be NULL if `size` is 0
 * @param size bytes of `buffer`
 * @param needed receives the bytes of the whole text with its terminating 0; may be NULL
 * @return LIMIT: the text does not fit and is cut. INVALID_ARGUMENT: `report` is unknown, or
 * `buffer` is NULL and `size` is not 0.
 */
MTS_API mts_status mts_bundle_inspect(const mts_bundle *bundle, mts_report report, char *buffer, size_t size,
                                      size_t *needed);

/* ---- sessions ---- */

/* Number of a submission of a session: 1, 2, 3, ... */
typedef uint64_t mts_ticket;

/* What runs on which of a runtime's devices (docs/PLACEMENT.md). */
typedef enum mts_placement {
    /* What is predicted to be faster of the other two, from times that the library measures while
       it creates the session (default). */
    MTS_PLACEMENT_AUTO = 0,
    /* The layers of all tasks are cut into stages that follow each other, one on each device, as
       Shockwave pipelines a network. */
    MTS_PLACEMENT_STAGES = 1,
    /* Whole tasks are dealt out to the devices by their times, as sensAI places subnetworks. */
    MTS_PLACEMENT_GROUPS = 2
} mts_placement;

/* What a placement is best for. */
typedef enum mts_placement_goal {
    /* THROUGHPUT where frames_in_flight is more than 1, else LATENCY (default). */
    MTS_PLACEMENT_GOAL_AUTO = 0,
    /* The slowest stage is as fast as possible: most frames a second. */
    MTS_PLACEMENT_GOAL_THROUGHPUT = 1,
    /* The sum of the stages is as small as possible: a frame alone is done soonest. */
    MTS_PLACEMENT_GOAL_LATENCY = 2
} mts_placement_goal;

/* What becomes of a session of several devices when one of them is lost. */
typedef enum mts_on_device_lost {
    /* Runs in flight, and all later ones that need the device, fail with DEVICE_LOST (default). */
    MTS_ON_DEVICE_LOST_FAIL = 0,
    /* The session is placed on the devices that remain, and the runs that were in flight begin
       again. Until then every run keeps a copy of its inputs. */
    MTS_ON_DEVICE_LOST_REPLAN = 1
} mts_on_device_lost;

/* What a session runs, and how it is planned. */
typedef struct mts_session_options {
    /* sizeof(mts_session_options). */
    size_t size;
    /* How groups of tasks are executed. Default: COMPACT. */
    mts_strategy strategy;
    /* How the device stores and multiplies numbers. Default: AUTO. With FLOAT16 or FLOAT16_STORAGE, creating the
       session fails with LIMIT if a weight is too large for float16. */
    mts_precision precision;
    /* Names of the tasks that run; NULL (default): all tasks of the bundle. */
    const char *const *tasks;
    /* Number of names. */
    uint32_t task_count;
    /* 0 (default): all tasks see the same frame, and equal work on it is done once. 1: each task
       has an input of its own. */
    uint32_t separate_inputs;
    /* 0 (default): mts_session_input copies the data. 1: it keeps the address of float32 data, and
       every run reads the caller's memory; see docs/ASYNC.md. */
    uint32_t zero_copy_inputs;
    /* Which tasks are one group. Default: FAMILY. SEQUENTIAL ignores it. */
    mts_grouping grouping;
    /* Most bytes of weights, activations and workspace together; 0 (default): no limit. Creating
       the session fails with LIMIT if no plan fits in it; the sentence names the smallest
       possible budget. Measurements while it is created may exceed it: docs/design/deciding.md. */
    uint64_t memory_budget;
    /* A number for each task; NULL (default): all are equal. Tasks with a higher number run in
       earlier groups. Tasks of different numbers are never in one group. */
    const uint32_t *priorities;
    /* Milliseconds for measuring which kernel is fastest for each layer. Time for building kernels
       does not count. 0 (default): kernels are chosen by the kind of device. With a cache_dir, the
       next session continues the measurements of this one. */
    uint32_t tuning_ms;
    /* Slots for submissions that were not consumed yet, 1..16. 1 (default): one run at a time.
       With zero_copy_inputs it has to be 1. See docs/ASYNC.md. */
    uint32_t frames_in_flight;
    /* What a submission does while all slots are in use. */
    mts_when_full when_full;
    /* First argument of `done` and `progress`. */
    void *context;
    /* Called once for every ticket, inside mts_session_submit, _poll, _wait, _cancel and _destroy.
       The calls come in the order of tickets, but a dropped frame is reported at once.
       `status` is what a wait would return. CANCELLED: the frame was dropped, the run was
       cancelled, or the session is being destroyed. From this call on, the caller may change or
       free the memory of the zero-copy frame of this ticket. The callback may read outputs and
       change which tasks run. Calls that concern inputs and runs return BUSY inside it. NULL
       (default): not called. */
    void (*done)(void *context, mts_ticket ticket, mts_status status);
    /* Called while the session is created, with the part that is done, 0..1. A result other than 0
       makes mts_session_create fail with CANCELLED. NULL (default): not called. */
    int (*progress)(void *context, float fraction, const char *what);
    /* 0 (default): a frame is a sequence of launches. 1: it is few persistent launches, whose
       work-groups wait for counters in place of the ends of launches, on devices that can:
       OpenCL with atomics that order memory for the whole device, CUDA with cooperative launches.
       The bits are the same. Where the device cannot, or a wait takes too long, frames go launch by
       launch, nothing is lost, and the log says why; mts_session_stats.persistent_launches says
       whether it is so. Frames follow one another on the device then, and runs of some of the
       tasks or with a deadline go launch by launch. See docs/design/waves.md. */
    uint32_t persistent;
    /* ON: tensors of OpenCL and CUDA devices lie with four channels side by side where neither
       their producer nor a reader needs planes. OFF: activations lie in planes, one for each channel. AUTO
       (default): as docs/MOBILE.md says for the device. Numbers differ by rounding. A library built
       with MTS_SMALL ignores it. */
    mts_use packed_channels;
    /* Whether the kernels of such convolutions read weights through an image instead of a buffer, on
       OpenCL devices that have images over buffers. Results are the same. AUTO (default): as
       docs/MOBILE.md says for the device. */
    mts_use weight_images;
    /* On a runtime of several devices: what runs where. Weights are stored once on each device that
       needs them; memory_budget is that of each device. Stages of different frames run at the same
       time if frames_in_flight is more than 1: at least one more than there are devices keeps all of
       them at work. Hand-overs between devices happen inside the calls that submit, poll and wait. */
    mts_placement placement;
    /* What the placement is best for. */
    mts_placement_goal placement_goal;
    /* When one of several devices is lost. REPLAN cannot be had with zero_copy_inputs. */
    mts_on_device_lost on_device_lost;
    /* Bytes behind the weights on the device that stay free for blocks of mts_session_add and
       _update: what these bring, packed, and a little more. memory_budget counts them. Where blocks do
       not fit there, they get a buffer of their own, with copies of what the same launches need besides.
       0 (default): none. A library built with MTS_SMALL ignores it. */
    uint64_t weights_reserve;
} mts_session_options;

/*
 * Sets the size and every default.
 * @param options may be NULL
 * @param size of the struct in the caller's header; no byte behind it is written
 */
MTS_API void mts_session_options_default_sized(mts_session_options *options, size_t size);
/* mts_session_options_default_sized with the size that the struct has in this header. */
#define mts_session_options_default(options)                                                                 \
    mts_session_options_default_sized((options), sizeof(mts_session_options))
/*
 * Creates a session: plans, builds kernels and uploads weights. Measured decisions are kept in the
 * runtime's cache_dir. A simpler kernel replaces one that does not build or run;
 * mts_session_explain says so.
 * @param runtime outlives the session
 * @param bundle opened by this runtime; outlives the session
 * @param options NULL: the defaults
 * @param out the session; destroy it with mts_session_destroy
 * @return NOT_FOUND: no task of that name, or no CUDA compiler that knows the device. LIMIT: the
 * device memory or memory_budget is too small, or a weight is too large for float16. DEVICE: no
 * kernel of a layer builds; the sentence has the build log. CANCELLED: by `progress`.
 * INVALID_ARGUMENT: an option is out of its range or contradicts another one, a task is named
 * twice, or another runtime opened the bundle.
 */
MTS_API mts_status mts_session_create(mts_runtime *runtime, mts_bundle *bundle,
                                      const mts_session_options *options, mts_session **out);
/*
 * Waits for runs on the device, drops waiting frames, calls `done` for all of them, and destroys
 * the session. Inside `done` this function does nothing.
 * @param session destroy it before its bundle and its runtime
 */
MTS_API void mts_session_destroy(mts_session **session);

/*
 * Sets an input of a task for all later submissions. Tasks that share the input share the value.
 * @param session a session
 * @param task name of the task
 * @param index 0..input_count - 1
 * @param tensor has the type and shape of the input. The data is copied, except float32 data of a
 * session with zero_copy_inputs. Such data has to stay valid until another address is set or the
 * session is destroyed. It must not change from a submission to the end of its wait (docs/ASYNC.md)
 * @return NOT_FOUND: no such task or input. INVALID_ARGUMENT: the tensor has another type, shape or
 * size. BUSY: no slot is free, `done` is running, or a frame still waits and would see the new value.
 */
MTS_API mts_status mts_session_input(mts_session *session, const char *task, uint32_t index,
                                     const mts_tensor *tensor);
/*
 * Sets input 0 of one task to a frame. This requires separate_inputs, or a session of one task.
 * @param session a session without zero_copy_inputs
 * @param task name of a task that takes frames
 * @param frame mts_frame.zero_copy and mts_frame.memory say how long its memory is read
 * @return as mts_session_input. INVALID_ARGUMENT: the task takes no frames, tasks share its input,
 * or fields of the frame contradict each other. LIMIT: the frame is too large, or frames in flight use too many
 * imported buffers. UNSUPPORTED: neither the device nor the processor can read its memory.
 */
MTS_API mts_status mts_session_input_frame(mts_session *session, const char *task, const mts_frame *frame);
/*
 * Makes image i of a batch show regions[i] of every later frame, instead of the frame's own region.
 * Images from index `count` on are not written. This is how boxes of a detector become
 * the inputs of classifiers (docs/FRAMES.md).
 * @param session a session
 * @param task name of a task with an input of its own; NULL: all tasks that take frames
 * @param regions copied
 * @param count 0..images of the batch; 0: every image shows the frame's own region again
 * @return NOT_FOUND: no such task. INVALID_ARGUMENT: there are too many regions, fields
 * of a region contradict each other, or the task takes no frames or shares its input. BUSY: `done` is running.
 * A region that lies outside a later frame makes the call that passes that frame fail.
 */
MTS_API mts_status mts_session_regions(mts_session *session, const char *task, const mts_region *regions,
                                       uint32_t count);
/*
 * Starts a run, or keeps the frame until the device is free. The call does not wait for this run.
 * @param session a session
 * @param frame becomes input 0 of every task that takes frames; an input of type int8 or uint8 gets
 * the nearest integers, clamped to its type. NULL: starts a run on the inputs that were set last
 * @param ticket receives the number of the submission
 * @return BUSY: all slots are in use and when_full is BUSY; `frame` is NULL and the device cannot
 * start another run; or `done` is running. INVALID_ARGUMENT: fields of the frame contradict each other, no task
 * takes frames, or a zero-copy input was not set. LIMIT: the frame is too large, frames in flight
 * use too many imported buffers, or memory_budget leaves no space for this set of active tasks.
 * UNSUPPORTED: neither the device nor the processor can read the memory of the frame.
 */
MTS_API mts_status mts_session_submit(mts_session *session, const mts_frame *frame, mts_ticket *ticket);
/*
 * Waits until a run has finished and consumes it: mts_session_output then gives its outputs. The
 * call also consumes all earlier runs. A second wait for the run that was consumed last returns the
 * same status.
 * @param session a session
 * @param ticket of a submission
 * @param timeout_ms 0: does not wait. MTS_TIMEOUT_INFINITE: no limit. A call that finds a device
 * lost, with on_device_lost REPLAN, measures and builds, for as long as creating a session takes
 * @return TIMEOUT: the run goes on. CANCELLED: the frame was dropped, or the run was cancelled by
 * mts_session_cancel. INVALID_ARGUMENT: no such ticket, or a run before the one that was consumed
 * last. BUSY: `done` is running. Any other status says why the run failed. Drops
 * are remembered for 64 submissions; a wait for an older one returns INVALID_ARGUMENT.
 */
MTS_API mts_status mts_session_wait(mts_session *session, mts_ticket ticket, uint32_t timeout_ms);
/*
 * Consumes the oldest run if it has finished, and gives waiting frames to the device. If the
 * session has `done`, the call consumes every run that has finished. It does not wait, but where it
 * finds a device lost and on_device_lost is REPLAN it measures and builds, for as long as creating
 * a session takes.
 * @param session a session
 * @param ticket receives the number of the run that was consumed last
 * @return the status of that run. BUSY: no run has finished yet, or `done` is running. NOT_FOUND:
 * no submission is in flight. A poll that finds no finished run writes no sentence.
 */
MTS_API mts_status mts_session_poll(mts_session *session, mts_ticket *ticket);
/*
 * Gives a view of an output of the run that was consumed last.
 * @param session a session
 * @param task name of the task
 * @param index 0..output_count - 1
 * @param out valid until another run is consumed or the session is destroyed
 * @return INVALID_ARGUMENT: no run was consumed yet. NOT_FOUND: no such task or output, or the task
 * has not run, or its last run failed.
 */
MTS_API mts_status mts_session_output(mts_session *session, const char *task, uint32_t index,
                                      mts_tensor *out);

/*
 * Counts the submissions of a session by what became of them.
 * @param session a session
 * @param flow set its size before
 * @return INVALID_ARGUMENT: `flow` is NULL or its size is not known.
 */
MTS_API mts_status mts_session_flow(const mts_session *session, mts_flow *flow);

/*
 * Gives the statistics of a task: runs, latency, task group.
 * @param session a session
 * @param task name of the task
 * @param stats set its size before
 * @return NOT_FOUND: no such task. INVALID_ARGUMENT: `stats` is NULL or its size is not known.
 */
MTS_API mts_status mts_session_task_stats(const mts_session *session, const char *task,
                                          mts_task_stats *stats);

/*
 * Gives the statistics of a session.
 * @param session a session
 * @param stats set its size before
 * @return INVALID_ARGUMENT: `stats` is NULL or its size is not known.
 */
MTS_API mts_status mts_session_stats_get(const mts_session *session, mts_session_stats *stats);
/*
 * Writes how a session runs: groups, launches with their computations, memory, and the plans that
 * were considered.
 * @param session a session
 * @param report TEXT or JSON
 * @param buffer as in mts_bundle_inspect
 * @param size as in mts_bundle_inspect
 * @param needed as in mts_bundle_inspect
 * @return as mts_bundle_inspect. UNSUPPORTED: `report` is DOT.
 */
MTS_API mts_status mts_session_explain(const mts_session *session, mts_report report, char *buffer,
                                       size_t size, size_t *needed);

/* ---- control: docs/CONTROL.md ---- */

/*
 * Switches a task on or off. This holds from the next frame that goes to the device. A task that is
 * off keeps the outputs of its last run.
 * @param session a session
 * @param task name of the task
 * @param enabled 1 (default) or 0
 * @return NOT_FOUND: no such task. INVALID_ARGUMENT: `enabled` is another number.
 */
MTS_API mts_status mts_session_enable(mts_session *session, const char *task, uint32_t enabled);
/*
 * Makes a task run with every n-th frame that goes to the device, beginning with the next one.
 * @param session a session
 * @param task name of the task
 * @param every 1 (default): with every frame
 * @return NOT_FOUND: no such task. INVALID_ARGUMENT: `every` is 0.
 */
MTS_API mts_status mts_session_rate(mts_session *session, const char *task, uint32_t every);
/*
 * Limits how often a task runs. The task runs only when mts_session_rate allows it too.
 * @param session a session
 * @param task name of the task
 * @param hz most runs a second on average; 0 (default): no limit
 * @return NOT_FOUND: no such task. INVALID_ARGUMENT: `hz` is negative, infinite or not a number.
 */
MTS_API mts_status mts_session_rate_hz(mts_session *session, const char *task, double hz);
/*
 * Tells which run produced the outputs of a task.
 * @param session a session
 * @param task name of the task
 * @param ticket receives the number of the run
 * @return NOT_FOUND: no such task, or it has not run, or its last run failed.
 */
MTS_API mts_status mts_session_output_ticket(const mts_session *session, const char *task,
                                             mts_ticket *ticket);
/*
 * Sets a deadline for every run that starts later: task groups that have not begun by then are left
 * out, and keep their older outputs. The first group always runs. The wait for the run returns OK; mts_session_output_ticket
 * tells which tasks ran.
 * @param session a session
 * @param ms milliseconds after the submission; 0 (default): no deadline
 * @return INVALID_ARGUMENT: `session` is NULL.
 */
MTS_API mts_status mts_session_deadline(mts_session *session, uint32_t ms);
/*
 * Cancels a run: groups that have not begun are left out, or a waiting frame is dropped. The wait
 * for the run returns CANCELLED, or OK if the run had ended before. Outputs of groups that ran can
 * be read.
 * @param session a session
 * @param ticket of a run in flight
 * @return INVALID_ARGUMENT: the ticket does not name a run in flight. BUSY: `done` is running.
 */
MTS_API mts_status mts_session_cancel(mts_session *session, mts_ticket ticket);

/* ---- other tasks, other weights: docs/CHANGES.md ---- */

/*
 * Begins to add tasks to a session that runs: those of a bundle that the session does not run.
 * The call does not wait. A thread of the library plans, builds kernels and uploads blocks of
 * weights that are not on the device yet; blocks are compared by content, also with those of
 * other bundles. Frames go on meanwhile. Once the session's next plan is ready, the next call of
 * mts_session_submit or mts_session_settle makes the change: submissions from then on run the new
 * tasks, too, and earlier ones end with the tasks that they began with. No submission is lost.
 * Kernels and groups that were measured are kept, and nothing is measured anew. An added task has
 * priority 0. If the runtime has an allocator of the caller's, all of it happens inside this call.
 * @param session a session of one device, without zero_copy_inputs
 * @param bundle opened by the session's runtime; outlives the session. It may have tasks that the
 * session runs, with the same weights; these stay as they are
 * @return OK: the change has begun; mts_session_settle tells how it ended. BUSY: another change has
 * not ended, or `done` is running. INVALID_ARGUMENT: the session runs all tasks of the bundle, or
 * another runtime opened it. UNSUPPORTED: the session has several devices or zero_copy_inputs, or
 * the library was built with MTS_SMALL.
 */
MTS_API mts_status mts_session_add(mts_session *session, mts_bundle *bundle);
/*
 * Begins to remove a task from a session that runs, as mts_session_add adds some. Memory that only
 * its weights need is freed if the task was added or updated; weights that the session was created
 * with stay on the device.
 * @param session as in mts_session_add
 * @param task its name
 * @return as mts_session_add. NOT_FOUND: no such task. INVALID_ARGUMENT: it is the only one.
 */
MTS_API mts_status mts_session_remove(mts_session *session, const char *task);
/*
 * Begins to give tasks of a session that runs other weights, as mts_session_add adds tasks: all
 * tasks of a bundle take the place of those of the same name. A task whose weights are the same
 * stays as it is.
 * @param session as in mts_session_add
 * @param bundle as in mts_session_add. Each of its tasks has the inputs and outputs, in name, type
 * and shape, of the task whose place it takes
 * @return as mts_session_add. NOT_FOUND: the session does not run one of the tasks.
 * INVALID_ARGUMENT: an input or output differs.
 */
MTS_API mts_status mts_session_update(mts_session *session, mts_bundle *bundle);
/*
 * Waits until the change that was begun has been made or has failed. A change that failed leaves the
 * session as it was.
 * @param session a session
 * @param timeout_ms 0: does not wait. MTS_TIMEOUT_INFINITE: no limit
 * @return OK: it has been made, or none was begun since the last call that did not return TIMEOUT or
 * BUSY. TIMEOUT: it goes on. BUSY: it is ready, but runs that were submitted since the change
 * before it have to be consumed first; or `done` is running. Any other status says why it has failed.
 * LIMIT: the device memory or memory_budget is too small, or the bundles have too many tasks.
 * INVALID_ARGUMENT: a task of the bundle has the name of one that the session runs, and other
 * weights.
 */
MTS_API mts_status mts_session_settle(mts_session *session, uint32_t timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
