/*
 * compiler_options.c: see compiler_options.h.
 */
#include "compiler_options.h"

void cli_compiler_options(mtsc_options *options, cli_progress *progress, char error[CLI_ERROR])
{
    mtsc_options_default(options);
    options->error_text = error;
    options->error_size = CLI_ERROR;
    options->context = progress;
    options->progress = cli_progress_step;
    cli_progress_begin(progress);
}
