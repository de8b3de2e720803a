/*
 * plan.h: what is to become of each row under a limit (docs/ZIP.md, "A limit"), and the
 * curves that this is chosen from.
 *
 * A plan trades bytes for loss at one price, `points` of accuracy for a byte: each row takes
 * the partition of tasks, the forms and the ratios for which loss + price * bytes is least. A
 * higher price gives smaller bundles.
 */
#ifndef MTS_COMPRESS_ZIP_PLAN_H
#define MTS_COMPRESS_ZIP_PLAN_H

#include "compress/zip/fit.h"
#include "compress/zip/zip.h"

#define MTS_ZIP_PARTS_MAX (MTS_ZIP_TASKS_MAX / 2)
#define MTS_ZIP_PARTITIONS 3u

/* Tasks that have filters of a row in common. */
typedef struct mts_zip_part {
    uint64_t tasks;  /* bits; two or more */
    uint32_t shared; /* channels; 0: none */
    bool reduced;    /* all channels, and each task adds a difference of rank mts_zip_row_plan.ranks */
} mts_zip_part;

typedef struct mts_zip_row_plan {
    uint32_t part_count;
    mts_zip_part parts[MTS_ZIP_PARTS_MAX];
    uint32_t ranks[MTS_ZIP_TASKS_MAX];
    uint64_t bytes; /* of the row's weights in all tasks */
    double loss;    /* predicted, mean of the tasks that change */
} mts_zip_row_plan;

/* One way to put a row's tasks into parts. Tasks that are in no part stay alone. */
typedef struct mts_zip_partition {
    uint32_t part_count;
    uint64_t parts[MTS_ZIP_PARTS_MAX];
    double *price[MTS_ZIP_TASKS_MAX];  /* [outputs]: variance that a task loses by a common filter */
    double *energy[MTS_ZIP_TASKS_MAX]; /* [outputs]: variance that each further rank gives back; NULL: no */
} mts_zip_partition;

/* What a row costs. */
typedef struct mts_zip_curve {
    uint32_t partition_count; /* 0: the row is not to be shared */
    mts_zip_partition partitions[MTS_ZIP_PARTITIONS];
    double weight[MTS_ZIP_TASKS_MAX]; /* points of a task's loss for a unit of its variance */
    uint64_t bytes;                   /* as it is; 0 where it is not to be shared */
} mts_zip_curve;

/* sensitivity.c: the curves of all rows, by sharing one row at a time; in zip's arena. */
mts_status mts_zip_curves(mts_zip *zip, mts_zip_curve **out);

/* plan.c: chooses for all rows at a price; plans[row_count]. False if memory is short. */
bool mts_zip_plan(const mts_zip *zip, const mts_zip_curve *curves, double price, mts_zip_row_plan *plans,
                  uint64_t *bytes, double *loss);
/* Whether options.forms leaves a form to the search. */
bool mts_zip_plan_allows(const mts_zip *zip, mtsz_form form);
/* Bytes of a row's weights whose parts share as planned. */
uint64_t mts_zip_plan_bytes(const mts_zip *zip, const mts_zip_row *row, const mts_zip_row_plan *plan);

/* A task's weight as the common one plus left right, in the layout of mts_net_layer.weight. */
typedef struct mts_zip_factors {
    uint32_t rank;
    float *base, *left, *right; /* [outputs][length], [outputs][rank], [rank][length]; base NULL: none */
} mts_zip_factors;

/* deltas.c: the variance that each rank of a task's difference explains, descending; fit of
   common and own is there. energy[outputs]. */
mts_status mts_zip_delta_energy(const mts_zip_fit *fit, uint32_t t, double *energy, mts_error *error);
/* The best difference of a rank, into `arena`; common[t] of the fit becomes the whole weight. */
mts_status mts_zip_delta_make(const mts_zip_fit *fit, uint32_t t, uint32_t rank, mts_arena *arena,
                              mts_zip_factors *out, mts_error *error);

/* keep.c: notes which filters of the originals are equal. False if memory is short. */
bool mts_zip_classes_find(mts_zip *zip);
/* Filters of channel o among tasks (bits) that are different. */
uint32_t mts_zip_classes_count(const mts_zip *zip, const mts_zip_row *row, uint64_t tasks, uint32_t o);

/*
 * apply.c: walks over the rows from the inputs on, fits each to the originals from inputs as
 * zipped networks have them, and leaves the parameters in zip->nets. factors[row][task], in
 * `arena`. `first`, `last`: of the progress that it tells.
 */
mts_status mts_zip_apply(mts_zip *zip, const mts_zip_curve *curves, const mts_zip_row_plan *plans,
                         mts_arena *arena, mts_zip_factors *factors, float first, float last);

/* Which rows get new parameters by these plans: those that share, and all that follow. */
void mts_zip_apply_mark(mts_zip *zip, const mts_zip_row_plan *plans);

/* search.c: the whole under options.max_loss or options.bytes. */
typedef struct mts_zip_found {
    mts_zip_row_plan *plans;  /* [row] */
    mts_zip_factors *factors; /* [row][task] */
    mts_arena arena;          /* of the factors */
    double loss, loss_worst;  /* expected on all images, in points */
    double change, change_worst;
    double bytes_before; /* of all tasks, without sharing */
    uint32_t trials;
} mts_zip_found;
mts_status mts_zip_search(mts_zip *zip, mts_zip_found *out);
void mts_zip_found_release(mts_zip_found *found);

/* store.c: writes the parameters of zip->nets into graphs, written[of_bundle[task]]; `trained`:
   those of all nodes. `found` is all zeros without a search. */
mts_status mts_zip_store(mts_zip *zip, const mts_zip_found *found, bool trained, const uint32_t *of_bundle,
                         mts_task *written);
/* Fills in what a search has found. */
void mts_zip_found_report(mts_zip *zip, const mts_zip_found *found, mtsz_zip_report *report);

/* tell.c: calls options.layer for each row, with the answers that have changed up to it. `zipped`
   are the networks of the plan. */
mts_status mts_zip_tell(mts_zip *zip, const mts_zip_found *found, mts_net *const *zipped);

#endif
