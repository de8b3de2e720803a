/*
 * cluster.h: k-means (Lloyd) with seeds spread by k-means++.
 */
#ifndef MTS_COMPRESS_SOLVE_CLUSTER_H
#define MTS_COMPRESS_SOLVE_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"

/*
 * points[count][size] into k <= count clusters of at most `most` points each (0: any; k *
 * most >= count); cluster[i] receives the cluster of point i, no cluster stays empty. The
 * best of 16 starts from `seed`; equal arguments give equal answers. Clusters are
 * numbered by their first point. False if memory is short.
 */
bool mts_cluster(const double *points, uint32_t count, uint32_t size, uint32_t k, uint32_t most,
                 uint64_t seed, const mts_allocator *allocator, uint32_t *cluster);

#endif
