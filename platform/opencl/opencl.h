/*
 * opencl.h: the structs of the OpenCL backend and the functions its files share.
 *
 * Internal to platform/opencl and its tests. The rest of the library sees
 * mts_backend_opencl and device/device.h only.
 */
#ifndef MTS_PLATFORM_OPENCL_OPENCL_H
#define MTS_PLATFORM_OPENCL_OPENCL_H

#include "device/device.h"
#include "device/kernel.h"
#include "platform/opencl/gemm.h"
#include "platform/opencl/import.h"
#include "platform/opencl/library.h"
#include "platform/opencl/quirks.h"
#include "platform/opencl/replay.h"
#include "platform/os/cache_file.h"

extern const mts_backend mts_backend_opencl;

/* A built program; kept until the device is destroyed, shared by kernels of equal name
   and options. */
typedef struct mts_cl_program {
    struct mts_cl_program *next;
    const mts_kernel_source *source;
    char *options;
    cl_program handle;
} mts_cl_program;

typedef struct mts_cl_event {
    bool set;         /* and not seen passed */
    cl_event event;   /* NULL: the driver has no markers, the whole queue is waited for */
    uint64_t replays; /* the device's when it was set */
} mts_cl_event;

typedef struct mts_cl_device {
    mts_device base;
    mts_cl_library cl;
    cl_device_id id;
#ifndef MTS_SMALL
    cl_device_id sub_device; /* `id`, if it is a part of a device, to be released; else NULL */
#endif
    cl_context context;
    cl_command_queue queue;
    cl_command_queue profile_queue; /* NULL until the first profile */
    cl_ulong queue_hints[4];        /* properties of queues, by twos; 0: the end */
    const mts_cl_quirks *quirks;
    const char *dot;  /* options of kernels of codes; NULL: it multiplies no bytes */
    mts_cl_gemm gemm; /* all NULL: no matrix products */
    mts_cl_import import;
    mts_cl_replay replay;          /* all NULL: command lists are not recorded */
    uint64_t replays;              /* recordings that were enqueued so far */
    uint64_t finished;             /* of those, the first so many have run */
    uint64_t (*clock)(void);       /* what measures replays; a test may have another one */
    cl_command_queue record_queue; /* of cl_qcom_recordable_queues; NULL: nothing was recorded so */
    mts_cl_event events[MTS_DEVICE_EVENTS];
    uint32_t flush_every; /* launches after which the queue is flushed; 0: at a command list's end only */
    uint64_t buffers;     /* that were made so far */
    bool keeps_denormals; /* the compiler refuses to be told otherwise */
    const char *atomics;  /* options of persistent programs; NULL: the device has none such */
    char *cache_dir;      /* NULL: no disk cache */
    uint64_t driver_hash; /* of the version texts at full length: info.driver is cut */
    mts_program_counts built;
    mts_program_counts *counts; /* the caller's copy, or NULL */
    mts_cl_program *programs;
} mts_cl_device;

typedef struct mts_cl_buffer {
    mts_buffer base;
    cl_mem handle;
    cl_mem
        images[2]; /* over its memory: pixels of four floats, of four halfs; NULL until a launch reads one */
#ifndef MTS_SMALL
    void *own; /* of the process: the buffer is that memory (base.host); or NULL */
#endif
    uint64_t serial; /* a handle may come again for another buffer, this does not */
    bool acquired;   /* before it is used, and released afterwards */
} mts_cl_buffer;

typedef struct mts_cl_kernel {
    mts_kernel base;
    mts_cl_program *program;
    bool images; /* it reads its pool as an image too: an argument behind `first` */
    bool half;   /* whose pixels are halfs */
} mts_cl_kernel;

/* A launch has a kernel object of its own with its arguments set, so that submitting only
   enqueues. */
typedef struct mts_cl_launch {
    cl_kernel handle; /* NULL: a matrix product */
    mts_gemm gemm;
    cl_mem act, pool, params;                 /* the kernel's arguments, or the product's matrices */
    cl_mem sources[MTS_LAUNCH_SOURCES];       /* further arguments; NULL: it has none */
    cl_mem image;                             /* of the pool, likewise; the buffer's own */
    uint64_t serials[3 + MTS_LAUNCH_SOURCES]; /* of act, pool, params and sources */
    cl_uint first;
    size_t global[3], local[3];
    const char *label;
} mts_cl_launch;

typedef struct mts_cl_command_list {
    mts_command_list base;
    size_t made; /* launches that are ready */
    bool has_gemm;
    mts_cl_launch *launches;
    cl_mem *foreign; /* that have to be acquired; NULL where the device has none such */
    cl_uint foreign_count;
    mts_cl_recorded recorded; /* parts NULL: the launches are enqueued one by one */
    bool *changed;            /* per launch, during an update */
} mts_cl_command_list;

