/*
 * pack_dims.c: see pack_dims.h.
 */
#include "lower/pack_dims.h"

#include <string.h>

#include "base/size.h"

enum { LANES = MTS_CHANNEL_PACK };

#if MTS_HAS_PACKED
static const mts_storage *storage_of(const mts_encoding *encoding, uint32_t value)
{
    return &encoding->plan->storages[encoding->plan->value_storage[value]];
}

static bool lies_in_packs(const mts_encoding *encoding, uint32_t value)
{
    return value != MTS_NONE && storage_of(encoding, value)->lanes == LANES;
}

/* [N, C, H, W] of a result. One of another rank is what a REDUCE leaves of all rows and
   columns. */
static void result_dims(const mts_encoding *encoding, const mts_member *member, uint32_t dims[4])
{
    const mts_shape *out = &encoding->stitched->values[member->output].shape;
    for (uint32_t i = 0; i < 4; i++) {
        dims[i] = i < out->rank ? (uint32_t)out->dims[i] : 1;
    }
}

bool mts_packs_touch(const mts_encoding *encoding, const mts_member *member, mts_pack_form *form)
{
    static const mts_pack_form forms[] = {{.packs = false, .at = {1, 2, 4, 5}, .lane = 3},
                                          {.packs = true, .at = {1, 2, 3, 4}, .lane = 5}};
    bool touches = lies_in_packs(encoding, member->output);
    for (uint32_t i = 0; i < member->input_count; i++) {
        touches = touches || lies_in_packs(encoding, member->inputs[i]);
    }
    if (touches) {
        uint32_t dims[4];
        result_dims(encoding, member, dims);
        const bool pixel = (uint64_t)dims[0] * dims[2] * dims[3] == 1;
        *form = forms[lies_in_packs(encoding, member->output) ||
                      (pixel && mts_storage_is_dense(storage_of(encoding, member->output)))];
    }
    return touches;
}

mts_dest_params mts_packs_output(const mts_encoding *encoding, const mts_member *member,
                                 const mts_pack_form *form)
{
    mts_dest_params dest = mts_encode_output(encoding, member);
    uint32_t dims[4];
    result_dims(encoding, member, dims);
    dest.dims[0] = 1;
    for (int i = 0; i < 4; i++) {
        dest.dims[form->at[i]] = i == 1 ? mts_u32_ceil_div(dims[1], LANES) : dims[i];
    }
    dest.dims[form->lane] = LANES;
    if (form->packs) {
        dest.row = LANES;
        dest.pitch = LANES * dims[3];
    }
    return dest;
}

mts_view_params mts_packs_operand(mts_encoding *encoding, const mts_member *member, uint32_t input,
                                  const mts_pack_form *form, uint32_t *pool)
{
    enum { FIRST = MTS_PARAM_RANK - 4 }; /* of the dimensions of a view that are not 1 */
    uint32_t dims[4];
    uint32_t own[MTS_PARAM_RANK];
    result_dims(encoding, member, dims);
    mts_shape_pad(&mts_member_operand(encoding->stitched, member, input)->shape, own);
    const mts_view_params from = mts_encode_operand(encoding, member, input, NULL, pool);
    uint32_t stride[4];
    memcpy(stride, from.stride + FIRST, sizeof stride);
    uint32_t lane = stride[1];
    stride[1] *= LANES;
    if (lies_in_packs(encoding, member->inputs[input])) {
        const mts_storage *s = storage_of(encoding, member->inputs[input]);
        lane = 1;
        stride[0] = mts_storage_channels(s) * s->pitch;
        stride[2] *= LANES;
        stride[3] = LANES;
    }
    mts_view_params view = {.base = from.base};
    for (int i = 0; i < 4; i++) {
        const bool broadcast = own[FIRST + i] == 1 && dims[i] != 1;
        view.stride[form->at[i]] = broadcast ? 0 : stride[i];
        lane = broadcast && i == 1 ? 0 : lane;
    }
    view.stride[form->lane] = lane;
    return view;
}

void mts_packs_join(mts_dest_params *dest, mts_view_params *const *operands, uint32_t count)
{
    bool joins = true;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *stride = operands[i]->stride;
        joins = joins && (dest->dims[3] == 1 || stride[3] == dest->dims[4] * stride[4]);
    }
    if (!joins) {
        return;
    }
    dest->dims[4] *= dest->dims[3];
    dest->pitch = dest->row * dest->dims[4];
    memmove(dest->dims + 1, dest->dims, 3 * sizeof *dest->dims);
    for (uint32_t i = 0; i < count; i++) {
        memmove(operands[i]->stride + 1, operands[i]->stride, 3 * sizeof *operands[i]->stride);
    }
}

void mts_packs_by_rows(mts_dest_params *dest, mts_view_params *src)
{
    const uint32_t height = dest->dims[3];
    const uint32_t high = src->stride[3];
    mts_packs_join(dest, NULL, 0);
    dest->row = dest->dims[4] / height * LANES;
    dest->dims[4] = height;
    dest->dims[5] = dest->row;
    memmove(src->stride + 1, src->stride, 3 * sizeof *src->stride);
    src->stride[4] = high;
}
#endif
