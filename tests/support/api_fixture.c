/*
 * api_fixture.c: see api_fixture.h.
 */
#include "support/api_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char bundle_path[64]; /* of this process */

const char *api_bundle_path(void)
{
    if (!bundle_path[0]) {
        char path[sizeof bundle_path];
        (void)snprintf(path, sizeof path, "api-test-%ld.mtsb", (long)getpid());
        api_bundle_make(path);
        memcpy(bundle_path, path, sizeof path);
    }
    return bundle_path;
}

void api_bundle_remove(void)
{
    if (bundle_path[0]) {
        (void)unlink(bundle_path);
        bundle_path[0] = '\0';
    }
}

static void *watched_alloc(void *context, size_t size)
{
    api_fixture *fixture = context;
    fixture->calls++;
    if (fixture->fail_from && fixture->calls >= fixture->fail_from) {
        return NULL;
    }
    void *memory = malloc(size);
    fixture->alive += memory ? 1 : 0;
    return memory;
}

static void watched_free(void *context, void *memory)
{
    api_fixture *fixture = context;
    fixture->alive -= memory ? 1 : 0;
    free(memory);
}

static void watched_log(void *context, mts_log_severity severity, const char *text)
{
    api_fixture *fixture = context;
    const size_t length = strlen(fixture->log);
    (void)snprintf(fixture->log + length, sizeof fixture->log - length, "%d %s\n", (int)severity, text);
}

mts_runtime_options api_options(api_fixture *fixture, const char *device)
{
    mts_runtime_options options;
    mts_runtime_options_default(&options);
    memset(fixture, 0, sizeof *fixture);
    options.device = device;
    options.error_text = fixture->error;
    options.error_size = sizeof fixture->error;
    options.context = fixture;
    options.log = watched_log;
    options.alloc = watched_alloc;
    options.free = watched_free;
    return options;
}

void api_open(api_fixture *fixture, const char *device)
{
    const mts_runtime_options options = api_options(fixture, device);
    if (mts_runtime_create(&options, &fixture->runtime) != MTS_STATUS_OK) {
        fail_msg("cannot open %s: %s", device, fixture->error);
    }
}

void api_close(api_fixture *fixture)
{
    mts_runtime_destroy(&fixture->runtime);
    assert_null(fixture->runtime);
    assert_int_equal(fixture->alive, 0);
}

void api_pixels(uint8_t *pixels, uint32_t seed)
{
    uint32_t state = seed * 2654435761u + 12345u;
    for (size_t i = 0; i < (size_t)3 * 32 * 32; i++) {
        state = state * 1664525u + 1013904223u;
        pixels[i] = (uint8_t)((state >> 24) / 4 + (uint32_t)(i / 24) % 192);
    }
}

mts_frame api_frame(const uint8_t *pixels)
{
    const mts_frame frame = {
        .size = sizeof frame, .data = pixels, .width = 32, .height = 32, .format = MTS_PIXEL_FORMAT_RGB};
    return frame;
}

void api_world_open(api_world *w, const char *device, const mts_session_options *options)
{
    memset(w, 0, sizeof *w);
    api_open(&w->fixture, device);
    assert_int_equal(mts_bundle_open(w->fixture.runtime, api_bundle_path(), &w->bundle), MTS_STATUS_OK);
    if (mts_session_create(w->fixture.runtime, w->bundle, options, &w->session) != MTS_STATUS_OK) {
        fail_msg("cannot make a session: %s", w->fixture.error);
    }
    api_pixels(w->pixels, 7);
}

void api_world_close(api_world *w)
{
    mts_session_destroy(&w->session);
    assert_null(w->session);
    mts_bundle_destroy(&w->bundle);
    api_close(&w->fixture);
}

mts_session_options api_two_tasks(void)
{
    static const char *const names[] = {"pet", "object"};
    mts_session_options options;
    mts_session_options_default(&options);
    options.tasks = names;
    options.task_count = 2;
    return options;
}
