/*
 * bench_bundle.h: the networks of a scenario as a bundle in a temporary file.
 */
#ifndef MTS_APPS_BENCH_BUNDLE_H
#define MTS_APPS_BENCH_BUNDLE_H

#include "bench_scenario.h"

/*
 * Compiles the models of a scenario, one task for each time that a network runs on an
 * arrival. `path` receives the name of a new file, which the caller removes; it is empty
 * if none was made. Returns -1 to go on, else the exit status.
 */
int cli_bench_bundle_make(const cli_scenario *scenario, const char *scenario_path, char *path, size_t size);

#endif
