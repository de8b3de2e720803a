/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define scan_any__f32_planar MTS_CPU_SYMBOL(scan_any__f32_planar_)
#include "kernels/scan/scan_any__f32_planar.cl"
