/*
 * gate_device.h: a device that does nothing until it is told to, for tests of what is under way. What is
 * enqueued is kept, with the caller's pointers where the caller promised that data stays, and happens in
 * order when an event is let through or a call waits.
 */
#ifndef MTS_TESTS_SUPPORT_GATE_DEVICE_H
#define MTS_TESTS_SUPPORT_GATE_DEVICE_H

#include "device/device.h"

/* Puts the gate before a device that computes at once ("reference"). One at a time. */
void gate_install(mts_device *device);
/* Does what was enqueued up to the next `events` events. */
void gate_pass(uint32_t events);
/* Marks that have not passed. */
uint32_t gate_marks(void);
/* Lists that were submitted since the gate was installed. */
uint32_t gate_lists(void);

#endif
