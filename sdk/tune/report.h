/*
 * report.h: what was considered before a session was made, for mts_session_explain and for the cache: plain
 * data without pointers into anything else.
 */
#ifndef MTS_TUNE_REPORT_H
#define MTS_TUNE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"

#define MTS_CONSIDERED_TEXT 48

/* Values are stored in caches: change them only with the cache's format. */
typedef enum mts_verdict {
    MTS_VERDICT_CHOSEN = 0,
    MTS_VERDICT_SLOWER = 1,      /* when run against the chosen one */
    MTS_VERDICT_OVER_BUDGET = 2, /* its peak is */
    MTS_VERDICT_PREDICTED = 3,   /* not run: the model expects it to be slower than those that were */
    MTS_VERDICT_FAILED = 4,      /* could not be made or run on the device */
    MTS_VERDICT_COUNT = 5
} mts_verdict;

/* A plan that was considered: of one class of tasks, or of the whole session. */
typedef struct mts_considered_plan {
    char what[MTS_CONSIDERED_TEXT]; /* "2 groups" */
    uint32_t of_class; /* tasks that can be stitched, with equal priority; MTS_CONSIDERED_SESSION: all */
    uint32_t groups;
    uint32_t verdict; /* mts_verdict */
    uint64_t slice_bytes;
    uint64_t peak;       /* bytes of the whole session with it */
    double predicted_ms; /* 0: no prediction */
    double measured_ms;  /* 0: not run */
    double relative;     /* latency relative to the chosen one's, both run in turns; 0: not run */
} mts_considered_plan;

#define MTS_CONSIDERED_SESSION 0xffffffffu

/* A set of tasks that was run to calibrate the model. */
typedef struct mts_planning_sample {
    uint32_t of_class, tasks;
    double latency; /* milliseconds */
    double modelled;
    uint64_t arena;   /* bytes */
    uint64_t weights; /* bytes, with launch tables */
} mts_planning_sample;

typedef struct mts_planning_report {
    const mts_allocator *allocator; /* of both arrays; NULL: there are none */
    mts_considered_plan *plans;
    mts_planning_sample *samples;
    uint32_t plan_count, sample_count;
    /* the tuner: layers with a measured choice, those where it is not the default, candidates run, skipped */
    uint32_t layers_tuned, layers_changed, candidates, skipped;
    uint32_t complete;                /* 1: every candidate had its turn within the time */
    double default_ms, tuned_ms;      /* of the session's tasks before and after tuning, run in turns */
    double predicted_ms, model_error; /* of the plan; root mean square of the model's relative errors */
    double planning_ms;               /* this session: until everything was decided */
    uint64_t slice_bytes;             /* of the decision */
    bool cached;                      /* the decision came from a cache */
    uint32_t fallback; /* 0: as decided; 1: default choices, 2: smallest tiles, since others failed */
} mts_planning_report;

/* An empty report (all zero) is valid. */
void mts_planning_report_release(mts_planning_report *report);

#endif
