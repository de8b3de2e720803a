/*
 * winograd.h: which convolutions Winograd's F(2 x 2, 3 x 3) can compute and where it pays. Pure.
 */
#ifndef MTS_PLAN_WINOGRAD_H
#define MTS_PLAN_WINOGRAD_H

#include "plan/kernel_config.h"

/* 3 x 3 taps, stride and dilation 1, one group. */
bool mts_winograd_computes(const mts_attrs_conv *conv);
/* Whether it is expected to be faster than tiles for a layer with facts->conv. */
bool mts_winograd_pays(const mts_device_info *device, const mts_layer_facts *facts);

#endif
