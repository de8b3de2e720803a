/*
 * engine.c: see engine.h.
 */
#include "engine.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IN_FLIGHT_MOST 16u
#define POLL_MS 4          /* between two looks at runs under way while no picture comes */
#define LAUNCHES_AT_ONCE 3 /* the screen is drawn between them */
#define REPORT_S 1
#define RESTARTS_MOST 3 /* after a lost device, one after another */
#define STEADY_RUNS 100 /* some seconds: a device that did so many has recovered */
#define REFUSALS_MOST 3 /* of zero-copy memory, one after another */

/* A picture that the session reads. */
typedef struct picture_slot {
    void *picture; /* NULL: the slot is free */
    engine_source source;
    mts_ticket ticket; /* 0: its submission has not returned */
    bool by_device;    /* the device reads the picture's memory by itself */
} picture_slot;

struct engine {
    engine_options options;
    char *device, *cache_dir;
    pthread_t thread;

    /* Under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t work; /* for the thread: a picture, a source, the end */
    pthread_cond_t idle; /* for engine_pause: nothing is held */
    bool stopping, has_source, has_picture;
    engine_source source;
    uint32_t held; /* pictures that were taken and not released */

    /* The thread's own. */
    char error[512];
    mts_runtime *runtime;
    mts_bundle *bundle;
    mts_session *session;
    bool reads_buffers; /* the device reads hardware buffers, as far as is known */
    uint32_t refusals;  /* since it last did */
    picture_slot slots[IN_FLIGHT_MOST + 1];
    results newest;
    time_t reported;
    uint64_t taken;    /* at that time */
    uint64_t finished; /* runs, since the device was opened */
};

typedef enum step { STEP_END, STEP_PICTURE, STEP_POLL } step;

static void pass_log(void *context, mts_log_severity severity, const char *text)
{
    const engine *self = context;
    if (self->options.log) {
        self->options.log(self->options.context, severity, text);
    }
}

/* ---- pictures ---- */

static void count_released(engine *self)
{
    (void)pthread_mutex_lock(&self->lock);
    self->held--;
    if (self->held == 0) {
        (void)pthread_cond_broadcast(&self->idle);
    }
    (void)pthread_mutex_unlock(&self->lock);
}

static void give_back(engine *self, picture_slot *slot)
{
    slot->source.release(slot->source.context, slot->picture);
    *slot = (struct picture_slot){.picture = NULL};
    count_released(self);
}

/* The slot of a run; one whose submission has not returned yet has no number. */
static picture_slot *find_slot(engine *self, mts_ticket ticket)
{
    picture_slot *unnumbered = NULL;
    for (size_t i = 0; i < sizeof self->slots / sizeof self->slots[0]; i++) {
        picture_slot *at = &self->slots[i];
        if (at->picture && at->ticket == ticket) {
            return at;
        }
        unnumbered = at->picture && at->ticket == 0 ? at : unnumbered;
    }
    return unnumbered;
}

static picture_slot *find_free_slot(engine *self)
{
    for (size_t i = 0; i < sizeof self->slots / sizeof self->slots[0]; i++) {
        if (!self->slots[i].picture) {
            return &self->slots[i];
        }
    }
    return NULL;
}

/* A device that does not take the memory of this camera is soon not asked any more. */
static void count_refusal(engine *self, mts_status status)
{
    char sentence[sizeof self->error + 64];
    self->refusals++;
    if (self->reads_buffers && (status == MTS_STATUS_UNSUPPORTED || self->refusals >= REFUSALS_MOST)) {
        self->reads_buffers = false;
        (void)snprintf(sentence, sizeof sentence,
                       "the camera's memory is copied for the device from now on: %s",
                       self->error[0] ? self->error : mts_status_name(status));
        pass_log(self, MTS_LOG_WARNING, sentence);
    }
}

