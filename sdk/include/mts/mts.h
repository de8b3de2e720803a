/*
 * mts.h: the run-time API of the MTS SDK: many networks on one camera frame, stitched into one.
 *
 * Five nouns: mts_runtime (a device, its caches, allocator and log), mts_bundle (compiled tasks), mts_session
 * (a bundle on a device with a plan, ready to run), mts_frame (one picture, plain struct), mts_tensor (plain
 * view).
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
 * Conventions, for every function here:
 *   - Returns MTS_STATUS_OK or the reason. The sentence that goes with a failure is written into the caller's
 * buffer mts_runtime_options.error_text and to the log callback; a call whose object is NULL has nowhere to
 * put one. Comments name the reasons that matter; all that use memory or the device can also return
 * OUT_OF_MEMORY, DEVICE or DEVICE_LOST.
 *   - A failed create or open leaves *out NULL; any other failed call leaves the object's state unchanged.
 * Two exceptions: where the device fails in the middle of setting an input or of a submission (OUT_OF_MEMORY,
 * LIMIT, DEVICE, DEVICE_LOST), inputs may have their new values, some or all (a lent one may have none, and
 * has to be set again); and a run whose wait or poll fails, other than with TIMEOUT, BUSY or CANCELLED, is
 * over and has no outputs.
 *   - X_destroy(X **) accepts NULL and pointers to NULL, and nulls the caller's pointer. Destroy sessions,
 * then bundles, then the runtime. Destroying is safe after MTS_STATUS_DEVICE_LOST.
 *   - Every options struct starts with its size; X_options_default fills it. A size the library does not know
 * is MTS_STATUS_INVALID_ARGUMENT.
 *   - Strings are UTF-8. Sizes are in bytes, times in milliseconds.
 *
 * Promises, each tested: no input crashes, hangs or over-allocates; the library never aborts, never prints,
 * keeps no global mutable state; a steady-state run allocates nothing (but see `gemm`) and builds no kernel;
 * same build, device and plan give bit-identical outputs; in all strategies, the values of an output differ
 * from the reference's by at most 1e-4 of the output's largest magnitude in float32. In float16 that depends
 * on the network (mts_precision); of those that are tested, by at most 2e-2.
 *
 * Thread-safety: a runtime and all objects made from it belong to one thread at a time. Different runtimes
 * are independent.
 */
#ifndef MTS_MTS_H
#define MTS_MTS_H

#include "mts/types.h"

/* Marks a function that the library exports. */
#if defined(__GNUC__)
#define MTS_API __attribute__((visibility("default")))
#else
#define MTS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header; mts_version() is that of the library. Before 1.0 a minor version may change the API. */
#define MTS_VERSION_MAJOR 0
/* See MTS_VERSION_MAJOR. */
#define MTS_VERSION_MINOR 1
/* See MTS_VERSION_MAJOR. */
#define MTS_VERSION_PATCH 0

/* Waits as long as it takes. */
#define MTS_TIMEOUT_INFINITE UINT32_MAX

/* "ok", "invalid argument", ...; never NULL. */
MTS_API const char *mts_status_name(mts_status status);
/* "0.1.0" of the library that is loaded. */
MTS_API const char *mts_version(void);

/* ---- devices ---- */

/* A device that can be opened. */
typedef struct mts_device_desc {
    size_t size;      /* sizeof(mts_device_desc), set by the caller */
    char id[32];      /* what mts_runtime_options.device takes: "cuda:0", "opencl:0", "reference" */
    char name[128];   /* of the hardware */
    char driver[128]; /* version text */
    uint32_t is_gpu;  /* 1 or 0 */
    uint32_t compute_units;
    uint32_t vector_floats; /* floats of the vector a kernel works on */

    uint64_t memory_bytes;
    uint32_t reads; /* memory of frames that it reads where it lies: bit 1 << mts_memory_kind of each */
} mts_device_desc;

/* Number of devices that can be opened now. Never fails; a missing driver means fewer devices. */
MTS_API uint32_t mts_device_count(void);
/* Describes device index < mts_device_count(). NOT_FOUND beyond it, INVALID_ARGUMENT if out is NULL. */
MTS_API mts_status mts_device_describe(uint32_t index, mts_device_desc *out);

