/*
 * timeline.h: points in a device's queue that any caller can wait for. They are values
 * that only grow, over the few events of a device, so that the sessions of one device
 * need not share these out.
 */
#ifndef MTS_DEVICE_TIMELINE_H
#define MTS_DEVICE_TIMELINE_H

#include "device/device.h"

/* Puts a new value behind everything enqueued so far, and gives that to the device. It
 * waits only for the value MTS_DEVICE_EVENTS before, if that is not reached yet; a
 * failure there is reported to those that wait for it. */
mts_status mts_timeline_signal(mts_device *device, uint64_t *value, mts_error *error);
/* Whether everything before a value has finished; *reached is false if this fails. A
 * value fails, every time, with what went wrong between the value before it and itself;
 * others are reached. After a failure it is not known how far the queue has come, so wait
 * for all of it before memory is freed. It does not wait where mts_device_event_passed
 * does not. */
mts_status mts_timeline_reached(mts_device *device, uint64_t value, bool *reached, mts_error *error);
mts_status mts_timeline_wait(mts_device *device, uint64_t value, mts_error *error);

#endif
