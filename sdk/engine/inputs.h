/*
 * inputs.h: what an engine's inputs are made of: tensors of the caller, which become
 * elements of the arena or stay where they are.
 */
#ifndef MTS_ENGINE_INPUTS_H
#define MTS_ENGINE_INPUTS_H

#include "engine/zero_copy.h"

typedef struct mts_inputs {
    mts_input_slots slots;
    /* One input as float32 on its way to the device, as large as the largest. */
    float *conversion;
    size_t conversion_count;
    /* The same as float16; NULL: the arena is float32. */
    uint16_t *halves;
} mts_inputs;

#endif
