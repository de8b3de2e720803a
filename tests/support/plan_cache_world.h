/*
 * plan_cache_world.h: sessions of one synthetic bundle that share a folder of plans, on a device that computes nothing,
 * so that planning takes no time.
 */
#ifndef MTS_TESTS_SUPPORT_PLAN_CACHE_WORLD_H
#define MTS_TESTS_SUPPORT_PLAN_CACHE_WORLD_H

#include "engine/engine.h"
#include "support/synth.h"
#include "tune/tune.h"

typedef struct plan_cache_world {
    mts_device *device;
    test_synth synth;
    char folder[64];
    mts_cache cache;
    const mts_cache_use *plans;
    mts_planning_options how;
    mts_planning_report report; /* of the last session */
} plan_cache_world;

/* The device and the bundle, for all tests of a program. */
void plan_cache_open(plan_cache_world *w);
void plan_cache_close(plan_cache_world *w);
/* An empty folder, for one test. */
void plan_cache_begin(plan_cache_world *w);
void plan_cache_end(plan_cache_world *w);
/* Also sets `how`: groups are measured. */
mts_engine_options plan_cache_options(plan_cache_world *w);
mts_engine *plan_cache_make(plan_cache_world *w, const mts_engine_options *options);
/* Makes a session, explains it and destroys it: what a person is shown is made of what lies in the file, too. */
void plan_cache_make_once(plan_cache_world *w, const mts_engine_options *options);
/* The only file with this ending. */
void plan_cache_find(const plan_cache_world *w, const char *ending, char path[512]);

#endif
