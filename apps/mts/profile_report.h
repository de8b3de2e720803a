/*
 * profile_report.h: what mts profile finds out, between the file that measures
 * (command_profile.c) and those that print (profile_print.c) and draw (profile_trace.c).
 */
#ifndef MTS_APPS_PROFILE_REPORT_H
#define MTS_APPS_PROFILE_REPORT_H

#include "kit/measure.h"
#include "kit/open.h"

/* Launches that compute the same kind of thing. */
typedef struct cli_profile_kind {
    const char *name;
    uint32_t launches;
    uint64_t mul_adds, bytes;
    double ms;
} cli_profile_kind;

typedef struct cli_profile {
    const char *bundle;
    const char *strategy;
    bool common; /* all tasks see the same frame */
    mts_device_desc device;
    bool has_ceilings;
    mts_ceilings ceilings;
    uint32_t runs;
    cli_latency latency; /* of ordinary runs, on the caller's clock */
    mts_session_stats stats;
    mts_launch_profile *launches; /* on the heap */
    uint32_t count;
    cli_profile_kind *kinds; /* on the heap; slowest first */
    uint32_t kind_count;
    double busy_ms, span_ms; /* the launches alone; from the submission to the end of the last one */
} cli_profile;

void cli_profile_print_text(const cli_profile *profile);
/* Returns an exit status. */
int cli_profile_print_json(const cli_profile *profile);
/* A file of trace events that chrome://tracing and ui.perfetto.dev open. Returns -1 to go
 * on, else an exit status. */
int cli_profile_trace(const cli_profile *profile, const cli_open *app, const char *path);
/* 1e9 operations, and 1e9 bytes, a second; 0 where nothing was computed or no time
   measured. */
double cli_profile_gflops(uint64_t mul_adds, double ms);
double cli_profile_gbps(uint64_t bytes, double ms);

#endif
