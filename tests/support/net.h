/*
 * net.h: graphs as a bundle in memory, and engines over it: what a test needs to run networks without files.
 *
 * A net goes the whole way of a real one: sharing is discovered, the archive is written as bytes and read
 * back by the verifying reader. Nothing here fails a test by itself; every function returns the code and the
 * sentence.
 */
#ifndef MTS_TESTS_SUPPORT_NET_H
#define MTS_TESTS_SUPPORT_NET_H

#include "bundle/archive.h"
#include "compiler/models/bundle.h"
#include "tune/tune.h"

typedef struct test_net {
    mts_bundle_bytes bytes;
    mts_archive *archive; /* tasks are named t0, t1, ... */
    uint64_t weight_bytes, weight_bytes_unshared;
} test_net;

/* Options of a device of tests: default allocator, kernel binaries in `cache` (may be NULL). For "opencl" see
   second_device.h. */
mts_status net_device_open(const char *backend, const char *cache, mts_device **out, mts_error *error);

/* The graphs are copied, their constants referred to until the call returns. */
mts_status net_make(const mts_graph *const *graphs, uint32_t count, float tolerance, test_net *out,
                    mts_error *error);
/* The same without discovery: constants may have several blocks already, and blocks of equal bytes become
 * one. */
mts_status net_make_as_is(const mts_graph *const *graphs, uint32_t count, test_net *out, mts_error *error);
void net_release(test_net *net);

/* inputs[task][port]: dense values of the port's dtype. With common inputs only the first task's are given.
 */
mts_status net_engine_run(mts_engine *engine, const test_net *net, const void *const *const *inputs,
                          mts_error *error);
/* A float32 output of the last run; NULL if it is not float32 or has another size than its port says. */
const float *net_output(const mts_engine *engine, const test_net *net, uint32_t task, uint32_t output,
                        size_t *count);

#endif
