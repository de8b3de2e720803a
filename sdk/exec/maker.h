/*
 * maker.h: an engine while it is made, shared by engine.c and ports.c.
 */
#ifndef MTS_EXEC_MAKER_H
#define MTS_EXEC_MAKER_H

#include "exec/engine_internal.h"
#include "exec/program.h"

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
    mts_plan *plan;
    mts_encoding encoding;
    mts_error *error;
} maker;

mts_code mts_maker_memory(const maker *m);
/* Whether input `input` of two tasks of a bundle is the same data where inputs are common. */
bool mts_maker_common_input(const mts_archive *archive, uint32_t one, uint32_t other, uint32_t input);
/* Gives every input a slot. */
mts_code mts_maker_slots(maker *m);
/* Which inputs are lent, and where their data goes: input_kinds, parts, slots. The graphs are stitched. */
mts_code mts_maker_parts(maker *m);
/* Device memory that lent inputs need because the device cannot read the caller's. */
uint64_t mts_maker_lent_bytes(const maker *m);
/* Fills the engine's ports and slots; the plan exists and is encoded. */
mts_code mts_maker_ports(maker *m);

#endif
