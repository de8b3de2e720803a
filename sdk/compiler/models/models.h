/*
 * models.h: the tasks of a bundle in a form that methods may change: graphs whose
 * constants are whole and whose filters stand in the order of their channels. Discovery
 * cuts them into shared blocks again when they are written (passes/discover.h), so a
 * method only has to make weights equal.
 */
#ifndef MTS_COMPILER_MODELS_MODELS_H
#define MTS_COMPILER_MODELS_MODELS_H

#include "bundle/archive.h"
#include "mts/mtsc.h"
#include "platform/os/os.h"

typedef struct mts_models {
    const mts_allocator *allocator;
    const char *path;     /* in the arena */
    mts_os_map map;       /* of the bundle's file */
    mts_archive *archive; /* as it was read */
    mts_arena arena;      /* of what follows, but for the graphs */
    mts_arena *arenas;    /* [count]: each graph has its own, so that several threads may change one each */
    uint32_t count;
    mts_task *tasks; /* all tasks of the bundle; graphs with one block per constant and no scatter */
} mts_models;

/* Opens a bundle for reading; the file is never written. Release in any case. */
mts_status mts_models_open(const char *path, const mts_allocator *allocator, mts_models *out,
                           mts_error *error);
void mts_models_release(mts_models *models);
/* Index of a task; NOT_FOUND names it. */
mts_status mts_models_find(const mts_models *models, const char *name, uint32_t *task, mts_error *error);
/* INVALID_ARGUMENT: no path to write to, or it is the file that was opened. To ask before
   the work. */
mts_status mts_models_check_output(const mts_models *models, const char *path, mts_error *error);
/*
 * A method's result: finds what the tasks share and writes them as a bundle.
 * INVALID_ARGUMENT if `path` is the file that was opened. The models are not changed;
 * options->progress is not called. summary may be NULL.
 */
mts_status mts_models_write(const mts_models *models, const mts_task *tasks, uint32_t count, const char *path,
                            const mtsc_options *options, mtsc_summary *summary, mts_error *error);
/* What mts_models_write would put into summary, without a file. */
mts_status mts_models_count(const mts_models *models, const mts_task *tasks, uint32_t count,
                            const mtsc_options *options, mtsc_summary *summary, mts_error *error);

#endif
