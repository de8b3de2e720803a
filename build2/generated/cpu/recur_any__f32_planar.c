/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define recur_any__f32_planar MTS_CPU_SYMBOL(recur_any__f32_planar_)
#include "kernels/recur/recur_any__f32_planar.cl"
