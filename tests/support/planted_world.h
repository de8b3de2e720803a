/*
 * planted_world.h: tasks of a family with planted sharing (nets.h), an input for each, and the outputs that
 * a plain evaluation of the networks gives.
 *
 * Responsible for what an engine is compared with. Not responsible for making the engine. Everything fails
 * the running cmocka test.
 */
#ifndef MTS_TESTS_SUPPORT_PLANTED_WORLD_H
#define MTS_TESTS_SUPPORT_PLANTED_WORLD_H

#include "support/net.h"
#include "support/nets.h"

#define PLANTED_TASKS 6

typedef struct planted_world {
    mts_arena arena;
    uint32_t tasks;
    const mts_graph *graphs[PLANTED_TASKS];
    float *input[PLANTED_TASKS];
    const float *wanted[PLANTED_TASKS];
    test_net net;
} planted_world;

/* The caller releases it. */
void planted_world_make(planted_world *w, mts_net_build build, const mts_net_plan *plan);
void planted_world_release(planted_world *w);
/* Runs an engine of w->net, and compares: no output may differ by more than a part of its task's largest. */
void planted_world_check(const planted_world *w, mts_engine *engine, double tolerance);
/* Runs every proper subset of the tasks: those that run have the bits of a run of all, outputs of the others stay,
   whatever ran before. The tasks need inputs of one shape. */
void planted_world_check_sets(planted_world *w, mts_engine *engine);

#endif