/* The library's: a run is over, and its picture is ours again. */
static void run_done(void *context, mts_ticket ticket, mts_status status)
{
    engine *self = context;
    picture_slot *slot = find_slot(self, ticket);
    if (status == MTS_STATUS_OK) {
        self->finished++;
        results_read(self->session, self->bundle, &self->newest);
        view_show(self->options.view, &self->newest);
    }
    if (slot && slot->by_device && status == MTS_STATUS_OK) {
        self->refusals = 0;
    } else if (slot && slot->by_device && status != MTS_STATUS_CANCELLED &&
               status != MTS_STATUS_DEVICE_LOST) {
        count_refusal(self, status);
    }
    if (slot) {
        give_back(self, slot);
    }
}

/* ---- opening ---- */

static bool is_stopping(engine *self)
{
    (void)pthread_mutex_lock(&self->lock);
    const bool stopping = self->stopping;
    (void)pthread_mutex_unlock(&self->lock);
    return stopping;
}

static void say_failure(engine *self, mts_status status)
{
    const char *why = self->error[0] ? self->error : mts_status_name(status);
    pass_log(self, MTS_LOG_ERROR, why);
    view_tell_failure(self->options.view, why);
}

static int show_progress(void *context, float fraction, const char *what)
{
    engine *self = context;
    char sentence[160];
    (void)snprintf(sentence, sizeof sentence, "preparing %.0f %%: %s", (double)fraction * 100.0,
                   what ? what : "");
    view_tell(self->options.view, sentence);
    return is_stopping(self) ? 1 : 0;
}

static mts_status open_runtime(engine *self)
{
    mts_runtime_options options;
    mts_runtime_options_default(&options);
    options.device = self->device;
    options.cache_dir = self->cache_dir;
    options.flush_launches = LAUNCHES_AT_ONCE;
    options.error_text = self->error;
    options.error_size = sizeof self->error;
    options.context = self;
    options.log = pass_log;

    const mts_status status = mts_runtime_create(&options, &self->runtime);
    mts_device_desc device = {.size = sizeof device};
    if (status == MTS_STATUS_OK && mts_runtime_device(self->runtime, &device) == MTS_STATUS_OK) {
        self->reads_buffers = (device.reads >> MTS_MEMORY_ANDROID & 1u) != 0;
    }
    return status;
}

static mts_status open_bundle(engine *self)
{
    const char *why = "";
    const mts_status status =
        self->options.bundle_open(self->options.context, self->runtime, &self->bundle, &why);
    if (status != MTS_STATUS_OK && why[0]) {
        (void)snprintf(self->error, sizeof self->error, "%s", why);
    }
    return status;
}

static mts_status open_session(engine *self)
{
    mts_session_options options;
    mts_session_options_default(&options);
    options.frames_in_flight = self->options.frames_in_flight;
    options.when_full = MTS_WHEN_FULL_DROP_OLDEST;
    options.context = self;
    options.done = run_done;
    options.progress = show_progress;
    return mts_session_create(self->runtime, self->bundle, &options, &self->session);
}

static mts_status open_all(engine *self)
{
    self->error[0] = '\0';
    self->finished = 0;
    self->refusals = 0;
    view_tell(self->options.view, "preparing");
    mts_status status = open_runtime(self);
    if (status == MTS_STATUS_OK) {
        status = open_bundle(self);
    }
    if (status == MTS_STATUS_OK) {
        status = open_session(self);
    }
    return status;
}

/* Runs under way end, and give their pictures back. */
static void close_all(engine *self)
{
    mts_session_destroy(&self->session);
    for (size_t i = 0; i < sizeof self->slots / sizeof self->slots[0]; i++) {
        /* not to be expected; but a camera that waits for its pictures is worse */
        if (self->slots[i].picture) {
            give_back(self, &self->slots[i]);
        }
    }
    mts_bundle_destroy(&self->bundle);
    if (self->options.bundle_closed) {
        self->options.bundle_closed(self->options.context);
    }
    mts_runtime_destroy(&self->runtime);
}

/* ---- running ---- */

