/*
 * progress.c: draws the bar; one line that is overwritten.
 */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#define BAR 30

void cli_progress_begin(cli_progress *progress)
{
    progress->shown = isatty(STDERR_FILENO) == 1;
    progress->percent = -1;
}

int cli_progress_step(void *context, float fraction, const char *what)
{
    cli_progress *progress = context;
    const float inside = fraction < 0.0f ? 0.0f : fraction > 1.0f ? 1.0f : fraction;
    const int percent = (int)(inside * 100.0f);
    if (!progress->shown || percent == progress->percent) {
        return 0;
    }
    const int full = percent * BAR / 100;
    progress->percent = percent;
    (void)fprintf(stderr, "\r\033[K[%.*s%*s] %3d %% %.36s", full, "##############################",
                  BAR - full, "", percent, what ? what : "");
    (void)fflush(stderr);
    return 0;
}

void cli_progress_end(cli_progress *progress)
{
    if (progress->shown && progress->percent >= 0) {
        (void)fprintf(stderr, "\r\033[K");
        (void)fflush(stderr);
    }
    progress->percent = -1;
}
