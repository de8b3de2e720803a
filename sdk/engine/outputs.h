/*
 * outputs.h: outputs from the arena to the caller.
 */
#ifndef MTS_ENGINE_OUTPUTS_H
#define MTS_ENGINE_OUTPUTS_H

#include "device/device.h"
#include "engine/tasks.h"

/* Outputs of all tasks as float32, each of the last run of its task that was consumed. */
typedef struct mts_outputs {
    mts_buffer *act;
    mts_precision precision;
    /* The region of outputs in the arena, elements. */
    uint64_t offset;
    size_t count;
    float *floats;
    /* The region of inputs, if one of them is passed through as an output; else 0 and
       NULL. */
    size_t input_count;
    float *input_floats;
    /* A run was consumed that did not fail. */
    bool valid;
    /* They are read where the device wrote them (mts_device_info.maps): there is one submission, so
       that no other run writes them meanwhile. Then the region of outputs is mapped behind a run,
       until the run is consumed. */
    bool in_place;
} mts_outputs;

/* Host memory that a submission reads both regions back to, as elements of the arena. */
typedef struct mts_readback {
    void *outputs, *inputs;
} mts_readback;

mts_status mts_readback_create(mts_readback *readback, mts_device *device, const mts_outputs *outputs,
                               mts_error *error);
void mts_readback_destroy(mts_readback *readback, mts_device *device);
/* Enqueues the copies of the active tasks' outputs. */
mts_status mts_outputs_read_async(const mts_outputs *outputs, const mts_engine_tasks *tasks,
                                  const uint32_t *active, const mts_readback *to, mts_error *error);
/* Before the next launches: the device has the region of outputs again. */
mts_status mts_outputs_hand_back(const mts_outputs *outputs, mts_error *error);
/* After they have arrived: makes them the outputs that the caller reads; inactive tasks
   keep theirs. */
void mts_outputs_take(mts_outputs *outputs, const mts_engine_tasks *tasks, const uint32_t *active,
                      const mts_readback *from);
#ifndef MTS_SMALL
/* Copies an output that can be read to the same output of another engine. */
void mts_outputs_carry(const mts_outputs *from, const mts_output_port *a, mts_outputs *to,
                       const mts_output_port *b);
#endif

#endif
