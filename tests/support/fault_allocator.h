/*
 * fault_allocator.h: an allocator that counts what is alive and fails one chosen call.
 */
#ifndef MTS_TESTS_FAULT_ALLOCATOR_H
#define MTS_TESTS_FAULT_ALLOCATOR_H

#include "base/alloc.h"

typedef struct mts_fault_allocator {
    mts_allocator allocator;
    size_t calls;   /* made so far */
    size_t fail_at; /* number of the call that fails, counted from 1; 0: none */
    size_t alive;   /* blocks not freed */
    size_t bytes;   /* of the largest call */
} mts_fault_allocator;

void mts_fault_allocator_init(mts_fault_allocator *fault, size_t fail_at);

#endif
