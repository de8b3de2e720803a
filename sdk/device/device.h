/*
 * device.h: one compute device with one in-order queue, and the contract for backends.
 *
 * A backend fills mts_device_ops and nothing else. All other code calls the mts_device_*
 * functions of the front (device.c), which check every argument once, so that backends
 * need not. A decorator (platform/wrap) is a device around a device. Offsets and sizes
 * are in bytes. Commands run in the order in which they were enqueued.
 *
 * Thread-safety: a device and its objects belong to one thread at a time. Different
 * devices are independent.
 *
 * Errors of every call: DEVICE (a driver call failed; the sentence names the call and its
 * code), DEVICE_LOST, OUT_OF_MEMORY, INVALID_ARGUMENT (by the front). After DEVICE_LOST
 * every call fails so, except for those that destroy. The front has drained the device
 * then: no copy is in progress, and its host memory may be freed. A failed create sets
 * *out to NULL.
 */
#ifndef MTS_DEVICE_DEVICE_H
#define MTS_DEVICE_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/status.h"

#define MTS_DEVICE_ABI 8u
/* Events of a device, see mts_device_event_record. */
#define MTS_DEVICE_EVENTS 8u
#define MTS_DEVICE_NAME 128
/* Buffers that a kernel may read beside its pool. */
#define MTS_LAUNCH_SOURCES 8

typedef struct mts_device mts_device;
typedef struct mts_buffer mts_buffer;
typedef struct mts_kernel mts_kernel;
typedef struct mts_command_list mts_command_list;

#define MTS_MEMORY_KINDS 3
#define MTS_MEMORY_BIT(kind) ((uint32_t)1 << (unsigned)(kind))

/* Memory that a buffer can be made of without a copy. */
typedef struct mts_memory {
    mts_memory_kind kind;
    /* HOST: its address. ANDROID: the AHardwareBuffer. */
    const void *host;
    /* DMABUF: its descriptor. The caller owns it, and may close it after the import. */
    int fd;
    /* Bytes from its start that are used. */
    size_t size;
} mts_memory;

/* What a device can do. A limit of 0 means unsupported, unless a comment says
   otherwise. */
typedef struct mts_device_info {
    /* "cuda", "opencl", "reference", ... */
    char backend[16];
    /* Name of the hardware. */
    char name[MTS_DEVICE_NAME];
    /* Version of the driver. It is part of cache keys. */
    char driver[MTS_DEVICE_NAME];
    bool is_gpu;
    bool unified_memory;
    /* The process reads and writes buffers in place (mts_buffer_map): no copy is made. */
    bool maps;
    /* Launches may be matrix products. */
    bool gemm;
    /* A kernel is complete when it is created: its first launch takes no longer than the
       others. */
    bool ready_kernels;
    /* Launches of a list that do not depend on each other run at the same time
       (mts_launch.accesses). */
    bool overlaps;
    /* A kernel is built while another thread submits commands: what a build changes is apart from
       what commands use (device/guard.h). */
    bool builds_aside;
    /* MTS_MEMORY_BIT of each kind of memory that mts_buffer_import takes. */
    uint32_t imports;
    uint32_t compute_units;
    /* Time of a launch in a list beside its work, in nanoseconds; 0: none that counts.
       Layers share launches where it saves time (plan/waves.h). */
    uint32_t launch_ns;
    /* Floats of the vector register that a work-item should use: 16, 8 or 4. */
    uint32_t vector_floats;
    /* Most work-items of a work-group. */
    uint32_t work_group_size;
    /* Work-items of a work-group come in multiples of this, which run together; 0: not known. */
    uint32_t group_multiple;
    /* Most work-groups of a launch in each dimension after the first; 0: no limit. */
    uint32_t groups_most;
    /* Global memory. */
    uint64_t memory_bytes;
    /* Largest buffer. */
    uint64_t buffer_bytes;
    /* Local memory of a work-group; 0: none that is worth using. */
    uint64_t local_bytes;
    /* It multiplies float16 at least as fast as float32 (-DHALF=2). */
    bool half_products;
    /* A work-group multiplies 16 x 16 x 16 matrices of float16 (tensor cores). */
    bool matrix_units;
    /* It multiplies bytes and sums them in int32 at several times the rate of floats
       (kernels conv_bytes). */
    bool byte_products;
    /* conv_tile takes jobs of float32 whose rows are the lanes of a vector
       (mts_conv_params.plane). */
    bool row_lanes;
    /* Channels that conv_packed takes side by side: MTS_CHANNEL_PACK, or 0. */
    uint32_t packed_lanes;
    /* Pixels of four numbers that an image over a buffer has at most (-DIMAGES=1); 0: kernels
       read no images. */
    uint64_t image_texels;
    /* Kernels may be persistent (mts_kernel_desc.resident_items): atomics order memory
       for all of the device, and its work-groups can be at work at the same time. */
    bool persistent;
    /* CUDA: compute capability, e.g. 87. Elsewhere 0. */
    uint32_t arch;
} mts_device_info;

