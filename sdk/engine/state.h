/*
 * state.h: an engine, composed of the parts that its files are responsible for.
 */
#ifndef MTS_ENGINE_STATE_H
#define MTS_ENGINE_STATE_H

#include "engine/engine.h"
#include "engine/inputs.h"
#include "engine/links.h"
#include "engine/persistent.h"
#include "engine/submission.h"

struct mts_engine {
    mts_device *device;
    const mts_archive *archive;
    const mts_allocator *allocator;
    /* Without the array `tasks`. */
    mts_engine_options options;
    /* Ports, labels, names. */
    mts_arena arena;
    mts_session_stats stats;
    /* Why tasks were not put into one task group, or "". */
    const char *note;
    /* Which kernels were built: a later engine that shares them asks for the same. */
    mts_kernel_cases cases;

    mts_engine_tasks tasks;
    mts_inputs inputs;
    mts_frames frames;
    mts_launches launches;
    mts_persistent persistent;
    mts_filters filters;
#ifndef MTS_SMALL
    mts_links links;
#endif
    mts_outputs outputs;
    mts_submissions submissions;
};

#endif
