/*
 * check.h: a device that watches how it is used.
 *
 * Findings are written to the device's log as errors that begin with "check: ", and
 * counted. Found are: objects alive when the device is destroyed; use of a destroyed
 * object, also through a command list; an object destroyed twice; reading bytes that
 * nothing has written; launches whose kernel parameters or pool nothing has written; the
 * device's host memory destroyed while a copy from or to it may be on its way (the
 * caller's other memory is not known here). Use of a destroyed object is refused with
 * INVALID_ARGUMENT, the others go on. What a kernel does is not looked at: its
 * activations count as written.
 *
 * For tests: destroyed objects keep their small structs until the device goes.
 */
#ifndef MTS_PLATFORM_WRAP_CHECK_H
#define MTS_PLATFORM_WRAP_CHECK_H

#include "platform/wrap/wrap.h"

/* Takes *inner (NULL afterwards) if it succeeds; out may be inner, which then gets the
   outer device. */
mts_status mts_wrap_check(mts_device **inner, mts_device **out, mts_error *error);
/* Findings so far on a device made by mts_wrap_check; what destroying finds goes to the
   log only. */
uint32_t mts_wrap_check_count(const mts_device *device);

#endif
