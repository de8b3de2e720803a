/*
 * The Android app's engine on the plain C device: every picture of a slot comes back exactly once,
 * whatever happens first; the session outlives the camera; failures become sentences.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "android/app/src/main/cpp/engine.h"
#include "api/api.h"
#include "support/frame_bundle.h"

#define SIDE 8
#define PICTURES 64
#define PATIENCE_MS 20000

/* A camera that gives as many pictures as it is told to. */
typedef struct world {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t offered, taken, released;
    bool out[PICTURES]; /* by number modulo PICTURES */
    bool twice;         /* one was released that was not out */
    bool bad;           /* pictures have no size */
    uint8_t pixels[SIDE * SIDE * 3];
    mts_bundle_bytes bytes;
    bool damaged, named;
    uint32_t losses; /* openings that lose the device */
    bool lose;       /* with the next picture */
    mts_runtime *runtime;
    uint32_t opened, closed;
    char log[512];
    view *view;
    engine *engine;
    engine_source source;
} world;

static void *take(void *context, mts_frame *frame)
{
    world *w = context;
    bool *picture = NULL;
    (void)pthread_mutex_lock(&w->lock);
    if (w->lose) {
        w->lose = false;
        w->runtime->device->lost = true; /* as a backend does when a call tells it so */
    }
    if (w->taken < w->offered) {
        picture = &w->out[w->taken++ % PICTURES];
        w->twice = w->twice || *picture;
        *picture = true;
    }
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    mts_frame_default(frame);
    frame->data = w->pixels;
    frame->width = w->bad ? 0 : SIDE;
    frame->height = SIDE;
    return picture;
}

static void release(void *context, void *picture)
{
    world *w = context;
    bool *out = picture;
    (void)pthread_mutex_lock(&w->lock);
    w->twice = w->twice || !*out;
    *out = false;
    w->released++;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
}

static mts_status bundle_open(void *context, mts_runtime *runtime, mts_bundle **out, const char **why)
{
    world *w = context;
    w->opened++;
    w->runtime = runtime;
    if (w->opened <= w->losses) {
        return MTS_STATUS_DEVICE_LOST;
    }
    if (w->named) {
        *why = "there is no bundle at all";
        return MTS_STATUS_NOT_FOUND;
    }
    return mts_bundle_open_memory(runtime, w->bytes.data, w->damaged ? 100 : w->bytes.size, out);
}

static void bundle_closed(void *context)
{
    ((world *)context)->closed++;
}

static void write_log(void *context, mts_log_severity severity, const char *text)
{
    world *w = context;
    if (severity == MTS_LOG_ERROR) {
        (void)snprintf(w->log, sizeof w->log, "%s", text);
    }
}

static void world_open(world *w)
{
    static const frame_task task = {
        .color = MTS_COLOR_RGB, .batch = 1, .height = SIDE, .width = SIDE, .deviation = 1.0f};
    memset(w, 0, sizeof *w);
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->changed, NULL);
    frame_bundle_make(&task, 1, &w->bytes);
    w->pixels[0] = 200;
    w->view = view_create();
    assert_non_null(w->view);
    w->source = (engine_source){.context = w, .take = take, .release = release};
}

static void world_start(world *w, uint32_t in_flight)
{
    const engine_options options = {.device = "reference",
                                    .frames_in_flight = in_flight,
                                    .view = w->view,
                                    .context = w,
                                    .bundle_open = bundle_open,
                                    .bundle_closed = bundle_closed,
                                    .log = write_log};
    w->engine = engine_create(&options);
    assert_non_null(w->engine);
}

static void world_close(world *w)
{
    engine_destroy(&w->engine);
    assert_null(w->engine);
    assert_false(w->twice);
    assert_int_equal(w->taken, w->released);
    assert_int_equal(w->opened, w->closed);
    view_destroy(&w->view);
    mts_bundle_bytes_release(&w->bytes);
    (void)pthread_cond_destroy(&w->changed);
    (void)pthread_mutex_destroy(&w->lock);
}

