/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define softmax_any__f32_planar MTS_CPU_SYMBOL(softmax_any__f32_planar_)
#include "kernels/softmax/softmax_any__f32_planar.cl"
