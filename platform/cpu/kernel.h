/*
 * kernel.h: the head of a kernel's translation unit (cmake/cpu_kernels.cmake generates
 * one for each kernel).
 *
 * The build defines VEC, REGS, HALF and MTS_CPU_SET, the suffix of the instruction set's
 * functions. Not responsible for which sets there are: kernels/variants.def.
 */
#ifndef MTS_CPU_KERNEL_H
#define MTS_CPU_KERNEL_H

#include "platform/cpu/symbol.h"

#include "kernels/prelude.h"

#include "kernels/prelude_c.h"

#include "kernels/abi/kinds.h"

#include "kernels/abi/functions.h"
#include "kernels/abi/conv.h"
#include "kernels/dest.h"

#include "kernels/border.h"

#endif
