/* Generated from kernels/manifest.def. */
#include "platform/cpu/kernel.h"

#define order_any__f32_planar MTS_CPU_SYMBOL(order_any__f32_planar_)
#include "kernels/order/order_any__f32_planar.cl"
