/*
 * types.h: the plain types of the public API, without a function.
 *
 * Programs include mts.h, which includes this file. Every module of the library uses these types as
 * they are.
 *
 * A struct that begins with `size` may get further fields at its end in later versions. The caller
 * sets `size` to sizeof of the struct. A struct that is a part of others or an element of arrays
 * keeps its size. mts_tensor, mts_region and mts_cache_use are such structs, and have no `size`.
 */
#ifndef MTS_TYPES_H
#define MTS_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* Marks a function that a library exports. */
#if defined(__GNUC__)
#define MTS_API __attribute__((visibility("default")))
#else
#define MTS_API
#endif

/* The largest number of dimensions of a tensor. */
#define MTS_TENSOR_RANK_MAX 6

/* What every function that can fail returns. */
typedef enum mts_status {
    /* The call did what it says. */
    MTS_STATUS_OK = 0,
    /* The caller made a mistake: an argument is NULL, out of range or contradicts another one. */
    MTS_STATUS_INVALID_ARGUMENT = 1,
    /* The host or the device has not enough memory. */
    MTS_STATUS_OUT_OF_MEMORY = 2,
    /* A file cannot be read or written. */
    MTS_STATUS_IO = 3,
    /* A file contradicts its format. */
    MTS_STATUS_MALFORMED = 4,
    /* The request is valid, but this library or this device does not support it. */
    MTS_STATUS_UNSUPPORTED = 5,
    /* There is no such task, input, output, device or file. */
    MTS_STATUS_NOT_FOUND = 6,
    /* The request exceeds a limit of the options or of the device. */
    MTS_STATUS_LIMIT = 7,
    /* A driver call or a kernel build failed. */
    MTS_STATUS_DEVICE = 8,
    /* The device was lost. Every later call fails with this status: destroy everything and create a
       new runtime. */
    MTS_STATUS_DEVICE_LOST = 9,
    /* The call cannot be done now, and does not wait. Try again later. */
    MTS_STATUS_BUSY = 10,
    /* The time limit of the call has passed. What the call waited for goes on. */
    MTS_STATUS_TIMEOUT = 11,
    /* A callback or another call cancelled the operation. */
    MTS_STATUS_CANCELLED = 12,
    /* A defect of this library. Please report it. */
    MTS_STATUS_INTERNAL = 13
} mts_status;

/* How much a sentence of the log matters. */
typedef enum mts_log_severity {
    /* A call failed. */
    MTS_LOG_ERROR = 0,
    /* A call succeeded, but something is not as it should be. */
    MTS_LOG_WARNING = 1,
    /* What the library decided. */
    MTS_LOG_INFO = 2,
    /* What only developers of the library need. */
    MTS_LOG_DEBUG = 3
} mts_log_severity;

/* Whether an optional feature of a driver is used. Outputs keep to the tolerance of mts.h either
   way. */
typedef enum mts_use {
    /* Used where it is known to be faster on the device (default). */
    MTS_USE_AUTO = 0,
    /* Never used. */
    MTS_USE_OFF = 1,
    /* Used wherever the driver has it. */
    MTS_USE_ON = 2
} mts_use;

/* How a device's queue stands to other work of the same GPU, as the screen's. Hints: a driver that
   does not know them ignores them, and so do devices that are not OpenCL's. */
typedef enum mts_queue_mode {
    /* As the driver chooses (default). */
    MTS_QUEUE_DEFAULT = 0,
    /* Other work comes first, and clocks stay low to save power. */
    MTS_QUEUE_BACKGROUND = 1,
    /* Other work comes first; clocks are high. A GPU's queue is flushed every 4 launches where
       neither mts_runtime_options.flush_launches nor what is known of the driver says another
       number, so that the screen can be drawn between them. */
    MTS_QUEUE_SMOOTH = 2,
    /* Before other work, with high clocks. */
    MTS_QUEUE_FAST = 3
} mts_queue_mode;

