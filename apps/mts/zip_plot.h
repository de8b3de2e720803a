/*
 * zip_plot.h: the picture of mts zip under a limit: bytes against points of accuracy.
 */
#ifndef MTS_APPS_ZIP_PLOT_H
#define MTS_APPS_ZIP_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "mts/mtsz.h"

/* The plans of a search in the order in which it told them. */
typedef struct cli_zip_trials {
    mtsz_zip_trial *items;
    size_t count, room;
    bool failed; /* memory was short */
} cli_zip_trials;

void cli_zip_trials_add(cli_zip_trials *trials, const mtsz_zip_trial *trial);
void cli_zip_trials_release(cli_zip_trials *trials);
/*
 * Writes the predicted plans as a line and the measured ones as dots. max_loss, bytes: the
 * limit, drawn as a line; 0: none. Returns CLI_EXIT_OK, or the exit status with the message
 * printed.
 */
int cli_zip_plot(const cli_zip_trials *trials, double max_loss, double bytes, const char *path);

#endif
