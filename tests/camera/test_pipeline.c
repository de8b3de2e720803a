/*
 * test_pipeline.c: the loop with a source that is played: what happens to frames under way when the source
 * ends, vanishes, stops or fails; every frame is given back once.
 */
#include <stdio.h>

#ifndef MTS_CAMERA
int main(void)
{
    printf("the camera is not built here\n");
    return 77;
}
#else

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/api.h"
#include "camera/clock.h"
#include "camera/pipeline.h"
#include "support/gate_device.h"
#include "support/frame_bundle.h"

#define SLOTS 8
#define WIDTH 40
#define HEIGHT 30

const char *const cli_program = "test_pipeline";

/* A source whose frames and end are decided by the test. */
typedef struct played {
    source base;
    uint64_t frames;      /* that it gives */
    camera_status ending; /* and then says */
    uint64_t number;
    bool out[SLOTS];
    uint8_t pixels[SLOTS][3 * WIDTH * HEIGHT];
    uint32_t released, most;
    uint32_t hold_ms; /* that giving a frame back takes */
    bool breath;      /* no frame at the first question after one */
    bool breathed;
} played;

static sig_atomic_t stop;
static char bundle[] = "/tmp/mts_camera_pipeline_XXXXXX";

/* A task that gives back what it sees: costs nothing, also under an emulator. */
static int bundle_make(void **state)
{
    static const frame_task task = {
        .color = MTS_COLOR_RGB, .batch = 1, .height = 8, .width = 8, .deviation = 1.0f};
    mts_bundle_bytes bytes;
    (void)state;
    const int file = mkstemp(bundle);
    assert_true(file >= 0);
    frame_bundle_make(&task, 1, &bytes);
    assert_int_equal(write(file, bytes.data, bytes.size), (ssize_t)bytes.size);
    mts_bundle_bytes_release(&bytes);
    return close(file);
}

static camera_status played_next(source *self, uint32_t timeout_ms, source_frame *frame, char *error)
{
    played *from = (played *)self;
    uint32_t slot = 0, held = 0;
    if (from->number >= from->frames) {
        if (from->ending == CAMERA_WAITING) {
            clock_nap(timeout_ms);
            return CAMERA_WAITING;
        }
        return from->ending == CAMERA_END ? CAMERA_END
                                          : source_fail(error, from->ending, "played: it is over");
    }
    if (from->breath && from->number > 0 && !from->breathed) {
        from->breathed = true;
        return CAMERA_WAITING;
    }
    from->breathed = false;
    while (slot < SLOTS && from->out[slot]) {
        slot++;
    }
    assert_true(slot < SLOTS);
    from->out[slot] = true;
    for (uint32_t i = 0; i < SLOTS; i++) {
        held += from->out[i];
    }
    from->most = held > from->most ? held : from->most;
    memset(from->pixels[slot], (int)(from->number * 7 % 256), sizeof from->pixels[slot]);
    mts_frame_default(&frame->frame);
    frame->frame.data = from->pixels[slot];
    frame->frame.width = WIDTH;
    frame->frame.height = HEIGHT;
    frame->token = &from->out[slot];
    frame->number = from->number++;
    return CAMERA_OK;
}

static void played_release(source *self, source_frame *frame)
{
    played *from = (played *)self;
    bool *out = frame->token;
    assert_true(*out);
    *out = false;
    from->released++;
    clock_nap(from->hold_ms);
}

static void played_close(source *self)
{
    (void)self;
}

static const source_class played_class = {played_next, played_release, played_close};

/* A loop with or without a session. */
typedef struct world {
    played source;
    cli_open app;
    pipeline_options options;
    pipeline p;
} world;

/* gated: on a device that computes only when the test lets it. */
static world *world_make_on(bool gated, uint64_t frames, camera_status ending, uint32_t slots,
                            mts_when_full when_full)
{
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->source.base.type = &played_class;
    w->source.base.info = (source_info){.width = WIDTH, .height = HEIGHT, .live = true};
    w->source.frames = frames;
    w->source.ending = ending;
    w->options = (pipeline_options){
        .uri = "played", .headless = true, .png_every = 1, .timeout_ms = 60, .stop = &stop};
    w->p.options = &w->options;
    w->p.source = &w->source.base;
    assert_true(feed_make(&w->p.feed));
    if (slots > 0) {
        cli_open_options options = {.device = "reference", .no_cache = true, .json = true};
        feed_options_set(&w->p.feed, slots, when_full, &options);
        assert_int_equal(cli_open_bundle(&w->app, NULL, &options, bundle), -1);
        if (gated) {
            gate_install(w->app.runtime->device);
        }
        assert_int_equal(cli_open_session(&w->app, NULL, &options, MTS_STRATEGY_COMPACT), -1);
        w->p.feed.session = w->app.session;
        assert_true(results_make(&w->p.results, &w->app));
    }
    stop = 0;
    return w;
}

static world *world_make(uint64_t frames, camera_status ending, uint32_t slots, mts_when_full when_full)
{
    return world_make_on(false, frames, ending, slots, when_full);
}

