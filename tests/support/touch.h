/*
 * touch.h: a device that finds launches which touch more of the activations than their accesses say.
 *
 * Before a list is submitted each of its launches runs alone: once as it is, when only what it writes may change, and once
 * with all that it does not touch made numbers that are none, when its results may not change. With the environment
 * variable MTS_TEST_TOUCHES=1 net_device_open puts it around devices that run launches at the same time.
 */
#ifndef MTS_TESTS_SUPPORT_TOUCH_H
#define MTS_TESTS_SUPPORT_TOUCH_H

#include "platform/wrap/wrap.h"

/* Takes *device (NULL afterwards, or the outer device). Submitting fails with INTERNAL where a launch touches more. */
mts_status mts_wrap_touch(mts_device **device, mts_error *error);

#endif
