/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define space_to_depth_any__f32_planar MTS_CPU_SYMBOL(space_to_depth_any__f32_planar_)
#include "kernels/space_to_depth/space_to_depth_any__f32_planar.cl"
