/*
 * subset.h: a bundle with some of the tasks of an archive, as the app that ships and the bundle that comes
 * later are made of one bundle whose tasks share weights.
 */
#ifndef MTS_TESTS_SUPPORT_SUBSET_H
#define MTS_TESTS_SUPPORT_SUBSET_H

#include "compiler/models/bundle.h"

/*
 * The bundle's bytes; blocks are numbered in the order in which the tasks refer to them. `factor`: the values
 * of blocks that only the last of these tasks refers to are multiplied by it. Fails the test.
 */
void test_subset(const mts_archive *archive, const uint32_t *tasks, uint32_t count, float factor,
                 mts_bundle_bytes *out);
/* The same as a file. */
void test_subset_write(const mts_archive *archive, const uint32_t *tasks, uint32_t count, float factor,
                       const char *path);

#endif
