/*
 * winograd.c: see winograd.h.
 */
#include "plan/winograd.h"

bool mts_winograd_computes(const mts_attrs_conv *conv)
{
    return conv->group == 1 && conv->kernel[0] == 3 && conv->kernel[1] == 3 && conv->stride[0] == 1 &&
           conv->stride[1] == 1 && conv->dilation[0] == 1 && conv->dilation[1] == 1;
}

/*
 * Measured on two cores with AVX-512 (docs/results): from 32 channels on the products that are saved outweigh
 * the transforms. Transformed weights are 16/9 of the bytes, which pays for images of 7 x 7 only because the
 * kernel asks for them ahead.
 */
bool mts_winograd_pays(const mts_device_info *device, const mts_layer_facts *facts)
{
    enum { CHANNELS_LEAST = 32, PIXELS_LEAST = 36, LOCAL_LEAST = 1 << 20 };
    return !device->is_gpu && device->vector_floats >= 16 && device->local_bytes >= LOCAL_LEAST &&
           mts_winograd_computes(facts->conv) && facts->in_channels >= CHANNELS_LEAST &&
           facts->out_channels >= CHANNELS_LEAST && (uint64_t)facts->height * facts->width >= PIXELS_LEAST;
}
