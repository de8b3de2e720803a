/*
 * pam.h: partitions of a few things by their distances: partitioning around medoids
 * (Kaufman, Rousseeuw 1990).
 */
#ifndef MTS_COMPRESS_ZIP_PAM_H
#define MTS_COMPRESS_ZIP_PAM_H

#include <stdint.h>

#define MTS_PAM_MOST 64u /* things */

/*
 * Parts count <= MTS_PAM_MOST things into 1 <= groups <= count groups so that the sum of the
 * distances to each group's medoid is small: the best first medoids one after another, then
 * exchanges as long as one helps. distances[count][count] are symmetric, not negative, and 0
 * on the diagonal. group[i] receives the number of i's group; numbers are given in order of
 * appearance. Equal arguments give equal groups. Returns the sum.
 */
double mts_pam(const double *distances, uint32_t count, uint32_t groups, uint32_t *group);

#endif
