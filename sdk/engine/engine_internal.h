/*
 * engine_internal.h: the engine's own structures, shared by engine.c, upload.c and ports.c (making),
 * recording.c (the command list), submission.c, control.c and filter.c (running), zero_copy.c (inputs),
 * outputs.c (reports).
 */
#ifndef MTS_ENGINE_ENGINE_INTERNAL_H
#define MTS_ENGINE_ENGINE_INTERNAL_H

#include "engine/engine.h"
#include "lower/encode.h"
#include "engine/submission.h"
#include "engine/latency.h"
#include "frame/frames.h"
#include "engine/filter.h"

/* A graph input or output at the border. Offsets and counts are in elements of the session's precision. */
typedef struct engine_port {
    uint64_t offset;      /* elements from the arena's start; unused for a constant output */
    size_t count;         /* elements */
    mts_type dtype;       /* of the caller's data */
    uint32_t slot;        /* inputs: index of the slot */
    const void *constant; /* outputs: float32 data that never changes, or NULL */
    void *host; /* outputs: converted data of the caller's dtype, or NULL: float32 is read in place */
} engine_port;

typedef struct engine_task {
    uint32_t task; /* index in the archive */
    uint32_t group;
    uint32_t input_count, output_count;
    engine_port *inputs, *outputs;

    /* When it runs (control.c). */
    bool disabled;
    uint32_t every, pause; /* submissions from run to run, 0 as 1; those that still pass without it */
    uint64_t period, next; /* nanoseconds from run to run, 0: no limit; not before then */
    uint64_t fetched;      /* number of the run that its outputs are of; 0: none */
    mts_latencies latencies;
} engine_task;

/* Input data in the arena; several tasks may read it. Slots with equal `common` hold copies of one thing. */
typedef struct engine_slot {
    uint64_t offset;
    size_t count;
    uint32_t common;      /* a slot's number */
    uint32_t frame_input; /* index in `frames`; MTS_NONE: takes no frames */

    /* Of a slot whose data stays the caller's (zero_copy.c). */
    bool lent;
    mts_buffer *buffer; /* NULL until something is lent */
    bool uploaded;      /* the buffer is the device's own and written before every run */
    const float *data;
    float *floats; /* a caller's other type as float32, the engine's; NULL: never needed */
} engine_slot;

typedef struct engine_kernel {
    const char *name, *defines;
    mts_kernel *kernel;
} engine_kernel;

struct mts_engine {
    mts_device *device;
    const mts_archive *archive;
    const mts_allocator *allocator;
    mts_engine_options options; /* tasks is not kept */
    mts_arena arena;            /* ports, labels, names */

    engine_task *tasks;
    engine_slot *slots;
    uint32_t task_count, slot_count, group_count;
    const char *note; /* why tasks were not put into one group, or "" */

    mts_buffer *act, *pool, *table;
    engine_kernel *kernels;
    uint32_t kernel_count;
    bool cases[MTS_TILE_ROWS + 1][MTS_TILE_ROWS + 1]; /* that its tile kernels were built for */
    bool winograd_rows[MTS_WINOGRAD_ROWS + 1];
    uint32_t winograd_scratch;
    mts_encoded_launch *launches;
    mts_launch *recorded; /* what the list is made of */
    uint32_t launch_count;
    mts_command_list *list; /* NULL: to be recorded before the next run */
    bool stale;             /* the list names other buffers than `slots`: to be updated before the next run */
    uint64_t lendings;      /* how often a slot got another buffer */
    mts_engine_stats stats;

    float *outputs;    /* as float32, of the last run of each task that was taken */
    float *conversion; /* one input as float32 on its way to the device */
    size_t conversion_floats;
    uint16_t *halves; /* the same as float16; NULL: the arena is float32 */
    uint64_t output_offset;
    size_t output_floats;
    float *input_mirror; /* for outputs that are inputs passed through; NULL if there are none */
    size_t input_floats;

    /* Runs under way (submission.c). */
    engine_flight *flights; /* [places + spare] */
    engine_flight **queue;  /* [used], the oldest first; behind them the free ones, the next one first */
    uint32_t places, depth; /* runs under way at most; of them on the device at most */
    uint32_t spare;         /* 1: a flight more, for a frame that is prepared before another one is dropped */

    uint32_t used;

    uint64_t run; /* number of the last submission, from 1 */
    bool taken;   /* a run was, that did not fail */

    /* Which tasks run (control.c). */
    mts_subsets subsets;
    uint32_t deadline_ms; /* of runs that have not gone to the device */

    mts_frames frames;
};

/* Makes the command list if there is none, or updates a stale one. `stand_in` is read for what was not lent
   yet; NULL: that is an INVALID_ARGUMENT. */
mts_status mts_engine_record(mts_engine *engine, mts_buffer *stand_in, mts_error *error);
/* INVALID_ARGUMENT with the name of the first input that nobody lent. */
mts_status mts_engine_check_lent(const mts_engine *engine, mts_error *error);
/* Lent data to where the device sees it. */
mts_status mts_engine_upload_lent(const mts_engine *engine, mts_error *error);
/* Decides which tasks a flight runs. */
void mts_control_choose(const mts_engine *engine, engine_flight *flight);
/* Hands their launches over; with a deadline those of the first group that has something to do. */
mts_status mts_control_begin(mts_engine *engine, engine_flight *flight, mts_error *error);
/* Counts a flight that was handed over in the tasks' rates: the count goes on while a task is disabled, the
   clock does not. */
void mts_control_count(mts_engine *engine, const engine_flight *flight);
/* Whether a flight has further groups that nobody handed over yet. */
bool mts_control_is_parted(const mts_engine *engine, const engine_flight *flight);
/* Of one that has, and nothing else on the device: hands the next one over, or leaves the rest out where it
   is too late for them. */
mts_status mts_control_go_on(mts_engine *engine, engine_flight *flight, mts_error *error);
/* Enqueues the way of a flight's outputs back to the host. */
mts_status mts_outputs_fetch(mts_engine *engine, engine_flight *flight, mts_error *error);
/* Makes the outputs of a flight that has finished those of the engine. */
void mts_outputs_take(mts_engine *engine, engine_flight *flight);
/* Places for runs. */
mts_status mts_flights_make(mts_engine *engine, mts_error *error);
/* Nothing is on the device any more. */
void mts_flights_release(mts_engine *engine);
/* The place of the next submission, or NULL with BUSY: none is free, or a frame waits for its turn. */
engine_flight *mts_flight_next(const mts_engine *engine, mts_error *error);
bool mts_flights_on_device(const mts_engine *engine);
/* INVALID_ARGUMENT: no task of the session takes frames. */
mts_status mts_engine_check_frames(const mts_engine *engine, mts_error *error);
/* Tasks that a flight runs. */
uint32_t mts_flight_tasks(const mts_engine *engine, const engine_flight *flight);
/* What a run of all tasks needs: the list, and lent data where the device cannot see it. */
mts_status mts_engine_ready(mts_engine *engine, mts_error *error);
/* Takes the address of a lent slot's data, slot->count floats. */
mts_status mts_engine_lend(mts_engine *engine, engine_slot *slot, const float *data, mts_error *error);
void mts_engine_lent_release(mts_engine *engine);
engine_task *mts_engine_find(const mts_engine *engine, uint32_t task);
#endif
