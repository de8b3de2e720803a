/*
 * zero_copy.h: the input slots of an engine, and those whose data stays in the caller's
 * memory.
 */
#ifndef MTS_ENGINE_ZERO_COPY_H
#define MTS_ENGINE_ZERO_COPY_H

#include "device/device.h"

/* Input data; several tasks may read it. Slots with equal `common` hold copies of the
   same data. */
typedef struct mts_input_slot {
    /* In the arena; elements. */
    uint64_t offset;
    size_t count;
    /* Number of a slot. */
    uint32_t common;
    /* Index among the inputs that take frames, or MTS_NONE. */
    uint32_t frame_input;
    /* The first task and its input that read the slot, for error texts. */
    const char *task;
    uint32_t input;
#ifndef MTS_SMALL
    /* The caller has set its data, which lies in the arena. */
    bool set;
    /* Of a link (links.h): the device cannot read its memory, so `buffer` is the device's own,
       into which each run's data is copied before. */
    bool copied;
#endif

    /* The data stays the caller's; the members below belong to such slots. */
    bool zero_copy;
    /* NULL until the input is set. */
    mts_buffer *buffer;
    /* The device cannot read the caller's memory: `buffer` is the device's own, written
       before every run. */
    bool uploaded;
    const float *data;
    /* Data of another type as float32; NULL: the caller's is float32. */
    float *floats;
} mts_input_slot;

typedef struct mts_input_slots {
    mts_device *device;
    mts_input_slot *items;
    uint32_t count;
    /* How often a zero-copy slot got another buffer: command lists of an older generation
     * name buffers that are gone. */
    uint64_t generation;
} mts_input_slots;

/* Takes the address of a zero-copy slot's data, slot->count floats. */
mts_status mts_zero_copy_set(mts_input_slots *slots, mts_input_slot *slot, const float *data,
                             mts_error *error);
/* INVALID_ARGUMENT with the name of the first zero-copy input that was never set. */
mts_status mts_zero_copy_check(const mts_input_slots *slots, mts_error *error);
/* Writes the data that the device cannot read in place. */
mts_status mts_zero_copy_upload(const mts_input_slots *slots, mts_error *error);
void mts_zero_copy_release(mts_input_slots *slots);

#endif
