/*
 * engine.c: see engine.h. One thread at a time; callbacks of the session come inside of calls.
 */
#include "engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "camera/gst.h"
#include "camera/networks.h"
#include "kit/measure.h"
#include "meta.h"

#define DRAIN_MS 10000u
#define WINDOW 64u /* runs that the latency is of */

struct engine {
    cli_open app;
    feed queue;
    faces people;
    results results;
    tracker tracks; /* of faces */
    engine_policy policy;
    bool tensors;
    uint32_t in_flight;
    bool imports;
    gst_held held[FEED_PLACES_MOST + 1];
    GQueue ready;         /* of buffers */
    GstStructure *newest; /* of ENGINE_PASS; or NULL */
    guint width, height;
    engine_counts counts;
    double run_ms[WINDOW];
    uint64_t runs;
    char *texts; /* what lists point into */
    bool failed; /* in the middle of a call of the session */
    bool gap;    /* a buffer was dropped, and none came out since */
    char error[CLI_ERROR];
};

static void failure_note(engine *e, const char *sentence)
{
    if (!e->failed) {
        e->failed = true;
        (void)snprintf(e->error, sizeof e->error, "%s", sentence);
    }
}

/* False, with the sentence, if something has failed since the last time. */
static bool failure_tell(engine *e, mts_status status, char *error)
{
    if (status != MTS_STATUS_OK) {
        failure_note(e, e->app.error[0] ? e->app.error : mts_status_name(status));
    }
    const bool well = !e->failed;
    if (!well) {
        (void)snprintf(error, CLI_ERROR, "%s", e->error);
    }
    e->failed = false;
    return well;
}

/* A run is over, and its results can be read. */
static void answered(engine *e, feed_frame *frame, GstBuffer *buffer)
{
    const double latency_ms = cli_now_ms() - frame->arrived_ms;
    e->run_ms[e->runs++ % WINDOW] = latency_ms;
    e->counts.answered++;
    if (e->queue.session) {
        results_read(&e->results, frame->ticket);
    }
    const results_parts parts = {.frame = frame,
                                 .pts = GST_BUFFER_PTS(buffer),
                                 .latency_ms = latency_ms,
                                 .all = &e->results,
                                 .people = &e->people,
                                 .tracks = &e->tracks,
                                 .tensors = e->tensors};
    GstStructure *found = results_structure_make(&parts);
    if (!found) {
        failure_note(e, "no memory");
    } else if (e->policy == ENGINE_PASS) {
        gst_clear_structure(&e->newest);
        e->newest = found;
        found = NULL;
    } else {
        buffer = gst_buffer_make_writable(buffer);
        if (e->gap) {
            GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
        }
        e->gap = false;
        results_attach(buffer, found, frame->source.frame.width, frame->source.frame.height);
    }
    gst_clear_structure(&found);
    if (e->policy == ENGINE_PASS) {
        gst_buffer_unref(buffer); /* it has gone on long ago */
    } else {
        g_queue_push_tail(&e->ready, buffer);
    }
}

static void taken(void *context, feed_frame *frame, mts_status status)
{
    engine *e = context;
    GstBuffer *buffer = gst_held_give(frame->source.token);
    if (status == MTS_STATUS_OK) {
        answered(e, frame, buffer);
        return;
    }
    gst_buffer_unref(buffer);
    if (status == MTS_STATUS_CANCELLED) {
        e->counts.dropped++;
        e->gap = true;
    } else {
        failure_note(e, e->app.error[0] ? e->app.error : mts_status_name(status));
    }
}

/* ---- opening ---- */

/* "a,b" as a list whose texts the engine keeps; false: an empty part, or no memory. */
static bool list_read(engine *e, const char *text, cli_list *out)
{
    free(e->texts);
    e->texts = text ? strdup(text) : NULL;
    return !text || (e->texts && cli_list_split(e->texts, ',', out));
}

/* Sentences of the parts that are shared with mts_camera name its options; these are the
   properties that stand for them. */
