/*
 * timeline.c: timeline_last are marks in turns.
 *
 * The queue is in order, so timeline_last are looked at in order, each until it is over: whoever asks for a
 * fence looks at those of others that stand before it, and what has failed there is kept for these. Not
 * responsible for what to do about a failure.
 */
#include "device/timeline.h"

static uint32_t mark_of(uint64_t fence)
{
    return (uint32_t)(fence % MTS_DEVICE_EVENTS);
}

/* Failures in a row are one entry if their codes are equal. Where there is no room the two oldest become one,
 * with what passed between them: nobody may take a failed run for a good one, the other way round does less.
 */
static void keep_failure(mts_device *device, uint64_t fence, const mts_error *error)
{
    mts_timeline_failure *all = device->timeline_failures;
    uint32_t *count = &device->timeline_failure_count;
    mts_timeline_failure *newest = *count > 0 ? &all[*count - 1] : NULL;
    if (newest && newest->last + 1 == fence && newest->error.code == error->code) {
        newest->last = fence;
        return;
    }
    if (*count == MTS_TIMELINE_FAILURES) {
        all[0].last = all[1].last;
        for (uint32_t i = 2; i < *count; i++) {
            all[i - 1] = all[i];
        }
        (*count)--;
    }
    all[(*count)++] = (mts_timeline_failure){.first = fence, .last = fence, .error = *error};
}

static const mts_timeline_failure *find_failure(const mts_device *device, uint64_t fence)
{
    for (uint32_t i = 0; i < device->timeline_failure_count; i++) {
        const mts_timeline_failure *f = &device->timeline_failures[i];
        if (f->first <= fence && fence <= f->last) {
            return f;
        }
    }
    return NULL;
}

/* Looks at the oldest fence that is not known to be over. It is one of the last MTS_DEVICE_EVENTS: only these
 * have a mark. What failed is over too. False: it is not. */
static bool advance(mts_device *device, bool wait)
{
    const uint64_t fence = device->timeline_done + 1;
    bool passed = wait;
    mts_error error = {MTS_STATUS_OK, ""};
    error.code = wait ? mts_device_event_wait(device, mark_of(fence), &error)
                      : mts_device_passed(device, mark_of(fence), &passed, &error);
    if (error.code != MTS_STATUS_OK) {
        keep_failure(device, fence, &error);
    } else if (!passed) {
        return false;
    }
    device->timeline_done = fence;
    return true;
}

static mts_status look(mts_device *device, uint64_t fence, bool wait, bool *passed, mts_error *error)
{
    *passed = false;
    while (device->timeline_done < fence) {
        if (!advance(device, wait)) {
            return MTS_STATUS_OK;
        }
    }
    const mts_timeline_failure *failure = find_failure(device, fence);
    if (failure) {
        return mts_fail(error, failure->error.code, "%s", failure->error.text);
    }
    *passed = true;
    return MTS_STATUS_OK;
}

mts_status mts_timeline_signal(mts_device *device, uint64_t *fence, mts_error *error)
{
    const uint64_t next = device->timeline_last + 1;
    while (next - device->timeline_done > MTS_DEVICE_EVENTS) {
        (void)advance(device, true); /* a failure is its owner's */
    }
    const mts_status code = mts_device_event_record(device, mark_of(next), error);
    if (code == MTS_STATUS_OK) {
        device->timeline_last = next;
        *fence = next;
    }
    return code;
}

mts_status mts_timeline_reached(mts_device *device, uint64_t fence, bool *passed, mts_error *error)
{
    return look(device, fence, false, passed, error);
}

mts_status mts_timeline_wait(mts_device *device, uint64_t fence, mts_error *error)
{
    bool passed = false;
    return look(device, fence, true, &passed, error);
}