/* ---- runtime ---- */

/* A device with its caches, allocator and log. */
typedef struct mts_runtime mts_runtime;
/* Compiled tasks, verified. */
typedef struct mts_bundle mts_bundle;
/* A bundle on a device with a plan, ready to run. */
typedef struct mts_session mts_session;

/* Which device, and what the caller lends it. */
typedef struct mts_runtime_options {
    size_t size;        /* sizeof(mts_runtime_options) */
    const char *device; /* id of a device; NULL or "auto" (default): a GPU, else another OpenCL device, else
                           plain C. "cuda:sm_62" (any compute capability) is one that is not here: it
                           computes nothing and puts the kernels that a session needs into cache_dir, for
                           devices without a compiler */
    const char *cache_dir; /* directory for kernel binaries, plans and tunings, made when the first file is
                              kept; NULL (default): no cache. One that cannot be written means no cache, not a
                              failure. Copied */
    uint32_t threads;      /* of a CPU device that has its own threads; 0 (default): all */
    mts_use replay;        /* a run's launches are recorded once and submitted with one call */
    mts_use gemm; /* a library (CLBlast) may multiply matrices; tuning_ms then tries it for layers that are
                     one   dense product. It allocates in every run, and a run with it is not replayed */
    /* A program that uses CUDA itself may hand over its CUcontext, and its CUstream, on which everything then
       runs in order. Both outlive the runtime; NULL (default): the device's primary context, an own stream.
       UNSUPPORTED for a device that is not CUDA's, INVALID_ARGUMENT for a stream without a context */
    void *cuda_context, *cuda_stream;
    uint32_t flush_launches; /* OpenCL: launches after which the driver is told to begin. 2 to 4 let a phone's
                                screen be drawn between them; 0 (default): what is known of the driver, else
                                at the end of a run */
    uint32_t check;          /* 1: put the checking decorator around the device (slower); default 0 */
    char *error_text;        /* caller's buffer for the sentence of the last failure, or NULL (default) */
    size_t error_size;       /* bytes of error_text */
    void *context;           /* handed to the callbacks */
    void (*log)(void *context, mts_log_severity severity, const char *text); /* NULL (default): silent */
    void *(*alloc)(void *context, size_t size); /* both NULL (default): malloc and free */
    void (*free)(void *context, void *memory);
} mts_runtime_options;

/* Sets the size and every default. */
MTS_API void mts_runtime_options_default(mts_runtime_options *options);
/* Opens a device. NOT_FOUND: no such device. options may be NULL (defaults). */
MTS_API mts_status mts_runtime_create(const mts_runtime_options *options, mts_runtime **out);
/* After the sessions and bundles made from it. */
MTS_API void mts_runtime_destroy(mts_runtime **runtime);
/* The device that was opened. */
MTS_API mts_status mts_runtime_device(const mts_runtime *runtime, mts_device_desc *out);

/* How the cache directory was used; see mts_runtime_cache. */
typedef struct mts_cache_stats {
    size_t size;                            /* sizeof(mts_cache_stats), set by the caller */
    mts_cache_use programs, plans, tunings; /* kernel binaries; what sessions decided; choices of kernels */
    uint32_t programs_built;                /* from source, with or without a cache */
    uint32_t
        variants_skipped; /* kernel variants that did not build or run, or were known not to from a cache */
} mts_cache_stats;

/* INVALID_ARGUMENT: stats is NULL or of another size. */
MTS_API mts_status mts_runtime_cache(const mts_runtime *runtime, mts_cache_stats *stats);

/* What the device can do at most, to compare a session with. */
typedef struct mts_ceilings {
    size_t size;      /* sizeof(mts_ceilings), set by the caller */
    double gflops;    /* 1e9 floating-point operations a second; a multiply-add is two */
    double copy_gbps; /* 1e9 bytes a second that a copy in device memory reads and writes together */
} mts_ceilings;

/* Measures it: a second or two, and 128 MiB of device memory at most. UNSUPPORTED: not on this device. No
   session of the runtime may be running (BUSY is not detected: their run would only make the ceilings look
   lower). */