/* Type of the numbers of a tensor. */
typedef enum mts_type {
    /* IEEE 754, 32 bits. */
    MTS_TYPE_FLOAT32 = 0,
    /* IEEE 754, 16 bits. */
    MTS_TYPE_FLOAT16 = 1,
    /* Signed, 32 bits. */
    MTS_TYPE_INT32 = 2,
    /* Signed, 64 bits. */
    MTS_TYPE_INT64 = 3,
    /* Unsigned, 8 bits. */
    MTS_TYPE_UINT8 = 4,
    /* One byte, 0 or 1. */
    MTS_TYPE_BOOL = 5,
    /* IEEE 754, 64 bits. */
    MTS_TYPE_FLOAT64 = 6,
    /* Signed, 8 bits. */
    MTS_TYPE_INT8 = 7,
    /* Unsigned, 16 bits. */
    MTS_TYPE_UINT16 = 8,
    /* Signed, 16 bits. */
    MTS_TYPE_INT16 = 9
} mts_type;

/* A view of a dense, row-major array. It does not own the memory. */
typedef struct mts_tensor {
    /* First number. */
    void *data;
    /* Bytes at `data`. */
    size_t bytes;
    /* Type of each number. */
    mts_type type;
    /* Number of dimensions, 0..MTS_TENSOR_RANK_MAX. */
    uint32_t rank;
    /* Numbers in each dimension, the slowest first. Only the first `rank` elements are read. */
    int64_t dims[MTS_TENSOR_RANK_MAX];
} mts_tensor;

/* How the pixels of a frame lie in memory. */
typedef enum mts_pixel_format {
    /* Red, green, blue: 3 bytes a pixel. */
    MTS_PIXEL_FORMAT_RGB = 0,
    /* Blue, green, red: 3 bytes a pixel. */
    MTS_PIXEL_FORMAT_BGR = 1,
    /* Red, green, blue, alpha: 4 bytes a pixel. Alpha is not read. */
    MTS_PIXEL_FORMAT_RGBA = 2,
    /* Blue, green, red, alpha: 4 bytes a pixel. Alpha is not read. */
    MTS_PIXEL_FORMAT_BGRA = 3,
    /* Brightness: 1 byte a pixel. */
    MTS_PIXEL_FORMAT_GREY = 4,
    /* A plane of Y, 1 byte a pixel, and a plane of pairs U V, one pair for 2 x 2 pixels. The plane
       of pairs has (width + 1) / 2 columns and (height + 1) / 2 rows. */
    MTS_PIXEL_FORMAT_NV12 = 5,
    /* Like NV12, but with pairs V U. */
    MTS_PIXEL_FORMAT_NV21 = 6,
    /* A plane of Y, a plane of U, a plane of V. Columns and rows of U and V are those of NV12's
       pairs. */
    MTS_PIXEL_FORMAT_I420 = 7,
    /* Y U Y V: 4 bytes for two pixels. A row has (width + 1) / 2 such quadruples. */
    MTS_PIXEL_FORMAT_YUYV = 8,
    /* U Y V Y: 4 bytes for two pixels. A row has (width + 1) / 2 such quadruples. */
    MTS_PIXEL_FORMAT_UYVY = 9
} mts_pixel_format;

/* How Y, U, V become red, green, blue. Formats without U and V ignore it. */
typedef enum mts_yuv {
    /* BT.601 with Y from 16 to 235: most cameras (default). */
    MTS_YUV_BT601 = 0,
    /* BT.601 with Y from 0 to 255: JPEG and many phones. */
    MTS_YUV_BT601_FULL = 1,
    /* BT.709 with Y from 16 to 235: HD video. */
    MTS_YUV_BT709 = 2,
    /* BT.709 with Y from 0 to 255. */
    MTS_YUV_BT709_FULL = 3
} mts_yuv;

/* What kind of memory a frame lies in. */
typedef enum mts_memory_kind {
    /* Memory of the process, at mts_frame.data (default). */
    MTS_MEMORY_HOST = 0,
    /* A Linux dma-buf, or shared memory that is sealed against shrinking (F_SEAL_SHRINK), named
       by mts_frame.fd. */
    MTS_MEMORY_DMABUF = 1,
    /* An AHardwareBuffer, mts_frame.buffer, whose pixels lie in rows. */
    MTS_MEMORY_ANDROID = 2
} mts_memory_kind;

