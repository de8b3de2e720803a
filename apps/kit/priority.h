/*
 * priority.h: "a=2,b=1": which tasks come first.
 */
#ifndef MTS_KIT_PRIORITY_H
#define MTS_KIT_PRIORITY_H

#include <stdint.h>

#include "mts/mts.h"

/*
 * Numbers for `count` of the bundle's tasks; those that the text does not name have 0,
 * names of its other tasks are left out, and a name that the bundle lacks is a usage
 * error. *out is on the heap, NULL if text is NULL. Returns -1 to go on, else the exit
 * status, with the message printed; `command` is the subcommand's name.
 */
int cli_priorities_find(const char *command, const char *text, const mts_bundle *bundle,
                        const char *const *names, uint32_t count, uint32_t **out);

#endif
