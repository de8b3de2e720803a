/*
 * planning.h: a session before it is made: which tasks, and what is being decided about them. Shared by
 * decide.c, sample.c, grouping.c and kernels.c.
 */
#ifndef MTS_TUNE_PLANNING_H
#define MTS_TUNE_PLANNING_H

#include "engine/engine.h"
#include "tune/tune.h"

typedef struct mts_planning {
    mts_device *device;
    const mts_archive *archive;
    const mts_allocator *allocator;
    mts_engine_options options; /* `tasks` is filled in */
    mts_planning_options how;
    uint32_t task_count;
    uint32_t *tasks; /* indices in the archive */
    const mts_graph **graphs;
    uint32_t *priorities;
    mts_arena arena;

    /* classes: tasks of one family and one priority; those of higher priority come first */
    uint32_t class_count;
    uint32_t *class_of;

    mts_decision decision; /* what has been decided so far; group_of and choices point to those below */
    bool fresh;            /* it is not in the cache */
    uint32_t *group_of;
    mts_kernel_configs choices;  /* measured on this device, now or for earlier sessions */
    mts_kernel_configs planned;  /* those of a plan from the cache */
    mts_kernel_configs defaults; /* nothing measured */
    mts_kernel_config *failed;   /* what does not build or run on the device, from the allocator */
    size_t failed_count, failed_capacity;
    mts_planning_report report;
    size_t plan_capacity, sample_capacity;
    uint64_t fixed_bytes; /* weights and tables that no grouping changes, where a budget is to be kept */
    const uint32_t *least_groups; /* of the plan that takes least memory; NULL: not looked for */
    uint64_t least_slice_bytes;

    const float *inputs; /* what trials read */
    size_t input_count;

    mts_engine *previous; /* kept until the next exists, so that the device keeps its programs */
    uint64_t start;       /* nanoseconds of the clock */
    uint64_t tuned_ns;    /* spent on tuning */
    float fraction;       /* of the progress bar, where the work is */
    float reported;       /* what the caller has seen: never less than before */
    mts_error *error;
} mts_planning;

mts_status mts_planning_memory(const mts_planning *p);
/* Calls the caller's progress; CANCELLED if it says so. */
mts_status mts_planning_report_progress(mts_planning *p, float fraction, const char *what);
/* Append a copy. */
mts_status mts_planning_add_plan(mts_planning *p, const mts_considered_plan *plan);
mts_status mts_planning_add_sample(mts_planning *p, const mts_planning_sample *sample);

/*
 * Weighs the session with these groups and the slices decided so far; with smaller slices where that is over
 * the budget and they help. The request stays valid as long as the planning.
 */
mts_status mts_planning_weigh(mts_planning *p, const uint32_t *group_of, uint64_t *slice_bytes,
                              uint64_t *peak);
/* Finds the plan that takes least memory, with default choices; LIMIT, with its number, if even that is over
   the budget. Nothing to do without a budget. */
mts_status mts_planning_least(mts_planning *p);
/* Decides for the groups of that plan, which leave most memory to be spent on others. */
mts_status mts_planning_smallest(mts_planning *p);
/* Races sizes of slices with the groups that were decided. */
mts_status mts_planning_slice(mts_planning *p);

/* ---- sample.c ---- */

/* Some of the session's tasks in groups. */
typedef struct mts_sample_request {
    const uint32_t *positions; /* in the session; NULL: all */
    uint32_t count;
    const uint32_t *group_of; /* per position; NULL: one group */
    uint64_t slice_bytes;
    const mts_kernel_configs *choices;
    bool own_kernels; /* built for it alone, instead of those of the sample before */
} mts_sample_request;

/* Whether a failure is that of the candidate: it does not fit, or does not build or run on the device. Trials
   fail with LIMIT where the device's memory ran out: OUT_OF_MEMORY is the host's and ends the planning. */
bool mts_sample_is_recoverable(mts_status code);
/* Memory of such a session, exactly. */
mts_status mts_sample_footprint(mts_planning *p, const mts_sample_request *request, mts_engine_stats *stats);
/* An engine with inputs that are neither zero nor denormal; the caller destroys it. */
mts_status mts_sample_create(mts_planning *p, const mts_sample_request *request, mts_engine **out);
/* Milliseconds of the fastest of some runs. */
mts_status mts_sample_time(mts_planning *p, mts_engine *engine, double *ms);
/* Times closer than this to one another are noise. */
#define MTS_SAMPLE_TIE 0.98
/* Whether a challenger of this time, relative to the leader's, takes the lead: faster, or as fast and
 * smaller. */
bool mts_sample_is_better(double relative, uint64_t peak, uint64_t leader_peak);
/* Runs two engines in turns: milliseconds of the fastest run of each. Stops early when one is far slower. */
mts_status mts_sample_compare(mts_planning *p, mts_engine *a, mts_engine *b, double *ms_a, double *ms_b);
/* Makes an engine and times it alone; it becomes p->previous. */
mts_status mts_sample_run(mts_planning *p, const mts_sample_request *request, mts_engine_stats *stats,
                          double *ms);

/* ---- grouping.c, kernels.c ---- */

/* Sorts the tasks into classes and puts each class into one group. */
mts_status mts_planning_classes(mts_planning *p);
/* Groups and slices by measurement, within the memory budget. LIMIT: none keeps it; the text names the
   smallest that can be kept. */
mts_status mts_planning_group(mts_planning *p);
/* Makes the decision keep the memory budget: by slices, by default choices, by the plan that takes least if
   that was looked for. Nothing is measured. LIMIT as above. */
mts_status mts_planning_fit(mts_planning *p);
/*
 * Measures choices for the layers of the plan decided so far. Goes on where an earlier one of these layers
 * was cut short, for what is left of options.tuning_ms. What was learnt is stored in any case.
 */
mts_status mts_planning_tune(mts_planning *p);
/* Remembers a choice that does not build or run on the device, and forgets all but the first `count`. */
mts_status mts_planning_failed(mts_planning *p, const mts_kernel_config *choice);
void mts_planning_forgive(mts_planning *p, size_t count);

#endif