/* A kernel to build: a row of the manifest and its -D options. */
typedef struct mts_kernel_desc {
    /* See device/kernel.h. */
    const char *name;
    /* "-DVEC=16 -DCASES=CASE(8,0)" with no space inside an option; "": none. It is part
       of the cache key. */
    const char *defines;
    /* 0; or its work-groups have so many work-items, wait for each other, and therefore
       have to be on the device at the same time: see mts_kernel.resident. */
    uint32_t resident_items;
} mts_kernel_desc;

/*
 * C = A B, row-major float32, `batch` times. C is m x n and lies in act. A is m x k. B is
 * k x n, or n x k if it is transposed. Offsets, distances of rows (ld) and of matrices
 * (stride) are in floats. C does not overlap A or B. What lies between the rows of C does
 * not change.
 */
typedef struct mts_gemm {
    uint32_t m, n, k;
    /* Number of products, at least 1. */
    uint32_t batch;
    /* The matrix lies in pool instead of act. */
    bool a_pool, b_pool;
    bool b_transposed;
    uint32_t a, b, c;
    uint32_t a_ld, b_ld, c_ld;
    /* a and b: 0 if all products share the matrix. */
    uint32_t a_stride, b_stride, c_stride;
} mts_gemm;

/* Bytes [begin, end) of a launch's act that it reads, or writes and may read. */
typedef struct mts_access {
    size_t begin, end;
    bool writes;
} mts_access;

/*
 * kernel(act, pool, params, first) over a grid, where global[i] is a multiple of
 * local[i]. Or, if gemm.m > 0, a matrix product: kernel is NULL, and first, global and
 * local are not read.
 */
typedef struct mts_launch {
    mts_kernel *kernel;
    mts_buffer *act, *pool, *params;
    /* Of a kernel that has sources (mts_kernel.sources): all of them, which may be the pool
       and each other. Of others NULL. */
    mts_buffer *sources[MTS_LAUNCH_SOURCES];
    /* 32-bit words from the start of params to the parameters of this launch. */
    uint32_t first;
    uint32_t global[3], local[3];
    /* Layer, for traces. It outlives the command list. */
    const char *label;
    mts_gemm gemm;
    /* All that it touches of act; NULL: that is not known, and may be anything. A device
       may run launches of a list at the same time, or in another order, where none
       touches what the other writes (device/dependencies.h). They outlive the command
       list. */
    const mts_access *accesses;
    uint32_t access_count;
} mts_launch;

/* When a launch ran on the device: nanoseconds since its list was submitted, start <=
   end. */
typedef struct mts_launch_time {
    uint64_t start, end;
} mts_launch_time;

/* When a thread of the device computed a part of a launch of a list: nanoseconds since the
   list was submitted, start <= end. */
typedef struct mts_chunk_time {
    uint32_t launch, thread;
    uint64_t start, end;
} mts_chunk_time;

