/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define resize_any__f32_planar MTS_CPU_SYMBOL(resize_any__f32_planar_)
#include "kernels/resize/resize_any__f32_planar.cl"
