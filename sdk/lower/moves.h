/*
 * moves.h: which launches only move, resize or pool, and why a plan has them. For reports.
 */
#ifndef MTS_LOWER_MOVES_H
#define MTS_LOWER_MOVES_H

#include "plan/plan.h"

/* The reason in English, or NULL if the step computes. The smallest library knows one reason, and
   none for resizes and pools. */
const char *mts_moves_reason(const mts_plan *plan, const mts_step *step);

#endif
