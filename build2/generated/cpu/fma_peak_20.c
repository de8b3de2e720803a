/* Generated: the probe with 20 chains. */
#include "platform/cpu/kernel.h"

#define CHAINS 20
#define fma_peak__f32 MTS_CPU_SYMBOL(fma_peak_20_)
#include "kernels/probe/fma_peak__f32.cl"
