/*
 * guard.h: two threads on one device for a while: one that runs frames, and one that makes a
 * session's next engine beside them.
 *
 * While a device is guarded, a command waits until the one that another thread is at has
 * ended; threads take turns. Building a kernel, which may take seconds, holds up other builds
 * only, where the device says that builds change nothing that commands use (builds_aside);
 * elsewhere, also on a device that another one wraps, it is a command. A command that waits
 * for the queue holds up the other thread as long, so the second thread is to have none but at
 * its end. A library built with MTS_SMALL does not have it.
 */
#ifndef MTS_DEVICE_GUARD_H
#define MTS_DEVICE_GUARD_H

#include "device/device.h"

typedef struct mts_guard mts_guard;

/* One thread uses the device, before the second one begins. Several sessions of a device may
   guard it, each for itself. OUT_OF_MEMORY. */
mts_status mts_guard_begin(mts_device *device, mts_guard **out, mts_error *error);
/* The second thread has ended. NULL and pointers to NULL are fine. */
void mts_guard_end(mts_guard **guard);

#endif