/* What a backend implements. The front has checked all arguments. */
typedef struct mts_device_ops {
    uint32_t abi; /* MTS_DEVICE_ABI */
    void (*destroy)(mts_device *device);
    /* memory: NULL, or what the buffer is made of, a kind of info.imports. Nothing writes
       it then. */
    mts_status (*buffer_create)(mts_device *device, const mts_memory *memory, size_t size, mts_buffer **out,
                                mts_error *error);
    void (*buffer_destroy)(mts_device *device, mts_buffer *buffer);
    /* Enqueues a copy. async: the call does not wait, and the caller keeps `data` valid
       and unchanged until an event that was recorded after this call has passed, or until
       a wait. Not async: `data` may be reused on return, and the call may wait for
       earlier commands. */
    mts_status (*buffer_write)(mts_device *device, mts_buffer *buffer, size_t offset, const void *data,
                               size_t size, bool async, mts_error *error);
    /* Waits for all earlier commands, then copies. */
    mts_status (*buffer_read)(mts_device *device, mts_buffer *buffer, size_t offset, void *data, size_t size,
                              mts_error *error);
    /* Enqueues a copy into `data`. The caller keeps it valid until an event that was
       recorded after this call has passed, or until a wait. */
    mts_status (*buffer_read_async)(mts_device *device, mts_buffer *buffer, size_t offset, void *data,
                                    size_t size, mts_error *error);
    /* Enqueues filling with a 32-bit word; offset and size are multiples of 4. */
    mts_status (*buffer_fill)(mts_device *device, mts_buffer *buffer, size_t offset, size_t size,
                              uint32_t word, mts_error *error);
    /* Builds a kernel, or takes it from the program cache. NOT_FOUND: the program is not
       in the cache and there is no compiler. DEVICE: it does not build. */
    mts_status (*kernel_create)(mts_device *device, const mts_kernel_desc *desc, mts_kernel **out,
                                mts_error *error);
    void (*kernel_destroy)(mts_device *device, mts_kernel *kernel);
    /* Records launches for many submissions. The array of launches is copied. */
    mts_status (*command_list_create)(mts_device *device, const mts_launch *launches, size_t count,
                                      mts_command_list **out, mts_error *error);
    void (*command_list_destroy)(mts_device *device, mts_command_list *list);
    /* Replaces all launches of a list that is not running by as many with the same
       kernels in the same order and with the same accesses; buffers, first, global and
       local may differ, but not which launches have one act. It builds nothing. After
       a failure the list cannot be used. NULL: unsupported, the caller creates a new
       list. */
    mts_status (*command_list_update)(mts_device *device, mts_command_list *list, const mts_launch *launches,
                                      size_t count, mts_error *error);
    /* Enqueues the whole list and flushes; does not wait, does not allocate. */
    mts_status (*command_list_submit)(mts_device *device, mts_command_list *list, mts_error *error);
    /* Waits until everything enqueued has finished. */
    mts_status (*wait)(mts_device *device, mts_error *error);
    /* Puts event `index` behind everything enqueued so far, and gives all of that to the
       device. The event no longer stands where it stood before. It does not wait. */
    mts_status (*event_record)(mts_device *device, uint32_t index, mts_error *error);
    /* Whether everything before the event has finished. wait: returns only then, or with
       a failure. An event that was never recorded has passed. A failure before the event
       shows here as it does in wait. */
    mts_status (*event_query)(mts_device *device, uint32_t index, bool wait, bool *passed, mts_error *error);
    /* Host memory that the device copies from and to fastest. Both NULL: the front uses
       the allocator. */
    mts_status (*host_create)(mts_device *device, size_t size, void **out, mts_error *error);
    void (*host_destroy)(mts_device *device, void *memory);
    /* Runs the list once, waits, and stores when each launch ran into times[count]. NULL:
       unsupported. */
    mts_status (*command_list_profile)(mts_device *device, mts_command_list *list, mts_launch_time *times,
                                       size_t count, mts_error *error);
    /* Returns when no enqueued command is in progress any more, whatever its result;
       also on a lost device, whose queue may still write to host memory. NULL: none
       ever is. */
    void (*drain)(mts_device *device);
    /* Runs the list once as any submission does, waits, and stores the first `capacity`
       parts that threads computed, in no order; *count: of all. NULL: unsupported. */
    mts_status (*command_list_trace)(mts_device *device, mts_command_list *list, mts_chunk_time *chunks,
                                     size_t capacity, size_t *count, mts_error *error);
    /* Where a list can be submitted in several ways, runs it a few times in each, waits, and
       keeps the fastest for it and for the device's later lists. Once a device has decided it
       does nothing. NULL: there is nothing to decide. */
    mts_status (*command_list_calibrate)(mts_device *device, mts_command_list *list, mts_error *error);
    /* Enqueues handing a range of a buffer to the process, to be read, or to be overwritten. *out is
       where its bytes are once everything enqueued so far has finished. It does not wait. NULL if
       info.maps is not set. */
    mts_status (*buffer_map)(mts_device *device, mts_buffer *buffer, size_t offset, size_t size,
                             bool overwrites, void **out, mts_error *error);
    /* Enqueues handing it back. */
    mts_status (*buffer_unmap)(mts_device *device, mts_buffer *buffer, void *mapped, mts_error *error);
} mts_device_ops;

