/*
 * persist_any: many launches as one (kernels/abi/persist.h). Built with -DPERSIST=bits of
 * the kernels that it is to know, -DMIXED=bits of those of the combined program, their own
 * options, and -DITEMS=work-items of a group. What a work-item computes is what the kernel
 * alone computes.
 *
 * A work-group takes the next ticket, waits until all launches that the ticket's launch
 * waits for have ended, computes, and counts the ticket. docs/design/waves.md says why it
 * cannot come to a dead lock. Grid: (groups * ITEMS, 1, 1).
 */
#ifndef ITEMS
#define ITEMS 1
#endif

/* What the members have as LOCAL memory, one at a time. */
typedef union persist_room {
#if PERSIST >> 17 & 1
    mts_vec winograd[SCRATCH];
#endif
#if PERSIST >> 18 & 1
    block_room block;
#endif
#if PERSIST >> 20 & 1
    fc_room fc;
#endif
    mts_u32 none;
} persist_room;

/* All work-items of the group have come here, and see what each of them wrote. */
#if ITEMS > 1
#define PERSIST_MEET() MTS_GROUP_MEETS()
#else
#define PERSIST_MEET()
#endif

/* Whether a counter reaches `most` in time, and no other wait has failed. */
INLINE int persist_reaches(GLOBAL mts_u32 *words, GLOBAL const mts_persist_params *table, GLOBAL mts_u32 *counter,
                           mts_u32 most) {
    for (mts_u32 looks = 0; mts_counter_get(counter) < most; looks++) {
        if (looks == table->patience) mts_counter_set(words + table->failed, 1);
        if (looks == table->patience || (looks % 64 == 63 && mts_counter_get(words + table->failed))) return 0;
    }
    return 1;
}

/* The launch of a ticket, which is `at` or a later one. */
INLINE mts_u32 persist_find(GLOBAL const mts_persist_params *table, mts_u32 at, mts_u32 ticket) {
    GLOBAL const mts_persist_launch *launches = (GLOBAL const mts_persist_launch *)(table + 1);
    while (at + 1 < table->launches && launches[at + 1].begin <= ticket) at++;
    return at;
}

/* Whether a ticket may be computed: what its launch waits for has ended. */
INLINE int persist_may(GLOBAL mts_u32 *words, GLOBAL const mts_persist_params *table, mts_u32 at, mts_u32 ticket) {
    GLOBAL const mts_persist_launch *launches = (GLOBAL const mts_persist_launch *)(table + 1);
    GLOBAL const mts_persist_launch *own = launches + persist_find(table, at, ticket);
    int may = ticket < table->tickets;
    for (mts_u32 i = 0; may && i < own->waits; i++) {
        const mts_u32 other = words[own->wait + i];
        may = persist_reaches(words, table, words + table->state + MTS_PERSIST_DONE + other, launches[other].tickets);
    }
    return may;
}

/* The group's work-item 0 leaves: the last one leaves the counters as they were found. */
INLINE void persist_leave(GLOBAL mts_u32 *words, GLOBAL const mts_persist_params *table, mts_u32 groups) {
    GLOBAL mts_u32 *state = words + table->state;
    if (mts_counter_add(state + MTS_PERSIST_LEFT) + 1 < groups) return;
    for (mts_u32 i = 0; i < MTS_PERSIST_DONE + table->launches; i++) mts_counter_set(state + i, 0);
}

#define PERSIST_MIXED_CASE(number, name)                                                                     \
    case number:                                                                                             \
        if (MIXED >> number & 1) name(act, pool, params, from, place);                                       \
        break;
#define PERSIST_CASE(number, name)                                                                           \
    case number: PERSIST_CALL_##number(name) break;
#define PERSIST_CALL(name) name(act, pool, params, from, place);
#if PERSIST >> 16 & 1
#define PERSIST_CALL_16(name) PERSIST_CALL(name)
#else
#define PERSIST_CALL_16(name)
#endif
#if PERSIST >> 17 & 1
#define PERSIST_CALL_17(name) PERSIST_CALL(name)
#else
#define PERSIST_CALL_17(name)
#endif
#if PERSIST >> 18 & 1
#define PERSIST_CALL_18(name) PERSIST_CALL(name)
#else
#define PERSIST_CALL_18(name)
#endif
#if PERSIST >> 19 & 1
#define PERSIST_CALL_19(name) PERSIST_CALL(name)
#else
#define PERSIST_CALL_19(name)
#endif
#if PERSIST >> 20 & 1
#define PERSIST_CALL_20(name) PERSIST_CALL(name)
#else
#define PERSIST_CALL_20(name)
#endif

/* Work-group g of a launch. */
INLINE void persist_group(MTS_KERNEL_ARGS, GLOBAL const mts_persist_launch *own, mts_u32 g, mts_u32 lane,
                          LOCAL_PTR persist_room *room) {
    mts_u32 number = own->number, from = own->first, width = own->width;
    mts_place place;
    if (number == MTS_PERSIST_MIXED) {
        GLOBAL const mts_mixed_params *entry = mixed_entry(params, own->first, g);
        number = entry->number;
        from = entry->member;
        width = entry->width;
        place.y = (g + entry->shift) / width;
        place.group = g + entry->shift - place.y * width;
        place.z = 0;
    } else {
        place.z = g / (width * own->height);
        place.y = (g - place.z * width * own->height) / width;
        place.group = g - (place.z * own->height + place.y) * width;
    }
    place.x = place.group * ITEMS + lane;
    place.width = width * ITEMS;
    place.lane = lane;
    place.room = room;
    switch (number) {
        MTS_MIXED(PERSIST_MIXED_CASE)
        MTS_PERSIST(PERSIST_CASE)
    default: break;
    }
}

MTS_KERNEL void persist_any__f32_planar(MTS_KERNEL_ARGS) {
    LOCAL persist_room room;
    LOCAL mts_u32 given[2]; /* a ticket, and whether it may be computed */
    GLOBAL mts_u32 *words = (GLOBAL mts_u32 *)act;
    GLOBAL const mts_persist_params *table = (GLOBAL const mts_persist_params *)(words + params[first]);
    GLOBAL const mts_persist_launch *launches = (GLOBAL const mts_persist_launch *)(table + 1);
    GLOBAL mts_u32 *state = words + table->state;
    const mts_u32 lane = mts_own_lane(), groups = mts_own_items() / ITEMS;
    mts_u32 at = 0;
    int goes_on = 1;
    if (table->tickets == 0 && lane == 0) {
        mts_counter_add(state + MTS_PERSIST_MET);
        (void)persist_reaches(words, table, state + MTS_PERSIST_MET, groups);
    }
    while (goes_on) {
        if (lane == 0) {
            given[0] = mts_counter_add(state + MTS_PERSIST_CURSOR);
            given[1] = (mts_u32)(!mts_counter_get(words + table->failed) && persist_may(words, table, at, given[0]));
        }
        PERSIST_MEET();
        const mts_u32 ticket = given[0];
        goes_on = given[1] != 0;
        if (goes_on) {
            at = persist_find(table, at, ticket);
            GLOBAL const mts_persist_launch *own = launches + at;
            const mts_u32 begin = (ticket - own->begin) * own->share;
            const mts_u32 end = begin + own->share < own->groups ? begin + own->share : own->groups;
            for (mts_u32 g = begin; g < end; g++) {
                persist_group(act, pool, params, first, own, g, lane, &room);
                PERSIST_MEET();
            }
            if (lane == 0) mts_counter_add(state + MTS_PERSIST_DONE + at);
        }
    }
    if (lane == 0) persist_leave(words, table, groups);
}
