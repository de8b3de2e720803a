/*
 * feed.c: submits, polls, and finds the frame that belongs to a ticket. Everything
 * happens on the thread that calls.
 */
#include "feed.h"

#include <stdlib.h>
#include <string.h>

#include "kit/measure.h"

#define WAIT_MS 100u

/* The session's callback. */
static void done(void *context, mts_ticket ticket, mts_status status)
{
    feed *queue = context;
    for (uint32_t i = 0; i <= FEED_PLACES_MOST; i++) {
        feed_frame *frame = &queue->frames[i];
        if (frame->used && frame->ticket == ticket) {
            frame->used = false;
            queue->taken(queue->context, frame, status);
            return;
        }
    }
}

bool feed_make(feed *queue)
{
    queue->frames = calloc(FEED_PLACES_MOST + 1, sizeof *queue->frames);
    return queue->frames;
}

void feed_release(feed *queue)
{
    free(queue->frames);
    queue->frames = NULL;
}

mts_when_full feed_when_full(bool live, uint32_t slots, bool drop, bool block)
{
    return drop || (live && !block && slots > 1) ? MTS_WHEN_FULL_DROP_OLDEST : MTS_WHEN_FULL_BLOCK;
}

void feed_options_set(feed *queue, uint32_t slots, mts_when_full when_full, cli_open_options *options)
{
    options->frames_in_flight = slots;
    options->when_full = when_full;
    options->context = queue;
    options->done = done;
}

feed_frame *feed_next(feed *queue)
{
    for (uint32_t i = 0; i <= FEED_PLACES_MOST; i++) {
        if (!queue->frames[i].used) {
            memset(&queue->frames[i], 0, sizeof queue->frames[i]);
            return &queue->frames[i];
        }
    }
    return NULL;
}

mts_status feed_push(feed *queue, feed_frame *frame)
{
    if (!queue->session) {
        queue->taken(queue->context, frame, MTS_STATUS_OK);
        return MTS_STATUS_OK;
    }
    frame->source.frame.zero_copy = 1;
    frame->used = true; /* others may come back meanwhile; this one has no ticket yet */
    const mts_status status = mts_session_submit(queue->session, &frame->source.frame, &frame->ticket);
    frame->used = status == MTS_STATUS_OK;
    return status;
}

/* A failure that the frame's own `done` has reported is no failure of the feed. */
static mts_status settled(mts_status status)
{
    return status == MTS_STATUS_BUSY || status == MTS_STATUS_NOT_FOUND || status == MTS_STATUS_CANCELLED
               ? MTS_STATUS_OK
               : status;
}

mts_status feed_poll(feed *queue)
{
    mts_ticket ticket = 0;
    return queue->session ? settled(mts_session_poll(queue->session, &ticket)) : MTS_STATUS_OK;
}

/* The frame that was submitted first; NULL: none is under way. */
static feed_frame *oldest(feed *queue)
{
    feed_frame *first = NULL;
    for (uint32_t i = 0; i <= FEED_PLACES_MOST; i++) {
        feed_frame *frame = &queue->frames[i];
        if (frame->used && (!first || frame->ticket < first->ticket)) {
            first = frame;
        }
    }
    return first;
}

mts_status feed_drain(feed *queue, uint32_t timeout_ms)
{
    const double end_ms = cli_now_ms() + timeout_ms;
    for (feed_frame *frame = oldest(queue); frame; frame = oldest(queue)) {
        const mts_ticket ticket = frame->ticket;
        const mts_status status = mts_session_wait(queue->session, ticket, WAIT_MS);
        if (status == MTS_STATUS_TIMEOUT && cli_now_ms() < end_ms) {
            continue;
        }
        if (settled(status) != MTS_STATUS_OK || (frame->used && frame->ticket == ticket)) {
            return status == MTS_STATUS_OK ? MTS_STATUS_INTERNAL : status;
        }
    }
    return MTS_STATUS_OK;
}

uint32_t feed_held(const feed *queue)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i <= FEED_PLACES_MOST; i++) {
        count += queue->frames[i].used ? 1 : 0;
    }
    return count;
}
