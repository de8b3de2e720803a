/*
 * explain_plan.h: the part of an explanation that says how the plan was found. Used by explain.c only.
 */
#ifndef MTS_TUNE_EXPLAIN_PLAN_H
#define MTS_TUNE_EXPLAIN_PLAN_H

#include "base/text.h"
#include "tune/report.h"

/* Writes "key": value pairs of a JSON object, without a comma at either end. */
void mts_explain_plan_json(const mts_planning_report *report, mts_text *text);
/* Writes lines of text; few where nothing was measured. */
void mts_explain_plan_text(const mts_planning_report *report, uint64_t memory_budget, mts_text *text);

#endif
