/*
 * merge.h: writes fitted filters, and the scales and biases that go with them, into zip->nets.
 */
#ifndef MTS_COMPRESS_ZIP_MERGE_H
#define MTS_COMPRESS_ZIP_MERGE_H

#include "compress/zip/fit.h"

/* All filters of a task's own; work[gram.inputs]. */
void mts_zip_put_own(const mts_zip_fit *fit, const mts_zip_row *row, uint32_t t, double *work);
/* A row of the originals, as it was. */
void mts_zip_put_original(mts_zip *zip, const mts_zip_row *row, uint32_t t);
/* The common filter o, as a task of fit->tasks has it. */
void mts_zip_put_common(const mts_zip_fit *fit, const mts_zip_row *row, uint32_t t, uint32_t o);
/* The filter o of a task with a difference of its own (mts_zip_delta_make): of a base, too, it is more
   than the base's. */
void mts_zip_put_reduced(const mts_zip_fit *fit, const mts_zip_row *row, uint32_t t, uint32_t o);
/* keep.h, into the networks. */
mts_status mts_zip_put_kept(mts_zip_fit *fit, const mts_zip_row *row, uint64_t *taken);

#endif
