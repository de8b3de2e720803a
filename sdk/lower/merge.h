/*
 * merge.h: launches of one wave become one where the kernel, its build options and its
 * grid allow it. Pure.
 *
 * A launch is a list of entries (task_masks.h) that do not depend on each other, and a
 * wave (plan/waves.h) is a set of steps that do not either. So launches of different
 * steps of a wave with the same kernel are one list. A launch that cannot be joined to
 * another one stays as it is.
 */
#ifndef MTS_LOWER_MERGE_H
#define MTS_LOWER_MERGE_H

#include "lower/lower.h"

/* Joins the launches of each wave of the encoding, which are all there. */
mts_status mts_encode_merge(mts_encoding *encoding);

#endif
