/*
 * operators.h: the list of operators that models may have, for mts compile --operators.
 */
#ifndef MTS_APPS_OPERATORS_H
#define MTS_APPS_OPERATORS_H

#include <stdbool.h>

/* Prints the page docs/OPERATORS.md, or a JSON object; the exit status of the program. */
int cli_operators_print(bool json);

#endif
