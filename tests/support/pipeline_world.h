/*
 * pipeline_world.h: random families on one device and on several, side by side.
 */
#ifndef MTS_TESTS_SUPPORT_PIPELINE_WORLD_H
#define MTS_TESTS_SUPPORT_PIPELINE_WORLD_H

#include "pipeline/pipeline.h"
#include "support/net.h"
#include "support/random_net.h"

#define PIPELINE_TASKS 3u
#define PIPELINE_DEVICES 4u
#define PIPELINE_FRAMES 4u

/* The test opens and closes them. */
extern mts_device *pipeline_devices[PIPELINE_DEVICES];
extern const char *const pipeline_ids[PIPELINE_DEVICES];

typedef struct pipeline_world {
    mts_arena arena;
    test_net net;
    uint32_t tasks;
    bool separate;
    float *inputs[PIPELINE_FRAMES][PIPELINE_TASKS];
    mts_pipeline_options options;
} pipeline_world;

void pipeline_world_make(pipeline_world *w, const random_family *family);
void pipeline_world_release(pipeline_world *w);
/* One device, by the way of one. */
mts_pipeline *pipeline_world_one(const pipeline_world *w);
/* Units of the archive. */
uint32_t pipeline_world_units(const pipeline_world *w);
mts_pipeline *pipeline_world_chain(const pipeline_world *w, const mts_chain *chain);
/* Stages that end at these units, on the devices in their order. */
mts_chain pipeline_chain_of(uint32_t count, const uint32_t *ends, uint32_t stages);
/* Sets all inputs to those of a frame. */
void pipeline_world_give(const pipeline_world *w, mts_pipeline *p, uint32_t frame);
void pipeline_world_submit(mts_pipeline *p);
void pipeline_world_take(mts_pipeline *p);
/* All outputs of the run that was taken last, one after another; the caller frees them. */
unsigned char *pipeline_world_read(const pipeline_world *w, const mts_pipeline *p, size_t *size);
/* Runs all frames through both, the second with several in flight, and compares every output. */
void pipeline_world_same(const pipeline_world *w, mts_pipeline *one, mts_pipeline *other, const char *how);
/* The same of one device and of a chain. */
void pipeline_world_compare(const pipeline_world *w, const mts_chain *chain, const char *how);

#endif
