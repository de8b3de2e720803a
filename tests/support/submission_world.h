/*
 * submission_world.h: a session with several frames in flight, on a device that computes only when it is told to
 * (gate_device.h), and what each frame gives when it runs alone.
 */
#ifndef MTS_TESTS_SUPPORT_SUBMISSION_WORLD_H
#define MTS_TESTS_SUPPORT_SUBMISSION_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mts/mts.h"
#include "support/api_fixture.h"

#define PIXELS ((size_t)3 * 32 * 32)
#define VALUES 16
#define FRAMES 12
#define CALLS_MOST 64

/* "pet" and "object". */
extern const char *const submission_names[2];

typedef struct submission_world {
    api_fixture fixture;
    mts_bundle *bundle;
    mts_session *session;
    uint8_t pixels[FRAMES][PIXELS];
    float expected[FRAMES][2][VALUES]; /* of the frames, one by one */

    /* what `done` was called with */
    mts_ticket tickets[CALLS_MOST];
    mts_status statuses[CALLS_MOST];
    float outputs[CALLS_MOST][VALUES];
    uint32_t calls;
    bool inside; /* `done` tries what it must not */
} submission_world;

mts_frame submission_frame(const submission_world *w, uint32_t index);
/* A task's output 0. */
void submission_values(const submission_world *w, const char *task, float values[VALUES]);
/* The outputs are those of this frame. */
void submission_check(const submission_world *w, uint32_t frame);
mts_session_options submission_options(uint32_t slots, mts_when_full when_full);
void submission_session(submission_world *w, const mts_session_options *options);
/* device NULL: behind the gate. */
void submission_open(submission_world *w, const char *device, const mts_session_options *options);
void submission_close(submission_world *w);
mts_ticket submission_submit(submission_world *w, uint32_t index);
/* Also checks that its numbers add up. */
mts_flow submission_flow(const submission_world *w);
/* mts_session_options.done, with the world as context. */
void submission_done(void *context, mts_ticket ticket, mts_status status);
void submission_check_call(const submission_world *w, uint32_t call, mts_ticket ticket, mts_status status);

#endif