static void offer(world *w, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        (void)pthread_mutex_lock(&w->lock);
        w->offered++;
        (void)pthread_mutex_unlock(&w->lock);
        engine_notify(w->engine);
    }
}

static struct timespec deadline(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += PATIENCE_MS / 1000;
    return at;
}

/* Until so many pictures have come back. */
static void await_released(world *w, uint32_t count)
{
    const struct timespec until = deadline();
    int timed_out = 0;
    (void)pthread_mutex_lock(&w->lock);
    while (w->released < count && timed_out == 0) {
        timed_out = pthread_cond_timedwait(&w->changed, &w->lock, &until);
    }
    (void)pthread_mutex_unlock(&w->lock);
    assert_int_equal(timed_out, 0);
}

/* Until the screen says so. */
static void await_text(world *w, const char *part)
{
    const struct timespec nap = {.tv_nsec = 2000000};
    char text[RESULTS_TEXT + 256] = "";
    for (int i = 0; i < PATIENCE_MS / 2; i++) {
        view_text(w->view, text, sizeof text);
        if (strstr(text, part)) {
            return;
        }
        (void)nanosleep(&nap, NULL);
    }
    fail_msg("\"%s\" never was on the screen, but \"%s\"", part, text);
}

static void each_picture_runs_and_comes_back(void **state)
{
    world w;
    (void)state;
    world_open(&w);
    world_start(&w, 3);
    engine_resume(w.engine, &w.source);
    for (uint32_t i = 1; i <= 20; i++) {
        offer(&w, 1);
        await_released(&w, i);
    }
    await_text(&w, "a: 0 (200.000)"); /* the task gives back what it sees */
    world_close(&w);
    assert_int_equal(w.taken, 20);
}

static void pausing_gives_every_picture_back_and_keeps_the_session(void **state)
{
    world w;
    (void)state;
    world_open(&w);
    world_start(&w, 3);
    for (uint32_t round = 0; round < 8; round++) {
        engine_resume(w.engine, &w.source);
        offer(&w, 5);
        if (round % 2) {
            await_released(&w, w.released + 1);
        }
        engine_pause(w.engine);
        (void)pthread_mutex_lock(&w.lock);
        const uint32_t taken = w.taken, released = w.released;
        (void)pthread_mutex_unlock(&w.lock);
        assert_int_equal(taken, released);
        offer(&w, 1); /* a camera that has not stopped yet: its frames are not wanted */
        (void)pthread_mutex_lock(&w.lock);
        w.offered = w.taken;
        (void)pthread_mutex_unlock(&w.lock);
    }
    world_close(&w);
    assert_int_equal(w.opened, 1);
}

static void destroying_with_pictures_under_way_gives_them_back(void **state)
{
    (void)state;
    for (uint32_t in_flight = 2; in_flight <= 16; in_flight += 7) {
        world w;
        world_open(&w);
        world_start(&w, in_flight);
        engine_resume(w.engine, &w.source);
        offer(&w, 40);
        await_released(&w, 1);
        offer(&w, 20);
        world_close(&w);
    }
}

static void destroying_while_it_prepares_is_fine(void **state)
{
    world w;
    (void)state;
    world_open(&w);
    world_start(&w, 3);
    engine_resume(w.engine, &w.source);
    offer(&w, 3);
    world_close(&w);
    engine_destroy(&w.engine);
    engine_destroy(NULL);
}

static void a_bundle_that_cannot_be_opened_is_a_sentence_on_the_screen_and_in_the_log(void **state)
{
    world w;
    (void)state;
    world_open(&w);
    w.named = true;
    world_start(&w, 3);
    engine_resume(w.engine, &w.source);
    offer(&w, 3);
    await_text(&w, "there is no bundle at all");
    engine_pause(w.engine);
    world_close(&w);
    assert_string_equal(w.log, "there is no bundle at all");
    assert_int_equal(w.taken, 0);
}

static void a_damaged_bundle_is_named_by_the_library(void **state)
{
    world w;
    (void)state;
    world_open(&w);
    w.damaged = true;
    world_start(&w, 3);
    await_text(&w, "bundle");
    world_close(&w);
    assert_true(strlen(w.log) > 10);
}

