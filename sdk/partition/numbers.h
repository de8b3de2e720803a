/*
 * numbers.h: one number for all values that hold the same data.
 *
 * Internal to sdk/partition.
 */
#ifndef MTS_PARTITION_NUMBERS_H
#define MTS_PARTITION_NUMBERS_H

#include "partition/units.h"

/* Fills number_of, and the values but for their units. Errors: OUT_OF_MEMORY. */
mts_status mts_units_number(mts_units *units, mts_arena *arena, mts_error *error);

#endif
