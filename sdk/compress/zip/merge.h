/*
 * merge.h: writes fitted filters, and the scales and biases that go with them, into zip->nets.
 */
#ifndef MTS_COMPRESS_ZIP_MERGE_H
#define MTS_COMPRESS_ZIP_MERGE_H

#include "compress/zip/fit.h"

/* A channel that may become common. */
typedef struct mts_zip_candidate {
    double price; /* what being common costs, in the caller's unit */
    uint32_t channel;
} mts_zip_candidate;

/* The cheapest first; equal ones in the order of their channels. */
void mts_zip_candidates_sort(mts_zip_candidate *candidates, uint32_t count);
/* All filters of a task's own; work[gram.inputs]. */
void mts_zip_put_own(const mts_zip_fit *fit, const mts_zip_row *row, uint32_t t, double *work);
/* A row as another network of the task has it. */
void mts_zip_put_layer(mts_zip *zip, const mts_zip_row *row, uint32_t t, const mts_net *net);
/* The common filter o, as a task of fit->tasks has it. */
void mts_zip_put_common(const mts_zip_fit *fit, const mts_zip_row *row, uint32_t t, uint32_t o);
/* The filter o of a task with a difference of its own (mts_zip_delta_make): of a base, too, it is more
   than the base's. */
void mts_zip_put_reduced(const mts_zip_fit *fit, const mts_zip_row *row, uint32_t t, uint32_t o);
/* keep.h, into the networks. */
mts_status mts_zip_put_kept(mts_zip_fit *fit, const mts_zip_row *row, uint64_t *taken);

#endif
