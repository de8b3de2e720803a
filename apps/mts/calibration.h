/*
 * calibration.h: a bundle to be changed and the images to calibrate with, for zip, prune
 * and split.
 */
#ifndef MTS_APPS_CALIBRATION_H
#define MTS_APPS_CALIBRATION_H

#include "dataset.h"
#include "kit/open.h"

typedef struct cli_calibration {
    cli_open app; /* app.tasks: those of --tasks */
    cli_dataset *dataset;
    mtsz_data data; /* count 0 where there is no data set */
} cli_calibration;

/*
 * Opens the bundle, to know what its tasks take, and DATA (NULL: none) with at most
 * `limit` images (0: all), and sees that they go together. Returns -1 to go on, else the
 * exit status, with the message printed; close in any case. `name` is the subcommand's;
 * `tasks` is "A,B" or NULL.
 */
int cli_calibration_open(cli_calibration *calibration, const char *name, const char *bundle,
                         const char *tasks, const char *data, uint32_t limit);
void cli_calibration_close(cli_calibration *calibration);
/* Prints the library's sentence, and why an image could not be had; returns the exit
   status of a failure. */
int cli_calibration_failure(const cli_calibration *calibration, const char *name, const char *error);

#endif
