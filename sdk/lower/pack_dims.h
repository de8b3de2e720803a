/*
 * pack_dims.h: how operators other than convolutions meet values in packs of channels
 * (plan/packed.h): as tensors of other dimensions, so that one kernel takes both layouts.
 *
 * What lies in packs is row-major in the dimensions PACKS. A member that touches packs
 * states its result in one of these forms, and operands with the strides that they have in
 * it, whichever layout they lie in: channel c is lane c % 4 of pack c / 4.
 *
 *     PACKS  [1, N, packs, H, W, lane]       the result lies in packs, or has one pixel
 *     SPLIT  [1, N, packs, lane, H, W]       the result lies in planes
 *     ROWS   [1, 1, N, packs, H, W x lane]   windows over rows and columns of packs
 *
 * Which members may touch packs: plan/packed.c.
 */
#ifndef MTS_LOWER_PACK_DIMS_H
#define MTS_LOWER_PACK_DIMS_H

#include "lower/encode.h"

/* Where the dimensions of [N, C, H, W] stand in a form; channels: the packs. */
typedef struct mts_pack_form {
    bool packs; /* PACKS, else SPLIT */
    uint32_t at[4], lane;
} mts_pack_form;

/* Whether a member's result or one of its operands lies in packs; `form`: of the member. */
#if MTS_HAS_PACKED
bool mts_packs_touch(const mts_encoding *encoding, const mts_member *member, mts_pack_form *form);
#else
static inline bool mts_packs_touch(const mts_encoding *encoding, const mts_member *member,
                                   mts_pack_form *form)
{
    (void)encoding;
    (void)member;
    (void)form;
    return false;
}
#endif
/* The result, and operand `input`, where dimensions of 1 are broadcast. */
mts_dest_params mts_packs_output(const mts_encoding *encoding, const mts_member *member,
                                 const mts_pack_form *form);
mts_view_params mts_packs_operand(mts_encoding *encoding, const mts_member *member, uint32_t input,
                                  const mts_pack_form *form, uint32_t *pool);
/* Of PACKS: rows and columns become one dimension where they are one in all operands. */
void mts_packs_join(mts_dest_params *dest, mts_view_params *const *operands, uint32_t count);
/* From PACKS to ROWS; the operand lies in packs. */
void mts_packs_by_rows(mts_dest_params *dest, mts_view_params *src);

#endif
