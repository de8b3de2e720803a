/*
 * pipeline.c: one thread; the session works while the next frame is awaited.
 */
#include "pipeline.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kit/frames.h"
#include "kit/measure.h"
#include "overlay.h"

#define SLICE_MS 50u    /* how long a signal may wait for an answer */
#define FINISHED_MS 1u  /* how long a finished run may wait to be taken */
#define DRAIN_MS 10000u /* for runs under way at the end */

/* The first thing that goes wrong is what is reported. */
static void break_off(pipeline *p, camera_status status, const char *sentence)
{
    if (p->broken == CAMERA_OK) {
        p->broken = status;
        (void)snprintf(p->reason, sizeof p->reason, "%s", sentence);
    }
}

/* What the library says of a failure. */
static const char *sentence_of(const pipeline *p, mts_status status)
{
    const cli_open *app = p->results.app;
    return app && app->error[0] ? app->error : mts_status_name(status);
}

static bool png_write(pipeline *p, uint64_t number, char *error)
{
    char path[PATH_MAX];
    if (mkdir(p->options->png, 0777) != 0 && errno != EEXIST) {
        (void)source_fail(error, CAMERA_FAILURE, "cannot make the directory '%s': %s", p->options->png,
                          strerror(errno));
        return false;
    }
    if (snprintf(path, sizeof path, "%s/frame_%06llu.png", p->options->png, (unsigned long long)number) >=
        (int)sizeof path) {
        (void)source_fail(error, CAMERA_FAILURE, "--png %s: the name is too long", p->options->png);
        return false;
    }
    return cli_image_write_png(path, &p->picture, error);
}

static bool window_push(pipeline *p, char *error)
{
    if (!p->window) {
        p->window = window_open(p->options->sink, &p->picture, error);
    }
    if (!p->window) {
        return false;
    }
    const camera_status status = window_show(p->window, &p->picture, error);
    if (status == CAMERA_END) {
        break_off(p, status, error);
    }
    return status == CAMERA_OK || status == CAMERA_END;
}

/* The picture with what the tasks say, to where it is wanted. */
static bool show(pipeline *p, const feed_frame *frame, char *error)
{
    const bool kept = p->options->png && frame->source.number % p->options->png_every == 0;
    if (!kept && !p->options->window) {
        return true;
    }
    if (!cli_frame_to_image(&frame->source.frame, &p->picture, error)) {
        return false;
    }
    overlay_tasks(&p->picture, &p->results);
    faces_draw(&p->faces, frame, &p->picture);
    return (!kept || png_write(p, frame->source.number, error)) &&
           (!p->options->window || window_push(p, error));
}

static void taken(void *context, feed_frame *frame, mts_status status)
{
    pipeline *p = context;
    char error[CLI_ERROR] = "";
    bool well = true;
    if (status == MTS_STATUS_OK) {
        const double latency_ms = tally_answered(&p->count, frame->arrived_ms);
        results_read(&p->results, frame->ticket);
        well = show(p, frame, error) &&
               record_frame(&p->record, frame, latency_ms, &p->results, &p->faces, error);
    } else if (status == MTS_STATUS_CANCELLED) {
        tally_dropped(&p->count);
        well = record_dropped(&p->record, frame, error);
    } else {
        (void)source_fail(error, CAMERA_FAILURE, "frame %llu: %s", (unsigned long long)frame->source.number,
                          sentence_of(p, status));
        well = false;
    }
    source_release(p->source, &frame->source);
    if (!well) {
        break_off(p, CAMERA_FAILURE, error);
    }
}

static table_facts facts_of(const pipeline *p)
{
    return (table_facts){.uri = p->options->uri,
                         .device = p->options->device,
                         .source = &p->source->info,
                         .count = &p->count,
                         .results = &p->results,
                         .faces = p->faces.cascade ? p->faces.text : NULL};
}

