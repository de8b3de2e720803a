/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define matmul_any__f32_planar MTS_CPU_SYMBOL(matmul_any__f32_planar_)
#include "kernels/matmul/matmul_any__f32_planar.cl"
