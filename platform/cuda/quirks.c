/*
 * quirks.c: the one table of compute capabilities. Float16 is fast as NVIDIA's table of
 * arithmetic throughput says; a board's multiprocessors and memory are from its data
 * sheet.
 */
#include "platform/cuda/quirks.h"

#include <stddef.h>

static const mts_cu_quirks table[] = {
    {.arch = 0},
    {.arch = 50},
    {.arch = 52},
    {.arch = 53, .units = 1, .half_products = true}, /* Nano, TX1 (2) */
    {.arch = 60, .half_products = true},
    {.arch = 61},                                    /* 1/64 of float32 */
    {.arch = 62, .units = 2, .half_products = true}, /* TX2 */
    {.arch = 70, .half_products = true, .matrix_units = true},
    {.arch = 72, .units = 8, .half_products = true, .matrix_units = true, .host_memory = true}, /* Xavier */
    {.arch = 75, .half_products = true, .matrix_units = true},
    {.arch = 80, .half_products = true, .matrix_units = true, .ptx = 70},
    {.arch = 86, .half_products = true, .matrix_units = true, .ptx = 71},
    {.arch = 87,
     .units = 16,
     .half_products = true,
     .matrix_units = true,
     .host_memory = true,
     .ptx = 74}, /* Orin */
    {.arch = 89, .half_products = true, .matrix_units = true, .ptx = 78},
    {.arch = 90, .half_products = true, .matrix_units = true, .ptx = 78},
    {.arch = 100, .half_products = true, .matrix_units = true, .ptx = 86},
    /* Thor, which CUDA 12 called 10.1 */
    {.arch = 101, .units = 20, .half_products = true, .matrix_units = true, .host_memory = true, .ptx = 86},
    {.arch = 103, .half_products = true, .matrix_units = true, .ptx = 88},
    {.arch = 110, .units = 20, .half_products = true, .matrix_units = true, .host_memory = true, .ptx = 90},
    {.arch = 120, .half_products = true, .matrix_units = true, .ptx = 87},
};

static size_t row_of(uint32_t arch)
{
    size_t i = sizeof table / sizeof table[0] - 1;
    while (table[i].arch > arch) { /* ends at the first row */
        i--;
    }
    return i;
}

const mts_cu_quirks *mts_cu_quirks_find(uint32_t arch)
{
    return &table[row_of(arch)];
}

/* 6.0 and 6.2 have no such instruction, or one that is several. */
bool mts_cu_multiplies_bytes(uint32_t arch)
{
    return arch == 61 || arch >= 70;
}

uint32_t mts_cu_quirks_before(uint32_t arch)
{
    return arch == 0 ? 0 : table[row_of(arch - 1)].arch;
}
