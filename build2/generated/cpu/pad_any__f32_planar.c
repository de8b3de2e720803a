/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define pad_any__f32_planar MTS_CPU_SYMBOL(pad_any__f32_planar_)
#include "kernels/pad/pad_any__f32_planar.cl"
