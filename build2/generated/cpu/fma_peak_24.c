/* Generated: the probe with 24 chains. */
#include "platform/cpu/kernel.h"

#define CHAINS 24
#define fma_peak__f32 MTS_CPU_SYMBOL(fma_peak_24_)
#include "kernels/probe/fma_peak__f32.cl"
