/*
 * networks.h: a device and the sessions that a stream of frames goes through: a bundle's
 * tasks, or the cascade of faces, or both.
 */
#ifndef MTS_CAMERA_NETWORKS_H
#define MTS_CAMERA_NETWORKS_H

#include "faces.h"
#include "feed.h"
#include "kit/open.h"

typedef struct networks_options {
    cli_open_options open;
    const char *bundle, *detector, *faces; /* paths, or NULL; the last two belong together */
    cli_list every;                        /* "TASK=N" or "TASK=Nhz" */
    uint32_t in_flight;
    mts_when_full when_full;
} networks_options;

/* What does not go together. -1 to go on, else the exit status of a usage error. */
int networks_check(const networks_options *options);
/* A device and sessions, if there are bundles. -1 to go on, else the exit status, with the
   sentence told as cli_failure does. The caller closes `app` and destroys the cascade. */
int networks_open(cli_open *app, networks_options *options, feed *queue, faces *people);
/* How often tasks run, from the next frame on; likewise. */
int networks_rates_set(cli_open *app, const cli_list *every);

#endif