/* Arguments of a kernel at most: act, pool, params, first and sources. */
#define MTS_CL_ARGUMENTS (4 + MTS_LAUNCH_SOURCES)

/* ---- error.c ---- */

/* What kind of call failed: the same number means different things. */
typedef enum mts_cl_stage {
    MTS_CL_STAGE_CREATE,  /* creates an object or moves data: lack of resources means lack of memory */
    MTS_CL_STAGE_ENQUEUE, /* enqueues a kernel: lack of resources means that this kernel does not fit */
    MTS_CL_STAGE_WAIT     /* waits: lack of resources means that a command crashed */
} mts_cl_stage;

/* Name of an OpenCL result, e.g. "CL_OUT_OF_RESOURCES"; never NULL. */
const char *mts_cl_error_name(cl_int result);
/* OK for CL_SUCCESS; else fills *error, and sets the device's `lost` if the result says
 * so. device may be NULL. */
mts_status mts_cl_check(mts_cl_device *device, cl_int result, mts_cl_stage stage, const char *call,
                        mts_error *error);

/* ---- sub_device.c ---- */

#ifndef MTS_SMALL
/* What "N/KofM" names: part K of device N divided into M; false: it names nothing. */
bool mts_cl_sub_device_parse(const char *text, uint32_t *index, uint32_t *part, uint32_t *parts);
/* Part `part` of `parts` of a device: neighbouring compute units, in each part as many. *out is
   released by the caller (clReleaseDevice). UNSUPPORTED: the driver cannot divide it so. */
mts_status mts_cl_sub_device(const mts_cl_library *cl, cl_device_id id, uint32_t part, uint32_t parts,
                             cl_device_id *out, mts_error *error);
#endif

/* ---- queue.c ---- */

/* Makes the context and the queue, with the hints of `mode` that the driver knows. */
mts_status mts_cl_queue_open(mts_cl_device *device, cl_platform_id platform, mts_queue_mode mode,
                             mts_error *error);
/* A further queue of the device, with the same hints and these properties; *out is NULL if
   it fails. */
mts_status mts_cl_queue_create(mts_cl_device *device, cl_bitfield properties, cl_command_queue *out,
                               mts_error *error);

/* ---- event.c ---- */
mts_status mts_cl_event_record(mts_device *device, uint32_t index, mts_error *error);
mts_status mts_cl_event_query(mts_device *device, uint32_t index, bool wait, bool *passed, mts_error *error);
void mts_cl_events_release(mts_cl_device *device);
/* Waits for a queue of the device. */
mts_status mts_cl_queue_finish(mts_cl_device *device, cl_command_queue queue, mts_error *error);
/* The same of the queue that command lists are submitted to. */
mts_status mts_cl_finish(mts_cl_device *device, mts_error *error);

/* ---- buffer.c, list.c: entries of the vtable ---- */
mts_status mts_cl_buffer_create(mts_device *device, const mts_memory *memory, size_t size, mts_buffer **out,
                                mts_error *error);
void mts_cl_buffer_destroy(mts_device *device, mts_buffer *buffer);
/* An image over the buffer, which keeps it. */
mts_status mts_cl_buffer_image(mts_cl_device *device, mts_cl_buffer *buffer, bool half, cl_mem *out,
                               mts_error *error);
mts_status mts_cl_buffer_write(mts_device *device, mts_buffer *buffer, size_t offset, const void *data,
                               size_t size, bool async, mts_error *error);
mts_status mts_cl_buffer_read_async(mts_device *device, mts_buffer *buffer, size_t offset, void *data,
                                    size_t size, mts_error *error);
mts_status mts_cl_buffer_read(mts_device *device, mts_buffer *buffer, size_t offset, void *data, size_t size,
                              mts_error *error);
mts_status mts_cl_buffer_fill(mts_device *device, mts_buffer *buffer, size_t offset, size_t size,
                              uint32_t word, mts_error *error);
mts_status mts_cl_buffer_map(mts_device *device, mts_buffer *buffer, size_t offset, size_t size,
                             bool overwrites, void **out, mts_error *error);
mts_status mts_cl_buffer_unmap(mts_device *device, mts_buffer *buffer, void *mapped, mts_error *error);
mts_status mts_cl_command_list_create(mts_device *device, const mts_launch *launches, size_t count,
                                      mts_command_list **out, mts_error *error);
void mts_cl_command_list_destroy(mts_device *device, mts_command_list *list);
mts_status mts_cl_command_list_update(mts_device *device, mts_command_list *list, const mts_launch *launches,
                                      size_t count, mts_error *error);
