/*
 * mix.h: launches of different kernels as one launch of the combined program
 * (kernels/abi/mixed.h). Pure.
 *
 * Not responsible for which launches may run at the same time (merge.c).
 */
#ifndef MTS_LOWER_MIX_H
#define MTS_LOWER_MIX_H

#include "lower/lower.h"

/* A kernel's number in the combined program, or MTS_NONE. */
uint32_t mts_mix_number(const char *kernel);
/* Whether a launch is a list of members that the combined program can compute. */
bool mts_mix_accepts(const mts_encoding *encoding, const mts_encoded_launch *launch);
/* Adds what a launch reads in the pool's place to `sources`[MTS_LAUNCH_SOURCES], which are
   0 from the first free one on; false: it is another one, and they are full. */
bool mts_mix_has_room(uint32_t *sources, const mts_encoded_launch *launch);
/*
 * One launch of `count` that it accepts, which fit into one dimension of a grid and read
 * one section of the pool; entries are in this order, in so many `pieces` of each launch
 * (mts_launch_pieces): first pieces first. *out has what describes all of them
 * already; grid, kernel, sources, parameters and entries are set. The build options follow
 * (mts_encode_cases). Errors: OUT_OF_MEMORY. INTERNAL: there is no room for what they read
 * (mts_mix_has_room).
 */
mts_status mts_mix_launches(mts_encoding *encoding, const uint32_t *launches, uint32_t count, uint32_t pieces,
                            mts_encoded_launch *out);

#endif
