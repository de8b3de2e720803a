/*
 * feed.h: frames into a session and out again: the one file that knows how a session is
 * fed. Each frame is zero-copy input of the session, and held until its run is over.
 */
#ifndef MTS_CAMERA_FEED_H
#define MTS_CAMERA_FEED_H

#include "kit/cascade.h"
#include "kit/open.h"
#include "source.h"

#define FEED_PLACES_MOST 15u
#define FEED_FACES_MOST 32u

/* A frame under way. */
typedef struct feed_frame {
    source_frame source;
    double arrived_ms; /* when the program had it */
    mts_ticket ticket;
    bool used;
    uint32_t face_count; /* what was found on it before */
    cli_face faces[FEED_FACES_MOST];
} feed_frame;

typedef struct feed {
    mts_session *session; /* NULL: frames are over as soon as they come */
    feed_frame *frames;   /* FEED_PLACES_MOST + 1 */
    /* A run is over: OK, outputs can be read, and nothing else be asked of the session;
       CANCELLED, the frame was dropped; else it failed. The frame is the receiver's to
       release. */
    void (*taken)(void *context, feed_frame *frame, mts_status status);
    void *context;
} feed;

/* False: no memory. */
bool feed_make(feed *queue);
/* After the session is gone: it may still give frames back. */
void feed_release(feed *queue);
/* What happens to a frame when all slots are in use: a camera does not wait, a clip
   does, unless one of the two is asked for. With one slot nothing is dropped: no frame
   waits. */
mts_when_full feed_when_full(bool live, uint32_t slots, bool drop, bool block);
/* What a session is made with, so that it gives its runs to the feed. */
void feed_options_set(feed *queue, uint32_t slots, mts_when_full when_full, cli_open_options *options);
/* A slot for the next frame, all zero; NULL: all are in use, which a session that was
 * made so never leaves.
 */
feed_frame *feed_next(feed *queue);
/* Submits the frame in the slot: `taken` is called for it sooner or later, unless this
   fails. */
mts_status feed_push(feed *queue, feed_frame *frame);
/* Takes what has finished. */
mts_status feed_poll(feed *queue);
/* Until nothing is under way. TIMEOUT: that takes too long. */
mts_status feed_drain(feed *queue, uint32_t timeout_ms);
/* Frames under way. */
uint32_t feed_held(const feed *queue);

#endif
