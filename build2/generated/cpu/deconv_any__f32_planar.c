/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define deconv_any__f32_planar MTS_CPU_SYMBOL(deconv_any__f32_planar_)
#include "kernels/deconv/deconv_any__f32_planar.cl"
