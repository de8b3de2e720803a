/*
 * frame.c: reference kernel that puts a region of a camera frame into an input. The
 * arithmetic is in pixels.c.
 */
#include "platform/reference/pixels.h"
#include "platform/reference/reference.h"

static const char *frame_member(const mts_reference_call *call, const void *params)
{
    const mts_reference_pixels to = {.image = call->act,
                                     .elements = call->act_size,
                                     .frame = (const unsigned char *)call->pool,
                                     .frame_bytes = call->pool_bytes};
    return mts_reference_pixels_write(&to, params);
}

const char *mts_reference_frame_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_frame_params), frame_member);
}
