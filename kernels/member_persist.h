/*
 * member_persist.h: what a member finds in the persistent program (kernels/persist): it
 * may use its work-group, which has ITEMS work-items, and memory of that, which all members
 * have one after another.
 *
 * Part of every kernel's program text, before member.h; the smallest library leaves it out.
 * Not responsible for members of the combined program (member.h).
 */
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

#endif
