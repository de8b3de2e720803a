/*
 * synth.h: bundles of `mts synth` for tests of planning. Failures fail the running test.
 */
#ifndef MTS_TESTS_SUPPORT_SYNTH_H
#define MTS_TESTS_SUPPORT_SYNTH_H

#include "bundle/archive.h"
#include "tune/tune.h"
#include "mts/mtsc.h"
#include "platform/os/os.h"
#include "support/must.h"

typedef struct test_synth {
    char path[96]; /* exists until it is closed */
    mts_os_map map;
    mts_archive *archive;
    mtsc_summary summary;
} test_synth;

/* Small pruned networks: `count` ratios of pruning in turn, images of 32 x 32. */
mtsc_synth_options test_synth_options(mtsc_arch arch, uint32_t tasks, const double *prune, uint32_t count,
                                      double share);
void test_synth_open(test_synth *s, const mtsc_synth_options *options);
void test_synth_close(test_synth *s);

/* Runs the engine on inputs that depend on task and place; returns all outputs one after another, on the
 * heap. */
float *test_synth_run(mts_engine *engine, const mts_archive *archive, size_t *count);
/* Largest difference relative to the largest value. */
double test_difference(const float *a, const float *b, size_t count);

#endif
