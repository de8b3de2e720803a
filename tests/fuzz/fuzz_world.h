/*
 * fuzz_world.h: a bundle of two small tasks that take frames, for targets that call the API.
 */
#ifndef MTS_TESTS_FUZZ_WORLD_H
#define MTS_TESTS_FUZZ_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "bundle/archive.h"
#include "compiler/models/bundle.h"
#include "mts/mts.h"
#include "support/frame_bundle.h"

/* Its bytes, made at the first call. */
static inline const mts_bundle_bytes *fuzz_bundle(void)
{
    static mts_bundle_bytes bytes;
    static const frame_task tasks[2] = {
        {.color = MTS_COLOR_RGB, .batch = 1, .height = 8, .width = 8, .deviation = 1.0f},
        {.color = MTS_COLOR_GREY, .batch = 2, .height = 6, .width = 10, .deviation = 2.0f, .mean = 1.0f}};
    if (!bytes.data) {
        frame_bundle_make(tasks, 2, &bytes);
    }
    return &bytes;
}

#endif
