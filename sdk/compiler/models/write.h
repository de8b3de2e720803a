/*
 * write.h: tasks become a bundle file, with what they share stored once.
 */
#ifndef MTS_COMPILER_MODELS_WRITE_H
#define MTS_COMPILER_MODELS_WRITE_H

#include "bundle/archive.h"
#include "mts/mtsc.h"

/*
 * Finds what copies of the tasks share and writes them as a bundle; the tasks are not
 * changed. The caller has checked the size of `summary`, which may be NULL.
 */
mts_status mts_tasks_write(const mts_task *tasks, size_t count, const mtsc_options *options, const char *path,
                           const mts_allocator *allocator, mtsc_summary *summary, mts_error *error);

#endif
