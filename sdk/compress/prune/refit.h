/*
 * refit.h: fits the readers of channels that went to what they computed before, by least
 * squares.
 *
 * In topological order, every convolution of the thin graph that reads a group that lost
 * channels gets the filters and biases with which it meets, from what the thin graph
 * computes up to there, what the original convolution computes from its own inputs (the
 * difference of their residuals included). Scales stay as they are. Depthwise
 * convolutions, filters with more than MTS_REFIT_MOST inputs and those of `fixed` get a
 * scale and a bias only.
 */
#ifndef MTS_COMPRESS_PRUNE_REFIT_H
#define MTS_COMPRESS_PRUNE_REFIT_H

#include "compress/prune/importance.h"
#include "compress/prune/thin.h"

#define MTS_REFIT_MOST 4608u /* numbers of a filter: 512 channels, 3 x 3 */

/*
 * `thin` is mts_thin's of `original` with `kept` (mts_thin_select); *out is a copy of it
 * in `arena` with the fitted parameters. fixed[node] (or NULL): [output of the thin node]
 * whose filters keep their values; NULL: none. INVALID_ARGUMENT: singular statistics
 * (names the node). Errors of mts_net_create, mts_data_fill and of go_on; OUT_OF_MEMORY.
 */
mts_status mts_refit(const mts_graph *original, const mts_channels *channels, const mts_thin_kept *kept,
                     const mts_graph *thin, const bool *const *fixed, const mts_prune_images *images,
                     mts_arena *arena, mts_graph **out, mts_error *error);

#endif