/* Clockwise rotation that makes a frame upright. */
typedef enum mts_rotation {
    /* None (default). */
    MTS_ROTATION_0 = 0,
    /* A quarter turn. */
    MTS_ROTATION_90 = 90,
    /* Half a turn. */
    MTS_ROTATION_180 = 180,
    /* Three quarter turns. */
    MTS_ROTATION_270 = 270
} mts_rotation;

/* How a region fits into an input of another aspect ratio. */
typedef enum mts_fit {
    /* Each task has the fit and the bar colour that its task list gives (mtsc_task.fit, fill). The
       fit is STRETCH where the list gives none (default). */
    MTS_FIT_TASK = 0,
    /* The region covers the whole input. */
    MTS_FIT_STRETCH = 1,
    /* The region keeps its aspect ratio and lies in the middle. Bars have the colour `fill`. */
    MTS_FIT_LETTERBOX = 2,
    /* The same, but the region lies in the upper left corner. */
    MTS_FIT_LETTERBOX_CORNER = 3,
    /* The input shows the largest centred part of the region that has the input's aspect ratio. */
    MTS_FIT_CROP = 4
} mts_fit;

/* How a region is resized to an input. */
typedef enum mts_filter {
    /* Each task has the filter that its task list gives (mtsc_task.filter). The filter is BILINEAR
       where the list gives none (default). */
    MTS_FILTER_TASK = 0,
    /* Mean of the four nearest pixels, weighted by distance. */
    MTS_FILTER_BILINEAR = 1,
    /* Mean of all pixels that an input pixel covers. Where the region is enlarged in one direction,
       the filter is bilinear in that direction. */
    MTS_FILTER_AREA = 2
} mts_filter;

/* What a region shows outside of the frame. */
typedef enum mts_outside {
    /* The colour `fill` (default). */
    MTS_OUTSIDE_FILL = 0,
    /* The nearest pixel of the frame. */
    MTS_OUTSIDE_EDGE = 1
} mts_outside;

/* A part of a frame, and how it becomes an input. All zeros: the part that each task sees
   (mtsc_task.crop), else the whole frame, with the fit and the filter of each task. */
typedef struct mts_region {
    /* First column and row, in pixels of the frame as it lies in memory. */
    uint32_t x, y;
    /* Columns and rows. If width and sides[0] are 0, each task sees the part of the frame that its
       task list gives (mtsc_task.crop), or the whole frame where the list gives none. */
    uint32_t width, height;
    /* Rotation after cropping. */
    mts_rotation rotation;
    /* 1: left and right are swapped after the rotation. 0 (default): they are not. */
    uint32_t mirror;
    /* What happens to the aspect ratio. */
    mts_fit fit;
    /* What happens to the size. */
    mts_filter filter;
    /* Red, green, blue of letterbox bars, 0..255. The fourth byte is not read. */
    uint8_t fill[4];
    /* `middle`, `sides` and `angle` select a rectangle at any place and angle. It may reach beyond
       the frame. It replaces x, y, width and height, which must be 0 then. `middle` is its centre,
       in pixels of the frame as it lies in memory. The centre of the first pixel is 0.5, 0.5. */
    float middle[2];
    /* Width and height of this rectangle in pixels, up to 65536. sides[0] 0 (default): there is no
       such rectangle, and x, y, width and height select the part. */
    float sides[2];
    /* Clockwise angle of this rectangle in radians, from -65536 to 65536. `rotation` and `mirror`
       are applied after it. */
    float angle;
    /* What the rectangle shows outside of the frame. */
    mts_outside outside;
    /* Zeros. Later versions may give them a meaning; this one refuses others. */
    uint32_t reserved[5];
} mts_region;

/*
 * One camera image. mts_frame_default fills it; the caller then sets data, width, height, format.
 * docs/FRAMES.md explains which frames are read without a copy.
 */
