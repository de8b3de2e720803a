/*
 * sample.h: engines that are built to be measured, or only counted.
 */
#ifndef MTS_TUNE_SAMPLE_H
#define MTS_TUNE_SAMPLE_H

#include "tune/planning.h"

/* Some of the session's tasks in groups. */
typedef struct mts_sample_request {
    const uint32_t *positions; /* in the session; NULL: all tasks */
    uint32_t count;
    const uint32_t *group_of; /* per position; NULL: one group */
    uint64_t slice_bytes;
    const mts_kernel_configs *configs; /* NULL: defaults */
    /* It shares no kernels with the sample before. */
    bool own_kernels;
    /* Its layers are measured: mts_engine_options.in_order. */
    bool in_order;
    /* The tasks run one by one: strategy sequential. */
    bool one_by_one;
} mts_sample_request;

/*
 * Whether a failure is that of the candidate, so that planning goes on without it: it
 * does not fit, or does not build or run on the device. A sample fails with LIMIT where
 * the device's memory ran out; OUT_OF_MEMORY is the host's and ends planning.
 */
bool mts_sample_is_recoverable(mts_status status);
/* The exact memory of such a session, by a dry run. */
mts_status mts_sample_footprint(mts_planning *p, const mts_sample_request *request, mts_session_stats *stats);
/* Bytes that it takes at least, which are found sooner. */
mts_status mts_sample_least(mts_planning *p, const mts_sample_request *request, uint64_t *bytes);
/* Such a session planned, to be created as it is; the caller destroys it. */
mts_status mts_sample_draft(mts_planning *p, const mts_sample_request *request, mts_engine_draft **out,
                            mts_session_stats *stats);
/* An engine whose inputs are neither zero nor denormal; the caller destroys it. */
mts_status mts_sample_create(mts_planning *p, const mts_sample_request *request, mts_engine **out);
/* Such an engine of the session's groups, to be timed layer by layer: it shares no kernels
 * with the sample before, and its layers run in order. */
mts_status mts_sample_create_in_order(mts_planning *p, const mts_kernel_configs *configs, mts_engine **out);
/* Launches of a frame. */
uint32_t mts_sample_launches(const mts_engine *engine);
/* Milliseconds of the fastest of some runs. */
mts_status mts_sample_time(mts_planning *p, mts_engine *engine, double *ms);
/* Creates an engine and times it alone; it becomes p->previous. */
mts_status mts_sample_run(mts_planning *p, const mts_sample_request *request, mts_session_stats *stats,
                          double *ms);

/*
 * An A/B benchmark: runs two engines in turns; milliseconds of the fastest run of each.
 * It ends early where one is far slower.
 */
mts_status mts_sample_compare(mts_planning *p, mts_engine *a, mts_engine *b, double *ms_a, double *ms_b);
/* Times closer to one another than this are equal: the difference is noise. */
#define MTS_SAMPLE_TIE 0.98
/* Whether a candidate of this time, relative to the leader's, is better: faster, or as
   fast and smaller. */
bool mts_sample_is_better(double relative, uint64_t peak, uint64_t leader_peak);

#endif
