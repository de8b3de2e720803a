/*
 * progress.h: a progress bar on standard output, only where that is a terminal.
 */
#ifndef MTS_KIT_PROGRESS_H
#define MTS_KIT_PROGRESS_H

#include <stdbool.h>

typedef struct cli_progress {
    bool shown;  /* standard output is a terminal and the output is for people */
    int percent; /* drawn last, -1: none */
} cli_progress;

void cli_progress_begin(cli_progress *progress, bool json);
/* A progress callback of mts.h and mtsc.h; never cancels. */
int cli_progress_step(void *context, float fraction, const char *what);
/* Wipes the bar. */
void cli_progress_end(cli_progress *progress);

#endif
