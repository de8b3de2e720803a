/* Generated: the probe with 12 chains. */
#include "platform/cpu/kernel.h"

#define CHAINS 12
#define fma_peak__f32 MTS_CPU_SYMBOL(fma_peak_12_)
#include "kernels/probe/fma_peak__f32.cl"
