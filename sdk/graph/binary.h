/*
 * binary.h: what each kind of the binary operator computes (MTS_BIN_*), for every element type of the host.
 */
#ifndef MTS_GRAPH_BINARY_H
#define MTS_GRAPH_BINARY_H

#include <math.h>
#include <stdint.h>

#include "kernels/abi/kinds.h"

/* Defines a function for one element type. `power` is its function of <math.h>: powf rounds unlike pow. */
/* clang-format off */
#define MTS_BINARY_DEFINE(name, type, power)                                                                 \
    static type name(uint32_t kind, type a, type b)                                                          \
    {                                                                                                        \
        switch (kind) {                                                                                      \
        case MTS_BIN_ADD: return a + b;                                                                      \
        case MTS_BIN_SUB: return a - b;                                                                      \
        case MTS_BIN_MUL: return a * b;                                                                      \
        case MTS_BIN_DIV: return a / b;                                                                      \
        case MTS_BIN_PRELU: return a > 0 ? a : a * b;                                                        \
        case MTS_BIN_MAX: return a > b ? a : b;                                                              \
        case MTS_BIN_MIN: return a < b ? a : b;                                                              \
        default: return power(a, b);                                                                         \
        }                                                                                                    \
    }
/* clang-format on */

#endif
