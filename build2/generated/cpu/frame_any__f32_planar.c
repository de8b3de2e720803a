/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define frame_any__f32_planar MTS_CPU_SYMBOL(frame_any__f32_planar_)
#include "kernels/frame/frame_any__f32_planar.cl"
