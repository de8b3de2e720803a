/*
 * types.h: the plain types of the public API, without a function: status codes, tensors, frames, strategies.
 *
 * Every module of the library uses these types as they are. Programs include mts.h, which includes this file.
 */
#ifndef MTS_TYPES_H
#define MTS_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* Most dimensions of a tensor. */
#define MTS_TENSOR_RANK_MAX 6

/* What every function that can fail returns. */
typedef enum mts_status {
    MTS_STATUS_OK = 0,
    MTS_STATUS_INVALID_ARGUMENT = 1, /* a mistake of the caller */
    MTS_STATUS_OUT_OF_MEMORY = 2,    /* of the host or the device */
    MTS_STATUS_IO = 3,               /* a file cannot be read or written */
    MTS_STATUS_MALFORMED = 4,        /* a file contradicts its format */
    MTS_STATUS_UNSUPPORTED = 5,      /* valid, but not something this library does */
    MTS_STATUS_NOT_FOUND = 6,        /* no such task, output, device or file */
    MTS_STATUS_LIMIT = 7,            /* over a limit of the options or the device */
    MTS_STATUS_DEVICE = 8,           /* a driver call or a kernel build failed */
    MTS_STATUS_DEVICE_LOST = 9,      /* sticky: destroy everything and create a new runtime */
    MTS_STATUS_BUSY = 10,
    MTS_STATUS_TIMEOUT = 11,
    MTS_STATUS_CANCELLED = 12,
    MTS_STATUS_INTERNAL = 13 /* a defect of this library: please report it */
} mts_status;

/* How much a sentence of the log matters. */
typedef enum mts_log_severity {
    MTS_LOG_ERROR = 0,
    MTS_LOG_WARNING = 1,
    MTS_LOG_INFO = 2,
    MTS_LOG_DEBUG = 3
} mts_log_severity;

/* Whether something optional of a driver is used. The outputs are the same within the tolerance. */
typedef enum mts_use {
    MTS_USE_AUTO = 0, /* where it is faster on the device, as far as that is known (default) */
    MTS_USE_OFF = 1,
    MTS_USE_ON = 2 /* where the driver can */
} mts_use;

/* Of the numbers of a tensor. */
typedef enum mts_type {
    MTS_TYPE_FLOAT32 = 0,
    MTS_TYPE_FLOAT16 = 1,
    MTS_TYPE_INT32 = 2,
    MTS_TYPE_INT64 = 3,
    MTS_TYPE_UINT8 = 4,
    MTS_TYPE_BOOL = 5,
    MTS_TYPE_FLOAT64 = 6
} mts_type;

/* Row-major, dense. */
typedef struct mts_tensor {
    void *data;
    size_t bytes; /* of data */
    mts_type type;
    uint32_t rank;
    int64_t dims[MTS_TENSOR_RANK_MAX];
} mts_tensor;

/* How the pixels of a frame lie in memory. */
typedef enum mts_pixel_format {
    MTS_PIXEL_FORMAT_RGB = 0, /* 3 bytes a pixel */
    MTS_PIXEL_FORMAT_BGR = 1,
    MTS_PIXEL_FORMAT_RGBA = 2, /* 4 bytes a pixel, alpha is not read */
    MTS_PIXEL_FORMAT_BGRA = 3,
    MTS_PIXEL_FORMAT_GREY = 4, /* 1 byte a pixel */
    /* Of these, two by two pixels share one colour (U, V): a plane of Y, 1 byte a pixel, and behind it colour
       of (width + 1) / 2 by (height + 1) / 2 */
    MTS_PIXEL_FORMAT_NV12 = 5, /* a plane of pairs U V */
    MTS_PIXEL_FORMAT_NV21 = 6, /* a plane of pairs V U */
    MTS_PIXEL_FORMAT_I420 = 7, /* a plane of U, a plane of V */
    /* Of these, two pixels of a row share one colour: 4 bytes for each (width + 1) / 2 */
    MTS_PIXEL_FORMAT_YUYV = 8,
    MTS_PIXEL_FORMAT_UYVY = 9
} mts_pixel_format;

