/*
 * classes.h: things (channels, filters) that several tasks have, found by equal keys, as
 * numbered classes.
 *
 * Every task adds its things by key; a thing that two or more tasks have becomes a class
 * with a number and the set of these tasks. A task's k-th thing of a key corresponds to
 * the k-th of the other tasks. Keys are 64-bit hashes: a collision can only lose sharing,
 * because equal bytes decide in the end (pool.h).
 */
#ifndef MTS_COMPILER_PASSES_CLASSES_H
#define MTS_COMPILER_PASSES_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/map.h"

#define MTS_CLASS_NONE 0xffffffffu /* of one task alone */
#define MTS_CLASS_TASKS_MAX 64u    /* tasks that are compared with each other */

/* All classes of a family: which tasks have each. */
typedef struct mts_classes {
    const mts_allocator *allocator;
    uint64_t *tasks; /* [class]: bit t: task t */
    size_t count, capacity;
} mts_classes;

typedef struct mts_class_entry {
    uint64_t key, tasks;
    uint32_t number; /* of the class, after mts_class_map_close */
} mts_class_entry;

/* One round of finding classes. */
typedef struct mts_class_map {
    const mts_allocator *allocator;
    mts_class_entry *entries; /* in order of first appearance */
    size_t count, capacity;
    mts_map map; /* of entries */
} mts_class_map;

void mts_classes_init(mts_classes *classes, const mts_allocator *allocator);
void mts_classes_release(mts_classes *classes);
/* Tasks of a class; 0 for MTS_CLASS_NONE. */
uint64_t mts_classes_tasks(const mts_classes *classes, uint32_t number);

void mts_class_map_init(mts_class_map *map, const mts_allocator *allocator);
void mts_class_map_release(mts_class_map *map);
/* Adds a thing of a task; *entry receives its index. False if memory is short. */
bool mts_class_map_add(mts_class_map *map, uint64_t key, uint32_t task, uint32_t *entry);
/*
 * Numbers the entries of two or more tasks: classes of equal task sets get consecutive
 * numbers, large sets first, in order of appearance. Rare task sets (see the .c) stay
 * NONE, so that few, large blocks result.
 */
bool mts_class_map_close(mts_class_map *map, mts_classes *classes);
uint32_t mts_bits_count(uint64_t bits);

#endif
