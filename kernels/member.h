/*
 * member.h: what turns a kernel's text into a function of the combined program
 * (kernels/mixed) or of the persistent one (kernels/persist).
 *
 * Part of every kernel's program text, after dest.h. Built with MIXED, a kernel is a
 * function that is called with its work-item's place, as in C. Built with PERSIST as well
 * it may use its work-group: LOCAL_ROOM(type, name) is `name`, a pointer to a `type` in
 * memory of the work-group, and work-groups have ITEMS work-items. Not responsible for which kernels a program has
 * (kernels/abi/mixed.h, persist.h).
 */
#ifdef MIXED

#ifdef PERSIST

/* A work-item's own place in the launch that is running. */
INLINE mts_u32 mts_own_lane(void) { return mts_local_id(0); }
INLINE mts_u32 mts_own_items(void) { return mts_global_size(0); }

typedef struct mts_place {
    mts_u32 x, y, z, width; /* ids, size of the first dimension */
    mts_u32 group, lane;    /* the group's number along it, the id in the group */
    LOCAL_PTR void *room;
} mts_place;

#define mts_place_id(d) ((d) == 0 ? mts_item.x : (d) == 1 ? mts_item.y : mts_item.z)
#undef mts_local_id
#define mts_local_id(d) mts_item.lane
#undef mts_local_size
#define mts_local_size(d) ((mts_u32)ITEMS)
#undef mts_group_id
#define mts_group_id(d) mts_item.group
#undef LOCAL_SCRATCH
#define LOCAL_SCRATCH(name, count) LOCAL_PTR mts_vec *const name = (LOCAL_PTR mts_vec *)mts_item.room
#define LOCAL_ROOM(type, name) LOCAL_PTR type *const name = (LOCAL_PTR type *)mts_item.room

#else

typedef struct mts_place {
    mts_u32 x, y, width; /* ids along the first two dimensions, size of the first; the third has one work-item */
} mts_place;

#define mts_place_id(d) ((d) == 0 ? mts_item.x : (d) == 1 ? mts_item.y : 0)

#endif

#undef KERNEL
#define KERNEL INLINE
#undef KERNEL_OF
#define KERNEL_OF(n) INLINE
#undef MTS_ARGS
#define MTS_ARGS MTS_KERNEL_ARGS, const mts_place mts_item
#undef mts_global_id
#define mts_global_id(d) mts_place_id(d)
#undef mts_global_size
#define mts_global_size(d) mts_item.width

#endif

#ifndef LOCAL_ROOM
#define LOCAL_ROOM(type, name)                                                                               \
    LOCAL type name##_memory;                                                                                \
    LOCAL_PTR type *const name = &name##_memory
#endif
