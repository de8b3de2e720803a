/*
 * fault_each.h: what a function does where memory is short: each of its allocations fails in turn.
 */
#ifndef MTS_TESTS_FAULT_EACH_H
#define MTS_TESTS_FAULT_EACH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"
#include "support/fault_allocator.h"

/* Releases what it allocates before it returns, and what it was given stays as it is. */
typedef mts_status mts_fault_work(const mts_allocator *allocator, void *data);

/* Calls `work` until no allocation fails. Each failure is OUT_OF_MEMORY, and nothing is leaked. */
static inline void mts_fault_each(mts_fault_work *work, void *data)
{
    for (size_t n = 1;; n++) {
        mts_fault_allocator fault;
        mts_fault_allocator_init(&fault, n);
        const mts_status status = work(&fault.allocator, data);
        assert_int_equal(fault.alive, 0);
        if (fault.calls < n) {
            assert_int_equal(status, MTS_STATUS_OK);
            return;
        }
        assert_int_equal(status, MTS_STATUS_OUT_OF_MEMORY);
    }
}

#endif
