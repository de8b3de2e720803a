/*
 * cuda.h: the structs of the CUDA backend and the functions its files share.
 *
 * Internal to platform/cuda and its tests. The rest of the library sees mts_backend_cuda
 * and device/device.h only.
 */
#ifndef MTS_PLATFORM_CUDA_CUDA_H
#define MTS_PLATFORM_CUDA_CUDA_H

#include "device/device.h"
#include "device/kernel.h"
#include "platform/cuda/library.h"
#include "platform/cuda/quirks.h"
#include "platform/cuda/replay.h"
#include "platform/os/cache_file.h"

#define MTS_CU_LAUNCH_NS 2500    /* mts_device_info.launch_ns: of a launch in a captured graph */
#define MTS_CU_GROUPS_MOST 65535 /* of a launch in the dimensions after the first, on every device */
#define MTS_CU_STAGES 2
#define MTS_CU_STAGE_BYTES ((size_t)1 << 20)

extern const mts_backend mts_backend_cuda;

/* What programs are made with and kept in; a device without a driver has it too. */
typedef struct mts_cu_builder {
    const mts_allocator *allocator;
    const mts_log *log;
    const mts_device_info *info; /* of the device that programs are for */
    char *cache_dir;             /* NULL: no disk cache */
    mts_rtc_library rtc;         /* opened when the first text is compiled */
    int driver;                  /* version of CUDA that it knows; 0: there is none */
    bool prefers_text;           /* PTX, for the driver to compile: it takes no binary of this compiler */
    mts_program_counts made;
    mts_program_counts *counts; /* the caller's copy, or NULL */
} mts_cu_builder;

/* What a program is made of: a terminated PTX text, or a binary. On the builder's
   allocator. */
typedef struct mts_cu_image {
    char *data;
    size_t size; /* of a text: with its end */
    bool is_text;
} mts_cu_image;

/* A loaded program; kept until the device is destroyed, shared by kernels of equal name
   and options. */
typedef struct mts_cu_program {
    struct mts_cu_program *next;
    const mts_kernel_source *source;
    char *options;
    CUmodule module;
    CUfunction function;
    uint32_t work_group_size;
} mts_cu_program;

/* A pinned staging buffer for copies to and from the device. */
typedef struct mts_cu_stage {
    void *memory;
    CUevent passed; /* recorded after the copy from it */
    bool in_use;    /* a copy from it was enqueued; it is complete when `passed` is */
} mts_cu_stage;

typedef struct mts_cu_event {
    CUevent event;
    bool set;         /* and not seen passed */
    uint64_t submits; /* the device's when it was set */
} mts_cu_event;

typedef struct mts_cu_device {
    mts_device base;
    mts_cu_library cu;
    CUdevice id;
    CUcontext context;
    bool owns_context; /* retained: the device's primary one */
    bool broken;       /* lost by an error that stays with the context */
    CUstream stream;
    bool owns_stream;
    bool replays; /* command lists become graphs */
    mts_cu_stage stages[MTS_CU_STAGES];
    uint32_t next_stage;
    mts_cu_event events[MTS_DEVICE_EVENTS];
    uint64_t submits;  /* command lists that were submitted so far */
    uint64_t finished; /* of those, the first so many have run */
    mts_cu_builder builder;
    mts_cu_program *programs;
} mts_cu_device;

typedef struct mts_cu_buffer {
    mts_buffer base;
    CUdeviceptr address;
    void *registered; /* the caller's memory, or NULL */
    uint64_t used;    /* registered memory: number of the last submission that reads it */
} mts_cu_buffer;

typedef struct mts_cu_kernel {
    mts_kernel base;
    const mts_cu_program *program;
} mts_cu_kernel;

/* A launch with its arguments where the driver finds them, so that submitting only
   enqueues. */
typedef struct mts_cu_launch {
    CUfunction function;
    CUdeviceptr act, pool, params, sources[MTS_LAUNCH_SOURCES];
    uint32_t first;
    void *arguments[4 + MTS_LAUNCH_SOURCES]; /* the addresses of those, sources last */
    uint32_t grid[3], block[3];
    bool cooperative; /* all groups are on the device together */
    const char *label;
    CUgraphNode node;
} mts_cu_launch;

typedef struct mts_cu_command_list {
    mts_command_list base;
    size_t made; /* launches that are ready */
    bool cooperative; /* a launch is */
    mts_cu_launch *launches;
    mts_cu_buffer **imported; /* pools that are registered memory; NULL: there can be none */
    size_t imported_count;
    CUgraph graph;
    CUgraphExec recording; /* the graph, ready to launch; NULL: the launches are enqueued one by one */
} mts_cu_command_list;

/* ---- error.c ---- */

/* What kind of call failed: the same number may mean different things. */
typedef enum mts_cu_call {
    MTS_CU_CALL_CREATE,  /* creates an object or moves data */
    MTS_CU_CALL_ENQUEUE, /* enqueues kernels */
    MTS_CU_CALL_WAIT     /* waits */
} mts_cu_call;

/* OK for CUDA_SUCCESS; else fills *error, and sets the device's `lost` if the result says
   so. */
mts_status mts_cu_check(mts_cu_device *device, CUresult result, mts_cu_call kind, const char *call,
                        mts_error *error);

/* ---- context.c ---- */