static struct timespec soon(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += POLL_MS * 1000000L;
    if (at.tv_nsec >= 1000000000L) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000L;
    }
    return at;
}

/* Waits for something to do. A picture that is going to be taken counts as held. */
static step next_step(engine *self, engine_source *source)
{
    step next = STEP_POLL;
    (void)pthread_mutex_lock(&self->lock);
    while (!self->stopping && !(self->has_source && self->has_picture)) {
        if (self->held == 0) {
            (void)pthread_cond_wait(&self->work, &self->lock);
            continue;
        }
        const struct timespec until = soon();
        (void)pthread_cond_timedwait(&self->work, &self->lock, &until);
        break;
    }
    if (self->stopping) {
        next = STEP_END;
    } else if (self->has_source && self->has_picture) {
        self->has_picture = false;
        self->held++;
        *source = self->source;
        next = STEP_PICTURE;
    }
    (void)pthread_mutex_unlock(&self->lock);
    return next;
}

/* From the memory that the device reads by itself, if it does; else, and where that
   fails, from the processor's view of it. */
static mts_status submit_frame(engine *self, picture_slot *slot, const mts_frame *frame, mts_ticket *ticket)
{
    const engine_source *source = &slot->source;
    mts_frame there = *frame;
    if (!self->reads_buffers || !source->import || !source->import(source->context, slot->picture, &there)) {
        return mts_session_submit(self->session, frame, ticket);
    }
    slot->by_device = true;
    const mts_status refused = mts_session_submit(self->session, &there, ticket);
    if (refused == MTS_STATUS_OK || refused == MTS_STATUS_BUSY || refused == MTS_STATUS_DEVICE_LOST) {
        return refused;
    }
    slot->by_device = false;
    const mts_status status = mts_session_submit(self->session, frame, ticket);
    if (status == MTS_STATUS_OK) { /* so it was the memory, not the picture */
        count_refusal(self, refused);
    }
    return status;
}

static mts_status submit(engine *self, const engine_source *source)
{
    mts_frame frame;
    mts_ticket ticket = 0;
    void *picture = source->take(source->context, &frame);
    picture_slot *slot = picture ? find_free_slot(self) : NULL;
    if (!slot) {
        if (picture) {
            source->release(source->context, picture);
        }
        count_released(self);
        return MTS_STATUS_OK;
    }
    *slot = (struct picture_slot){.picture = picture, .source = *source};
    frame.zero_copy = 1;
    self->error[0] = '\0';
    const mts_status status = submit_frame(self, slot, &frame, &ticket);
    if (status != MTS_STATUS_OK && slot->picture == picture) {
        give_back(self, slot);
    } else if (slot->picture == picture) {
        slot->ticket = ticket;
    }
    return status == MTS_STATUS_BUSY ? MTS_STATUS_OK : status;
}

/* How it goes, once a second. */
static void report(engine *self)
{
    struct timespec now;
    mts_flow flow = {.size = sizeof flow};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec < self->reported + REPORT_S || mts_session_flow(self->session, &flow) != MTS_STATUS_OK) {
        return;
    }
    if (self->reported != 0) {
        char sentence[128];
        const double rate = (double)(flow.completed - self->taken) / (double)(now.tv_sec - self->reported);
        (void)snprintf(sentence, sizeof sentence, "%.0f frames a second, %llu dropped", rate,
                       (unsigned long long)flow.dropped);
        view_tell_progress(self->options.view, sentence);
    }
    self->reported = now.tv_sec;
    self->taken = flow.completed;
}

/* Until the end, or until the device is lost. */
static mts_status serve(engine *self)
{
    engine_source source;
    for (step next = next_step(self, &source); next != STEP_END; next = next_step(self, &source)) {
        mts_ticket ticket = 0;
        mts_status status = next == STEP_PICTURE ? submit(self, &source) : MTS_STATUS_OK;
        if (status == MTS_STATUS_OK) {
            self->error[0] = '\0';
            status = mts_session_poll(self->session, &ticket);
        }
        if (status == MTS_STATUS_DEVICE_LOST) {
            return status;
        }
        if (status != MTS_STATUS_OK && status != MTS_STATUS_BUSY && status != MTS_STATUS_NOT_FOUND &&
            status != MTS_STATUS_CANCELLED) {
            say_failure(self, status); /* of this frame; the next one may do better */
        }
        report(self);
    }
    return MTS_STATUS_OK;
}

