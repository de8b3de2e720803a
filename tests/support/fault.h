/*
 * fault.h: a device and an allocator that fail on purpose.
 *
 * A test runs the same scenario with nth = 1, 2, 3 ... until `failed` stays 0: then every place has failed
 * once.
 */
#ifndef MTS_SUPPORT_FAULT_H
#define MTS_SUPPORT_FAULT_H

#include "platform/wrap/wrap.h"

/* Lives with the caller, outlives the device, and may be changed at any time. Destroying calls never fail. */
typedef struct mts_fault_plan {
    mts_wrap_kind kind; /* of the calls that count; MTS_WRAP_KIND_COUNT: every kind */
    uint32_t nth;       /* the call that fails, from 1; 0: none */
    bool onwards;       /* and every later one */
    mts_status code;    /* what it returns; DEVICE_LOST loses the device */
    uint32_t calls;     /* out: calls that counted */
    uint32_t failed;    /* out: calls that failed */
} mts_fault_plan;

/* Takes *inner (NULL afterwards) if it succeeds; out may be inner, which then gets the outer device. */
mts_status mts_wrap_fault(mts_device **inner, mts_fault_plan *plan, mts_device **out, mts_error *error);

/* Fails the nth allocation, and every later one if `onwards`. Zero it, set inner and nth, use &fault.base. */
typedef struct mts_wrap_allocator {
    mts_allocator base;
    const mts_allocator *inner;
    uint32_t nth; /* from 1; 0: none */
    bool onwards;
    uint32_t calls;  /* out: allocations asked for */
    uint32_t failed; /* out */
    uint32_t alive;  /* out: allocations not freed */
} mts_wrap_allocator;

void mts_wrap_allocator_init(mts_wrap_allocator *fault, const mts_allocator *inner, uint32_t nth);

#endif