MTS_API mts_status mts_runtime_measure(mts_runtime *runtime, mts_ceilings *out);

/* ---- tensors and frames ---- */

/* All zero but the size: the caller sets data, width, height and what else differs. */
MTS_API void mts_frame_default(mts_frame *frame);

/* ---- bundles ---- */

/* Opens a bundle, verifying every byte. NOT_FOUND, IO, MALFORMED, UNSUPPORTED, LIMIT, OUT_OF_MEMORY. The file
   may be replaced, not truncated, while the bundle is open. */
MTS_API mts_status mts_bundle_open(mts_runtime *runtime, const char *path, mts_bundle **out);
/* From a file descriptor: `size` bytes at `offset`; the descriptor may be closed afterwards. */
MTS_API mts_status mts_bundle_open_fd(mts_runtime *runtime, int fd, uint64_t offset, uint64_t size,
                                      mts_bundle **out);
/* From memory: copied unless it is 64-byte aligned, in which case it must outlive the bundle. */
MTS_API mts_status mts_bundle_open_memory(mts_runtime *runtime, const void *data, size_t size,
                                          mts_bundle **out);
/* After the sessions made from it. */
MTS_API void mts_bundle_destroy(mts_bundle **bundle);

/* An input or an output of a task. */
typedef struct mts_port_desc {
    size_t size;      /* sizeof(mts_port_desc), set by the caller */
    const char *name; /* lives as long as the bundle */
    mts_type type;
    uint32_t rank;
    int64_t dims[MTS_TENSOR_RANK_MAX];
} mts_port_desc;

/* One task of a bundle. */
typedef struct mts_task_desc {
    size_t size;      /* sizeof(mts_task_desc), set by the caller */
    const char *name; /* strings live as long as the bundle */
    uint32_t input_count, output_count;
    uint32_t takes_frames; /* 1: input 0 is a picture, or a batch of them, with known preprocessing */
    uint32_t label_count;  /* names of the classes of output 0 */
    const char *const *labels;
    uint32_t class_count; /* this task's label of each class of a data set */
    const uint32_t *class_map;
} mts_task_desc;

/* 0 for NULL. */
MTS_API uint32_t mts_bundle_task_count(const mts_bundle *bundle);
/* Describes task index < mts_bundle_task_count(). NOT_FOUND beyond it. */
MTS_API mts_status mts_bundle_task(const mts_bundle *bundle, uint32_t index, mts_task_desc *out);
/* Describes an input of a task. NOT_FOUND: no such task or input. */
MTS_API mts_status mts_bundle_input(const mts_bundle *bundle, const char *task, uint32_t index,
                                    mts_port_desc *out);
/* Describes an output of a task. NOT_FOUND: no such task or output. */
MTS_API mts_status mts_bundle_output(const mts_bundle *bundle, const char *task, uint32_t index,
                                     mts_port_desc *out);

/* In what form a report is written. */
typedef enum mts_report { MTS_REPORT_TEXT = 0, MTS_REPORT_JSON = 1, MTS_REPORT_DOT = 2 } mts_report;

/*
 * What a bundle holds: tasks, families, weight bytes with and without sharing, sharing per layer. Writes at
 * most `size` bytes, terminated; *needed receives the bytes of the whole text with its terminator. LIMIT if
 * it did not fit (text is then cut); buffer may be NULL when size is 0.
 */
MTS_API mts_status mts_bundle_inspect(const mts_bundle *bundle, mts_report report, char *buffer, size_t size,
                                      size_t *needed);

/* ---- sessions ---- */

/* Names one submission of a session: 1, 2, 3 ... */
typedef uint64_t mts_ticket;

/* What a submission does while all places of mts_session_options.frames_in_flight are taken. */
typedef enum mts_when_full {
    MTS_WHEN_FULL_BUSY = 0,  /* it is refused with BUSY (default) */
    MTS_WHEN_FULL_BLOCK = 1, /* it waits until the oldest run has finished; needs `done` */
    /* It takes the place of the oldest frame that has not gone to the device, or of the oldest finished run
       that nobody has taken, whichever is older; 2 places at least */
    MTS_WHEN_FULL_DROP_OLDEST = 2
} mts_when_full;