typedef struct mts_frame {
    /* sizeof(mts_frame). */
    size_t size;
    /* HOST: address of the first pixel of the first plane. */
    const void *data;
    /* Pixels, 1..16384. */
    uint32_t width, height;
    /* Bytes from row to row; 0: rows are dense. All planes together span at most 2^31 - 1 bytes. */
    uint32_t stride;
    /* How the pixels lie. */
    mts_pixel_format format;
    /* HOST: further planes. NV12, NV21: [0] is the pairs. I420: [0] is U, [1] is V. NULL: the plane
       begins right after the plane before it, whose bytes are its rows times its stride. */
    const void *chroma[2];
    /* Bytes from row to row of these planes; 0: rows are dense. */
    uint32_t chroma_stride[2];
    /* How Y, U, V become colours. */
    mts_yuv yuv;
    /* The part that an input shows, unless mts_session_regions has set others. */
    mts_region region;
    /* 0 (default): the library reads HOST memory during the call only. 1: the device reads it in
       place if it can, and the caller keeps it valid and unchanged until the run is consumed or
       dropped. */
    uint32_t zero_copy;
    /* What kind of memory the pixels lie in. The caller keeps memory other than HOST valid and
       unchanged until the run is consumed or dropped. If the device cannot read it
       (mts_device_desc.reads), the processor copies it during the call. */
    mts_memory_kind memory;
    /* ANDROID: the AHardwareBuffer. */
    const void *buffer;
    /* DMABUF: the descriptor. The caller owns it, and may close it after the call. */
    int fd;
    /* DMABUF and ANDROID: bytes from the start of the memory to each plane. For the second and the
       third plane, 0 means that the plane begins right after the plane before it. */
    uint32_t offsets[3];
} mts_frame;

/* How a group of tasks is executed. Outputs keep to the tolerance of mts.h with each of them. */
typedef enum mts_strategy {
    /* Models run one by one, each with its own weights. */
    MTS_STRATEGY_SEQUENTIAL = 0,
    /* Models are stitched (default): shared blocks of weights are stored once, and no redundant
       product is computed. */
    MTS_STRATEGY_COMPACT = 1,
    /* For comparison: one launch computes a layer of all tasks. Each task has its own weights, and
       narrower layers are padded with zeros. Tasks of unequal batch are not grouped. */
    MTS_STRATEGY_NETFUSE = 2,
    /* For comparison: tasks of equal structure become one dense network with blocks of zeros. Other
       tasks run alone, and mts_session_explain says why. */
    MTS_STRATEGY_DENSE = 3
} mts_strategy;

/* What a submission does while all frames_in_flight slots are in use. */
typedef enum mts_when_full {
    /* It fails with BUSY (default). */
    MTS_WHEN_FULL_BUSY = 0,
    /* It waits until the oldest run has finished. This requires `done`. */
    MTS_WHEN_FULL_BLOCK = 1,
    /* It drops the oldest submission that is not on the device: a frame that waits, or a finished
       run that was not consumed. This requires at least 2 slots. */
    MTS_WHEN_FULL_DROP_OLDEST = 2
} mts_when_full;

/* How tasks that can be stitched are divided into groups. A group runs as one. */
typedef enum mts_grouping {
    /* All tasks that can be stitched together are one group (default). */
    MTS_GROUPING_FAMILY = 0,
    /* The groups that are fastest on this device within memory_budget. The library measures sets
       of tasks while it creates the session. This takes seconds, unless a cache has the plan. */
    MTS_GROUPING_MEASURED = 1
} mts_grouping;

/*
 * How the device stores and multiplies numbers. Types of inputs and outputs do not change. Float16
 * halves the bytes of weights and activations and has 11 significant bits: docs/PRECISION.md.
 */
typedef enum mts_precision {
    /* Everything is float32. */
    MTS_PRECISION_FLOAT32 = 0,
    /* Weights and activations are float16, arithmetic is float32. */
    MTS_PRECISION_FLOAT16_STORAGE = 1,
    /* As FLOAT16_STORAGE, and convolutions multiply in float16. They sum at most 8 products in
       float16 before they go on in float32. All other arithmetic is float32. A device without fast
       float16 uses FLOAT16_STORAGE instead. */
    MTS_PRECISION_FLOAT16 = 2,
    /* FLOAT16 on a phone's GPU that says it is fast at it, FLOAT32 elsewhere (default of a session).
       A network that float16 cannot hold (a weight above 65504, positions above 2048) runs in
       FLOAT32, and so does a session on several devices. Numbers that become too large during a run
       are infinite, as with FLOAT16: mts_session_find_overflow. The statistics of the session say
       which of both it is. */
    MTS_PRECISION_AUTO = 3
} mts_precision;

