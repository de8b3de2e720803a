/*
 * timeline.h: points of a device's queue that anybody may wait for: numbers that never come again, over the few
 * marks that a device has, so that several sessions of one device need not share these out.
 */
#ifndef MTS_DEVICE_TIMELINE_H
#define MTS_DEVICE_TIMELINE_H

#include "device/device.h"

/* Puts a fence behind everything enqueued so far and hands that to the device. Waits only for the fence that
 * was set MTS_DEVICE_EVENTS timeline_last ago, if that is not over; how that one ended is told to who asks
 * for it. */
mts_status mts_timeline_signal(mts_device *device, uint64_t *fence, mts_error *error);
/* Whether everything before a fence has finished; false if this fails. A fence fails with what went wrong
 * between the one before it and itself, whenever and however often it is asked for; others pass. After a
 * failure it is not known how far the queue is: who lets go of memory then waits for all of it. Does not wait
 * where mts_device_passed does not. */
mts_status mts_timeline_reached(mts_device *device, uint64_t fence, bool *passed, mts_error *error);
mts_status mts_timeline_wait(mts_device *device, uint64_t fence, mts_error *error);

#endif