static void properties_name(char *sentence)
{
    static const char *const names[][2] = {
        {"--tasks", "tasks"},        {"--every", "rates"},     {"--bundle", "bundle"},
        {"--detector", "detector"},  {"--faces", "faces"},     {"--drop-oldest", "drop-policy=drop"},
        {"--device", "device"},      {"--threads", "threads"}, {"--in-flight", "in-flight"},
        {"--precision", "precision"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *at = strstr(sentence, names[i][0]);
        while (at) {
            const size_t long_name = strlen(names[i][0]), name = strlen(names[i][1]);
            const bool word = (at == sentence || strchr(" (", at[-1])) && !g_ascii_isalnum(at[long_name]) &&
                              at[long_name] != '-';
            if (word && strlen(sentence) + name < CLI_ERROR + long_name) {
                memmove(at + name, at + long_name, strlen(at + long_name) + 1);
                memcpy(at, names[i][1], name);
            }
            at = strstr(at + 1, names[i][0]);
        }
    }
}

static bool text_given(const char *text)
{
    return text && *text;
}

/* -1, or the exit status of kit, with the sentence where failures are kept. */
static int open_networks(engine *e, const engine_options *options)
{
    networks_options networks = {.bundle = options->bundle,
                                 .detector = options->detector,
                                 .faces = options->faces,
                                 .in_flight = options->in_flight,
                                 .open = {.device = options->device,
                                          .tasks = options->tasks,
                                          .precision = options->precision,
                                          .threads = options->threads,
                                          .log = options->log,
                                          .log_context = options->log_context}};
    networks.when_full = options->policy == ENGINE_DROP    ? MTS_WHEN_FULL_DROP_OLDEST
                         : options->policy == ENGINE_BLOCK ? MTS_WHEN_FULL_BLOCK
                                                           : MTS_WHEN_FULL_BUSY;
    int status = -1;
    if (!options->bundle && !options->detector) {
        status = cli_usage_error(NULL, "set the property bundle, or detector and faces");
    } else if (!list_read(e, options->rates, &networks.every)) {
        status = cli_usage_error(NULL, "rates are TASK=N,TASK=Nhz, not '%s'", options->rates);
    }
    status = status < 0 ? networks_check(&networks) : status;
    status = status < 0 ? networks_open(&e->app, &networks, &e->queue, &e->people) : status;
    if (status < 0 && options->bundle && !results_make(&e->results, &e->app)) {
        status = cli_failure(NULL, "no memory");
    }
    cli_list_release(&networks.every);
    return status;
}

engine *engine_open(const engine_options *options, bool *mistake, char *error)
{
    engine *e = calloc(1, sizeof *e);
    mts_device_desc device = {.size = sizeof device};
    engine_options given = *options;
    const char **const texts[] = {&given.bundle, &given.detector, &given.faces,    &given.tasks,
                                  &given.rates,  &given.device,   &given.precision};
    *mistake = false;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        *texts[i] = text_given(*texts[i]) ? *texts[i] : NULL;
    }
    if (!e || !feed_make(&e->queue)) {
        (void)snprintf(error, CLI_ERROR, "no memory");
        free(e);
        return NULL;
    }
    g_queue_init(&e->ready);
    e->policy = options->policy;
    e->tensors = options->tensors;
    e->in_flight = options->in_flight;
    e->queue.taken = taken;
    e->queue.context = e;
    (void)snprintf(error, CLI_ERROR, "it cannot be opened");
    cli_failures_keep(error, CLI_ERROR);
    const int status = open_networks(e, &given);
    cli_failures_keep(NULL, 0);
    if (status >= 0) {
        *mistake = status == CLI_EXIT_USAGE;
        properties_name(error);
        engine_close(&e);
        return NULL;
    }
    e->imports = mts_runtime_device(e->app.runtime, &device) == MTS_STATUS_OK &&
                 (device.reads >> MTS_MEMORY_DMABUF & 1u) != 0;
    return e;
}

void engine_close(engine **e)
{
    if (!*e) {
        return;
    }
    cli_cascade_destroy(&(*e)->people.cascade);
    cli_close(&(*e)->app); /* gives back the buffers that are under way */
    g_queue_clear_full(&(*e)->ready, (GDestroyNotify)gst_buffer_unref);
    gst_clear_structure(&(*e)->newest);
    results_release(&(*e)->results);
    feed_release(&(*e)->queue);
    free((*e)->texts);
    free(*e);
    *e = NULL;
}

/* Whether a list of rates names the task. */
static bool rate_named(const cli_list *every, const char *task)
{
    char name[256];
    for (size_t i = 0; i < every->count; i++) {
        if (cli_split_pair(every->items[i], name, sizeof name) && strcmp(name, task) == 0) {
            return true;
        }
    }
    return false;
}

/* Tasks that the list does not name run with every frame. */
static void rates_reset(engine *e, const cli_list *every)
{
    for (uint32_t i = 0; e->queue.session && i < cli_task_count(&e->app); i++) {
        const mts_task_desc task = cli_task(&e->app, i);
        if (!rate_named(every, task.name)) {
            (void)mts_session_rate(e->queue.session, task.name, 1);
            (void)mts_session_rate_hz(e->queue.session, task.name, 0);
        }
    }
}

bool engine_rates_set(engine *e, const char *rates, char *error)
{
    cli_list every = {0};
    cli_failures_keep(error, CLI_ERROR);
    int status = -1;
    if (text_given(rates) && (!e->queue.session || !list_read(e, rates, &every))) {
        status = cli_usage_error(NULL, "rates are TASK=N,TASK=Nhz of a bundle's tasks, not '%s'", rates);
    } else if (text_given(rates)) {
        status = networks_rates_set(&e->app, &every);
    }
    if (status < 0) {
        rates_reset(e, &every);
    }
    cli_failures_keep(NULL, 0);
    cli_list_release(&every);
    properties_name(error);
    return status < 0;
}

