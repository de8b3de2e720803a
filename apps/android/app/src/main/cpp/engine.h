/*
 * engine.h: the networks of the app. A thread of its own opens the device, the bundle and
 * a session, takes the newest picture of a source whenever there is one, and keeps a few
 * of them under way. The library's objects belong to one thread at a time: they never
 * leave this one. No call of Android: where pictures and the bundle come from are
 * functions.
 *
 * Lifetimes. A picture is a zero-copy input of the session. It goes back to its source as
 * soon as its run is over, in any order of events: finished, dropped, failed, destroyed.
 * engine_pause takes the source away and returns when nothing of it is held any more, so
 * that the camera may be closed; the session stays, and engine_resume goes on at once.
 *
 * Thread-safety: engine_notify may be called from any thread; the other functions from
 * one at a time.
 */
#ifndef MTS_ANDROID_ENGINE_H
#define MTS_ANDROID_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mts/mts.h"
#include "view.h"

/* Where pictures come from. Functions are called on the engine's thread. */
typedef struct engine_source {
    void *context;
    /* The newest picture, with what it takes to read it in *frame; NULL: there is
       none. */
    void *(*take)(void *context, mts_frame *frame);
    /* The same frame in memory that the device may read by itself; false: as it was. May
       be NULL. */
    bool (*import)(void *context, void *picture, mts_frame *frame);
    /* Gives one back. */
    void (*release)(void *context, void *picture);
} engine_source;

typedef struct engine_options {
    const char *device;        /* of mts_runtime_options; NULL: the best one */
    const char *cache_dir;     /* of the app; NULL: kernels are built at each start */
    uint32_t frames_in_flight; /* 2 or more; 0: 3 */
    view *view;                /* outlives the engine */
    void *context;             /* of the following, which are called on the engine's thread */
    /* `why` may be set to a sentence for what the library has none. */
    mts_status (*bundle_open)(void *context, mts_runtime *runtime, mts_bundle **out, const char **why);
    void (*bundle_closed)(void *context); /* the bundle is gone, or was never opened; may be NULL */
    void (*log)(void *context, mts_log_severity severity, const char *text); /* may be NULL */
} engine_options;

typedef struct engine engine;

/* Starts the thread; strings are copied. NULL: no memory or no thread. */
engine *engine_create(const engine_options *options);
/* Takes pictures from now on. The source lives until engine_pause or engine_destroy has
   returned. */
void engine_resume(engine *self, const engine_source *source);
/* A picture has come. */
void engine_notify(engine *self);
/* See above; waits for the runs under way, some frames' time. Fine without a source. */
void engine_pause(engine *self);
/* Gives pictures back, ends the thread, frees everything. NULL and pointers to NULL are
   fine. */
void engine_destroy(engine **self);

#endif
