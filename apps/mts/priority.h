/*
 * priority.h: "a=2,b=1": which tasks come first.
 */
#ifndef MTS_APPS_PRIORITY_H
#define MTS_APPS_PRIORITY_H

#include <stdint.h>

/*
 * Numbers for `count` tasks with these names; tasks that the text does not name have 0, names of other tasks
 * are left out. *out is on the heap, NULL if text is NULL. Returns -1 to go on, else the exit status, with
 * the message printed; `command` is the subcommand's name.
 */
int cli_priorities_find(const char *command, const char *text, const char *const *names, uint32_t count,
                        uint32_t **out);

#endif