static void a_picture_that_the_library_refuses_comes_back_and_the_next_one_runs(void **state)
{
    world w;
    (void)state;
    world_open(&w);
    w.bad = true;
    world_start(&w, 3);
    engine_resume(w.engine, &w.source);
    offer(&w, 1);
    await_released(&w, 1);
    engine_pause(w.engine);
    await_text(&w, "0x8 pixels");
    w.bad = false;
    engine_resume(w.engine, &w.source);
    offer(&w, 1);
    await_released(&w, 2);
    await_text(&w, "a: 0 (200.000)");
    world_close(&w);
}

static void a_lost_device_is_opened_anew(void **state)
{
    world w;
    (void)state;
    world_open(&w);
    w.losses = 3;
    world_start(&w, 3);
    engine_resume(w.engine, &w.source);
    offer(&w, 1);
    await_released(&w, 1);
    await_text(&w, "a: 0 (200.000)");
    world_close(&w);
    assert_int_equal(w.opened, 4);
    assert_string_equal(w.log, "device lost");
}

static void a_device_that_is_lost_again_and_again_is_given_up(void **state)
{
    world w;
    (void)state;
    world_open(&w);
    w.losses = UINT32_MAX;
    world_start(&w, 3);
    engine_resume(w.engine, &w.source);
    offer(&w, 1);
    await_text(&w, "device lost");
    world_close(&w);
    assert_in_range(w.opened, 1, 4);
    assert_int_equal(w.taken, 0);
}

/* Runs pictures, loses the device, and so on. How often it was opened until the engine gives up, or `rounds`
   are over. */
static uint32_t openings(uint32_t rounds, uint32_t pictures)
{
    world w;
    world_open(&w);
    world_start(&w, 3);
    engine_resume(w.engine, &w.source);
    for (uint32_t round = 0, come = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < pictures; i++) {
            offer(&w, 1);
            await_released(&w, ++come);
        }
        (void)pthread_mutex_lock(&w.lock);
        w.lose = round + 1 < rounds;
        (void)pthread_mutex_unlock(&w.lock);
        offer(&w, 1);
        await_released(&w, ++come);
    }
    world_close(&w);
    return w.opened;
}

static void a_device_that_ran_for_a_while_may_be_lost_as_often_again(void **state)
{
    (void)state;
    assert_int_equal(openings(4, 3), 4);
    assert_int_equal(openings(7, 110), 7);
}

static void a_device_that_is_lost_after_few_pictures_each_time_is_given_up(void **state)
{
    world w;
    (void)state;
    world_open(&w);
    world_start(&w, 3);
    engine_resume(w.engine, &w.source);
    for (uint32_t round = 0; round < 4; round++) {
        (void)pthread_mutex_lock(&w.lock);
        w.lose = true;
        const uint32_t before = w.released;
        (void)pthread_mutex_unlock(&w.lock);
        offer(&w, 1);
        await_released(&w, before + 1);
    }
    await_text(&w, "was lost");
    world_close(&w);
    assert_int_equal(w.opened, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_picture_runs_and_comes_back),
        cmocka_unit_test(pausing_gives_every_picture_back_and_keeps_the_session),
        cmocka_unit_test(destroying_with_pictures_under_way_gives_them_back),
        cmocka_unit_test(destroying_while_it_prepares_is_fine),
        cmocka_unit_test(a_bundle_that_cannot_be_opened_is_a_sentence_on_the_screen_and_in_the_log),
        cmocka_unit_test(a_damaged_bundle_is_named_by_the_library),
        cmocka_unit_test(a_picture_that_the_library_refuses_comes_back_and_the_next_one_runs),
        cmocka_unit_test(a_lost_device_is_opened_anew),
        cmocka_unit_test(a_device_that_is_lost_again_and_again_is_given_up),
        cmocka_unit_test(a_device_that_ran_for_a_while_may_be_lost_as_often_again),
        cmocka_unit_test(a_device_that_is_lost_after_few_pictures_each_time_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