/* What a session runs, and how it is planned. */
typedef struct mts_session_options {
    size_t size; /* sizeof(mts_session_options) */
    mts_strategy strategy;
    mts_precision precision;  /* LIMIT: a weight is too large for float16 */
    const char *const *tasks; /* names of the tasks to run; NULL (default): all */
    uint32_t task_count;
    uint32_t separate_inputs; /* 0 (default): all tasks see the same frame, equal preprocessing and equal work
                                 on it is done once. 1: each task has an input of its own */
    uint32_t zero_copy_inputs; /* 0 (default): mts_session_input copies. 1: it keeps the address, and every
                               run reads what lies there then; see mts_session_input */
    mts_grouping grouping;     /* of every strategy but SEQUENTIAL */

    uint64_t
        memory_budget; /* bytes of weights, activations and workspace together, without what frames are copied
                          into; 0 (default): no limit. MTS_GROUPING_FAMILY keeps it by running layers for a
                          few tasks at a time, MTS_GROUPING_MEASURED by groups too. LIMIT if it cannot be
                          kept: the sentence names the smallest that can. While groups or kernels are
                          measured, three sessions may be in memory, which can be more than the budget */
    const uint32_t *priorities; /* one number per task, in the order of `tasks`; NULL (default): all alike.
                                   Tasks with a higher number run in earlier groups, which tasks of a lower
                                   one never join */
    uint32_t tuning_ms; /* time for finding each layer's fastest kernel by measurement; 0 (default): none,
                           kernels are chosen by the kind of device. Measuring groups does not count. At
                           least one candidate is tried and the winners run against the default: three
                           sessions are made, which takes as long as their kernels take to build. With
                           a cache_dir the next session goes on where the time was over */
    uint32_t frames_in_flight; /* submissions that may be under way or finished and not taken, 1..16; 1
                                  (default): each one is waited for. See "frames in flight" below. More than 1
                                  is INVALID_ARGUMENT with zero_copy_inputs */
    mts_when_full when_full;
    void *context; /* handed to progress and done */
    /* Called once for every submission that was given a ticket, in the order of their tickets but for dropped
       ones: `status` is what a wait for it would return, CANCELLED for a frame that was dropped or a run that
       was not taken before the session was destroyed. From then on a borrowed frame's memory is the caller's
       again. Called inside mts_session_submit, _poll, _wait, _cancel and _destroy, on the thread that calls
       these, and never else. After OK it may read outputs, and change which tasks run; what concerns inputs
       and runs is BUSY in it, and destroying does nothing. NULL (default): runs are taken by mts_session_poll
       and mts_session_wait alone */
    void (*done)(void *context, mts_ticket ticket, mts_status status);
    /* Called while the session is made, fraction 0..1; a non-zero return cancels with MTS_STATUS_CANCELLED.
     */
    int (*progress)(void *context, float fraction, const char *what);
} mts_session_options;

/* Sets the size and every default. */
MTS_API void mts_session_options_default(mts_session_options *options);
/*
 * Plans, builds kernels, uploads weights. The bundle outlives the session. NOT_FOUND (a task name), LIMIT
 * (device memory, or memory_budget), DEVICE (with the kernel's build log), CANCELLED. options may be NULL.
 *
 * What was measured is kept in the runtime's cache_dir: the same options on the same bundle, device, driver
 * and library plan without measuring. Kernels that do not build or run are replaced: tuned ones by the
 * defaults, those by the smallest tiles (mts_session_explain says so). Where that fails too, the caller still
 * has another device: "reference" needs no driver.
 */
MTS_API mts_status mts_session_create(mts_runtime *runtime, mts_bundle *bundle,
                                      const mts_session_options *options, mts_session **out);
/* Before its bundle and its runtime. */
MTS_API void mts_session_destroy(mts_session **session);

