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
    uint32_t *group_of;
    mts_program program;
    uint32_t **slot_of; /* [task][input] */
    mts_stitched *stitched;
    mts_plan *plan;
    mts_encoding encoding;
    mts_error *error;
} maker;

mts_code mts_maker_memory(const maker *m);
/* Gives every input a slot. */
mts_code mts_maker_slots(maker *m);
/* Fills the engine's ports and slots; the plan exists and is encoded. */
mts_code mts_maker_ports(maker *m);

#endif
