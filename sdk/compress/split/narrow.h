/*
 * narrow.h: a network without the channels that a group of classes needs least.
 */
#ifndef MTS_COMPRESS_SPLIT_NARROW_H
#define MTS_COMPRESS_SPLIT_NARROW_H

#include "compress/split/split.h"

/* How a group's channels are chosen. */
typedef struct mts_split_way {
    double theta;  /* of the criterion HYBRID: activations above so many times their layer's mean are large */
    bool held_out; /* images of mts_split_holds_out are not looked at */
} mts_split_way;

/* Every so many-th image is what a search compares by. */
#define MTS_SPLIT_HELD_OUT 5u

static inline bool mts_split_holds_out(uint32_t image)
{
    return image % MTS_SPLIT_HELD_OUT == MTS_SPLIT_HELD_OUT - 1;
}

/*
 * A copy of the whole network in `arena` that has lost wanted->ratio of the multiply-adds
 * behind the trunk, its layers fitted to what they computed. Nodes and values keep their
 * numbers. Errors as mtsz_prune.
 */
mts_status mts_split_narrow(const mts_split *split, uint32_t group, const mts_split_way *way,
                            mts_arena *arena, mts_graph **out, mts_error *error);
/* Number of nodes at the beginning of the whole network that all subnets have in
   common. */
uint32_t mts_split_trunk(const mts_split *split);

#endif
