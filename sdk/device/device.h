/*
 * device.h: one compute device with one in-order queue.
 *
 * A backend fills mts_device_ops and nothing else; everybody else calls the mts_device_* functions of the
 * front (device.c), which validate every argument once, so that backends stay dumb. Decorators
 * (platform/wrap) are devices around a device. Offsets and sizes are in bytes. Commands run in the order they
 * were given.
 *
 * Thread-safety: a device and its objects belong to one thread at a time; different devices are independent.
 *
 * Errors of every call: DEVICE (a driver call failed: text names call and code), DEVICE_LOST (sticky: from
 * then on every call but the destroying ones fails so; nothing that was enqueued is on its way then, so that
 * the memory given to copies may go), OUT_OF_MEMORY, INVALID_ARGUMENT (front). A failed
 * create leaves *out NULL.
 */
#ifndef MTS_DEVICE_DEVICE_H
#define MTS_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/status.h"

#define MTS_DEVICE_ABI 4u
#define MTS_DEVICE_EVENTS 8u /* that a device has, see mts_device_event_record */
#define MTS_DEVICE_NAME 128

typedef struct mts_device mts_device;
typedef struct mts_buffer mts_buffer;
typedef struct mts_kernel mts_kernel;
typedef struct mts_command_list mts_command_list;

#define MTS_MEMORY_KINDS 3
#define MTS_MEMORY_BIT(kind) ((uint32_t)1 << (unsigned)(kind))

typedef struct mts_memory {
    mts_memory_kind kind;
    const void *host; /* HOST: its address; ANDROID: the AHardwareBuffer */
    int fd;           /* DMABUF: its descriptor, which stays the caller's and may be closed once imported */
    size_t size;      /* bytes from its start that are used */
} mts_memory;

/* Capabilities are data; a limit of 0 means unsupported. */
typedef struct mts_device_info {
    char backend[16]; /* "cuda", "opencl", "reference", ... */
    char name[MTS_DEVICE_NAME];
    char driver[MTS_DEVICE_NAME]; /* version text, part of cache keys */
    bool is_gpu;
    bool unified_memory;
    bool gemm;        /* takes launches that are matrix products */
    uint32_t imports; /* MTS_MEMORY_BIT of each kind of memory that a buffer can be, see mts_buffer_import */
    uint32_t compute_units;
    uint32_t vector_floats;   /* floats of a vector register a work-item should use: 16, 8, 4 */
    uint32_t work_group_size; /* most work-items of a group */
    uint32_t groups_most;     /* of a launch, in each dimension after the first; 0: no limit to speak of */
    uint64_t memory_bytes;    /* global memory */
    uint64_t buffer_bytes;    /* largest buffer */
    uint64_t local_bytes;     /* memory of a work-group; 0: none to speak of */
    bool half_products;       /* multiplies float16 at least as fast as float32 (-DHALF=2) */
    bool matrix_units;        /* multiplies 16 x 16 x 16 float16 matrices by a work-group (tensor cores) */
    uint32_t arch;            /* CUDA: compute capability, e.g. 87; 0 elsewhere */
} mts_device_info;

/* What to build: a row of the manifest and its -D options ("" if none). */
typedef struct mts_kernel_desc {
    const char *name;    /* see device/kernel.h */
    const char *defines; /* e.g. "-DVEC=16 -DCASES=CASE(8,0)", no space within one; part of the cache key */
} mts_kernel_desc;

/*
 * C = A B, row-major float32, `batch` times. C is m x n in act, A is m x k, B is k x n (or lies as n x k).
 * What lies between the rows of C stays. Offsets, distances of rows (ld) and of matrices (stride) are in
 * floats; C does not overlap A or B.
 */
typedef struct mts_gemm {
    uint32_t m, n, k;
    uint32_t batch;      /* at least 1 */
    bool a_pool, b_pool; /* lies in pool instead of act */
    bool b_transposed;
    uint32_t a, b, c;
    uint32_t a_ld, b_ld, c_ld;
    uint32_t a_stride, b_stride, c_stride; /* a and b: 0 where all products share the matrix */
} mts_gemm;