/*
 * Sets input `index` of a task for the following submissions. Type and shape must equal the port's. When
 * inputs are common, tasks that share an input share this value too.
 *
 * The data is copied, unless the session borrows its inputs: then float32 data has to stay where it is until
 * another address is set or the session is destroyed, and must not change from a submission to the end of its
 * wait (other types are converted, which copies them, in this call). Where the device reads host memory (a
 * CPU) nothing is copied but what a layer wants in another layout, and only while it is read: inputs cost no
 * memory. Elsewhere every submission uploads. An address other than the last one takes hold of that memory
 * and makes the next submission change its launches; both may allocate. A submission before every input was
 * set is INVALID_ARGUMENT.
 *
 * BUSY: the next submission has no place yet, or frames wait and would see this value. While other runs are
 * under way the call may wait for them.
 */
MTS_API mts_status mts_session_input(mts_session *session, const char *task, uint32_t index,
                                     const mts_tensor *tensor);
/* Like mts_session_input with a picture, for one task of a session that has separate inputs or a single task.
   INVALID_ARGUMENT for a session that borrows its inputs: it takes tensors only. */
MTS_API mts_status mts_session_input_frame(mts_session *session, const char *task, const mts_frame *frame);
/*
 * Parts of a frame as a batch: from now on, image i of the batch of a task's input 0 shows regions[i] of
 * every frame that comes, in the place of the frame's own region. Images from `count` on keep what they hold:
 * no frame is put into them, and their outputs mean nothing new. count 0: back to the frame's own region, in
 * every image. task NULL: all tasks that take frames. This is how the boxes of a detector become the inputs
 * of classifiers.
 *
 * INVALID_ARGUMENT: count is more than a task's batch; a region that contradicts itself; a task that takes no
 * frames, or one of several in a session whose tasks see the same frame (NULL, or separate_inputs). Whether a
 * region lies inside a frame is known when one comes: that call fails then and nothing has changed. Frames
 * that were submitted before keep the regions that they had.
 */
MTS_API mts_status mts_session_regions(mts_session *session, const char *task, const mts_region *regions,
                                       uint32_t count);
/*
 * Starts one run, or keeps the frame until it is its turn. The frame becomes input 0 of every task that takes
 * frames; NULL: inputs stay as they were set last (zero at first, unless the session borrows them), and the
 * run starts now. Does not wait for this run. BUSY: all places are taken, and when_full
 * neither waits nor drops. NULL cannot wait for its turn: it is BUSY, too, while the device has as many runs
 * as it takes, unless when_full is BLOCK.
 */
MTS_API mts_status mts_session_submit(mts_session *session, const mts_frame *frame, mts_ticket *ticket);
/*
 * Waits until the run is finished and takes it: from then on mts_session_output gives its outputs. Runs
 * before it that nobody took are over, too. TIMEOUT if `timeout_ms` passes first: the run goes on. 0 looks
 * and does not wait. The run that was taken last has its status again; earlier ones are INVALID_ARGUMENT.
 * CANCELLED: the frame was dropped (of the last 64 submissions; before that INVALID_ARGUMENT), or groups were
 * left out by mts_session_cancel.
 */
MTS_API mts_status mts_session_wait(mts_session *session, mts_ticket ticket, uint32_t timeout_ms);
/*
 * Takes the oldest run that has finished and was not taken, and gives what waits to the device; does not
 * wait. *ticket receives its number, and the status is that of its wait. BUSY: none has finished yet.
 * NOT_FOUND: nothing is under way. (These two are no failures: they leave no sentence.) With `done` it takes
 * all that have finished, calling it for each; *ticket is the last one's.
 */
MTS_API mts_status mts_session_poll(mts_session *session, mts_ticket *ticket);
/* View of an output of the run that was taken last; valid until another one is taken or the session is
   destroyed. INVALID_ARGUMENT: none was. A task that the run left out: see "control" below. */
MTS_API mts_status mts_session_output(mts_session *session, const char *task, uint32_t index,
                                      mts_tensor *out);

/* ---- frames in flight ---- */

