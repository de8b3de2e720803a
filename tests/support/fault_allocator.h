/*
 * fault_allocator.h: an allocator that counts what is alive and fails one chosen call. Several threads may
 * use it.
 */
#ifndef MTS_TESTS_FAULT_ALLOCATOR_H
#define MTS_TESTS_FAULT_ALLOCATOR_H

#include <stdatomic.h>

#include "base/alloc.h"

typedef struct mts_fault_allocator {
    mts_allocator allocator;
    atomic_size_t calls; /* made so far */
    size_t fail_at;      /* number of the call that fails, counted from 1; 0: none */
    atomic_size_t alive; /* blocks not freed */
    atomic_size_t bytes; /* of the largest call, as long as one thread calls */
} mts_fault_allocator;

void mts_fault_allocator_init(mts_fault_allocator *fault, size_t fail_at);

#endif
