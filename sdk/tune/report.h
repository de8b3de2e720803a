/*
 * report.h: the planning report: what was measured and considered before a session was
 * created, for mts_session_explain and for the plan cache. It owns its arrays and points
 * to nothing else.
 */
#ifndef MTS_TUNE_REPORT_H
#define MTS_TUNE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "plan/kernel_config.h"

#define MTS_CONSIDERED_TEXT 48
/* of_class of a plan that concerns all tasks. */
#define MTS_CONSIDERED_SESSION 0xffffffffu

/*
 * X(NAME, text), what became of a plan. SLOWER: when run against the selected plan.
 * PREDICTED: not run, because the model predicts that it is slower than those that were.
 * FAILED: it could not be built or run on the device. The numbers are stored in caches:
 * append, never reorder.
 */
/* clang-format off */
#define MTS_VERDICTS(X)                      \
    X(CHOSEN, "chosen")                      \
    X(SLOWER, "slower")                      \
    X(OVER_BUDGET, "over budget")            \
    X(PREDICTED, "predicted to be slower")   \
    X(FAILED, "failed")
/* clang-format on */

typedef enum mts_verdict {
#define MTS_VERDICT_ENUM(NAME, text) MTS_VERDICT_##NAME,
    MTS_VERDICTS(MTS_VERDICT_ENUM)
#undef MTS_VERDICT_ENUM
        MTS_VERDICT_COUNT
} mts_verdict;

/* A plan that was considered: of one class of tasks, or of the whole session. */
typedef struct mts_considered_plan {
    char what[MTS_CONSIDERED_TEXT]; /* "2 groups" */
    /* A class holds tasks that can be stitched and have equal priority. */
    uint32_t of_class;
    uint32_t groups;
    uint32_t verdict; /* mts_verdict */
    uint64_t slice_bytes;
    uint64_t peak;       /* bytes of the whole session with it */
    double predicted_ms; /* 0: no prediction */
    double measured_ms;  /* 0: not run */
    /* Latency relative to the selected plan's, both run in turns; 0: not run. */
    double relative;
} mts_considered_plan;

/* A set of tasks that was run to calibrate the model. */
typedef struct mts_planning_sample {
    uint32_t of_class, tasks;
    double latency; /* milliseconds */
    double modelled;
    uint64_t arena;   /* bytes */
    uint64_t weights; /* bytes, with kernel parameters */
} mts_planning_sample;

#ifndef MTS_SMALL
/* What was decided, for the same session with other tasks (mts_planned_engine_change). */
typedef struct mts_kept_plan {
    /* Kernels, measured or not, with those that failed, which the table's `failed` points to. */
    mts_kernel_configs configs;
    mts_kernel_config *failed;
    uint64_t slice_bytes;
    /* Groups that were measured, by index of the task in the archive; 0 tasks: families. */
    uint32_t task_count;
    uint32_t *tasks, *groups;
} mts_kept_plan;
#endif

typedef struct mts_planning_report {
    const mts_allocator *allocator; /* of both arrays; NULL: there are none */
    mts_considered_plan *plans;
    mts_planning_sample *samples;
    uint32_t plan_count, sample_count;
    size_t plan_capacity, sample_capacity;

    /* Kernel tuning: layers with a measured configuration, those where it is not the
       default, candidates run and skipped. */
    uint32_t layers_tuned, layers_changed, candidates, skipped;
    uint32_t complete; /* 1: every candidate was run within the time */
    /* Of the session's tasks before and after tuning, run in turns. */
    double default_ms, tuned_ms;

    double predicted_ms;  /* of the plan */
    double model_error;   /* root mean square of the model's relative errors */
    double planning_ms;   /* of this session, until everything was decided */
    uint64_t slice_bytes; /* of the decision */
    bool cached;          /* the decision came from a cache */
    /* 0: as decided; 1: default configurations, 2: smallest tiles, because others
       failed. */
    uint32_t fallback;
#ifndef MTS_SMALL
    /* Not in caches, and empty until the engine exists. */
    mts_kept_plan kept;
#endif
} mts_planning_report;

/* Forgets everything but the memory of the arrays. */
void mts_planning_report_clear(mts_planning_report *report);
/* An empty report (all zero) is valid. */
void mts_planning_report_release(mts_planning_report *report);

#endif
