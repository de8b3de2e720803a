/*
 * classes.h: the classes of a task that is trained, made of those of its data.
 */
#ifndef MTS_APPS_CLASSES_H
#define MTS_APPS_CLASSES_H

#include "dataset.h"

typedef struct cli_classes {
    char *text;   /* that names point into, or that they are copied to */
    char **names; /* [count] */
    uint32_t count;
    uint32_t *map; /* [map_count]: the task's class of each class of the data */
    uint32_t map_count;
    uint32_t *labels; /* [label_count]: of each image */
    uint32_t label_count;
} cli_classes;

/*
 * `list`: "NAME=A,B;OTHER=*", classes of the task with their classes of the data; '*' takes
 * the rest. NULL: as they are in the data. False with a sentence in `error`; release in any
 * case.
 */
bool cli_classes_make(const cli_dataset *dataset, const char *list, cli_classes *out, char *error);
void cli_classes_release(cli_classes *classes);

#endif
