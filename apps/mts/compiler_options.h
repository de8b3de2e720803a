/*
 * compiler_options.h: what every command that writes a bundle asks of libmtsc: a sentence on failure, and progress.
 */
#ifndef MTS_APPS_COMPILER_OPTIONS_H
#define MTS_APPS_COMPILER_OPTIONS_H

#include "kit/files.h"
#include "kit/progress.h"
#include "mts/mtsc.h"

/* The defaults, with `error` for the sentence, and progress that begins now; cli_progress_end ends it. */
void cli_compiler_options(mtsc_options *options, cli_progress *progress, char error[CLI_ERROR]);

#endif