static void world_destroy(world *w)
{
    cli_close(&w->app);
    results_release(&w->p.results);
    cli_image_release(&w->p.picture);
    feed_release(&w->p.feed);
    for (uint32_t i = 0; i < SLOTS; i++) {
        assert_false(w->source.out[i]);
    }
    assert_int_equal(w->source.released, w->source.number);
    free(w);
}

static void a_source_that_ends_has_all_frames_answered(void **state)
{
    (void)state;
    for (uint32_t slots = 0; slots < 5; slots++) {
        world *w = world_make(9, CAMERA_END, slots, MTS_WHEN_FULL_BLOCK);
        assert_int_equal(pipeline_run(&w->p), CAMERA_OK);
        assert_int_equal(w->p.count.came, 9);
        assert_int_equal(w->p.count.answered, 9);
        assert_int_equal(w->p.count.dropped, 0);
        assert_true(w->source.most <= slots + 1);
        world_destroy(w);
    }
}

static void a_source_that_vanishes_has_its_last_frames_answered(void **state)
{
    (void)state;
    world *w = world_make(7, CAMERA_VANISHED, 4, MTS_WHEN_FULL_BLOCK);
    assert_int_equal(pipeline_run(&w->p), CAMERA_VANISHED);
    assert_string_equal(w->p.reason, "played: it is over");
    assert_int_equal(w->p.count.answered, 7);
    world_destroy(w);
}

static void a_source_that_stops_is_given_up_after_its_time(void **state)
{
    (void)state;
    world *w = world_make(3, CAMERA_WAITING, 2, MTS_WHEN_FULL_BLOCK);
    assert_int_equal(pipeline_run(&w->p), CAMERA_STALLED);
    assert_non_null(strstr(w->p.reason, "no frame has come for 0.1 s, after 3 frames"));
    assert_int_equal(w->p.count.answered, 3);
    world_destroy(w);
}

static void the_programs_own_work_is_not_the_sources_silence(void **state)
{
    (void)state;
    world *w = world_make(4, CAMERA_END, 0, MTS_WHEN_FULL_BLOCK);
    w->source.hold_ms = 90; /* more than the 60 that it may be silent */
    w->source.breath = true;
    assert_int_equal(pipeline_run(&w->p), CAMERA_OK);
    assert_int_equal(w->p.count.answered, 4);
    world_destroy(w);
}

static void a_camera_that_is_too_fast_drops_and_counts(void **state)
{
    (void)state;
    world *w = world_make(60, CAMERA_END, 3, MTS_WHEN_FULL_DROP_OLDEST);
    assert_int_equal(pipeline_run(&w->p), CAMERA_OK);
    assert_int_equal(w->p.count.came, 60);
    assert_int_equal(w->p.count.answered + w->p.count.dropped, 60);
    assert_true(w->p.count.answered > 0);
    assert_true(w->source.most <= 4);
    world_destroy(w);
}

/* The lines of a record about frames that were dropped. */
static uint32_t dropped_lines(const char *path)
{
    char line[4096];
    uint32_t count = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        count += strstr(line, "\"dropped\": true") ? 1 : 0;
        assert_non_null(strstr(line, "\"frame\": "));
    }
    assert_int_equal(fclose(file), 0);
    return count;
}

/* Slots that are not emptied: two frames more than there are push two out. */
static void frames_beyond_the_places_are_dropped_counted_and_recorded(void **state)
{
    char path[] = "/tmp/mts_camera_dropped_XXXXXX";
    char error[CLI_ERROR] = "";
    (void)state;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    world *w = world_make_on(true, UINT64_MAX, CAMERA_END, 3, MTS_WHEN_FULL_DROP_OLDEST);
    stop = 1;
    assert_int_equal(pipeline_run(&w->p), CAMERA_OK); /* sets the loop's callback */
    assert_true(record_open(&w->p.record, path, error));
    for (int i = 0; i < 3 + 2; i++) {
        feed_frame *frame = feed_next(&w->p.feed);
        assert_non_null(frame);
        assert_int_equal(source_next(w->p.source, 10, &frame->source, error), CAMERA_OK);
        assert_int_equal(feed_push(&w->p.feed, frame), MTS_STATUS_OK);
    }
    assert_int_equal(w->p.count.dropped, 2);
    for (int i = 0; i < 6 && feed_held(&w->p.feed) > 0; i++) {
        gate_pass(gate_marks());
        assert_int_equal(feed_poll(&w->p.feed), MTS_STATUS_OK);
    }
    assert_int_equal(w->p.count.dropped, 2);
    assert_int_equal(w->p.count.answered, 3);
    assert_true(record_close(&w->p.record, error));
    assert_int_equal(dropped_lines(path), 2);
    assert_int_equal(unlink(path), 0);
    world_destroy(w);
}

