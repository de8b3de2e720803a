/*
 * explain_plan.h: the part of an explanation that says how the plan was found. Used by explain.c only.
 */
#ifndef MTS_TUNE_EXPLAIN_PLAN_H
#define MTS_TUNE_EXPLAIN_PLAN_H

#include "engine/engine_internal.h"
#include "tune/report.h"

/* "key": value pairs of a JSON object, without a comma at either end. */
void mts_explain_plan_json(const mts_engine *engine, mts_text *text);
/* Lines of text; none where nothing was measured. */
void mts_explain_plan_text(const mts_engine *engine, mts_text *text);

#endif
