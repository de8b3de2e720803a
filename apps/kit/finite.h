/*
 * finite.h: finds outputs that are no numbers. They follow from float16, whose largest
 * number is 65504, or from inputs that the network was not made for, and would pass as
 * results.
 */
#ifndef MTS_KIT_FINITE_H
#define MTS_KIT_FINITE_H

#include <stdbool.h>

#include "open.h"

/* Values of all outputs of a task that are infinite or NaN; *all receives how many values
 * there are. 0 if an output cannot be had. */
size_t cli_not_finite(const cli_open *app, const mts_task_desc *task, size_t *all);
/* Warns on standard error of every task of the session that has such values; `name` is
   the subcommand's. */
void cli_warn_not_finite(const cli_open *app, const char *name, mts_precision precision);
/* The warning itself: what of the task is not finite, in which layer (may be NULL), and
   what to do. */
void cli_not_finite_print(const char *name, const char *task, size_t count, size_t all, const char *what,
                          const char *layer, mts_precision precision);
/* The launch of the session that first writes such a number, as its label; NULL: none
   does, or it cannot be told. */
const char *cli_overflow_layer(const cli_open *app);

#endif
