/*
 * mixed_any: members of several kernels in one launch (kernels/abi/mixed.h). Built with
 * -DMIXED=bits of the kernels that it is to know, whose texts stand before this one as
 * functions (kernels/member.h). What a work-item computes is what the kernel alone
 * computes.
 */

/* The entry that a work-group belongs to. */
INLINE GLOBAL const mts_mixed_params *mixed_entry(GLOBAL const mts_u32 *params, mts_u32 first, mts_u32 group) {
    GLOBAL const mts_mixed_params *entries = (GLOBAL const mts_mixed_params *)(params + first + 1);
    mts_u32 low = 0, high = params[first];
    while (high - low > 1) {
        const mts_u32 middle = low + (high - low) / 2;
        if (entries[middle].begin <= group)
            low = middle;
        else
            high = middle;
    }
    return entries + low;
}

#define MIXED_CASE(number, name)                                                                             \
    case number:                                                                                             \
        if (MIXED >> number & 1) name(act, from, params, entry->member, place);                            \
        break;

#ifndef PERSIST
#define MIXED_SOURCE(i) GLOBAL const mts_real *RESTRICT source_##i
#define MIXED_IS(i) entry->source == i + 1 ? source_##i:

MTS_KERNEL void mixed_any__f32_planar(MTS_KERNEL_ARGS, MIXED_SOURCE(0), MIXED_SOURCE(1), MIXED_SOURCE(2), MIXED_SOURCE(3),
                                      MIXED_SOURCE(4), MIXED_SOURCE(5), MIXED_SOURCE(6), MIXED_SOURCE(7)) {
    const mts_u32 group = mts_group_id(0);
    GLOBAL const mts_mixed_params *entry = mixed_entry(params, first, group);
    const mts_u32 at = group + entry->shift, lanes = mts_local_size(0), y = at / entry->width;
    mts_place place;
    place.x = (at - y * entry->width) * lanes + mts_local_id(0);
    place.y = y;
    place.width = entry->width * lanes;
    GLOBAL const mts_real *from = MIXED_IS(0) MIXED_IS(1) MIXED_IS(2) MIXED_IS(3) MIXED_IS(4) MIXED_IS(5) MIXED_IS(6)
        MIXED_IS(7) pool;
    switch (entry->number) {
        MTS_MIXED(MIXED_CASE)
    default: break;
    }
}
#endif
