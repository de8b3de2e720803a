/*
 * keep.h: filters that were equal in several tasks before zipping stay so.
 */
#ifndef MTS_COMPRESS_ZIP_KEEP_H
#define MTS_COMPRESS_ZIP_KEEP_H

#include "compress/zip/fit.h"
#include "compress/zip/plan.h"

/* Writes the common filter o, fitted for tasks (bits), into their networks. */
typedef void (*mts_zip_put)(void *context, uint64_t tasks, uint32_t o);

/*
 * Fits filters of a row that were equal in several tasks for these together and hands them to
 * `put`. taken[outputs]: tasks (bits) whose filter o is common already; what is put is added.
 */
mts_status mts_zip_keep(mts_zip_fit *fit, const mts_zip_row *row, uint64_t *taken, mts_zip_put put,
                        void *context);

#endif