/*
 * kernel(act, pool, params, first) over a grid; global[i] is a multiple of local[i]. Or, if gemm.m > 0, a
 * matrix product: kernel is NULL, and first, global and local are not looked at.
 */
typedef struct mts_launch {
    mts_kernel *kernel;
    mts_buffer *act, *pool, *params;
    uint32_t first;
    uint32_t global[3], local[3];
    const char *label; /* of the layer, for traces; outlives the list */
    mts_gemm gemm;
} mts_launch;

/* When a launch ran on the device, nanoseconds since the list was handed to it; start <= end. */
typedef struct mts_launch_time {
    uint64_t start, end;
} mts_launch_time;

typedef struct mts_device_ops {
    uint32_t abi; /* MTS_DEVICE_ABI */
    void (*destroy)(mts_device *device);
    /* memory: NULL, or what the buffer is made of (a kind of info.imports); never written then. */
    mts_status (*buffer_create)(mts_device *device, const mts_memory *memory, size_t size, mts_buffer **out,
                                mts_error *error);
    void (*buffer_destroy)(mts_device *device, mts_buffer *buffer);
    /* Enqueues a copy. stays: `data` keeps still until a mark that is set after this call was seen passed, or
       a wait; the call does not wait then. Otherwise `data` may be reused on return, and the call may wait
       for earlier commands. */
    mts_status (*buffer_write)(mts_device *device, mts_buffer *buffer, size_t offset, const void *data,
                               size_t size, bool stays, mts_error *error);
    /* Waits for all earlier commands, then copies. */
    mts_status (*buffer_read)(mts_device *device, mts_buffer *buffer, size_t offset, void *data, size_t size,
                              mts_error *error);
    /* Enqueues a copy into `data`, which stays until a mark that is set after this call was seen passed, or a
       wait. */
    mts_status (*buffer_read_async)(mts_device *device, mts_buffer *buffer, size_t offset, void *data,
                                    size_t size, mts_error *error);
    /* Enqueues filling with a 32-bit word; offset and size are multiples of 4. */
    mts_status (*buffer_fill)(mts_device *device, mts_buffer *buffer, size_t offset, size_t size,
                              uint32_t word, mts_error *error);
    /* Builds (or takes from the program cache). NOT_FOUND: its program is not there, and nothing to make it
       with; DEVICE: it does not build. */
    mts_status (*kernel_create)(mts_device *device, const mts_kernel_desc *desc, mts_kernel **out,
                                mts_error *error);
    void (*kernel_destroy)(mts_device *device, mts_kernel *kernel);
    /* Records launches for many submissions; the launches array is copied. */
    mts_status (*command_list_create)(mts_device *device, const mts_launch *launches, size_t count,
                                      mts_command_list **out, mts_error *error);
    void (*command_list_destroy)(mts_device *device, mts_command_list *list);
    /* Replaces all launches of a list that is not running by as many with the same kernels in the same order:
       buffers, first, global and local may differ. Builds nothing. On failure the list is of no more use.
       NULL: unsupported, a list has to be made again. */
    mts_status (*command_list_update)(mts_device *device, mts_command_list *list, const mts_launch *launches,
                                      size_t count, mts_error *error);
    /* Enqueues the whole list and flushes; does not wait, does not allocate. */
    mts_status (*command_list_submit)(mts_device *device, mts_command_list *list, mts_error *error);
    /* Waits until everything enqueued has finished. */
    mts_status (*wait)(mts_device *device, mts_error *error);
    /* Puts mark `index` behind everything enqueued so far, and hands all of that to the device. What the mark
       stood behind before is forgotten. Does not wait. */
    mts_status (*event_record)(mts_device *device, uint32_t index, mts_error *error);
    /* Whether everything before the mark has finished; with `wait` returns only then, or with a failure. A
       mark that was never set has passed. What failed before the mark shows here as it does in wait. */
    mts_status (*event_query)(mts_device *device, uint32_t index, bool wait, bool *passed, mts_error *error);
    /* Host memory that the device copies from and to fastest. Both NULL: the front takes the allocator's. */
    mts_status (*host_create)(mts_device *device, size_t size, void **out, mts_error *error);
    void (*host_destroy)(mts_device *device, void *memory);
    /* Runs the list once, waits, and stores when each launch ran into times[count]. NULL: unsupported. */
    mts_status (*command_list_profile)(mts_device *device, mts_command_list *list, mts_launch_time *times,
                                       size_t count, mts_error *error);
    /* Returns once nothing that was enqueued is on its way any more, whatever became of it; also on a lost
       device, whose queue may still write to the host's memory. NULL: nothing ever is. */
    void (*drain)(mts_device *device);
} mts_device_ops;

