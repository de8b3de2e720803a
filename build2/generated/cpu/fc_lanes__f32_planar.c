/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define fc_lanes__f32_planar MTS_CPU_SYMBOL(fc_lanes__f32_planar_)
#include "kernels/fc/fc_lanes__f32_planar.cl"
