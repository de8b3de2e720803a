/*
 * summary.h: what a written bundle holds, as `compile` and `synth` print it.
 */
#ifndef MTS_APPS_SUMMARY_H
#define MTS_APPS_SUMMARY_H

#include "kit/json.h"
#include "mts/mtsc.h"

/* Members tasks, families, nodes, blocks, weights_bytes and weights_bytes_unshared of the
   open object. */
void cli_json_summary(cli_json *json, const mtsc_summary *summary);

#endif
