/*
 * quirks.h: what is known about compute capabilities and cannot be asked from a driver,
 * as data.
 */
#ifndef MTS_PLATFORM_CUDA_QUIRKS_H
#define MTS_PLATFORM_CUDA_QUIRKS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mts_cu_quirks {
    uint32_t arch;      /* compute capability, e.g. 62; the last row: from there on */
    uint32_t units;     /* multiprocessors of the Jetson board with it; 0: it is no board's */
    bool half_products; /* multiplies float16 at least as fast as float32 */
    bool matrix_units;  /* has instructions that multiply float16 matrices */
    bool host_memory;   /* of a board: the GPU reads memory that the host allocated as it likes */
    uint32_t ptx;       /* first version of PTX that knows it, 74: 7.4; 0: one of CUDA 10.2 (6.5) or before */
} mts_cu_quirks;

/* What is known of `arch`, or of the nearest one below it; never NULL. */
const mts_cu_quirks *mts_cu_quirks_find(uint32_t arch);
/* Whether a device adds products of bytes (dp4a) at several times the rate of
   float32. */
bool mts_cu_multiplies_bytes(uint32_t arch);
/* The newest compute capability below `arch` that compilers know, or 0. */
uint32_t mts_cu_quirks_before(uint32_t arch);

#endif
