/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define sample_any__f32_planar MTS_CPU_SYMBOL(sample_any__f32_planar_)
#include "kernels/sample/sample_any__f32_planar.cl"
