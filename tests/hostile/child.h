/*
 * child.h: runs work in a child process, so that a test sees what it cost: processor time, memory, or a crash.
 */
#ifndef MTS_TESTS_HOSTILE_CHILD_H
#define MTS_TESTS_HOSTILE_CHILD_H

#include <stdint.h>

#include "mts/types.h"

/* What is told from the child to its parent. */
typedef struct child_said {
    mts_status status;
    char text[512];
} child_said;

typedef struct child_usage {
    int signal;           /* that ended it, 0: none */
    double seconds;       /* processor time */
    uint64_t grown_bytes; /* of resident memory beyond what it began with, at its height */
    child_said said;
} child_usage;

/* Runs `work` in a child with limits of 20 s of processor time and, without sanitizers, 2 GiB more address
   space than it has. */
void child_run(void (*work)(void *context, child_said *said), void *context, child_usage *usage);

#endif
