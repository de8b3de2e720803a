/*
 * shares.h: what tasks cost on a device alone and together: a computation or a weight block
 * that several of them need is there once. Pure.
 */
#ifndef MTS_PARTITION_SHARES_H
#define MTS_PARTITION_SHARES_H

#include "partition/balance.h"
#include "partition/chain.h"

/*
 * Fills items, devices, shares, ms, memory and the shares of each item; everything lives in
 * `arena`. A share is all that the same tasks need: a unit's time is an equal part for each
 * value that it computes. Errors: OUT_OF_MEMORY.
 */
mts_status mts_shares_make(const mts_units *units, const mts_device_costs *costs, uint32_t device_count,
                           mts_arena *arena, mts_balance *out, mts_error *error);

#endif
