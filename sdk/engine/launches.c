/*
 * launches.c: the command list of an engine's launches. It is recorded with the engine,
 * and updated before a run when zero-copy inputs have other buffers than those it names;
 * a device that cannot gets a new list.
 */
#include "engine/launches.h"

/* `source`: see mts_encoded_launch. */
static mts_buffer *input_of(const mts_input_slots *inputs, uint32_t source, mts_buffer *stand_in)
{
    mts_buffer *buffer = inputs->items[source - 1].buffer;
    return buffer ? buffer : stand_in;
}

void mts_launches_bind(const mts_launches *launches, const mts_input_slots *inputs, uint32_t index,
                       mts_buffer *stand_in, mts_launch *out)
{
    const mts_encoded_launch *launch = &launches->encoded[index];
    out->pool =
        launch->source == 0 ? launches->weights[launch->section] : input_of(inputs, launch->source, stand_in);
    for (int i = 0; i < MTS_LAUNCH_SOURCES && launch->kind == MTS_LAUNCH_MIXED; i++) {
        const uint32_t source = launch->sources[i];
        out->sources[i] = source == 0 ? out->pool : input_of(inputs, source, stand_in);
    }
}

mts_status mts_launches_record(mts_launches *launches, const mts_input_slots *inputs, mts_buffer *stand_in,
                               mts_error *error)
{
    if ((launches->list && launches->generation == inputs->generation) || launches->count == 0) {
        return MTS_STATUS_OK; /* without launches every output is a constant or an input */
    }
    for (uint32_t i = 0; i < launches->count; i++) {
        mts_launches_bind(launches, inputs, i, stand_in, &launches->items[i]);
    }
    launches->generation = inputs->generation;
    if (launches->list) {
        const mts_status status =
            mts_command_list_update(launches->list, launches->items, launches->count, error);
        if (status != MTS_STATUS_OK) { /* such a command list is unusable: the next run records a new one */
            mts_command_list_destroy(&launches->list);
        }
        if (status != MTS_STATUS_UNSUPPORTED) {
            return status;
        }
    }
    return mts_command_list_create(launches->device, launches->items, launches->count, &launches->list,
                                   error);
}

mts_status mts_launches_prepare(mts_launches *launches, const mts_input_slots *inputs, mts_error *error)
{
    mts_status status = mts_zero_copy_check(inputs, error);
    MTS_TRY(status, mts_launches_record(launches, inputs, NULL, error));
    MTS_TRY(status, mts_zero_copy_upload(inputs, error));
    return status;
}

#ifdef MTS_SMALL
static void release_weights(mts_launches *launches)
{
    for (uint32_t i = 0; i < launches->weight_count; i++) {
        mts_buffer_destroy(&launches->weights[i]);
    }
}
#else
static void release_weights(mts_launches *launches)
{
    mts_weights_index_release(&launches->grown);
    for (uint32_t i = 0; i < launches->weight_count; i++) {
        mts_weights_store *store = launches->stores ? launches->stores[i] : NULL;
        if (store && atomic_fetch_sub(&store->users, 1) == 1) {
            const mts_allocator *allocator = launches->device->allocator;
            mts_buffer_destroy(&store->buffer);
            mts_weights_index_release(&store->index);
            mts_alloc_free(allocator, store);
        }
    }
}
#endif

void mts_launches_release(mts_launches *launches)
{
    mts_command_list_destroy(&launches->list);
    for (uint32_t i = 0; i < launches->kernel_count; i++) {
        mts_kernel_destroy(&launches->kernels[i].kernel);
    }
    mts_buffer_destroy(&launches->params);
    release_weights(launches);
    mts_buffer_destroy(&launches->act);
}
