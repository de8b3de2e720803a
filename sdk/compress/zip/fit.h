/*
 * fit.h: filters of one row in two versions, fitted in closed form: `own`, each task's
 * best, and `common`, whose part U over the inputs in common is the same in all tasks
 * (docs/ZIP.md). Internal to merge.c and fit.c.
 */
#ifndef MTS_COMPRESS_ZIP_FIT_H
#define MTS_COMPRESS_ZIP_FIT_H

#include "compress/zip/zip.h"

typedef struct mts_zip_fit {
    mts_zip *zip;
    const mts_zip_row *row;
    const mts_zip_stats *stats;
    uint64_t tasks;           /* bits: those whose common filters are fitted; all to begin with */
    uint32_t outputs, length; /* filters; numbers of one */
    uint32_t u, y;            /* columns of a filter over inputs in common and over the task's own */
    uint32_t *columns;        /* [u + y]: those of U, then those of Y */
    uint32_t *base; /* [outputs]: task whose filter the others take over, or MTS_NONE: none is frozen */
    double *prior;  /* [outputs][length]: of U, before scale: mean of the originals, or the base's */
    double *pulled; /* [u][u]: sum of the tasks' statistics of U, without what Y explains */
    double *delta;  /* [outputs][u] */
    /* per task that is not frozen: */
    double *own[MTS_ZIP_TASKS_MAX];     /* [targets][inputs] of the statistics, times the scale */
    double *common[MTS_ZIP_TASKS_MAX];  /* [outputs][length], before the scale */
    double *scale[MTS_ZIP_TASKS_MAX];   /* [outputs], that goes with common */
    double *explain[MTS_ZIP_TASKS_MAX]; /* [u][y]: what of U's inputs Y's inputs explain */
    double *own_loss[MTS_ZIP_TASKS_MAX],
        *common_loss[MTS_ZIP_TASKS_MAX]; /* [outputs]: variance that is left */
} mts_zip_fit;

/* Room for a fit, on zip->allocator; release in any case. */
mts_status mts_zip_fit_init(mts_zip_fit *fit, mts_zip *zip, const mts_zip_row *row,
                            const mts_zip_stats *stats);
void mts_zip_fit_release(mts_zip_fit *fit);
/* Errors: singular statistics (INVALID_ARGUMENT, with task and layer), OUT_OF_MEMORY. */
mts_status mts_zip_fit_own(mts_zip_fit *fit);
/* Of fit->tasks; what other tasks' last call has found stays. */
mts_status mts_zip_fit_common(mts_zip_fit *fit);
/* Whether a task is one of fit->tasks and of no base. */
bool mts_zip_fit_takes(const mts_zip_fit *fit, uint32_t t);
/* A filter's scale, as far from 0 as a quotient by it has to be beside the mean size of scales. */
double mts_zip_divisor(double scale, double mean);
/* Whether some of fit->tasks are of a base: the common filters are theirs. */
bool mts_zip_fit_based(const mts_zip_fit *fit);

#endif