/* Fences that are over and failed, kept for their owners (timeline.c). */
#define MTS_TIMELINE_FAILURES 8u
typedef struct mts_timeline_failure {
    uint64_t first, last;
    mts_error error; /* of the first */
} mts_timeline_failure;

/* First member of every backend's device struct. */
struct mts_device {
    const mts_device_ops *ops;
    const mts_allocator *allocator;
    const mts_log *log;
    mts_device_info info;
    uint32_t index; /* among those that the backend finds; set where a caller's context may have decided it */
    bool lost;      /* set by a backend, read by the front */
    bool drained;   /* set by the front: it is lost, and nothing is on its way any more */
    bool full; /* set by a backend: the last OUT_OF_MEMORY was the device's, not the host's; never cleared by
                  it */
    uint64_t timeline_last, timeline_done; /* timeline.c: the last one set; the last one known to be over */
    uint32_t timeline_failure_count;
    mts_timeline_failure timeline_failures[MTS_TIMELINE_FAILURES]; /* oldest first */
};
/* First members of every backend's objects, filled by the front after a successful create. */
struct mts_buffer {
    mts_device *device;
    size_t size;
    bool imported; /* foreign memory: launches read it, nothing writes it */
};
struct mts_kernel {
    mts_device *device;
    uint32_t work_group_size; /* most work-items of a group for this kernel; filled by the backend */
};
struct mts_command_list {
    mts_device *device;
    size_t count;
};

/* What a backend that builds programs did since the device was opened. */
typedef struct mts_program_counts {
    /* Programs that were built from source. */
    uint32_t built;
    /* Files of the program cache. */
    mts_cache_use cache;
} mts_program_counts;

typedef struct mts_device_options {
    const mts_allocator *allocator; /* not NULL; outlives the device */
    const mts_log *log;             /* may be NULL; outlives the device */
    const char *cache_dir;          /* program binaries; NULL: no disk cache */
    uint32_t threads;               /* of a CPU backend that has its own pool; 0: all */
    mts_use replay;                 /* lists recorded by the driver; the same bits either way */
    mts_use gemm;                   /* a library for matrix products, see mts_device_info.gemm */
    uint32_t flush_launches;      /* of a list, after which an OpenCL queue is flushed; 0: what quirks say */
    mts_program_counts *programs; /* kept up to date by the backend; may be NULL; outlives the device */
    /* The caller's CUcontext and CUstream, which outlive the device; NULL: its own. Only for a backend that
       says takes_foreign. */
    void *foreign_context, *foreign_queue;
} mts_device_options;

/* A backend is compiled in by option and found in the generated registry. */
typedef struct mts_backend {
    const char *name;
    /* Devices it can open now; 0 if its driver is missing (not an error). */
    uint32_t (*count)(void);
    /* Describes device `index` < count() without keeping it open. */
    mts_status (*describe)(uint32_t index, mts_device_info *info, mts_error *error);
    mts_status (*open)(uint32_t index, const mts_device_options *options, mts_device **out, mts_error *error);
    /* Opens a device that has a name instead of a number and stands in no list; NOT_FOUND: no such name.
       NULL: the backend has none. */
    mts_status (*open_named)(const char *name, const mts_device_options *options, mts_device **out,
                             mts_error *error);
    bool takes_foreign; /* options.foreign_context and foreign_queue; who opens a device looks at this */
} mts_backend;

/* The registry (generated): backends in order of preference. */
const mts_backend *const *mts_backend_table(size_t *count);