/* Timeline values that failed, kept for the callers that wait for them (timeline.c). */
#define MTS_TIMELINE_FAILURES 8u
typedef struct mts_timeline_failure {
    uint64_t first, last;
    /* Of the first one. */
    mts_error error;
} mts_timeline_failure;

typedef struct mts_host_head mts_host_head; /* of memory.c */

/* First member of every backend's device struct. */
struct mts_device {
    /* Set by a backend, and by the front where two waits in a row fail (mts_device_lose).
       Threads that take turns on the device read it between their turns (guard.h). It is the
       first member because 64-bit ARM needs a second instruction to read an atomic byte at
       an offset. */
    _Atomic(bool) lost;
    const mts_device_ops *ops;
    const mts_allocator *allocator;
    const mts_log *log;
    mts_device_info info;
    /* Number among the devices that the backend finds. The context of the caller may have
       decided it. */
    uint32_t index;
    /* Set by the front: the device is lost, and was drained as far as it lets itself be. */
    _Atomic(bool) drained;
    /* Host memory that was destroyed after the loss. It lives as long as the device, whose
       queue may still use it. */
    mts_host_head *parked;
    /* Set by a backend, which never clears it: the last OUT_OF_MEMORY was that of the
       device, not of the host. */
    bool full;
    /* Likewise: an image over a buffer could not be made. Engines planned from then on read
       weights through buffers. */
    bool no_images;
    /* The last timeline value that was signalled; the last one that is known to be
       over. */
    uint64_t timeline_last, timeline_done;
    uint32_t timeline_failure_count;
    /* Oldest first. */
    mts_timeline_failure timeline_failures[MTS_TIMELINE_FAILURES];
};

/* The loss itself orders nothing: what a thread does about it, it does in a turn of its own. */
static inline bool mts_device_is_lost(const mts_device *device)
{
    return atomic_load_explicit(&device->lost, memory_order_relaxed);
}

static inline void mts_device_lose(mts_device *device)
{
    atomic_store_explicit(&device->lost, true, memory_order_relaxed);
}

/* First members of every backend's objects. The front fills what no comment leaves to the
   backend, after a successful create. */
