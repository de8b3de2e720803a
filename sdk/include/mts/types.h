/*
 * types.h: the plain types of the public API, without a function.
 *
 * Programs include mts.h, which includes this file. Every module of the library uses these types as
 * they are.
 *
 * A struct that begins with `size` may get further fields at its end in later versions. The caller
 * sets `size` to sizeof of the struct. mts_tensor, mts_region and mts_cache_use have no size: they
 * are parts of other structs and of arrays, and their layout is fixed.
 */
#ifndef MTS_TYPES_H
#define MTS_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* Most dimensions of a tensor. */
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
    /* The device was lost. Every later call fails so: destroy everything, create a new runtime. */
    MTS_STATUS_DEVICE_LOST = 9,
    /* The call would have to wait, and does not. Try again later. */
    MTS_STATUS_BUSY = 10,
    /* The time limit of the call passed first. What it waited for goes on. */
    MTS_STATUS_TIMEOUT = 11,
    /* A callback or a call cancelled it. */
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

/* Whether an optional feature of a driver is used. Outputs are the same within the tolerance. */
typedef enum mts_use {
    /* Used where it is known to be faster on the device (default). */
    MTS_USE_AUTO = 0,
    /* Never used. */
    MTS_USE_OFF = 1,
    /* Used wherever the driver has it. */
    MTS_USE_ON = 2
} mts_use;

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
    MTS_TYPE_FLOAT64 = 6
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
    /* Numbers in each dimension, the slowest first. Those from `rank` on are not read. */
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
    /* A plane of Y, 1 byte a pixel, and a plane of pairs U V, one for 2 x 2 pixels. A plane of
       colour has (width + 1) / 2 columns and (height + 1) / 2 rows, also below. */
    MTS_PIXEL_FORMAT_NV12 = 5,
    /* As NV12 with pairs V U. */
    MTS_PIXEL_FORMAT_NV21 = 6,
    /* A plane of Y, a plane of U, a plane of V. */
    MTS_PIXEL_FORMAT_I420 = 7,
    /* Y U Y V: 4 bytes for each two pixels of a row, (width + 1) / 2 times. */
    MTS_PIXEL_FORMAT_YUYV = 8,
    /* U Y V Y: 4 bytes for each two pixels of a row, (width + 1) / 2 times. */
    MTS_PIXEL_FORMAT_UYVY = 9
} mts_pixel_format;

/* How Y, U, V become red, green, blue. Other formats ignore it. */
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
    /* A Linux dma-buf, mts_frame.fd. */
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
    /* The region covers the whole input (default). */
    MTS_FIT_STRETCH = 0,
    /* The region keeps its aspect ratio and lies in the middle. Bars have the colour `fill`. */
    MTS_FIT_LETTERBOX = 1
} mts_fit;

/* How a region is resized to an input. */
typedef enum mts_filter {
    /* Mean of the four nearest pixels, weighted by distance (default). */
    MTS_FILTER_BILINEAR = 0,
    /* Mean of all pixels that an input pixel covers. In a direction in which the region is enlarged
       it is bilinear. */
    MTS_FILTER_AREA = 1
} mts_filter;

/* A part of a frame, and how it becomes an input. All zero: the whole frame, stretched. */
typedef struct mts_region {
    /* First column and row, in pixels of the frame as it lies in memory. */
    uint32_t x, y;
    /* Columns and rows. width 0: the whole frame. */
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
} mts_region;

/*
 * One camera image. mts_frame_default fills it; the caller then sets data, width, height, format.
 * docs/FRAMES.md explains which frames are read without a copy.
 */
