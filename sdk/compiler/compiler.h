/*
 * compiler.h: internals of the public compiler API (sdk/include/mts/mtsc.h), shared by
 * the files of this folder.
 */
#ifndef MTS_COMPILER_COMPILER_H
#define MTS_COMPILER_COMPILER_H

#include "base/log.h"
#include "bundle/archive.h"
#include "mts/mtsc.h"

/* An imported task; everything it points to lives in its arena. */
typedef struct mts_compiler_task {
    mts_arena *arena; /* on the allocator */
    mts_task task;
} mts_compiler_task;

struct mtsc_compiler {
    const mts_allocator *allocator;
    mtsc_options options;
    mts_log log;
    mts_compiler_task *tasks; /* on the allocator */
    size_t count, capacity;
};

/* How images lie in the model's input 0. */
typedef enum mts_compiler_layout {
    MTS_COMPILER_LAYOUT_AUTO, /* found from its shape */
    MTS_COMPILER_LAYOUT_NCHW,
    MTS_COMPILER_LAYOUT_NHWC
} mts_compiler_layout;

/* mtsc_compiler_add without reporting. */
mts_status mts_compiler_add_task(mtsc_compiler *compiler, const mtsc_task *task, mts_compiler_layout layout,
                                 mts_error *error);
/* Removes all tasks but the first `count`. */
void mts_compiler_drop_tasks(mtsc_compiler *compiler, size_t count);
/* Reads a task list and adds its tasks; on failure some may have been added. */
mts_status mts_compiler_read_config(mtsc_compiler *compiler, const char *path, mts_error *error);

#endif
