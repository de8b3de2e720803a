/*
 * chain_world.h: networks that are chains of equal convolutions, and a pipeline that runs
 * them on several devices.
 */
#ifndef MTS_TESTS_SUPPORT_CHAIN_WORLD_H
#define MTS_TESTS_SUPPORT_CHAIN_WORLD_H

#include "pipeline/pipeline.h"
#include "support/must.h"
#include "support/net.h"

#define CHAIN_DEVICES 6u
#define CHAIN_TASKS 2u

typedef struct chain_world {
    mts_arena arena;
    test_net net;
    /* That of the net, or one that the test makes of it, which is destroyed too. */
    mts_archive *archive;
    mts_device *devices[CHAIN_DEVICES];
    mts_pipeline *pipeline;
    /* Of task 0. */
    float *input;
    size_t input_bytes;
    uint32_t progress; /* calls after the creation */
} chain_world;

/* Names of the devices. */
extern const char *const chain_ids[CHAIN_DEVICES];

/* `tasks` networks (at most CHAIN_TASKS) of one input and so many layers. */
void chain_world_make(chain_world *w, uint32_t layers, uint32_t tasks);
void chain_world_close(chain_world *w);
/* The input of frame number `frame`. */
void chain_world_fill(chain_world *w, uint32_t frame);
/* Submits the input. */
void chain_world_submit(chain_world *w);
/* The first number of task 0's output. */
float chain_world_answer(const chain_world *w);

#endif
