/*
 * report.c: the memory of a planning report. What is in it is written by the files that
 * plan.
 */
#include "tune/report.h"

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
#ifndef MTS_SMALL
        mts_kernel_configs_release(&report->kept.configs);
        mts_alloc_free(report->allocator, report->kept.failed);
        mts_alloc_free(report->allocator, report->kept.tasks);
        mts_alloc_free(report->allocator, report->kept.groups);
#endif
    }
    *report = (mts_planning_report){0};
}
