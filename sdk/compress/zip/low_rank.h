/*
 * low_rank.h: zipping of weights that differ by matrices of low rank
 * (mtsz_zip_options.low_rank; docs/ZIP.md, "Adapters that were merged").
 */
#ifndef MTS_COMPRESS_ZIP_LOW_RANK_H
#define MTS_COMPRESS_ZIP_LOW_RANK_H

#include "compiler/models/models.h"
#include "compress/data/data.h"

/* What becomes of a convolution of one task. */
typedef struct mts_low_rank_layer {
    uint32_t node;
    const float *weight;       /* instead of its own */
    uint32_t rank;             /* 0: nothing is added */
    const float *left, *right; /* [outputs][rank], [rank][inputs * kernel] */
} mts_low_rank_layer;

/*
 * low_rank_graph.c: a copy of a graph in `arena` in which convolutions W x have become
 * W' x + left (right x): two more convolutions each, whose result comes in as the
 * residual. `layers` ascend by node. LIMIT: the graph becomes too large; OUT_OF_MEMORY.
 */
mts_status mts_low_rank_graph(const mts_graph *graph, const mts_low_rank_layer *layers, uint32_t count,
                              mts_arena *arena, mts_graph **out, mts_error *error);
/* Whether a node is a convolution that can be changed so: float32 weights of its own, one
   group. `uses` counts the readers of values. */
bool mts_low_rank_takes(const mts_graph *graph, const mts_node *node, const uint32_t *uses);

/* mtsz_zip for options with low_rank, which are checked; data may be NULL. */
mts_status mts_zip_low_rank(const char *bundle_path, const mtsz_data *data, const mtsz_zip_options *zip,
                            const char *out_path, const mtsc_options *options, mtsz_zip_report *report,
                            mts_error *error);

#endif
