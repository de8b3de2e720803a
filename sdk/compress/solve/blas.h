/*
 * blas.h: one caller at a time for OpenBLAS. Its serial build, which Debian's
 * libopenblas-serial-dev brings, shares buffers between callers without locking them: two
 * threads in it at once now and then get wrong numbers.
 */
#ifndef MTS_COMPRESS_SOLVE_BLAS_H
#define MTS_COMPRESS_SOLVE_BLAS_H

/* Around every call of BLAS or LAPACK that works with more than its operands (all of
   levels 2 and 3). */
void mts_blas_enter(void);
void mts_blas_leave(void);

#endif
