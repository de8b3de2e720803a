/*
 * join.h: the tasks of two archives as one archive, in which blocks of equal bytes are one.
 *
 * Tasks and blocks of the first archive keep their numbers and their graphs, so what was
 * planned for them is found again. A library built with MTS_SMALL does not have it.
 */
#ifndef MTS_BUNDLE_JOIN_H
#define MTS_BUNDLE_JOIN_H

#include "bundle/archive.h"

/* What a join does with a task whose name the first archive has, too. */
typedef enum mts_join_same {
    /* It fails with INVALID_ARGUMENT. */
    MTS_JOIN_REFUSE = 0,
    /* The later task takes the place of the earlier one. */
    MTS_JOIN_REPLACE = 1
} mts_join_same;

/*
 * Both archives outlive the result. Errors: INVALID_ARGUMENT (a name that both have), LIMIT
 * (more tasks or blocks than an archive may have), OUT_OF_MEMORY.
 */
mts_status mts_archive_join(const mts_archive *base, const mts_archive *extra, mts_join_same same,
                            const mts_allocator *allocator, mts_archive **out, mts_error *error);

/* Whether two tasks of one archive compute the same of the same blocks and have equal ports,
   preprocessing and labels. */
bool mts_task_equal(const mts_task *a, const mts_task *b);

#endif
