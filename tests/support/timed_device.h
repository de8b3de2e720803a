/*
 * timed_device.h: devices on a clock that a test turns. What is enqueued happens at once, but its end shows only when
 * the clock has come to the time that the device took for it: launches and copies, one after another. So a test of
 * seconds of many devices takes milliseconds, and comes out the same each time.
 */
#ifndef MTS_TESTS_SUPPORT_TIMED_DEVICE_H
#define MTS_TESTS_SUPPORT_TIMED_DEVICE_H

#include "device/device.h"

#define TIMED_DEVICES 8u

typedef struct timed_costs {
    /* Nanoseconds of a list of so many launches; NULL: launch_ns each. */
    uint64_t (*list_ns)(void *context, uint32_t launches);
    void *context;
    uint64_t launch_ns;
    /* Of a copy to or from the device: so much, and so much for each byte. */
    uint64_t copy_ns;
    double copy_ns_per_byte;
} timed_costs;

/* Nanoseconds. */
extern uint64_t timed_now;

/* Puts a device, which computes at once, onto the clock, until it is destroyed. Costs are copied. */
void timed_install(mts_device *device, const timed_costs *costs);
/* Forgets all devices; the clock is 0. */
void timed_reset(void);
/* Turns the clock to the next end of anything that was enqueued; false: nothing is to come. */
bool timed_next(void);

#endif
