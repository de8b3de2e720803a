/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define lrn_any__f32_planar MTS_CPU_SYMBOL(lrn_any__f32_planar_)
#include "kernels/lrn/lrn_any__f32_planar.cl"
