/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define concat_any__f32_planar MTS_CPU_SYMBOL(concat_any__f32_planar_)
#include "kernels/concat/concat_any__f32_planar.cl"