/* ---- buffers ---- */

/* Holds the buffer and submits its frame. Statuses are the library's; INTERNAL with a
   sentence for what it did not say. */
static mts_status submit(engine *e, GstBuffer *buffer, const GstVideoInfo *info, bool imports, char *error)
{
    feed_frame *frame = feed_next(&e->queue);
    if (!frame) {
        (void)snprintf(error, CLI_ERROR, "all slots are in use");
        return MTS_STATUS_INTERNAL;
    }
    gst_held *held = &e->held[frame - e->queue.frames];
    if (gst_held_take(held, buffer, info, imports, &frame->source.frame, error) != CAMERA_OK) {
        return MTS_STATUS_INTERNAL;
    }
    const bool imported = !held->mapped;
    const GstClockTime pts = GST_BUFFER_PTS(buffer);
    frame->source.token = held;
    frame->source.number = e->counts.came - 1;
    frame->source.time_ms = GST_CLOCK_TIME_IS_VALID(pts) ? (double)pts / (double)GST_MSECOND : 0;
    frame->arrived_ms = cli_now_ms();
    mts_status status = faces_find(&e->people, frame, error) ? MTS_STATUS_OK : MTS_STATUS_UNSUPPORTED;
    if (status == MTS_STATUS_OK) {
        status = feed_push(&e->queue, frame);
        (void)snprintf(error, CLI_ERROR, "%s", e->app.error[0] ? e->app.error : mts_status_name(status));
    }
    if (status != MTS_STATUS_OK) {
        gst_buffer_unref(gst_held_give(held));
    }
    e->counts.imported += status == MTS_STATUS_OK && imported ? 1 : 0;
    return status;
}

/* A memory that the device says to read and then does not is read by the processor. */
static bool run(engine *e, GstBuffer *buffer, const GstVideoInfo *info, char *error)
{
    mts_status status = submit(e, buffer, info, e->imports, error);
    if (e->imports && (status == MTS_STATUS_UNSUPPORTED || status == MTS_STATUS_INVALID_ARGUMENT ||
                       status == MTS_STATUS_LIMIT)) {
        status = submit(e, buffer, info, false, error);
    }
    return status == MTS_STATUS_OK;
}

/* The buffer goes on at once; a network sees it if one is free. */
static bool pass(engine *e, GstBuffer *buffer, const GstVideoInfo *info, char *error)
{
    const mts_status polled = feed_poll(&e->queue);
    if (e->newest) {
        buffer = gst_buffer_make_writable(buffer);
        results_attach(buffer, e->newest, e->width, e->height);
    }
    bool well = failure_tell(e, polled, error);
    if (well && feed_held(&e->queue) < e->in_flight) {
        well = run(e, buffer, info, error);
    } else {
        e->counts.passed++;
    }
    g_queue_push_tail(&e->ready, buffer);
    return well && failure_tell(e, MTS_STATUS_OK, error);
}

bool engine_push(engine *e, GstBuffer *buffer, const GstVideoInfo *info, char *error)
{
    e->width = (guint)GST_VIDEO_INFO_WIDTH(info);
    e->height = (guint)GST_VIDEO_INFO_HEIGHT(info);
    e->counts.came++;
    if (e->policy == ENGINE_PASS) {
        return pass(e, buffer, info, error);
    }
    const bool well = run(e, buffer, info, error);
    gst_buffer_unref(buffer); /* it is held, or it is lost */
    if (!well) {
        return false;
    }
    return failure_tell(e, e->in_flight == 1 ? feed_drain(&e->queue, DRAIN_MS) : feed_poll(&e->queue), error);
}

GstBuffer *engine_take(engine *e)
{
    return g_queue_pop_head(&e->ready);
}

bool engine_drain(engine *e, char *error)
{
    return failure_tell(e, e->queue.session ? feed_drain(&e->queue, DRAIN_MS) : MTS_STATUS_OK, error);
}

void engine_flush(engine *e)
{
    char error[CLI_ERROR];
    (void)engine_drain(e, error);
    e->gap = false;
    g_queue_clear_full(&e->ready, (GDestroyNotify)gst_buffer_unref);
    gst_clear_structure(&e->newest);
    tracker_reset(&e->tracks);
}

engine_counts engine_counted(const engine *e)
{
    return e->counts;
}

GstClockTime engine_latency(const engine *e, GstClockTime period)
{
    double longest = 0;
    if (e->policy == ENGINE_PASS) {
        return 0;
    }
    if (e->in_flight > 1 && period > 0) {
        return e->in_flight * period;
    }
    /* the first run is longer than those that follow: drivers make ready what they need */
    for (uint64_t i = e->runs > WINDOW ? 0 : 1; i < e->runs && i < WINDOW; i++) {
        longest = fmax(longest, e->run_ms[i]);
    }
    return (GstClockTime)(longest * 1e6) * e->in_flight;
}

uint32_t engine_held(const engine *e)
{
    return e->in_flight + 1;
}
