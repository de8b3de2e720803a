/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define pool_any__f32_planar MTS_CPU_SYMBOL(pool_any__f32_planar_)
#include "kernels/pool/pool_any__f32_planar.cl"
