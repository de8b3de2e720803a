/*
 * traffic.h: the bytes that a step has to move at least.
 */
#ifndef MTS_LOWER_TRAFFIC_H
#define MTS_LOWER_TRAFFIC_H

#include "lower/lower.h"

uint64_t mts_traffic_bytes(const mts_encoding *encoding, const mts_step *step);

#endif
