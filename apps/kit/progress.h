/*
 * progress.h: a progress bar on standard error, only where that is a terminal, so that
 * results can go to a file or a pipe while a person sees what takes so long.
 */
#ifndef MTS_KIT_PROGRESS_H
#define MTS_KIT_PROGRESS_H

#include <stdbool.h>

typedef struct cli_progress {
    bool shown;  /* standard error is a terminal */
    int percent; /* drawn last, -1: none */
} cli_progress;

void cli_progress_begin(cli_progress *progress);
/* A progress callback of mts.h and mtsc.h; never cancels. */
int cli_progress_step(void *context, float fraction, const char *what);
/* Wipes the bar. */
void cli_progress_end(cli_progress *progress);

#endif
