/*
 * copy_dims.h: the dimensions that a copy is stated in. Not responsible for what is
 * copied.
 */
#ifndef MTS_LOWER_COPY_DIMS_H
#define MTS_LOWER_COPY_DIMS_H

#include "lower/encode.h"

/* Whether a destination has no zeros between or beside its values. */
bool mts_dest_is_dense(const mts_dest_params *dest);
/*
 * States the copy of a dense result in as few dimensions as can be: those that follow
 * each other in the source as in the result become one, so that rows are long and planes
 * few. What is copied where stays the same.
 */
void mts_copy_join_dims(mts_copy_params *copy);

#endif
