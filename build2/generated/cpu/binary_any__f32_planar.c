/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define binary_any__f32_planar MTS_CPU_SYMBOL(binary_any__f32_planar_)
#include "kernels/binary/binary_any__f32_planar.cl"