/*
 * With more than one place, frame after frame can be submitted without waiting. At most two runs are on the
 * device: while it computes one, the next one is prepared behind it, so that it never idles. Further frames
 * wait in the session; with MTS_WHEN_FULL_DROP_OLDEST at least one place is one of these, so that there is
 * something to drop. All of them keep their order. A place is free again when its run is taken or dropped.
 *
 * There are no threads: a frame that waits goes to the device inside mts_session_submit, _poll or _wait, when
 * one of the two before it has finished. A camera's frame rate is often enough for these calls; who has
 * nothing else to do waits.
 *
 * A frame that goes to the device at once is read during the call; one that waits is copied, unless it is
 * borrowed: then its memory must stay until `done` was called for it, or its run was taken or dropped. Places
 * take memory: outputs once more for each, and as much as is copied of a frame for each one that ever waited.
 *
 * With mts_session_deadline the groups of a run that has begun go before the next run; that one begins when
 * they have finished or were left out.
 *
 * Nothing happens to runs under way when frames stop to come: they finish, and can be taken at any time.
 * mts_session_destroy waits for what is on the device, drops the rest and calls `done` for both.
 */

/* What happened to submissions, since the session was made. */
typedef struct mts_flow {
    size_t size;        /* sizeof(mts_flow), set by the caller */
    uint64_t submitted; /* that were given a ticket; the sum of the following */
    uint64_t completed; /* finished, and taken or waited for */
    uint64_t dropped;   /* without a run, or finished and not taken in time */
    uint64_t failed;    /* their run returned an error */
    uint32_t in_flight; /* waiting, on the device, or finished and not taken */
} mts_flow;

/* INVALID_ARGUMENT: flow is NULL or of another size. */
MTS_API mts_status mts_session_flow(const mts_session *session, mts_flow *flow);

/* How a task's runs went, since the session was made. */
typedef struct mts_task_stats {
    size_t size;   /* sizeof(mts_task_stats), set by the caller */
    uint64_t runs; /* that were taken */
    /* From the submission of a frame to the call that found its run finished; of the last 128 runs. A
       deadline makes groups runs of their own in this respect. 0: no run yet */
    double p50_ms, p95_ms;
    /* Task group that the task is in: 0 .. mts_session_stats.groups - 1, in the order in which groups run. */
    uint32_t group;
} mts_task_stats;

/* NOT_FOUND: no such task. INVALID_ARGUMENT: stats is NULL or of another size. */
MTS_API mts_status mts_session_task_stats(const mts_session *session, const char *task,
                                          mts_task_stats *stats);

/* What a session takes, and how it was planned. */
typedef struct mts_session_stats {
    size_t size;               /* sizeof(mts_session_stats), set by the caller */
    uint64_t weight_bytes;     /* on the device */
    uint64_t activation_bytes; /* arena with inputs and outputs */
    uint64_t workspace_bytes;  /* launch tables and scratch */
    uint64_t peak_bytes;       /* all of it */
    uint64_t mul_adds;         /* of one run */
    uint32_t launches;         /* of one run, without the one that takes a frame in */
    uint32_t groups;
    uint32_t kernels;        /* distinct programs */
    mts_precision precision; /* that is used */
    double planning_ms;      /* that mts_session_create took to decide: measuring, or reading a cache */
    double predicted_ms;     /* latency that the grouping planner expected; 0: nothing was measured */
} mts_session_stats;

/* INVALID_ARGUMENT: stats is NULL or of another size. */
MTS_API mts_status mts_session_stats_get(const mts_session *session, mts_session_stats *stats);
/* How the session runs: groups, launches, members, memory. Buffer rules as mts_bundle_inspect; DOT is
 * UNSUPPORTED. */
MTS_API mts_status mts_session_explain(const mts_session *session, mts_report report, char *buffer,
                                       size_t size, size_t *needed);

/* ---- control ---- */

