/* Generated: the probe with 16 chains. */
#include "platform/cpu/kernel.h"

#define CHAINS 16
#define fma_peak__f32 MTS_CPU_SYMBOL(fma_peak_16_)
#include "kernels/probe/fma_peak__f32.cl"