/* ---- the front ---- */
void mts_device_destroy(mts_device **device);
mts_status mts_buffer_create(mts_device *device, size_t size, mts_buffer **out, mts_error *error);
/*
 * A buffer that is foreign memory; nothing is copied. Host memory outlives the buffer, the others are held by
 * it. It keeps still while a submitted list reads it; between runs its content may change (who writes a
 * dma-buf by the processor brackets that with DMA_BUF_IOCTL_SYNC). As `pool` of a launch only; the host
 * neither reads nor writes it through the buffer. An import may take many milliseconds: who gets the same few
 * memories again and again keeps their buffers. UNSUPPORTED: no bit of info.imports, or the driver does not
 * take this memory.
 */
mts_status mts_buffer_import(mts_device *device, const mts_memory *memory, mts_buffer **out,
                             mts_error *error);
void mts_buffer_destroy(mts_buffer **buffer);
/* `data` may be reused on return; waits for earlier commands where the backend cannot do without. */
mts_status mts_buffer_write(mts_buffer *buffer, size_t offset, const void *data, size_t size,
                            mts_error *error);
/* The same without a wait: `data` must not change until a mark set after this was seen passed, or a wait. */
mts_status mts_buffer_write_async(mts_buffer *buffer, size_t offset, const void *data, size_t size,
                                  mts_error *error);
/* Enqueues a copy into `data`, which is filled, and must live, as soon as a mark set after this was seen
 * passed, or after a wait. */
mts_status mts_buffer_read_async(mts_buffer *buffer, size_t offset, void *data, size_t size,
                                 mts_error *error);
/* Waits for all earlier commands, then copies. */
mts_status mts_buffer_read(mts_buffer *buffer, size_t offset, void *data, size_t size, mts_error *error);
mts_status mts_buffer_fill(mts_buffer *buffer, size_t offset, size_t size, uint32_t word, mts_error *error);
mts_status mts_kernel_create(mts_device *device, const mts_kernel_desc *desc, mts_kernel **out,
                             mts_error *error);
void mts_kernel_destroy(mts_kernel **kernel);
mts_status mts_command_list_create(mts_device *device, const mts_launch *launches, size_t count,
                                   mts_command_list **out, mts_error *error);
/* INVALID_ARGUMENT if a product is no product or leaves buffers of that many floats; command_list_create
 * checks this.
 */
mts_status mts_gemm_check(const mts_gemm *gemm, size_t act_floats, size_t pool_floats, const char *label,
                          mts_error *error);
void mts_command_list_destroy(mts_command_list **list);
/* See mts_device_ops.command_list_update; `count` is that of the list. UNSUPPORTED: make the list again. */
mts_status mts_command_list_update(mts_command_list *list, const mts_launch *launches, size_t count,
                                   mts_error *error);
mts_status mts_command_list_submit(mts_command_list *list, mts_error *error);
mts_status mts_command_list_profile(mts_command_list *list, mts_launch_time *times, size_t count,
                                    mts_error *error);
mts_status mts_device_wait(mts_device *device, mts_error *error);
/* For decorators: see mts_device_ops.drain. The front drains a device by itself when it is lost. */
void mts_device_drain(mts_device *device);
/*
 * A device has MTS_DEVICE_EVENTS marks, by which the host learns how far the queue has come: a mark stands
 * behind everything that was enqueued when it was set last. After a failure in what stands before a mark,
 * nothing is known of the data that was to be fetched there.
 */
mts_status mts_device_event_record(mts_device *device, uint32_t index, mts_error *error);
/* Does not wait, but on an OpenCL device whose driver has no markers: there it waits for everything. *passed
 * is false if this fails. */
mts_status mts_device_passed(mts_device *device, uint32_t index, bool *passed, mts_error *error);
mts_status mts_device_event_wait(mts_device *device, uint32_t index, mts_error *error);
/*
 * Host memory that the device copies from and to without a detour (pinned, where there is such a thing),
 * aligned to 64 bytes; its content is undefined. Destroyed before the device is, after the copies that use
 * it.
 */
mts_status mts_host_create(mts_device *device, size_t size, void **out, mts_error *error);
void mts_host_destroy(mts_device *device, void **memory);

#endif
