/*
 * encode_fused.h: the launch of a fused block (plan/fuse.h).
 */
#ifndef MTS_LOWER_ENCODE_FUSED_H
#define MTS_LOWER_ENCODE_FUSED_H

#include "lower/encode.h"

/* The launch of a layer with those that are fused into it. */
mts_status mts_encode_fused(mts_encoding *encoding, const mts_layer *layer);

#endif
