/*
 * frame_bundle.h: tasks that give back what they see: y = x over a batch of frames, so that a test reads
 * what frames became in the inputs.
 */
#ifndef MTS_TESTS_SUPPORT_FRAME_BUNDLE_H
#define MTS_TESTS_SUPPORT_FRAME_BUNDLE_H

#include "bundle/archive.h"
#include "compiler/models/bundle.h"

typedef struct frame_task {
    uint32_t color; /* MTS_COLOR_; NONE: takes no frames */
    uint32_t interleaved;
    uint32_t batch, height, width;
    float mean, deviation; /* of every channel */
    uint32_t fit;          /* mts_fit */
    uint8_t fill;          /* of all colours of bars */
    float crop[4];
    uint32_t filter; /* mts_filter */
} frame_task;

/* Tasks named "a", "b", ... Fails the test if it cannot; the caller destroys. */
mts_archive *frame_archive_make(const frame_task *tasks, uint32_t count);
/* The same as a bundle's bytes, for mts_bundle_open_memory; the caller releases. */
void frame_bundle_make(const frame_task *tasks, uint32_t count, mts_bundle_bytes *out);

#endif
