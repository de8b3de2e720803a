/*
 * fusing.h: fused blocks (lower/fuse.h) against their layers apart.
 */
#ifndef MTS_TUNE_FUSING_H
#define MTS_TUNE_FUSING_H

#include "tune/planning.h"

/*
 * Measures the blocks of the session's tasks that no earlier session has measured, within
 * the time for tuning, and adds what is faster of each to p->measured. Errors: CANCELLED,
 * OUT_OF_MEMORY, DEVICE_LOST.
 */
mts_status mts_fusing_tune(mts_planning *p);

#endif
