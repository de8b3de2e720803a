/*
 * launches.h: an engine's launches and their command list.
 */
#ifndef MTS_ENGINE_LAUNCHES_H
#define MTS_ENGINE_LAUNCHES_H

#ifndef MTS_SMALL
#include <stdatomic.h>
#endif

#include "engine/zero_copy.h"
#include "lower/lower.h"

/* Of mts_launches: the list names no buffers that exist. */
#define MTS_GENERATION_NONE UINT64_MAX

typedef struct mts_built_kernel {
    const char *name, *defines;
    mts_kernel *kernel;
} mts_built_kernel;

#ifndef MTS_SMALL
/* A section of weights on the device, which several engines of a session may read. One may be
   destroyed by the thread that runs frames while another thread makes the next one, so users are
   counted atomically; the last of them frees it. */
typedef struct mts_weights_store {
    _Atomic(uint32_t) users;
    mts_buffer *buffer;
    mts_weights_index index;
} mts_weights_store;
#endif

typedef struct mts_launches {
    mts_device *device;
    /* Activations, kernel parameters. */
    mts_buffer *act, *params;
    /* A buffer for each section of the weight pool. */
    mts_buffer **weights;
    uint32_t weight_count;
#ifndef MTS_SMALL
    /* [weight_count]: what the buffers belong to; NULL: no launch reads the section, whose
       buffer is that of the first one. */
    mts_weights_store **stores;
    /* What one of them holds once the engine is a session's (mts_engine_carry), or NULL: until then
       no other engine may find there what this one has written behind the rest. */
    mts_weights_store *grown_store;
    mts_weights_index grown;
#endif
    mts_built_kernel *kernels;
    uint32_t kernel_count;
    mts_encoded_launch *encoded;
    /* The content of the list. */
    mts_launch *items;
    uint32_t count;
    /* NULL: recorded before the next run. */
    mts_command_list *list;
    /* mts_input_slots.generation of the buffers that the list names. */
    uint64_t generation;
} mts_launches;

/* Gives *out what launch `index` of `encoded` reads: its pool and its sources. `stand_in`:
   in the place of inputs that were not set yet; may be NULL where all are. */
void mts_launches_bind(const mts_launches *launches, const mts_input_slots *inputs, uint32_t index,
                       mts_buffer *stand_in, mts_launch *out);
/* Records the command list if there is none, or updates one of an older generation.
 * `stand_in` takes the place of zero-copy inputs that are not set yet; NULL: all are. */
mts_status mts_launches_record(mts_launches *launches, const mts_input_slots *inputs, mts_buffer *stand_in,
                               mts_error *error);
/* All that a run of all tasks needs: inputs that are set and uploaded, and the list. */
mts_status mts_launches_prepare(mts_launches *launches, const mts_input_slots *inputs, mts_error *error);
void mts_launches_release(mts_launches *launches);

#endif
