/*
 * flight_world.h: a session with several frames in flight, on a device that computes only when it is told to
 * (gate_device.h), and what each frame gives when it runs alone.
 */
#ifndef MTS_TESTS_SUPPORT_FLIGHT_WORLD_H
#define MTS_TESTS_SUPPORT_FLIGHT_WORLD_H

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
extern const char *const flight_names[2];

typedef struct flight_world {
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
} flight_world;

mts_frame flight_frame(const flight_world *w, uint32_t index);
/* A task's output 0. */
void flight_values(const flight_world *w, const char *task, float values[VALUES]);
/* The outputs are those of this frame. */
void flight_check(const flight_world *w, uint32_t frame);
mts_session_options flight_options(uint32_t places, mts_when_full when_full);
void flight_session(flight_world *w, const mts_session_options *options);
/* device NULL: behind the gate. */
void flight_open(flight_world *w, const char *device, const mts_session_options *options);
void flight_close(flight_world *w);
mts_ticket flight_submit(flight_world *w, uint32_t index);
/* Also checks that its numbers add up. */
mts_flow flight_flow(const flight_world *w);
/* mts_session_options.done, with the world as context. */
void flight_done(void *context, mts_ticket ticket, mts_status status);
void flight_check_call(const flight_world *w, uint32_t call, mts_ticket ticket, mts_status status);

#endif