/* How often the files of one kind in the cache directory were used. */
typedef struct mts_cache_use {
    /* Look-ups that found a file and used it, and look-ups that did not. */
    uint32_t hits, misses;
    /* Those misses for which a file was found but not used: it is damaged, outdated, or not one of
       this library's. */
    uint32_t rejected;
    /* Files that were written. */
    uint32_t written;
    /* Files that could not be written. */
    uint32_t failed;
} mts_cache_use;

/* One launch of a run, measured. Texts live as long as the session. */
typedef struct mts_launch_profile {
    /* sizeof(mts_launch_profile). The caller sets it in the first element of an array. Elements are
       that many bytes apart. */
    size_t size;
    /* What it computes: "conv 3x3", "fc", "pool", "space to depth". */
    char kind[32];
    /* Kind, number of computations and name of the layer. */
    const char *label;
    /* Name of the kernel. */
    const char *kernel;
    /* Task group, see mts_task_stats.group; UINT32_MAX: the launch works for several groups. */
    uint32_t group;
    /* Computations in this launch, and tasks that use their results. */
    uint32_t computations, tasks;
    /* Multiply-adds. */
    uint64_t mul_adds;
    /* The least number of bytes that have to be moved: each distinct input, weight and output
       counts once. If several launches compute one layer, one of them has the bytes of the whole
       layer, and the others have 0. */
    uint64_t bytes;
    /* When it starts: milliseconds on the device's clock since the run was submitted. */
    double start_ms;
    /* How long it takes: milliseconds on the device's clock. */
    double duration_ms;
    /* Work-groups: the pieces that the device's compute units share. Fewer than units, or a few more
       than a multiple of them, leave units idle. */
    uint32_t tiles;
} mts_launch_profile;

/* Most threads of a runtime (mts_runtime_options.threads). */
#define MTS_THREADS_MOST 256u

/* A device that can be opened. */
typedef struct mts_device_desc {
    /* sizeof(mts_device_desc), set by the caller. */
    size_t size;
    /* What mts_runtime_options.device takes: "cuda:0", "opencl:0", "cpu", "reference". */
    char id[32];
    /* Name of the hardware; of "cpu" with the instruction set of its kernels, "AMD EPYC (v4)". */
    char name[128];
    /* Version of the driver. */
    char driver[128];
    /* 1: a GPU. 0: another device. */
    uint32_t is_gpu;
    /* Compute units, as the driver counts them; of "cpu" its threads. */
    uint32_t compute_units;
    /* Number of floats in the vectors that kernels use. */
    uint32_t vector_floats;
    /* Bytes of device memory. */
    uint64_t memory_bytes;
    /* Kinds of memory that it reads without a copy: bit 1 << kind for each mts_memory_kind. */
    uint32_t reads;
} mts_device_desc;

/* How the cache directory was used since the runtime was created. */
typedef struct mts_cache_stats {
    /* sizeof(mts_cache_stats), set by the caller. */
    size_t size;
    /* Kernel binaries; plans of sessions; measured kernel configurations. */
    mts_cache_use programs, plans, tunings;
    /* Kernels that were built from source, with or without a cache. */
    uint32_t programs_built;
    /* Kernel variants that did not build or run, now or according to a cache. */
    uint32_t variants_skipped;
} mts_cache_stats;

/* The highest rates that were measured on a device. A session's rates can be compared with them. */
typedef struct mts_ceilings {
    /* sizeof(mts_ceilings), set by the caller. */
    size_t size;
    /* Floating-point operations a second, in units of 1e9. A multiply-add counts as two. */
    double gflops;
    /* Bytes a second in units of 1e9: those that a copy in device memory reads, plus those that it
       writes. */
    double copy_gbps;
} mts_ceilings;

/* An input or an output of a task. Strings live as long as the bundle. */
typedef struct mts_port_desc {
    /* sizeof(mts_port_desc), set by the caller. */
    size_t size;
    /* Name in the model. */
    const char *name;
    /* Type of its numbers. */
    mts_type type;
    /* Number of dimensions. */
    uint32_t rank;
    /* Numbers in each dimension, the slowest first. */
    int64_t dims[MTS_TENSOR_RANK_MAX];
} mts_port_desc;

