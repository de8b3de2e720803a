/*
 * overflow.h: which launch first writes numbers that are infinite or NaN.
 */
#ifndef MTS_ENGINE_OVERFLOW_H
#define MTS_ENGINE_OVERFLOW_H

#include "engine/engine.h"

/*
 * Runs the inputs that are set launch by launch and looks at all activations after each.
 * *label receives that of the first launch that writes such a number, and lives as long
 * as the engine; NULL: none does (an input may hold one). Slow: for a message after an
 * output was seen to be none. Outputs of earlier runs stay. BUSY: a submission is in
 * flight.
 */
mts_status mts_engine_find_overflow(mts_engine *engine, const char **label, mts_error *error);

#endif
