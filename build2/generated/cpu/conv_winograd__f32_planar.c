/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define conv_winograd__f32_planar MTS_CPU_SYMBOL(conv_winograd__f32_planar_)
#define CASES MTS_CPU_CASES_WINOGRAD
#include "kernels/conv/conv_winograd__f32_planar.cl"
