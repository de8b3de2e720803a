/*
 * winograd.h: which convolutions Winograd's F(2 x 2, 3 x 3) can compute and where it pays. Pure.
 */
#ifndef MTS_PLAN_WINOGRAD_H
#define MTS_PLAN_WINOGRAD_H

#include "device/device.h"
#include "graph/graph.h"

/* 3 x 3 taps, stride and dilation 1, one group. */
bool mts_winograd_computes(const mts_attrs_conv *conv);
/*
 * Whether it is faster than tiles for such a convolution of this many channels (of a member) with outputs of
 * height x width pixels.
 */
bool mts_winograd_pays(const mts_device_info *device, const mts_attrs_conv *conv, uint32_t in_channels,
                       uint32_t out_channels, uint32_t height, uint32_t width);

#endif
