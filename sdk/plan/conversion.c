/*
 * conversion.c: see conversion.h. Not responsible for sizes and storages of conversions
 * (layout.c).
 */
#include "plan/conversion.h"

#include "plan/places.h"
#include "plan/transposes.h"

uint32_t mts_conversion_of(mts_plan *plan, uint32_t value, const uint32_t stride[2], bool codes)
{
    for (uint32_t i = 0; i < plan->conversion_count; i++) {
        const mts_conversion *c = &plan->conversions[i];
        if (c->value == value && c->space_to_depth && c->codes == codes && c->stride[0] == stride[0] &&
            c->stride[1] == stride[1]) {
            return i;
        }
    }
    mts_conversion *c = &plan->conversions[plan->conversion_count];
    *c = (mts_conversion){.value = value,
                          .source = mts_transpose_source(plan, value),
                          .storage = MTS_NONE,
                          .space_to_depth = true,
                          .codes = codes,
                          .producer = MTS_NONE,
                          .from = MTS_NONE,
                          .stride = {stride[0], stride[1]},
                          .phases = 1};
    return plan->conversion_count++;
}

/* One space-to-depth conversion per convolution operand, one dense copy and one of codes per
 * value, and parts of concatenations. */
size_t mts_conversions_most(const mts_stitched *s)
{
    return (size_t)s->member_count * 2 + (size_t)s->value_count * 2 + mts_places_copies_most(s);
}
