/*
 * mixed.c: the combined program: each entry is a member of another kernel. Not
 * responsible for what those compute.
 */
#include "platform/host/host.h"
#include "platform/reference/reference.h"

_Static_assert(MTS_MIXED_SOURCES == MTS_LAUNCH_SOURCES, "kernels and devices count alike");

static mts_reference_function *const functions[] = {
#define FUNCTION(number, name) [number] = mts_reference_##name,
    MTS_MIXED(FUNCTION)
#undef FUNCTION
};

const char *mts_reference_mixed_any__f32_planar(const mts_reference_call *call)
{
    const uint32_t words = MTS_PARAM_WORDS(mts_mixed_params);
    const uint32_t *count = mts_reference_params(call, call->first, 1);
    const mts_mixed_params *entries =
        count ? mts_reference_params(call, (uint64_t)call->first + 1, (uint64_t)*count * words) : NULL;
    const char *reason = entries ? NULL : "the entries lie outside the buffer of kernel parameters";
    for (uint32_t i = 0; !reason && i < *count; i++) {
        const mts_mixed_params *e = &entries[i];
        const uint32_t end = i + 1 < *count ? entries[i + 1].begin : call->groups;
        if (e->number >= sizeof functions / sizeof functions[0] || e->width == 0 || e->begin >= end ||
            e->source > MTS_LAUNCH_SOURCES) {
            return "an entry has no kernel, no work-groups, or no source";
        }
        mts_reference_call member = *call;
        member.first = e->member;
        member.groups = e->width;
        member.members = 1;
        if (e->source > 0) { /* the caller's floats, whatever the pool holds */
            const mts_host_buffer *source = (const mts_host_buffer *)call->sources[e->source - 1];
            member.pool = (const float *)(const void *)source->bytes;
            member.pool_bytes = source->base.size;
            member.pool_size = member.pool_bytes / sizeof(float);
        }
        /* all of a member with its first part */
        reason = e->shift + e->begin == 0 ? functions[e->number](&member) : NULL;
    }
    return reason;
}
