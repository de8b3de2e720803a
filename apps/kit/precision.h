/*
 * precision.h: names of the precisions, the only place of the program that lists them.
 */
#ifndef MTS_KIT_PRECISION_H
#define MTS_KIT_PRECISION_H

#include <stdbool.h>
#include <stddef.h>

#include "mts/mts.h"

/* NULL is the default, float32. False if `name` is no precision. */
bool cli_precision_find(const char *name, mts_precision *out);
const char *cli_precision_name(mts_precision precision);
/* "float32, float16-storage, float16" */
const char *cli_precision_list(void);

#endif
