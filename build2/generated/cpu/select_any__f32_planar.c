/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define select_any__f32_planar MTS_CPU_SYMBOL(select_any__f32_planar_)
#include "kernels/select/select_any__f32_planar.cl"