mts_status mts_cl_command_list_submit(mts_device *device, mts_command_list *list, mts_error *error);
mts_status mts_cl_command_list_profile(mts_device *device, mts_command_list *list, mts_launch_time *times,
                                       size_t count, mts_error *error);

/* ---- import.c ---- */

/* Fills handle and acquired. UNSUPPORTED: the driver does not take this memory. */
mts_status mts_cl_import_buffer(mts_cl_device *device, const mts_memory *memory, mts_cl_buffer *buffer,
                                mts_error *error);

/* ---- launch.c ---- */

/* All of a launch but its kernel object and label. */
mts_status mts_cl_launch_fill(mts_cl_device *device, mts_cl_launch *made, const mts_launch *launch,
                              mts_error *error);
/* Where argument `index` of a launch lies, and its bytes; NULL: it has no such argument. */
const void *mts_cl_launch_argument(const mts_cl_launch *launch, cl_uint index, size_t *size);
mts_status mts_cl_launch_set_arguments(mts_cl_device *device, const mts_cl_launch *made, mts_error *error);
mts_status mts_cl_launch_enqueue(mts_cl_device *device, cl_command_queue queue, const mts_cl_launch *launch,
                                 cl_event *event, mts_error *error);
/* Enqueues a list's launches one by one, from number `from` on, and flushes in between. */
mts_status mts_cl_list_enqueue(mts_cl_device *device, const mts_cl_command_list *list, size_t from,
                               mts_error *error);

/* ---- replay.c, replay_khr.c, replay_qcom.c ---- */

/* Records a command list whose launches are ready, if the device's lists are. If that fails the
 * list has no recording; submitting it enqueues the launches. */
void mts_cl_replay_record(mts_cl_device *device, mts_cl_command_list *list);
/* How many launches were enqueued, from the first; the others have to be. */
size_t mts_cl_replay_submit(mts_cl_device *device, mts_cl_command_list *list);
/* The launches with changed[i] have new arguments or sizes. */
void mts_cl_replay_change(mts_cl_device *device, mts_cl_command_list *list, const bool *changed);
void mts_cl_replay_release(mts_cl_device *device, mts_cl_command_list *list);
mts_status mts_cl_command_list_calibrate(mts_device *device, mts_command_list *list, mts_error *error);

/* Record launches [first, first + count) of a list as one recording, which may be there after a
 * failure, too. *call is what failed. */
cl_int mts_cl_khr_record(mts_cl_device *device, const mts_cl_command_list *list, mts_cl_recorded *recorded,
                         size_t first, size_t count, mts_cl_recording *out, const char **call);
cl_int mts_cl_qcom_record(mts_cl_device *device, const mts_cl_command_list *list, size_t first, size_t count,
                          mts_cl_recording *out, const char **call);
/* Gives a launch of a mutable recording its new arguments and sizes. */
cl_int mts_cl_khr_change(mts_cl_device *device, const mts_cl_command_list *list,
                         const mts_cl_recorded *recorded, size_t index);
/* The launches with changed[i] come with theirs from now on; false: no memory. */
bool mts_cl_qcom_change(mts_cl_device *device, const mts_cl_command_list *list, mts_cl_recorded *recorded,
                        const bool *changed);
cl_int mts_cl_qcom_enqueue(mts_cl_device *device, const mts_cl_recorded *recorded, size_t part);
void mts_cl_overrides_release(mts_cl_device *device, mts_cl_overrides *overrides);

/* ---- program.c ---- */
mts_status mts_cl_kernel_create(mts_device *device, const mts_kernel_desc *desc, mts_kernel **out,
                                mts_error *error);
/* For a text that is no row of the manifest (tests); `source` outlives the device. */
mts_status mts_cl_kernel_create_from(mts_device *device, const mts_kernel_source *source, const char *defines,
                                     mts_kernel **out, mts_error *error);
void mts_cl_kernel_destroy(mts_device *device, mts_kernel *kernel);
void mts_cl_programs_release(mts_cl_device *device);

/* ---- cache.c ---- */

/* The key of a program; release it with mts_alloc_free. NULL: no memory. */
char *mts_cl_cache_key(const mts_cl_device *device, const mts_kernel_source *source, const char *options);
/* False: a miss, for whatever reason. Else the caller releases the binary, which is the
   file's body. */
bool mts_cl_cache_load(mts_cl_device *device, const char *key, mts_os_cache_file *binary);
void mts_cl_cache_release(mts_cl_device *device, mts_os_cache_file *binary);
/* Reads the program's binary and writes it; failures are counted and logged only. */
void mts_cl_cache_store(mts_cl_device *device, const char *key, cl_program program);

#endif