static void cameras_drop_and_clips_wait_unless_told_otherwise(void **state)
{
    (void)state;
    assert_int_equal(feed_when_full(source_live("v4l2-raw:///dev/video0"), 3, false, false),
                     MTS_WHEN_FULL_DROP_OLDEST);
    assert_int_equal(feed_when_full(source_live("rtsp://host/a"), 2, false, false),
                     MTS_WHEN_FULL_DROP_OLDEST);
    assert_int_equal(feed_when_full(source_live("csi://0"), 1, false, false), MTS_WHEN_FULL_BLOCK);
    assert_int_equal(feed_when_full(source_live("v4l2:///dev/video0"), 3, false, true), MTS_WHEN_FULL_BLOCK);
    assert_int_equal(feed_when_full(source_live("raw://clip"), 3, false, false), MTS_WHEN_FULL_BLOCK);
    assert_int_equal(feed_when_full(source_live("file:///a.mp4"), 3, true, false), MTS_WHEN_FULL_DROP_OLDEST);
}

static void a_rate_is_of_the_time_between_answers(void **state)
{
    tally count = {0};
    (void)state;
    (void)tally_answered(&count, cli_now_ms());
    assert_true(tally_rate_overall(&count) <= 0.0); /* one has no rate */
    clock_nap(20);
    (void)tally_answered(&count, cli_now_ms());
    count.ended_ms = count.first_ms + 100;
    assert_true(tally_rate_overall(&count) > 9.99 && tally_rate_overall(&count) < 10.01);
}

static void being_told_to_stop_ends_it(void **state)
{
    (void)state;
    world *w = world_make(UINT64_MAX, CAMERA_END, 2, MTS_WHEN_FULL_BLOCK);
    stop = 1;
    assert_int_equal(pipeline_run(&w->p), CAMERA_OK);
    assert_int_equal(w->p.count.came, 0);
    world_destroy(w);
}

static void a_number_of_frames_ends_it(void **state)
{
    (void)state;
    world *w = world_make(UINT64_MAX, CAMERA_END, 2, MTS_WHEN_FULL_BLOCK);
    w->options.frames = 5;
    assert_int_equal(pipeline_run(&w->p), CAMERA_OK);
    assert_int_equal(w->p.count.came, 5);
    assert_int_equal(w->p.count.answered, 5);
    world_destroy(w);
}

/* A session that goes while frames are under way gives them back. */
static void a_session_that_is_destroyed_gives_its_frames_back(void **state)
{
    (void)state;
    world *w = world_make(UINT64_MAX, CAMERA_END, 4, MTS_WHEN_FULL_BLOCK);
    w->options.frames = 1;
    assert_int_equal(pipeline_run(&w->p), CAMERA_OK); /* sets the loop's callback */
    for (int i = 0; i < 3; i++) {
        feed_frame *frame = feed_next(&w->p.feed);
        char error[CLI_ERROR];
        assert_non_null(frame);
        assert_int_equal(source_next(w->p.source, 10, &frame->source, error), CAMERA_OK);
        assert_int_equal(feed_push(&w->p.feed, frame), MTS_STATUS_OK);
    }
    assert_true(feed_held(&w->p.feed) > 0);
    world_destroy(w); /* checks that all came back */
}

static void a_picture_that_cannot_be_written_is_a_failure_and_loses_no_frame(void **state)
{
    (void)state;
    world *w = world_make(9, CAMERA_END, 3, MTS_WHEN_FULL_BLOCK);
    w->options.png = "/dev/null/folder";
    assert_int_equal(pipeline_run(&w->p), CAMERA_FAILURE);
    assert_non_null(strstr(w->p.reason, "/dev/null/folder"));
    world_destroy(w);
}

static void a_frame_that_the_library_refuses_is_a_failure(void **state)
{
    (void)state;
    world *w = world_make(9, CAMERA_END, 3, MTS_WHEN_FULL_BLOCK);
    w->options.rotation = (mts_rotation)45;
    assert_int_equal(pipeline_run(&w->p), CAMERA_FAILURE);
    assert_true(strlen(w->p.reason) > 0);
    assert_int_equal(w->p.count.answered, 0);
    world_destroy(w);
}

static int bundle_remove(void **state)
{
    (void)state;
    return unlink(bundle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_source_that_ends_has_all_frames_answered),
        cmocka_unit_test(a_source_that_vanishes_has_its_last_frames_answered),
        cmocka_unit_test(a_source_that_stops_is_given_up_after_its_time),
        cmocka_unit_test(the_programs_own_work_is_not_the_sources_silence),
        cmocka_unit_test(a_camera_that_is_too_fast_drops_and_counts),
        cmocka_unit_test(frames_beyond_the_places_are_dropped_counted_and_recorded),
        cmocka_unit_test(cameras_drop_and_clips_wait_unless_told_otherwise),
        cmocka_unit_test(a_rate_is_of_the_time_between_answers),
        cmocka_unit_test(being_told_to_stop_ends_it),
        cmocka_unit_test(a_number_of_frames_ends_it),
        cmocka_unit_test(a_session_that_is_destroyed_gives_its_frames_back),
        cmocka_unit_test(a_picture_that_cannot_be_written_is_a_failure_and_loses_no_frame),
        cmocka_unit_test(a_frame_that_the_library_refuses_is_a_failure),
    };
    return cmocka_run_group_tests(tests, bundle_make, bundle_remove);
}
#endif