/* How Y, U, V become red, green, blue. Limited: Y is 16..235. Other formats do not look at it. */
typedef enum mts_yuv {
    MTS_YUV_BT601 = 0,      /* limited; most cameras' and old video's (default) */
    MTS_YUV_BT601_FULL = 1, /* JPEG's, and that of many telephones */
    MTS_YUV_BT709 = 2,      /* limited; HD video's */
    MTS_YUV_BT709_FULL = 3
} mts_yuv;

/* Whose memory a frame lies in. */
typedef enum mts_memory_kind {
    MTS_MEMORY_HOST = 0,   /* the process's, at mts_frame.data (default) */
    MTS_MEMORY_DMABUF = 1, /* a Linux dma-buf, mts_frame.fd */
    MTS_MEMORY_ANDROID = 2 /* an AHardwareBuffer, mts_frame.buffer, whose pixels lie in rows */
} mts_memory_kind;

/* Clockwise, in degrees: what has to be done to a frame so that it is upright. */
typedef enum mts_rotation {
    MTS_ROTATION_0 = 0,
    MTS_ROTATION_90 = 90,
    MTS_ROTATION_180 = 180,
    MTS_ROTATION_270 = 270
} mts_rotation;

/* How a region comes into an input of another shape. */
typedef enum mts_fit {
    MTS_FIT_STRETCH = 0, /* over the whole input, whatever its shape (default) */
    MTS_FIT_LETTERBOX =
        1 /* as large as it fits in its own shape, in the middle; bars have the colour `fill` */
} mts_fit;

/* How a region comes into an input of another size. */
typedef enum mts_filter {
    MTS_FILTER_BILINEAR = 0, /* of the four pixels around a point (default) */
    MTS_FILTER_AREA = 1 /* the mean of all pixels that an input pixel covers; where it covers less than one
                           pixel's width or height, bilinear in that direction */
} mts_filter;

/* A part of a frame, and how it comes into an input. All zero: everything, stretched. */
typedef struct mts_region {
    uint32_t x, y, width, height; /* pixels of the frame as it lies in memory; width 0: everything */
    mts_rotation rotation;        /* after cropping */
    uint32_t mirror;              /* 1: left and right are swapped, after the rotation */
    mts_fit fit;
    mts_filter filter;
    uint8_t fill[4]; /* colour of letterbox bars: red, green, blue, 0..255; the fourth is not read */
} mts_region;

/* One picture. */
typedef struct mts_frame {
    size_t size;            /* sizeof(mts_frame) */
    const void *data;       /* first pixel of the first row; of planes, the first one; see `zero_copy` */
    uint32_t width, height; /* pixels, 1..16384 */
    uint32_t stride; /* bytes from row to row, at least those of a row's pixels; 0: dense. From the first to
                        the last byte of all planes together at most 2^31 - 1 (LIMIT) */
    mts_pixel_format format;
    const void *chroma[2];     /* NV12, NV21: [0] the pairs. I420: [0] U, [1] V. NULL: height (of the colour:
                                  (height + 1) / 2) strides behind the plane before */
    uint32_t chroma_stride[2]; /* likewise, bytes; 0: dense */
    mts_yuv yuv;
    mts_region region;  /* what an input shows, unless mts_session_regions says otherwise */
    uint32_t zero_copy; /* 0 (default): memory is read during the call only. 1: it stays as it is until the
                         run has been waited for; where the device reads host memory and the planes lie one
                         behind the other, from an address that is a multiple of 4, nothing is copied then.
                         Taking hold   of the memory may allocate */

    /*
     * Frames in memory of a camera or a decoder. Where the device can, it reads them where they lie
     * (mts_device_desc.reads); elsewhere the processor copies what is needed during the call. The memory
     * stays as it is until the run was taken or dropped, as if lent. The library holds the memories that it
     * saw last until the session is destroyed: a camera has few of them, and taking hold of one takes long.
     */
    mts_memory_kind memory;
    const void *buffer;  /* ANDROID */
    int fd;              /* DMABUF; stays the caller's, and may be closed after the call */
    uint32_t offsets[3]; /* of the planes in these two, bytes; 0 of the second and third: as with chroma,
                            behind the plane before. `data` and `chroma` are not looked at then */
} mts_frame;

