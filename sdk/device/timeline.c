/*
 * timeline.c: timeline values are the events of a device in turns.
 *
 * The queue is in order, so values are looked at in order, each until it is reached. A
 * caller that asks for a value so looks at those before it, which may belong to other
 * sessions; a failure there is kept for them. Not responsible for what to do about a
 * failure.
 */
#include "device/timeline.h"

static uint32_t event_of(uint64_t value)
{
    return (uint32_t)(value % MTS_DEVICE_EVENTS);
}

/* Failures in a row are one entry if their codes are equal. Where no entry is left, the
 * two oldest become one, with the values between them. A good run may so count as failed,
 * but never a failed one as good. */
static void keep_failure(mts_device *device, uint64_t value, const mts_error *error)
{
    mts_timeline_failure *all = device->timeline_failures;
    uint32_t *count = &device->timeline_failure_count;
    mts_timeline_failure *newest = *count > 0 ? &all[*count - 1] : NULL;
    if (newest && newest->last + 1 == value && newest->error.code == error->code) {
        newest->last = value;
        return;
    }
    if (*count == MTS_TIMELINE_FAILURES) {
        all[0].last = all[1].last;
        for (uint32_t i = 2; i < *count; i++) {
            all[i - 1] = all[i];
        }
        (*count)--;
    }
    all[(*count)++] = (mts_timeline_failure){.first = value, .last = value, .error = *error};
}

static const mts_timeline_failure *find_failure(const mts_device *device, uint64_t value)
{
    for (uint32_t i = 0; i < device->timeline_failure_count; i++) {
        const mts_timeline_failure *f = &device->timeline_failures[i];
        if (f->first <= value && value <= f->last) {
            return f;
        }
    }
    return NULL;
}

/* Looks at the oldest value that is not known to be over. It is one of the last
 * MTS_DEVICE_EVENTS: only these have an event. What failed is over too. False: it is not.
 */
static bool advance(mts_device *device, bool wait)
{
    const uint64_t value = device->timeline_done + 1;
    bool passed = wait;
    mts_error error = {MTS_STATUS_OK, ""};
    error.code = wait ? mts_device_event_wait(device, event_of(value), &error)
                      : mts_device_event_passed(device, event_of(value), &passed, &error);
    if (error.code != MTS_STATUS_OK) {
        keep_failure(device, value, &error);
    } else if (!passed) {
        return false;
    }
    device->timeline_done = value;
    return true;
}

static mts_status look(mts_device *device, uint64_t value, bool wait, bool *passed, mts_error *error)
{
    *passed = false;
    while (device->timeline_done < value) {
        if (!advance(device, wait)) {
            return MTS_STATUS_OK;
        }
    }
    const mts_timeline_failure *failure = find_failure(device, value);
    if (failure) {
        return mts_fail(error, failure->error.code, "%s", failure->error.text);
    }
    *passed = true;
    return MTS_STATUS_OK;
}

mts_status mts_timeline_signal(mts_device *device, uint64_t *value, mts_error *error)
{
    const uint64_t next = device->timeline_last + 1;
    while (next - device->timeline_done > MTS_DEVICE_EVENTS) {
        (void)advance(device, true); /* kept for those that wait for that value */
    }
    const mts_status status = mts_device_event_record(device, event_of(next), error);
    if (status == MTS_STATUS_OK) {
        device->timeline_last = next;
        *value = next;
    }
    return status;
}

mts_status mts_timeline_reached(mts_device *device, uint64_t value, bool *passed, mts_error *error)
{
    return look(device, value, false, passed, error);
}

mts_status mts_timeline_wait(mts_device *device, uint64_t value, mts_error *error)
{
    bool passed = false;
    return look(device, value, true, &passed, error);
}