/*
 * Which tasks run. All these settings hold from the next frame on that goes to the device (which is the next
 * submission, unless frames wait), may change at any time between calls, and plan nothing anew: what runs
 * computes the same bits as when all tasks run. A task that a run leaves out costs nothing in it: no
 * work-group of it runs, and what it shares with others runs once as long as one of them does. (Two
 * exceptions: a frame still becomes its input; and with MTS_STRATEGY_DENSE the tasks of a group are one
 * network, which runs as a whole while one of them does. On devices whose fully connected layers take several
 * tasks at a time, up to three others may be computed beside it there, and not stored.) Its outputs stay
 * those of its last run: mts_session_output gives them, mts_session_output_ticket tells of which run they
 * are. Both are NOT_FOUND for a task that has not run, or whose last run failed.
 *
 * The first submission that does not run all tasks makes room for the lists of 8 sets of tasks (fewer if
 * memory_budget says so; LIMIT if not even one fits), which mts_session_stats.workspace_bytes counts from
 * then on. A submission with a set that is not among the 8 used last makes its lists, which allocates and
 * takes about as long as a small run; a set that is among them is submitted at once and allocates nothing.
 * mts_session_profile and mts_session_explain always show all tasks.
 */

/* enabled: 1 (as at first) or 0. NOT_FOUND: no such task, here and below. INVALID_ARGUMENT: neither. */
MTS_API mts_status mts_session_enable(mts_session *session, const char *task, uint32_t enabled);
/*
 * The task runs in every n-th frame that goes to the device, beginning with the next one; 1 (as at first): in
 * all. They are counted while it is disabled, too, so that tasks whose rates were set together stay in step:
 * few sets of tasks occur. INVALID_ARGUMENT: 0.
 */
MTS_API mts_status mts_session_rate(mts_session *session, const char *task, uint32_t every);
/*
 * The task runs with a frame only as long as that makes at most `hz` runs a second on average, by the clock
 * when the frame goes to the device, beginning with the next one; 0 (as at first): no limit. With
 * mts_session_rate both have to allow it. INVALID_ARGUMENT: negative, infinite or not a number.
 */
MTS_API mts_status mts_session_rate_hz(mts_session *session, const char *task, double hz);
/* Of which run the task's outputs are. */
MTS_API mts_status mts_session_output_ticket(const mts_session *session, const char *task,
                                             mts_ticket *ticket);
/*
 * Groups of tasks (mts_session_options.priorities decide their order) that have not begun `ms` milliseconds
 * after a submission are left out of that run; the first group always runs. Its wait returns OK, and tickets
 * of outputs tell which tasks ran. A rate counts a task that was left out as if it had run. 0 (as at first):
 * no deadline.
 *
 * What it costs: a device takes a list as a whole, so with a deadline each group is a list of its own. The
 * first goes with the submission, the others inside mts_session_submit, _poll and _wait, each when the one
 * before has finished: the device idles for as long as that takes, some ten microseconds a group, and from
 * the second group on nothing happens while nobody calls these. A session of one group has nothing to leave
 * out and stays one list. Tasks that can be stitched are one group unless their priorities differ or the
 * strategy is SEQUENTIAL.
 */
MTS_API mts_status mts_session_deadline(mts_session *session, uint32_t ms);
/*
 * Leaves groups that have not begun out of a run that was not taken, e.g. after a wait's TIMEOUT. Its wait
 * returns CANCELLED, or OK if the run had ended before, and the outputs of the groups that ran can be read.
 * Without a deadline all groups have begun when the frame went to the device; one that still waits is
 * dropped. INVALID_ARGUMENT: the ticket is not that of a run under way.
 */
MTS_API mts_status mts_session_cancel(mts_session *session, mts_ticket ticket);

/* ---- profile ---- */

/*
 * Runs `runs` times (1..10000) on the inputs that are set, after one run that is not counted, with the
 * device's clock on, and waits. Durations and the gaps between launches are medians; start_ms adds them up.
 * On a disturbed machine such a sum may be less than any single run takes; with `runs` 1 it is a real run's.
 * Launches follow one another in the order of the array. *count receives their number, which is
 * mts_session_stats.launches; LIMIT if that is more than `capacity`, nothing has run then. Outputs stay those
 * of the last run. UNSUPPORTED: the device does not measure. BUSY: a run is under way, or was not taken.
 */
MTS_API mts_status mts_session_profile(mts_session *session, uint32_t runs, mts_launch_profile *launches,
                                       uint32_t capacity, uint32_t *count);

#ifdef __cplusplus
}
#endif

#endif