typedef struct mts_frame {
    /* sizeof(mts_frame). */
    size_t size;
    /* HOST: the first pixel of the first row, of the first plane. */
    const void *data;
    /* Pixels, 1..16384. */
    uint32_t width, height;
    /* Bytes from row to row; 0: rows are dense. All planes together span at most 2^31 - 1 bytes. */
    uint32_t stride;
    /* How the pixels lie. */
    mts_pixel_format format;
    /* HOST: further planes. NV12, NV21: [0] is the pairs. I420: [0] is U, [1] is V. NULL: the plane
       follows `height` strides behind the start of the plane before it. */
    const void *chroma[2];
    /* Bytes from row to row of these planes; 0: rows are dense. */
    uint32_t chroma_stride[2];
    /* How colours of Y, U, V are computed. */
    mts_yuv yuv;
    /* What an input shows, unless mts_session_regions is in force. */
    mts_region region;
    /* 0 (default): memory of the process is read during the call only. 1: the caller keeps it
       valid and unchanged until the run was completed or dropped; the device reads it in place if
       it can. */
    uint32_t zero_copy;
    /* What kind of memory. The caller keeps memory other than HOST valid and unchanged until the
       run was completed or dropped. Where the device cannot read it (mts_device_desc.reads), the
       processor copies it during the call. */
    mts_memory_kind memory;
    /* ANDROID: the AHardwareBuffer. */
    const void *buffer;
    /* DMABUF: the descriptor. The caller owns it, and may close it after the call. */
    int fd;
    /* DMABUF and ANDROID: bytes from the start of the memory to each plane. 0 of the second and
       third plane: it follows the plane before it, as with `chroma`. */
    uint32_t offsets[3];
} mts_frame;

/* How a group of tasks is executed. Outputs are the same within the tolerance. */
typedef enum mts_strategy {
    /* Models run one by one, each with its own weights. */
    MTS_STRATEGY_SEQUENTIAL = 0,
    /* Models are stitched: shared blocks of weights are stored once, no product is redundant
       (default). */
    MTS_STRATEGY_COMPACT = 1,
    /* For comparison: a layer of all tasks is one launch, each task has its own weights, and
       narrower layers are padded with zeros. Unequal batches are not grouped. */
    MTS_STRATEGY_NETFUSE = 2,
    /* For comparison: tasks of equal structure are one dense network with blocks of zeros. Other
       tasks run alone; mts_session_explain says why. */
    MTS_STRATEGY_DENSE = 3
} mts_strategy;

/* Which of the tasks that can be stitched run as one group. */
typedef enum mts_grouping {
    /* All of them (default). */
    MTS_GROUPING_FAMILY = 0,
    /* The fastest groups on this device within memory_budget. The library measures sets of tasks
       while it creates the session. This takes seconds, unless a cache has the plan. */
    MTS_GROUPING_MEASURED = 1
} mts_grouping;

/*
 * How the device stores and multiplies numbers. Types of inputs and outputs do not change. Float16
 * halves the bytes of weights and activations and has 11 significant bits: docs/PRECISION.md.
 */
typedef enum mts_precision {
    /* Everything is float32 (default). */
    MTS_PRECISION_FLOAT32 = 0,
    /* Weights and activations are float16, arithmetic is float32. */
    MTS_PRECISION_FLOAT16_STORAGE = 1,
    /* Products of convolutions are float16 too where the device has fast ones; elsewhere this is
       FLOAT16_STORAGE. Up to 8 products are added in float16, all else in float32. */
    MTS_PRECISION_FLOAT16 = 2
} mts_precision;

/* How often the files of one kind in the cache directory were used. */
typedef struct mts_cache_use {
    /* Files that were found and used, and files that were not. */
    uint32_t hits, misses;
    /* Misses with a file that was damaged, foreign or outdated. */
    uint32_t rejected;
    /* Files that were written. */
    uint32_t written;
    /* Files that could not be written. */
    uint32_t failed;
} mts_cache_use;

