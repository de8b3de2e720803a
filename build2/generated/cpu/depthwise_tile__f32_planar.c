/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define depthwise_tile__f32_planar MTS_CPU_SYMBOL(depthwise_tile__f32_planar_)
#include "kernels/depthwise/depthwise_tile__f32_planar.cl"
