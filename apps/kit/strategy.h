/*
 * strategy.h: names of the strategies, the only place of the program that lists them.
 */
#ifndef MTS_KIT_STRATEGY_H
#define MTS_KIT_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>

#include "mts/mts.h"

/* NULL is the default, compact. False if `name` is no strategy. */
bool cli_strategy_find(const char *name, mts_strategy *out);
const char *cli_strategy_name(mts_strategy strategy);
/* "sequential, compact, netfuse, mts" */
const char *cli_strategy_list(char *text, size_t size);

#endif
