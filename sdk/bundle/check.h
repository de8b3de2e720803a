/*
 * check.h: what a task must satisfy besides its graph; the compiler asks before it
 * writes, the reader when it reads.
 */
#ifndef MTS_BUNDLE_CHECK_H
#define MTS_BUNDLE_CHECK_H

#include "bundle/archive.h"

/* 1 to 255 characters of [A-Za-z0-9_.-]. */
bool mts_task_name_valid(const char *name);
/* Preprocessing that fits input 0, and class labels that exist. The graph is verified
   already. MALFORMED. */
mts_status mts_task_check(const mts_task *task, mts_error *error);

#endif