static void frame_push(pipeline *p, const source_frame *frame)
{
    char error[CLI_ERROR] = "";
    feed_frame *held = feed_next(&p->feed);
    tally_came(&p->count);
    if (!held) { /* more frames than slots: a defect */
        source_frame lost = *frame;
        source_release(p->source, &lost);
        break_off(p, CAMERA_FAILURE, "all slots are in use");
        return;
    }
    held->source = *frame;
    held->arrived_ms = cli_now_ms();
    held->source.frame.region =
        (mts_region){.rotation = p->options->rotation, .mirror = p->options->mirror ? 1 : 0};
    const bool looked = faces_find(&p->faces, held, error);
    const mts_status status = looked ? feed_push(&p->feed, held) : MTS_STATUS_INTERNAL;
    if (status != MTS_STATUS_OK) {
        source_release(p->source, &held->source);
        break_off(p, CAMERA_FAILURE, looked ? sentence_of(p, status) : error);
    }
}

static bool enough(const pipeline *p, double begun_ms)
{
    const pipeline_options *options = p->options;
    return *options->stop || p->broken != CAMERA_OK ||
           (options->frames > 0 && p->count.came >= options->frames) ||
           (options->seconds > 0 && cli_now_ms() - begun_ms >= options->seconds * 1e3);
}

/* Takes one frame, or none. `waited_ms`: how long the source has been asked in vain; what
   is done meanwhile is not its silence. */
static void step(pipeline *p, double *waited_ms)
{
    char error[CLI_ERROR] = "";
    source_frame frame;
    const uint32_t patience = feed_held(&p->feed) > 0 ? FINISHED_MS : SLICE_MS;
    const double asked_ms = cli_now_ms();
    const camera_status status = source_next(p->source, patience, &frame, error);
    *waited_ms += cli_now_ms() - asked_ms;
    if (status == CAMERA_OK) {
        *waited_ms = 0;
        frame_push(p, &frame);
    } else if (status != CAMERA_WAITING) {
        break_off(p, status, error);
    } else if (*waited_ms > p->options->timeout_ms) {
        (void)source_fail(error, CAMERA_STALLED, "no frame has come for %.1f s, after %llu frames",
                          p->options->timeout_ms / 1e3, (unsigned long long)p->count.came);
        break_off(p, CAMERA_STALLED, error);
    }
}

static void collect(pipeline *p, mts_status status)
{
    if (status != MTS_STATUS_OK) {
        break_off(p, CAMERA_FAILURE, sentence_of(p, status));
    }
}

camera_status pipeline_run(pipeline *p)
{
    const double begun_ms = cli_now_ms();
    double waited_ms = 0;
    p->feed.taken = taken;
    p->feed.context = p;
    table_begin(&p->screen, !p->options->headless && p->record.file != stdout);
    while (!enough(p, begun_ms)) {
        step(p, &waited_ms);
        collect(p, feed_poll(&p->feed));
        if (table_due(&p->screen)) {
            const table_facts facts = facts_of(p);
            results_measure(&p->results);
            table_draw(&p->screen, &facts);
        }
    }
    collect(p, feed_drain(&p->feed, DRAIN_MS));
    return p->broken == CAMERA_END ? CAMERA_OK : p->broken;
}

camera_status pipeline_end(pipeline *p, camera_status status)
{
    char error[CLI_ERROR] = "";
    const table_facts facts = facts_of(p);
    results_measure(&p->results);
    if (p->record.file != stdout) {
        table_end(&p->screen, &facts);
    }
    bool well =
        record_summary(&p->record, &facts, status == CAMERA_OK ? NULL : p->reason, (int)status, error);
    well = record_close(&p->record, error) && well;
    if (!well && status == CAMERA_OK) {
        status = CAMERA_FAILURE;
        (void)snprintf(p->reason, sizeof p->reason, "%s", error);
    }
    window_close(&p->window);
    cli_image_release(&p->picture);
    return status;
}
