/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define take_any__f32_planar MTS_CPU_SYMBOL(take_any__f32_planar_)
#include "kernels/take/take_any__f32_planar.cl"