struct mts_buffer {
    mts_device *device;
    size_t size;
    /* Its bytes, where the device computes in memory of the process: the caller may write
       them instead of calling mts_buffer_write, while nothing that was submitted uses the
       buffer. The backend fills it. NULL: they cannot be written so. */
    void *host;
    /* External memory: launches read it, nothing writes it. */
    bool imported;
    /* Where the range that is mapped lies; NULL: none is. */
    void *mapped;
};
struct mts_kernel {
    mts_device *device;
    /* Most work-items of a work-group of this kernel. The backend fills it. */
    uint32_t work_group_size;
    /* It has MTS_LAUNCH_SOURCES arguments behind `first`, which are read as the pool is. */
    bool sources;
    /* Of a kernel with resident_items: the most work-groups of a launch, which the driver
       says can be on the device at the same time. Else 0. `resident_promised`: it makes
       sure that they are, or the launch fails; else a trial has to prove it. The backend
       fills both. */
    uint32_t resident;
    bool resident_promised;
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

/* How a device is opened. All that it points to outlives the device. */
typedef struct mts_device_options {
    /* Not NULL. */
    const mts_allocator *allocator;
    /* May be NULL. */
    const mts_log *log;
    /* Directory of program binaries; NULL: no cache on disk. */
    const char *cache_dir;
    /* Graph replay: the driver records command lists. The bits are the same. */
    mts_use replay;
    /* A library for matrix products, see mts_device_info.gemm. */
    mts_use gemm;
    /* Launches of a list after which an OpenCL queue is flushed; 0: what the quirks
       say. */
    uint32_t flush_launches;
    /* The backend keeps these counts up to date; may be NULL. */
    mts_program_counts *programs;
    /* CUcontext and CUstream of the caller; NULL: the device's own. Only for a backend
       that takes_external. */
    void *external_context, *external_queue;
    /* Threads of a backend that has some of its own; 0: it chooses. */
    uint32_t threads;
    /* Hints for the driver, for a backend whose drivers take some. */
    mts_queue_mode queue;
} mts_device_options;

/* A backend is compiled in by option and found in the generated registry. */
typedef struct mts_backend {
    const char *name;
    /* Devices it can open now; 0 if its driver is missing (not an error). */
    uint32_t (*count)(void);
    /* Describes device `index` < count() without keeping it open. */
    mts_status (*describe)(uint32_t index, mts_device_info *info, mts_error *error);
    mts_status (*open)(uint32_t index, const mts_device_options *options, mts_device **out, mts_error *error);
    /* Opens a device that has a name instead of a number and is in no list. NOT_FOUND: no
       such name. NULL: the backend has none. */
    mts_status (*open_named)(const char *name, const mts_device_options *options, mts_device **out,
                             mts_error *error);
    bool takes_external; /* accepts options.external_context and external_queue */
    /* count() loads drivers, which takes many milliseconds, and is worth it where there
       may be a GPU. */
    bool loads_drivers;
} mts_backend;

/* The registry (generated): backends in order of preference. */
const mts_backend *const *mts_backend_table(size_t *count);

/* ---- the front ---- */
void mts_device_destroy(mts_device **device);
mts_status mts_buffer_create(mts_device *device, size_t size, mts_buffer **out, mts_error *error);
/*
 * A buffer that is external memory; nothing is copied. Host memory outlives the buffer;
 * the buffer holds a reference to memory of other kinds. The content does not change
 * while a submitted list reads it, and may change between runs. A processor that writes a
 * dma-buf brackets this with DMA_BUF_IOCTL_SYNC. The buffer is only used as `pool` of a
 * launch; the host neither reads nor writes through it. An import may take many
 * milliseconds, so callers keep the buffers of memories that come again. UNSUPPORTED: not
 * in info.imports, or the driver refuses this memory.
 */
mts_status mts_buffer_import(mts_device *device, const mts_memory *memory, mts_buffer **out,
                             mts_error *error);
void mts_buffer_destroy(mts_buffer **buffer);
/* Copies `data`, which may be reused on return. It waits for earlier commands where the
   backend must. */
mts_status mts_buffer_write(mts_buffer *buffer, size_t offset, const void *data, size_t size,
                            mts_error *error);
/* The same without a wait: the caller keeps `data` valid and unchanged until an event
   that was recorded after this call has passed, or until a wait. */
mts_status mts_buffer_write_async(mts_buffer *buffer, size_t offset, const void *data, size_t size,
                                  mts_error *error);
/* Enqueues a copy into `data`. It is filled, and no longer in use, when an event that was
   recorded after this call has passed, or after a wait. */
mts_status mts_buffer_read_async(mts_buffer *buffer, size_t offset, void *data, size_t size,
                                 mts_error *error);
/* Waits for all earlier commands, then copies. */
mts_status mts_buffer_read(mts_buffer *buffer, size_t offset, void *data, size_t size, mts_error *error);
mts_status mts_buffer_fill(mts_buffer *buffer, size_t offset, size_t size, uint32_t word, mts_error *error);
/*
 * Hands a range of a buffer to the process, which reads it at buffer->mapped, or overwrites it: its
 * content is undefined then. It may do so once an event that was recorded after this call has
 * passed, or after a wait, until mts_buffer_unmap. In between no launch uses the buffer, and no
 * transfer the range. UNSUPPORTED: not info.maps. INVALID_ARGUMENT: it is imported, or mapped.
 */
mts_status mts_buffer_map(mts_buffer *buffer, size_t offset, size_t size, bool overwrites, mts_error *error);
/* Hands it back to the device, for what is enqueued from now on. OK if nothing is mapped. */
mts_status mts_buffer_unmap(mts_buffer *buffer, mts_error *error);
mts_status mts_kernel_create(mts_device *device, const mts_kernel_desc *desc, mts_kernel **out,
                             mts_error *error);
void mts_kernel_destroy(mts_kernel **kernel);
mts_status mts_command_list_create(mts_device *device, const mts_launch *launches, size_t count,
                                   mts_command_list **out, mts_error *error);
/* INVALID_ARGUMENT if a dimension is 0, matrices overlap or a matrix exceeds its buffer
   of that many floats. mts_command_list_create checks this. */
mts_status mts_gemm_check(const mts_gemm *gemm, size_t act_floats, size_t pool_floats, const char *label,
                          mts_error *error);
void mts_command_list_destroy(mts_command_list **list);
/* See mts_device_ops.command_list_update; `count` is that of the list. UNSUPPORTED:
   create a new list. */
mts_status mts_command_list_update(mts_command_list *list, const mts_launch *launches, size_t count,
                                   mts_error *error);
mts_status mts_command_list_submit(mts_command_list *list, mts_error *error);
mts_status mts_command_list_profile(mts_command_list *list, mts_launch_time *times, size_t count,
                                    mts_error *error);
/* As mts_device_ops.command_list_trace. UNSUPPORTED: the device has no threads to tell of. */
mts_status mts_command_list_trace(mts_command_list *list, mts_chunk_time *chunks, size_t capacity,
                                  size_t *count, mts_error *error);
/* As mts_device_ops.command_list_calibrate; OK where there is nothing to decide. */
mts_status mts_command_list_calibrate(mts_command_list *list, mts_error *error);
mts_status mts_device_wait(mts_device *device, mts_error *error);
/* For decorators, see mts_device_ops.drain. The front drains a device that is lost. */
void mts_device_drain(mts_device *device);
/*
 * A device has MTS_DEVICE_EVENTS events, which tell the host how far the queue has come.
 * An event stands behind everything that was enqueued when it was recorded last. If
 * something before an event failed, data that was to be read there is undefined.
 */
mts_status mts_device_event_record(mts_device *device, uint32_t index, mts_error *error);
/* Whether event `index` has passed; *passed is false if this fails. It does not wait,
   except on an OpenCL device whose driver has no markers: there it waits for
   everything. */
mts_status mts_device_event_passed(mts_device *device, uint32_t index, bool *passed, mts_error *error);
mts_status mts_device_event_wait(mts_device *device, uint32_t index, mts_error *error);
/*
 * Host memory that the device copies from and to directly (pinned, where a driver has
 * that), aligned to 64 bytes. Its content is undefined. It is destroyed after the copies
 * that use it, and before the device.
 */
mts_status mts_host_create(mts_device *device, size_t size, void **out, mts_error *error);
void mts_host_destroy(mts_device *device, void **memory);

#endif
