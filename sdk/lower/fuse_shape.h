/*
 * fuse_shape.h: sizes of fused blocks (plan/fuse.h), and how they are cut into
 * work-groups.
 */
#ifndef MTS_LOWER_FUSE_SHAPE_H
#define MTS_LOWER_FUSE_SHAPE_H

#include "device/device.h"
#include "device/kernel.h"
#include "plan/plan.h"

/* Rows of a work-group; h, row, channels, in_row, size, stride and expands are known.
   members: of the launch. */
uint32_t mts_fused_part(const mts_device_info *device, const mts_fused_params *p, uint32_t members);
/* Work-items of a work-group. */
uint32_t mts_fused_local(const mts_device_info *device);
/* Whether a work-group has the memory for parts of that size. */
bool mts_fused_fits(const mts_device_info *device, const mts_fused_params *p);
/* The member that computes input 0 of a member. */
uint32_t mts_fused_source(const mts_stitched *stitched, uint32_t member);
/* Sizes of member `member` of a layer that others are fused into, for a plan with
   layouts: no offsets and no jobs, but `expands` is not 0 where there will be some. */
mts_fused_params mts_fused_shape(const mts_device_info *device, const mts_plan *plan, uint32_t layer,
                                 uint32_t member);

#endif
