/*
 * engine.h: a plan turned into buffers, kernels and one command list; and running it.
 *
 * mts_engine_create does all the work (stitch, plan, build kernels, pack and upload weights, record the
 * list); a run uploads inputs, submits the list and copies outputs: nothing is allocated or built (two
 * exceptions: the picture buffer grows when a larger frame comes, and a borrowed frame's memory is taken hold
 * of). Tasks are named by their index in the archive. Thread-safety: one thread at a time.
 */
#ifndef MTS_EXEC_ENGINE_H
#define MTS_EXEC_ENGINE_H

#include "bundle/archive.h"
#include "device/device.h"
#include "exec/cache.h"
#include "exec/precision.h"
#include "plan/strategy.h"

typedef struct mts_engine mts_engine;

typedef struct mts_engine_options {
    mts_strategy_kind strategy;
    mts_precision_kind precision; /* FLOAT16 becomes FLOAT16_STORAGE on a device without half_products */
    const uint32_t *tasks;        /* indices of the archive's tasks, distinct; NULL: all */
    uint32_t task_count;
    bool separate_inputs;
    bool lend_inputs; /* inputs stay in the caller's memory, see mts_engine_set_input */
    mts_grouping_kind grouping;
    uint64_t memory_budget;     /* bytes of weights, activations and tables; 0: no limit */
    const uint32_t *priorities; /* per task, the higher the earlier; NULL: all alike */
    uint32_t tuning_ms;         /* for measuring kernels; 0: the defaults */
    mts_cache *cache;           /* of decisions and tunings; may be NULL; outlives the call */
    void *context;
    int (*progress)(void *context, float fraction, const char *what); /* may be NULL; non-zero cancels */
} mts_engine_options;

/* A part of a picture, and how it comes into an input. width 0: everything. */
typedef struct mts_picture_region {
    uint32_t x, y, width, height;
    uint32_t turns;  /* quarter turns clockwise, 0..3, of what was cropped */
    bool mirror;     /* left and right swapped, after that */
    uint32_t fit;    /* MTS_FIT_KIND_ */
    uint32_t filter; /* MTS_FILTER_KIND_ */
    uint8_t fill[3]; /* red, green, blue of letterbox bars */
} mts_picture_region;

/* As the caller has them: nothing is allocated to hand them over. */
typedef struct mts_picture_regions {
    uint32_t count;
    mts_picture_region (*get)(const void *context, uint32_t index);
    const void *context;
} mts_picture_regions;

/* A picture in host memory; checked by the caller but for its region: strides large enough, all planes
 * together at most 2^31 - 1 bytes. Formats of one plane look at plane[0] only. */
typedef struct mts_picture {
    const void *plane[3]; /* NV12, NV21: the pairs are plane 1 */
    uint32_t stride[3];   /* bytes */
    uint32_t width, height;
    uint32_t format; /* MTS_PIXEL_ */
    uint32_t yuv;    /* MTS_YUV_KIND_ */
    mts_picture_region region;
    bool borrow; /* the memory stays as it is until mts_engine_wait returns */
} mts_picture;

typedef struct mts_engine_stats {
    uint64_t weight_bytes, activation_bytes, workspace_bytes, peak_bytes;
    uint64_t mul_adds;
    uint32_t launches, groups, kernels;
    mts_precision_kind precision; /* that is used */
    double predicted_ms;          /* what the grouping planner expected; 0 if nothing was measured */
    double planning_ms;           /* until everything was decided: measuring, or reading a cache */
} mts_engine_stats;

/* The device and the archive outlive the engine. */
mts_code mts_engine_create(mts_device *device, const mts_archive *archive, const mts_engine_options *options,
                           mts_engine **out, mts_error *error);
void mts_engine_destroy(mts_engine **engine);

/*
 * Enqueues an input's upload: row-major, of the port's dtype, `size` bytes exactly (else INVALID_ARGUMENT).
 * With lend_inputs only the address is kept; each run reads what lies there. An address other than the last
 * one makes the next run record its list anew, which allocates. A run before all were lent is
 * INVALID_ARGUMENT.
 */
mts_code mts_engine_set_input(mts_engine *engine, uint32_t task, uint32_t input, const void *data,
                              size_t size, mts_error *error);
/* Enqueues the preprocessing of a picture into input 0 of a task, or of every task that takes frames
 * (MTS_NONE). INVALID_ARGUMENT: a region that is going to be shown is not inside the picture. */
mts_code mts_engine_set_picture(mts_engine *engine, uint32_t task, const mts_picture *picture,
                                mts_error *error);
/* From now on image i of the batches shows region i of pictures, those from `count` on keep what they hold;
 * count 0: all show the picture's own region. INVALID_ARGUMENT: a batch has fewer images. */
mts_code mts_engine_set_regions(mts_engine *engine, uint32_t task, const mts_picture_regions *regions,
                                mts_error *error);
mts_code mts_engine_submit(mts_engine *engine, mts_error *error);
/* Waits for the run and fetches all outputs. */
mts_code mts_engine_wait(mts_engine *engine, mts_error *error);
/* An output of the last finished run, row-major, of the port's dtype; valid until the next submit. */
mts_code mts_engine_output(const mts_engine *engine, uint32_t task, uint32_t output, const void **data,
                           size_t *size, mts_error *error);
void mts_engine_stats_get(const mts_engine *engine, mts_engine_stats *stats);
/* Groups, launches with their members, memory; for people, or as a JSON object. */
void mts_engine_explain(const mts_engine *engine, bool json, mts_text *text);

#endif