/* Without a session there is nothing to do but to wait for the end. */
static void wait_for_end(engine *self)
{
    (void)pthread_mutex_lock(&self->lock);
    while (!self->stopping) {
        (void)pthread_cond_wait(&self->work, &self->lock);
    }
    (void)pthread_mutex_unlock(&self->lock);
}

static void *run(void *context)
{
    engine *self = context;
    mts_status status = MTS_STATUS_DEVICE_LOST;
    for (int start = 0; start <= RESTARTS_MOST && status == MTS_STATUS_DEVICE_LOST; start++) {
        status = open_all(self);
        if (status == MTS_STATUS_OK) {
            view_tell(self->options.view, "");
            status = serve(self);
        }
        if (status != MTS_STATUS_OK && !is_stopping(self)) {
            say_failure(self, status);
        }
        start = self->finished >= STEADY_RUNS ? 0 : start; /* this loss is the first one again */
        close_all(self);
    }
    wait_for_end(self);
    return NULL;
}

/* ---- the engine ---- */

static char *copy(const char *text)
{
    const size_t size = text ? strlen(text) + 1 : 0;
    char *made = size ? malloc(size) : NULL;
    if (made) {
        memcpy(made, text, size);
    }
    return made;
}

static void free_engine(engine *self)
{
    (void)pthread_cond_destroy(&self->idle);
    (void)pthread_cond_destroy(&self->work);
    (void)pthread_mutex_destroy(&self->lock);
    free(self->device);
    free(self->cache_dir);
    free(self);
}

engine *engine_create(const engine_options *options)
{
    engine *made = calloc(1, sizeof *made);
    if (!made) {
        return NULL;
    }
    made->options = *options;
    if (made->options.frames_in_flight < 2 || made->options.frames_in_flight > IN_FLIGHT_MOST) {
        made->options.frames_in_flight = 3;
    }
    made->device = copy(options->device);
    made->cache_dir = copy(options->cache_dir);
    (void)pthread_mutex_init(&made->lock, NULL);
    (void)pthread_cond_init(&made->work, NULL);
    (void)pthread_cond_init(&made->idle, NULL);
    if ((options->device && !made->device) || (options->cache_dir && !made->cache_dir) ||
        pthread_create(&made->thread, NULL, run, made) != 0) {
        free_engine(made);
        return NULL;
    }
    return made;
}

void engine_resume(engine *self, const engine_source *source)
{
    (void)pthread_mutex_lock(&self->lock);
    self->source = *source;
    self->has_source = true;
    (void)pthread_cond_signal(&self->work);
    (void)pthread_mutex_unlock(&self->lock);
}

void engine_notify(engine *self)
{
    (void)pthread_mutex_lock(&self->lock);
    self->has_picture = true;
    (void)pthread_cond_signal(&self->work);
    (void)pthread_mutex_unlock(&self->lock);
}

void engine_pause(engine *self)
{
    (void)pthread_mutex_lock(&self->lock);
    self->has_source = false;
    self->has_picture = false;
    while (self->held > 0) {
        (void)pthread_cond_wait(&self->idle, &self->lock);
    }
    (void)pthread_mutex_unlock(&self->lock);
}

void engine_destroy(engine **self)
{
    if (!self || !*self) {
        return;
    }
    (void)pthread_mutex_lock(&(*self)->lock);
    (*self)->stopping = true;
    (void)pthread_cond_signal(&(*self)->work);
    (void)pthread_mutex_unlock(&(*self)->lock);
    (void)pthread_join((*self)->thread, NULL);
    free_engine(*self);
    *self = NULL;
}