/* A task of a bundle. Strings and arrays live as long as the bundle. */
typedef struct mts_task_desc {
    /* sizeof(mts_task_desc), set by the caller. */
    size_t size;
    /* Its name, by which calls name the task. */
    const char *name;
    /* Number of inputs and of outputs. */
    uint32_t input_count, output_count;
    /* 1: input 0 is an image or a batch of images, and the bundle has its preprocessing. 0: it is a
       tensor. */
    uint32_t takes_frames;
    /* Number of labels. They name the classes of output 0. */
    uint32_t label_count;
    /* The labels. */
    const char *const *labels;
    /* Number of classes of the data set that mts eval uses. */
    uint32_t class_count;
    /* For each class of the data set, the index of this task's label. */
    const uint32_t *class_map;
    /* What MTS_FIT_TASK and MTS_FILTER_TASK stand for in frames of this task. */
    mts_fit fit;
    mts_filter filter;
    /* Red, green, blue of letterbox bars that `fit` makes. */
    uint8_t fill[4];
    /* Not used, 0. */
    uint32_t reserved;
    /* Left, top, width and height of the part of a frame that the task sees where a region says the
       whole frame. Parts of the frame's width and height, 0..1. All 0: the whole frame. */
    float crop[4];
} mts_task_desc;

/* Form of a report. */
typedef enum mts_report {
    /* Lines for people. */
    MTS_REPORT_TEXT = 0,
    /* One JSON object. */
    MTS_REPORT_JSON = 1,
    /* A graph for Graphviz. */
    MTS_REPORT_DOT = 2
} mts_report;

/* What happened to the submissions of a session. docs/ASYNC.md explains frames in flight. */
typedef struct mts_flow {
    /* sizeof(mts_flow), set by the caller. */
    size_t size;
    /* Submissions that got a ticket: the sum of the four numbers below. */
    uint64_t submitted;
    /* Runs that finished and were consumed. */
    uint64_t completed;
    /* Frames that were dropped or cancelled before they ran, and finished runs that were dropped
       before they were consumed. */
    uint64_t dropped;
    /* Runs that ended with an error. */
    uint64_t failed;
    /* Submissions that wait, are on the device, or have finished and were not consumed. */
    uint32_t in_flight;
} mts_flow;

/* How the runs of a task went. */
typedef struct mts_task_stats {
    /* sizeof(mts_task_stats), set by the caller. */
    size_t size;
    /* Runs that were consumed. */
    uint64_t runs;
    /* Milliseconds of a run: median and 95th percentile of the last 128 runs; 0: no run yet. The
       time begins with the submission. It ends with the call that finds the run finished. If the
       run has a deadline, it ends with the call that finds the task's group finished. */
    double p50_ms, p95_ms;
    /* Task group of the task, 0..mts_session_stats.groups - 1. Groups run in this order. */
    uint32_t group;
} mts_task_stats;

/* What a session needs, and how it was planned. */
typedef struct mts_session_stats {
    /* sizeof(mts_session_stats), set by the caller. */
    size_t size;
    /* Weights on the device. */
    uint64_t weight_bytes;
    /* Activations, with inputs and outputs. */
    uint64_t activation_bytes;
    /* Kernel parameters and scratch memory. */
    uint64_t workspace_bytes;
    /* All of these together. */
    uint64_t peak_bytes;
    /* Multiply-adds of a run. */
    uint64_t mul_adds;
    /* Launches of a run. The launch that turns a frame into inputs is not counted. */
    uint32_t launches;
    /* Task groups. */
    uint32_t groups;
    /* Distinct kernels. */
    uint32_t kernels;
    /* The precision that is in use, never AUTO. */
    mts_precision precision;
    /* Time that mts_session_create took to decide, by measuring or by reading a cache. */
    double planning_ms;
    /* Latency of a run that the planner predicted; 0: it measured nothing. */
    double predicted_ms;
    /* Launches of a run of all tasks in the persistent form (mts_session_options.persistent);
       0: the session has none. */
    uint32_t persistent_launches;
} mts_session_stats;

#endif
