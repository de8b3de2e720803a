/*
 * grouping.h: which tasks are stitched into one group, by measurement.
 */
#ifndef MTS_TUNE_GROUPING_H
#define MTS_TUNE_GROUPING_H

#include "tune/planning.h"

/* Decides on groups and slices within the memory budget. LIMIT: no plan keeps it; the
 * error names the smallest budget that can be met. */
mts_status mts_grouping_measure(mts_planning *p);

#endif