/* One launch of a run, measured. Texts live as long as the session. */
typedef struct mts_launch_profile {
    /* sizeof(mts_launch_profile). The caller sets it in the first element of an array; it is the
       distance of the elements. */
    size_t size;
    /* What it computes: "conv 3x3", "fc", "pool", "space to depth". */
    char kind[32];
    /* Kind, number of computations and name of the layer. */
    const char *label;
    /* Name of the kernel. */
    const char *kernel;
    /* Group of tasks; UINT32_MAX: the launch works for several groups. */
    uint32_t group;
    /* Computations in this launch, and tasks that use their results. */
    uint32_t computations, tasks;
    /* Multiply-adds. */
    uint64_t mul_adds;
    /* Bytes that have to be moved at least: distinct inputs and weights once, outputs once. 0: part
       of a layer of several launches, one of which has the bytes of all. */
    uint64_t bytes;
    /* Milliseconds on the device's clock since the run was submitted. */
    double start_ms;
    /* Milliseconds on the device's clock. */
    double duration_ms;
} mts_launch_profile;

/* A device that can be opened. */
typedef struct mts_device_desc {
    /* sizeof(mts_device_desc), set by the caller. */
    size_t size;
    /* What mts_runtime_options.device takes: "cuda:0", "opencl:0", "reference". */
    char id[32];
    /* Name of the hardware. */
    char name[128];
    /* Version of the driver. */
    char driver[128];
    /* 1: a GPU. 0: another device. */
    uint32_t is_gpu;
    /* Compute units, as the driver counts them. */
    uint32_t compute_units;
    /* Floats of the vector that a kernel works on. */
    uint32_t vector_floats;
    /* Bytes of device memory. */
    uint64_t memory_bytes;
    /* Kinds of memory in which it reads frames without a copy: bit 1 << mts_memory_kind of each. */
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
    /* Kernel variants that did not build or run, or that a cache says do not. */
    uint32_t variants_skipped;
} mts_cache_stats;

/* What the device can do at most, to compare a session with. */
typedef struct mts_ceilings {
    /* sizeof(mts_ceilings), set by the caller. */
    size_t size;
    /* 1e9 floating-point operations a second. A multiply-add is two. */
    double gflops;
    /* 1e9 bytes a second that a copy in device memory reads and writes together. */
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
    /* Its name, by which sessions know it. */
    const char *name;
    /* Number of inputs and of outputs. */
    uint32_t input_count, output_count;
    /* 1: input 0 is an image or a batch of images whose preprocessing is known. 0: it is a tensor. */
    uint32_t takes_frames;
    /* Number of labels, which name the classes of output 0. */
    uint32_t label_count;
    /* The labels. */
    const char *const *labels;
    /* Number of classes of the data set that mts eval uses. */
    uint32_t class_count;
    /* For each of them, the label of this task. */
    const uint32_t *class_map;
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
    /* Submissions with a ticket: the sum of the following. */
    uint64_t submitted;
    /* Runs that finished and were taken. */
    uint64_t completed;
    /* Frames that did not run, and finished runs that were not taken in time. */
    uint64_t dropped;
    /* Runs that ended with an error. */
    uint64_t failed;
    /* Frames that wait, are on the device, or have finished and were not taken. */
    uint32_t in_flight;
} mts_flow;

/* How the runs of a task went. */
typedef struct mts_task_stats {
    /* sizeof(mts_task_stats), set by the caller. */
    size_t size;
    /* Runs that were taken. */
    uint64_t runs;
    /* Median and 95th percentile of the last 128 runs, from the submission of a frame to the call
       that found the run finished. With a deadline each group counts by itself. 0: no run yet. */
    double p50_ms, p95_ms;
    /* Task group of the task, 0..mts_session_stats.groups - 1, in the order in which groups run. */
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
    /* All of these. */
    uint64_t peak_bytes;
    /* Multiply-adds of a run. */
    uint64_t mul_adds;
    /* Launches of a run, without the one that converts a frame. */
    uint32_t launches;
    /* Task groups. */
    uint32_t groups;
    /* Distinct kernels. */
    uint32_t kernels;
    /* The precision that is in use. */
    mts_precision precision;
    /* Time in which mts_session_create decided: by measuring, or by reading a cache. */
    double planning_ms;
    /* Latency that the planner predicted; 0: nothing was measured. */
    double predicted_ms;
} mts_session_stats;

#endif
