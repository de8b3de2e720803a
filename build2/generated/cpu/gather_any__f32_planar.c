/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define gather_any__f32_planar MTS_CPU_SYMBOL(gather_any__f32_planar_)
#include "kernels/gather/gather_any__f32_planar.cl"
