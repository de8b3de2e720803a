/* Generated: the probe with 8 chains. */
#include "platform/cpu/kernel.h"

#define CHAINS 8
#define fma_peak__f32 MTS_CPU_SYMBOL(fma_peak_8_)
#include "kernels/probe/fma_peak__f32.cl"
