/*
 * api_fixture.h: the demo's task list as a bundle, and a runtime whose memory and log are watched, for tests
 * of the public API.
 */
#ifndef MTS_TESTS_SUPPORT_API_FIXTURE_H
#define MTS_TESTS_SUPPORT_API_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "mts/mts.h"

typedef struct api_fixture {
    char error[512];
    char log[4096];
    size_t alive;     /* allocations that have not been freed */
    size_t calls;     /* allocations so far */
    size_t fail_from; /* this call and all later ones fail; 0: none */
    mts_runtime *runtime;
} api_fixture;

/* Path of the bundle, compiled at the first call of a process; unlinked by api_bundle_remove. Fails the test.
 */
const char *api_bundle_path(void);
void api_bundle_remove(void);
/* Writes the bundle: api_bundle_compile.c or, without libmtsc, api_bundle_copy.c. Fails or skips the test. */
void api_bundle_make(const char *path);

/* Options of a watched runtime on a device; the fixture outlives the runtime. */
mts_runtime_options api_options(api_fixture *fixture, const char *device);
/* Opens the runtime; fails the test if it cannot. */
void api_open(api_fixture *fixture, const char *device);
/* Destroys the runtime and fails the test if memory is left. */
void api_close(api_fixture *fixture);

/* Fills 3 * 32 * 32 bytes with an image that depends on `seed`. */
void api_pixels(uint8_t *pixels, uint32_t seed);
mts_frame api_frame(const uint8_t *pixels);

#define API_PIXELS ((size_t)3 * 32 * 32)

/* A session with a frame to run. */
typedef struct api_world {
    api_fixture fixture;
    mts_bundle *bundle;
    mts_session *session;
    uint8_t pixels[API_PIXELS];
} api_world;

/* Fails the test if the session cannot be made. */
void api_world_open(api_world *w, const char *device, const mts_session_options *options);
void api_world_close(api_world *w);
/* Options of a session of two tasks, so that a run is short. */
mts_session_options api_two_tasks(void);

#endif
