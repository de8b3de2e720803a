/*
 * member.h: what turns a kernel's text into a function of the combined program
 * (kernels/mixed) or of the persistent one (kernels/persist).
 *
 * Part of every kernel's program text, after dest.h. Built with MIXED, a kernel is a
 * function that is called with its work-item's place, as in C. LOCAL_ROOM(type, name) is
 * `name`, a pointer to a `type` in memory of the work-group. Not responsible for which
 * kernels a program has (kernels/abi/mixed.h, persist.h).
 */
#ifdef MIXED

#ifndef PERSIST /* member_persist.h */

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
