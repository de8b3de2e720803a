/*
 * engine.h: a plan turned into buffers, kernels and one command list; and running it.
 *
 * mts_engine_create does all the work (stitch, plan, build kernels, pack and upload weights, record the
 * list); a run uploads inputs, submits the list and copies outputs: nothing is allocated or built (one
 * exception: the picture buffer grows when a larger frame comes). Tasks are named by their index in the
 * archive. Thread-safety: one thread at a time.
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

/* A picture in host memory; checked by the caller: crop inside, stride large enough. */
typedef struct mts_picture {
    const void *data;
    uint32_t width, height, stride; /* stride in bytes */
    uint32_t format;                /* MTS_PIXEL_ */
    uint32_t crop_x, crop_y, crop_width, crop_height;
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
 * (MTS_NONE). */
mts_code mts_engine_set_picture(mts_engine *engine, uint32_t task, const mts_picture *picture,
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
