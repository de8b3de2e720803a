/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define copy_any__f32_planar MTS_CPU_SYMBOL(copy_any__f32_planar_)
#include "kernels/copy/copy_any__f32_planar.cl"
