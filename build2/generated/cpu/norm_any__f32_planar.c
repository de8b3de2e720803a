/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define norm_any__f32_planar MTS_CPU_SYMBOL(norm_any__f32_planar_)
#include "kernels/norm/norm_any__f32_planar.cl"