/* Makes the device's context the thread's current one; every such call that succeeded
   needs a leave. */
mts_status mts_cu_enter(mts_cu_device *device, mts_error *error);
/* Likewise; tries once more, since what is not released now stays in the context as long
   as that lives. */
bool mts_cu_enter_to_release(mts_cu_device *device);
void mts_cu_leave(mts_cu_device *device);

/* ---- buffer.c, list.c: entries of the vtable ---- */
mts_status mts_cu_buffer_create(mts_device *device, const mts_memory *memory, size_t size, mts_buffer **out,
                                mts_error *error);
void mts_cu_buffer_destroy(mts_device *device, mts_buffer *buffer);
mts_status mts_cu_buffer_write(mts_device *device, mts_buffer *buffer, size_t offset, const void *data,
                               size_t size, bool async, mts_error *error);
mts_status mts_cu_buffer_read_async(mts_device *device, mts_buffer *buffer, size_t offset, void *data,
                                    size_t size, mts_error *error);
mts_status mts_cu_buffer_read(mts_device *device, mts_buffer *buffer, size_t offset, void *data, size_t size,
                              mts_error *error);
mts_status mts_cu_buffer_fill(mts_device *device, mts_buffer *buffer, size_t offset, size_t size,
                              uint32_t word, mts_error *error);
/* The pinned memory; within enter and leave. */
mts_status mts_cu_stages_make(mts_cu_device *device, mts_error *error);
void mts_cu_stages_release(mts_cu_device *device);
mts_status mts_cu_host_create(mts_device *device, size_t size, void **out, mts_error *error);
void mts_cu_host_destroy(mts_device *device, void *memory);

/* ---- event.c: entries of the vtable, and their events; the latter within enter and leave ---- */
mts_status mts_cu_event_record(mts_device *device, uint32_t index, mts_error *error);
mts_status mts_cu_event_query(mts_device *device, uint32_t index, bool wait, bool *passed, mts_error *error);
mts_status mts_cu_events_make(mts_cu_device *device, mts_error *error);
void mts_cu_events_release(mts_cu_device *device);
/* Waits for the stream; within enter and leave. */
mts_status mts_cu_finish(mts_cu_device *device, mts_error *error);

mts_status mts_cu_command_list_create(mts_device *device, const mts_launch *launches, size_t count,
                                      mts_command_list **out, mts_error *error);
void mts_cu_command_list_destroy(mts_device *device, mts_command_list *list);
mts_status mts_cu_command_list_update(mts_device *device, mts_command_list *list, const mts_launch *launches,
                                      size_t count, mts_error *error);
mts_status mts_cu_command_list_submit(mts_device *device, mts_command_list *list, mts_error *error);
mts_status mts_cu_command_list_profile(mts_device *device, mts_command_list *list, mts_launch_time *times,
                                       size_t count, mts_error *error);

/* ---- program.c ---- */
mts_status mts_cu_kernel_create(mts_device *device, const mts_kernel_desc *desc, mts_kernel **out,
                                mts_error *error);
/* For a text that is no row of the manifest (tests); `source` outlives the device. */
mts_status mts_cu_kernel_create_from(mts_device *device, const mts_kernel_source *source, const char *defines,
                                     mts_kernel **out, mts_error *error);
void mts_cu_kernel_destroy(mts_device *device, mts_kernel *kernel);
/* unload: within enter and leave; otherwise the driver's part is left to go with the
   context. */
void mts_cu_programs_release(mts_cu_device *device, bool unload);

/* ---- compile.c ---- */

/* Copies the caller's options about programs. The caller releases the builder also after
   a failure. */
mts_status mts_cu_builder_init(mts_cu_builder *builder, const mts_device *device,
                               const mts_device_options *options, mts_error *error);
void mts_cu_builder_release(mts_cu_builder *builder);
/* The compiler's options for a kernel, without the architecture, on the builder's
 * allocator. NULL: no memory. */
char *mts_cu_options_make(const mts_cu_builder *builder, const char *defines);
/*
 * From a kernel's text to a binary, or, with `text` or where the compiler makes no
 * binary, to PTX. NOT_FOUND: there is no compiler; UNSUPPORTED: it does not know the
 * device; DEVICE: the kernel does not compile.
 */
mts_status mts_cu_compile(mts_cu_builder *builder, const mts_kernel_source *source, const char *options,
                          bool text, mts_cu_image *out, mts_error *error);
void mts_cu_image_release(const mts_cu_builder *builder, mts_cu_image *image);

/* ---- cache.c ---- */

/* The key of a program, or of its PTX, which fits every driver; release it with
 * mts_alloc_free. NULL: no memory. */
char *mts_cu_cache_key(const mts_cu_builder *builder, bool text, const mts_kernel_source *source,
                       const char *options);
/* False: a miss, for whatever reason. */
bool mts_cu_cache_load(mts_cu_builder *builder, bool text, const char *key, mts_cu_image *image);
/* Failures are counted and logged; a caller that needs the file looks at the result. */
mts_status mts_cu_cache_store(mts_cu_builder *builder, const char *key, const mts_cu_image *image);

/* ---- offline.c ---- */

/* A device "sm_62" that only makes programs, as PTX. */
mts_status mts_cu_offline_open(const char *name, const mts_device_options *options, mts_device **out,
                               mts_error *error);

#endif
