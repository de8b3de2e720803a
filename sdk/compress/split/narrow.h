/*
 * narrow.h: a network without the channels that a group of classes needs least.
 */
#ifndef MTS_COMPRESS_SPLIT_NARROW_H
#define MTS_COMPRESS_SPLIT_NARROW_H

#include "compress/split/split.h"

/*
 * A copy of the whole network in `arena` that has lost wanted->ratio of the multiply-adds
 * behind the trunk, its layers fitted to what they computed. Nodes and values keep their
 * numbers. Errors as mtsz_prune.
 */
mts_status mts_split_narrow(const mts_split *split, uint32_t group, mts_arena *arena, mts_graph **out,
                            mts_error *error);
/* Number of nodes at the beginning of the whole network that all subnets have in
   common. */
uint32_t mts_split_trunk(const mts_split *split);

#endif
