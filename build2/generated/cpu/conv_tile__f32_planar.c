/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define conv_tile__f32_planar MTS_CPU_SYMBOL(conv_tile__f32_planar_)
#define CASES MTS_CPU_CASES_TILE
#include "kernels/conv/conv_tile__f32_planar.cl"
