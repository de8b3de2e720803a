/*
 * importance.h: how much each channel of a graph matters, by the criteria of mtsz.h.
 *
 * Not responsible for which channels go (choose.h).
 */
#ifndef MTS_COMPRESS_PRUNE_IMPORTANCE_H
#define MTS_COMPRESS_PRUNE_IMPORTANCE_H

#include "compress/data/data.h"
#include "compiler/passes/channels.h"

/* Theta 1 of HYBRID where none is searched for: activations above so many times their layer's mean
   are large. */
#define MTS_IMPORTANCE_LARGE 6.0

/* Images of a task to calibrate with. */
typedef struct mts_prune_images {
    mts_data *data;
    uint32_t task;           /* in `data` */
    const uint32_t *indices; /* [count] in any order; those in front are taken where few will do */
    uint32_t count;
    /* Asked now and then; not OK: the work stops with it. NULL: never */
    mts_status (*go_on)(void *context, double share, const char *what, mts_error *error);
    void *context;
} mts_prune_images;

/*
 * (*importance)[group][channel] in `arena`, 1 on average over a group; NULL for groups
 * that are not removable. `images` is not looked at for L1. INVALID_ARGUMENT: an
 * activation that is no number (names the value). Errors of mts_net_create, mts_data_fill
 * and of go_on; OUT_OF_MEMORY.
 */
mts_status mts_importance_find(const mts_graph *graph, const mts_channels *channels, const bool *removable,
                               mtsz_criterion criterion, double large, const mts_prune_images *images,
                               mts_arena *arena, double ***importance, mts_error *error);

#endif
