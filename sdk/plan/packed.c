/*
 * packed.c: see packed.h. Not responsible for kernel parameters (sdk/lower).
 */
#include "plan/packed.h"

#include "device/kernel.h"

/* Whether zeros beyond the last channel are at most a third of what a value has. */
static bool fills_packs(const mts_shape *shape)
{
    const uint64_t channels = (uint64_t)shape->dims[1];
    return 3 * mts_u64_ceil_div(channels, MTS_CHANNEL_PACK) * MTS_CHANNEL_PACK <= 4 * channels;
}

/* Depthwise ones only where a pack of outputs reads a pack of inputs. */
bool mts_packed_takes(const mts_stitched *stitched, const mts_member *member, mts_variant variant)
{
    const mts_shape *in = &stitched->values[member->inputs[0]].shape;
    const mts_shape *out = &stitched->values[member->output].shape;
    return variant == MTS_VARIANT_TILE ||
           (variant == MTS_VARIANT_DEPTHWISE && in->dims[1] == out->dims[1] && fills_packs(out));
}

/* Whether a value may lie in packs, as far as it alone tells. */
static bool is_packable(const mts_plan *plan, const mts_blocks_facts *facts, const bool *shared,
                        uint32_t value)
{
    const mts_shape *shape = &plan->stitched->values[value].shape;
    return !facts->forced[value] && !facts->dense[value] && !shared[value] && shape->rank == 4 &&
           fills_packs(shape);
}

/* Input 0 is the image, 4 the residual. */
static bool reads_packs(const mts_plan *plan, uint32_t member, uint32_t input)
{
    return plan->members[member].variant == MTS_VARIANT_PACKED && (input == 0 || input == 4);
}

mts_status mts_packed_choose(const mts_plan *plan, const mts_blocks_facts *facts, bool *blocks,
                             mts_arena *arena, mts_error *error)
{
    const mts_stitched *s = plan->stitched;
    bool *shared = mts_arena_zero(arena, s->value_count, sizeof *shared);
    if (!shared) {
        return mts_fail_memory(error);
    }
    mts_blocks_find_shared(s, facts->places, shared);
    for (uint32_t m = 0; m < s->member_count; m++) {
        const uint32_t value = s->members[m].output;
        blocks[value] =
            plan->members[m].variant == MTS_VARIANT_PACKED && is_packable(plan, facts, shared, value);
    }
    for (uint32_t m = 0; m < s->member_count; m++) {
        for (uint32_t i = 0; i < s->members[m].input_count; i++) {
            if (s->members[m].inputs[i] != MTS_NONE && !reads_packs(plan, m, i)) {
                blocks[s->members[m].inputs[i]] = false;
            }
        }
    }
    return MTS_STATUS_OK;
}
