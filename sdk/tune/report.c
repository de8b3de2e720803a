/*
 * report.c: the memory of a planning report. What is in it is written by the files that plan.
 */
#include "tune/report.h"

bool mts_planning_report_add_plan(mts_planning_report *report, const mts_considered_plan *plan)
{
    const bool grown = mts_alloc_grow(report->allocator, (void **)&report->plans, &report->plan_capacity,
                                      (size_t)report->plan_count + 1, sizeof *plan);
    if (grown) {
        report->plans[report->plan_count++] = *plan;
    }
    return grown;
}

bool mts_planning_report_add_sample(mts_planning_report *report, const mts_planning_sample *sample)
{
    const bool grown = mts_alloc_grow(report->allocator, (void **)&report->samples, &report->sample_capacity,
                                      (size_t)report->sample_count + 1, sizeof *sample);
    if (grown) {
        report->samples[report->sample_count++] = *sample;
    }
    return grown;
}

void mts_planning_report_clear(mts_planning_report *report)
{
    *report = (mts_planning_report){.allocator = report->allocator,
                                    .plans = report->plans,
                                    .samples = report->samples,
                                    .plan_capacity = report->plan_capacity,
                                    .sample_capacity = report->sample_capacity};
}

void mts_planning_report_release(mts_planning_report *report)
{
    if (report->allocator) {
        mts_alloc_free(report->allocator, report->plans);
        mts_alloc_free(report->allocator, report->samples);
    }
    *report = (mts_planning_report){0};
}
