/*
 * slicing.h: how large slices of layers are, by measurement (what slices are:
 * plan/slices.h).
 */
#ifndef MTS_TUNE_SLICING_H
#define MTS_TUNE_SLICING_H

#include "tune/planning.h"

/* Compares sizes of slices with the groups that were decided; decides for the best that
   keeps the budget. */
mts_status mts_slicing_measure(mts_planning *p);

#endif
