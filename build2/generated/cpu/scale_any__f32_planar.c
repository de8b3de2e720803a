/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define scale_any__f32_planar MTS_CPU_SYMBOL(scale_any__f32_planar_)
#include "kernels/scale/scale_any__f32_planar.cl"
