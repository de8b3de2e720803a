/*
 * schedule.h: the order in which the threads of a device look for launches of a command
 * list.
 *
 * Launches that wait for each other, directly or through others, are a strand: as a rule
 * the layers of one network. The places of a strand follow one another, so a thread that
 * looks from the place of its last launch on stays with its network while that has work
 * for it. Where nearly every launch waits for the one before, as in a single network,
 * places go by levels (levels.h). Not responsible for what waits for what (device/dependencies.h).
 */
#ifndef MTS_CPU_SCHEDULE_H
#define MTS_CPU_SCHEDULE_H

#include "device/device.h"
#include "platform/cpu/board.h"

typedef struct mts_cpu_schedule {
    /* Of places. */
    mts_cpu_order order;
    /* Place -> launch of the list. */
    const uint32_t *launch_of;
    /* The memory of all arrays. */
    void *block;
} mts_cpu_schedule;

/* Errors: OUT_OF_MEMORY. */
mts_status mts_cpu_schedule_make(const mts_launch *launches, size_t count, const mts_allocator *allocator,
                                 mts_cpu_schedule *out, mts_error *error);
/* A schedule of zeros is fine. */
void mts_cpu_schedule_release(mts_cpu_schedule *schedule, const mts_allocator *allocator);

#endif
