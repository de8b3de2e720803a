/*
 * builder.h: an engine while it is made, shared by engine.c, upload.c and ports.c.
 */
#ifndef MTS_ENGINE_BUILDER_H
#define MTS_ENGINE_BUILDER_H

#include "engine/engine_internal.h"
#include "strategy/program.h"

/* What exists only while an engine is made. */
typedef struct maker {
    mts_engine *engine;
    mts_arena scratch;
    const mts_graph **graphs; /* per task */
    mts_decision decision;
    const mts_engine *like; /* its kernels are used where they serve, or NULL */
    bool weigh;             /* only find out how many bytes it takes */
    bool in_kernels;        /* everything before kernels are built was done */
    uint32_t *group_of;
    mts_program program;
    uint32_t **slot_of; /* [task][input] */
    mts_stitched *stitched;
    uint8_t *input_kinds;   /* per svalue, see mts_plan_request; NULL: all inputs are kept */
    mts_encode_part *parts; /* of lent inputs */
    uint32_t part_count;
    mts_frame_input *frame_inputs; /* per slot; without a preprocess: takes no frames */
    mts_plan *plan;
    mts_task_masks masks; /* whom parts of launches serve */
    mts_device_info info; /* what encoding may use of the device: no float32 library for float16 */
    mts_encoding encoding;
    mts_error *error;
} maker;

mts_status mts_maker_memory(const maker *m);
/* Gives every input a slot. */
mts_status mts_maker_slots(maker *m);
/* Which inputs are lent, and where their data goes: input_kinds, parts, slots. The graphs are stitched. */
mts_status mts_maker_parts(maker *m);
/* Device memory that lent inputs need because the device cannot read the caller's. */
uint64_t mts_maker_lent_bytes(const maker *m);
/* What everything takes, into the engine's stats. LIMIT: over the budget. */
mts_status mts_maker_weigh(const maker *m);
/* Arena, weights and tables; LIMIT if a weight is too large for the session's precision. */
mts_status mts_maker_upload(maker *m);
/* Fills the engine's ports and slots; the plan exists and is encoded. */
mts_status mts_maker_ports(maker *m);

#endif