/* How a group of tasks is executed. Outputs are the same within the tolerance. */
typedef enum mts_strategy {
    MTS_STRATEGY_SEQUENTIAL = 0, /* models one by one, each with its own weights */
    MTS_STRATEGY_COMPACT = 1,    /* stitched, shared blocks stored once, no redundant product (default) */
    MTS_STRATEGY_NETFUSE = 2, /* for comparison: layers of all tasks in one launch, each with its own weights,
                                 narrower ones padded with zeros; unequal batches are not grouped */
    MTS_STRATEGY_DENSE = 3    /* for comparison: tasks of equal structure as one dense network with blocks of
                               zeros; others run alone (mts_session_explain says why) */
} mts_strategy;

/* Which of the tasks that can be stitched run as one group. */
typedef enum mts_grouping {
    MTS_GROUPING_FAMILY = 0,  /* all of them (default); a session is made at once */
    MTS_GROUPING_MEASURED = 1 /* what is fastest on this device within memory_budget: sets of tasks are run
                                 and timed while the session is made, which takes seconds, unless a cache has
                                 the plan */
} mts_grouping;

/*
 * How numbers are stored and multiplied. What callers set and get stays of the port's type.
 *
 * Float16 halves the bytes of weights and activations. It has 11 significant bits, so what a layer stores is
 * off by up to 5e-4 of itself, and ends at 65504: a weight beyond is refused, an input or an activation
 * beyond becomes infinite, one below 6e-8 zero. What comes out of a trained classifier differs by about 1e-3
 * of an output's largest magnitude; `mts bench --precisions` prints it for a bundle, `mts eval --precision`
 * the accuracy. Outputs that are an input passed through are rounded too, constants are not.
 */
typedef enum mts_precision {
    MTS_PRECISION_FLOAT32 = 0,         /* default */
    MTS_PRECISION_FLOAT16_STORAGE = 1, /* activations and weights are float16, arithmetic is float32 */
    MTS_PRECISION_FLOAT16 = 2 /* also products of convolutions, where the device has fast ones, else as
                                 FLOAT16_STORAGE (mts_session_stats.precision tells). Up to 8 products are
                                 added in float16, beyond 65504 that is infinite; all else in float32 */
} mts_precision;

/* How often files of the cache directory were used, since the runtime was made. */
typedef struct mts_cache_use {
    uint32_t hits, misses;
    uint32_t rejected; /* misses with a file that was there, but damaged, foreign or outdated */
    uint32_t written;
    uint32_t failed; /* files that could not be written */
} mts_cache_use;

/* One launch of a run. */
typedef struct mts_launch_profile {
    size_t size;                  /* sizeof(mts_launch_profile), set by the caller in the first element */
    char kind[32];                /* what it computes: "conv 3x3", "fc", "pool", "space to depth" */
    const char *label;            /* kind, computations and the layer's name; lives as long as the session */
    const char *kernel;           /* likewise */
    uint32_t group;               /* of tasks; UINT32_MAX: serves several groups */
    uint32_t computations, tasks; /* that it does, and that they serve */
    uint64_t mul_adds;
    uint64_t bytes;  /* that have to be moved at least: distinct inputs and weights once, outputs once. 0: a
                        part of a layer that takes several launches, one of which has its bytes */
    double start_ms; /* on the device, after the run was handed to it */
    double duration_ms;
} mts_launch_profile;

#endif
