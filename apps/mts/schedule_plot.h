/*
 * schedule_plot.h: the launches of a run as a picture (SVG): when each runs, for which
 * networks, and how full it makes the device. For mts inspect (predicted) and mts profile
 * (measured).
 */
#ifndef MTS_APPS_SCHEDULE_PLOT_H
#define MTS_APPS_SCHEDULE_PLOT_H

#include "kit/open.h"

/* What is drawn. */
typedef struct cli_schedule {
    const char *command; /* for messages */
    const char *bundle, *strategy;
    const char *how; /* "predicted with ..." */
    const mts_device_desc *device;
    const mts_launch_profile *launches;
    uint32_t count;
} cli_schedule;

/* The part of the device's units that have a tile of a launch while it runs: tiles /
   (rounds x units). */
double cli_schedule_occupancy(const mts_launch_profile *launch, uint32_t units);
/* "group 2: age gender": the tasks of a group that app->session runs, as many as fit. */
void cli_schedule_group_name(const cli_open *app, uint32_t group, char *text, size_t size);
/* Draws the launches of app->session. Returns CLI_EXIT_OK, or the exit status with the
   message printed. */
int cli_schedule_plot(const cli_open *app, const cli_schedule *schedule, const char *path);

#endif
