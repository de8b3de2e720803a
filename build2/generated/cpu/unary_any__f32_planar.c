/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define unary_any__f32_planar MTS_CPU_SYMBOL(unary_any__f32_planar_)
#include "kernels/unary/unary_any__f32_planar.cl"
