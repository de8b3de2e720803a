/*
 * explain.h: what an engine runs and how its plan was found, for people or as a JSON
 * object.
 */
#ifndef MTS_TUNE_EXPLAIN_H
#define MTS_TUNE_EXPLAIN_H

#include "base/text.h"
#include "engine/engine.h"
#include "tune/report.h"

/* `report` is that of the engine's planning. */
void mts_explain(const mts_engine *engine, const mts_planning_report *report, bool json, mts_text *text);

#endif
