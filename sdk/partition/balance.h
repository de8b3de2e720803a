/*
 * balance.h: whole tasks dealt out to devices, so that the device that is busiest has
 * least to do (the subnetworks of sensAI). Pure.
 */
#ifndef MTS_PARTITION_BALANCE_H
#define MTS_PARTITION_BALANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/status.h"

/* Up to so many items the best deal is looked for; for more, a good one. */
#define MTS_BALANCE_EXACT 12u

typedef struct mts_balance {
    uint32_t items, devices;
    /* What items consist of. A share that several items of a device have is there once. */
    uint32_t shares;
    /* [device][share], milliseconds; INFINITY: the device cannot run it. */
    const double *ms;
    /* [share] bytes. */
    const uint64_t *memory;
    /* The shares of item i are list[first[i]] to list[first[i + 1]]. */
    const uint32_t *first, *list;
    /* [device] milliseconds of every run, and bytes it may hold; 0: no limit. */
    const double *run_ms;
    const uint64_t *budget;
} mts_balance;

/*
 * device_of[item] receives the device, *busiest_ms the time of the busiest one. Items go one
 * by one, the longest first, to the device that ends first with it; then items move and
 * change places while that helps. With few items the search goes through all deals, up to a
 * bound of its work. Errors: LIMIT (no deal that keeps the budgets was found), OUT_OF_MEMORY.
 */
mts_status mts_balance_find(const mts_balance *balance, const mts_allocator *allocator, uint32_t *device_of,
                            double *busiest_ms, mts_error *error);
/* Bytes of the items that a device was dealt. */
uint64_t mts_balance_memory(const mts_balance *balance, const uint32_t *device_of, uint32_t device);

#endif
