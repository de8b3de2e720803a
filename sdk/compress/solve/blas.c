/*
 * blas.c: see blas.h. The lock belongs to the process, as the buffers of the library that
 * it guards do.
 */
#include "compress/solve/blas.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void mts_blas_enter(void)
{
    (void)pthread_mutex_lock(&lock);
}

void mts_blas_leave(void)
{
    (void)pthread_mutex_unlock(&lock);
}
