/*
 * feed.c: submits, waits.
 */
#include "feed.h"

#include "kit/measure.h"

mts_status feed_push(feed *queue, const source_frame *frame)
{
    feed_frame held = {.source = *frame, .arrived_ms = cli_now_ms(), .used = true};
    mts_status status = MTS_STATUS_OK;
    if (queue->session) {
        held.source.frame.borrow = 1;
        status = mts_session_submit(queue->session, &held.source.frame, &held.ticket);
        if (status != MTS_STATUS_OK) {
            return status;
        }
        status = mts_session_wait(queue->session, held.ticket, MTS_TIMEOUT_INFINITE);
    }
    queue->taken(queue->context, &held, status);
    return MTS_STATUS_OK;
}

mts_status feed_poll(feed *queue)
{
    (void)queue;
    return MTS_STATUS_OK;
}

mts_status feed_drain(feed *queue, uint32_t timeout_ms)
{
    (void)timeout_ms;
    return feed_poll(queue);
}

uint32_t feed_held(const feed *queue)
{
    (void)queue;
    return 0;
}
