/*
 * places.h: values that lie inside of another one's storage, where nothing has to be
 * copied: the parts of a concatenation, slices of channels, the same planes under other
 * leading dimensions, and what planes of zeros are added to. Used by layout.c only.
 */
#ifndef MTS_PLAN_PLACES_H
#define MTS_PLAN_PLACES_H

#include "plan/plan.h"

/* Where a value lies in its host. */
typedef struct mts_place {
    /* svalue, or MTS_NONE: the value has a storage of its own. A host may have a host. */
    uint32_t host;
    /* Plane of the host that is the value's first. */
    uint32_t plane;
    /* Planes of the host, from there, that are the value's; NULL: they follow each other. */
    const uint32_t *planes;
    /* Planes of zeros that the value's producer writes behind its own. */
    uint32_t zeros;
} mts_place;

/*
 * Fills places[value_count], whose hosts then have no host, and the members' in_place.
 * forced: values that have to be dense, per svalue; the outputs of RESHAPEs that are done
 * in place no longer have to. Errors: OUT_OF_MEMORY.
 */
mts_status mts_places_find(mts_plan *plan, bool *forced, mts_place *places, mts_arena *arena,
                           mts_error *error);
/* Whether a member is a SCALE that sees its operand and its result in other dimensions
 * than they have (all ranks but 4), so that both have to be dense. */
bool mts_place_scales_dense(const mts_stitched *stitched, const mts_member *member);
/* The value that has no host, above `value`; plane: of it where `value` begins. */
uint32_t mts_place_root(const mts_place *places, uint32_t value, uint32_t *plane);
/* Operands of concatenations that are done in place and do not lie there: at most so many
   are copied. */
size_t mts_places_copies_most(const mts_stitched *stitched);
/* Makes the storages of values with a host parts of the host's, and adds the copies. All
 * values have storages.
 */
void mts_places_store(mts_plan *plan, const mts_place *places);

/* What is read dense and lies in another value asks that of the whole. */
void mts_places_join_dense(const mts_place *places, uint32_t count, bool *dense);

#endif
