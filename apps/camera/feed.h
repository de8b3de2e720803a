/*
 * feed.h: frames into a session and out again: the one file that knows how a session is fed. Holds each
 * frame until its run is over, so that no pixel has to be copied on the way to the device.
 */
#ifndef MTS_CAMERA_FEED_H
#define MTS_CAMERA_FEED_H

#include "mts/mts.h"
#include "source.h"

#define FEED_MOST 16u

/* A frame under way. */
typedef struct feed_frame {
    source_frame source;
    mts_ticket ticket;
    double arrived_ms; /* when the program had it */
    bool used;
} feed_frame;

typedef struct feed {
    mts_session *session; /* NULL: frames are over as soon as they come */
    uint32_t places;      /* frames in flight */
    feed_frame frames[FEED_MOST];
    /* A run is over: OK, outputs can be read; CANCELLED, the frame was dropped; else it failed. The frame is
       the receiver's to release. */
    void (*taken)(void *context, feed_frame *frame, mts_status status);
    void *context;
} feed;

/* Hands a frame over, whatever happens: `taken` is called for it sooner or later, unless this fails. */
mts_status feed_push(feed *queue, const source_frame *frame);
/* Takes what has finished. */
mts_status feed_poll(feed *queue);
/* Until nothing is under way; gives up after a while without progress (TIMEOUT). */
mts_status feed_drain(feed *queue, uint32_t timeout_ms);
/* Frames under way. */
uint32_t feed_held(const feed *queue);

#endif
