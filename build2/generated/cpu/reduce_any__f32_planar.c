/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define reduce_any__f32_planar MTS_CPU_SYMBOL(reduce_any__f32_planar_)
#include "kernels/reduce/reduce_any__f32_planar.cl"
