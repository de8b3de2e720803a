/*
 * classes.c: see classes.h.
 */
#include "compiler/passes/classes.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/size.h"

#define SETS_MAX 6u   /* task sets of one round */
#define SET_SHARE 64u /* a set has at least this part of the largest one */

typedef struct task_set {
    uint64_t tasks;
    size_t things;
} task_set;

static bool same_key(const void *entries, uint32_t index, const void *key)
{
    return ((const mts_class_entry *)entries)[index].key == *(const uint64_t *)key;
}

static int compare_sets(const void *a, const void *b)
{
    const task_set *x = a, *y = b;
    const uint32_t p = mts_bits_count(x->tasks), q = mts_bits_count(y->tasks);
    return p != q ? MTS_COMPARE(q, p) : MTS_COMPARE(x->tasks, y->tasks);
}

/* Bytes that a set saves are proportional to this. */
static size_t set_gain(const task_set *set)
{
    return set->things * (mts_bits_count(set->tasks) - 1);
}

static int compare_gain(const void *a, const void *b)
{
    const size_t p = set_gain(a), q = set_gain(b);
    return p != q ? MTS_COMPARE(q, p) : compare_sets(a, b);
}

/* The distinct sets of two or more tasks; at most one per entry. */
static size_t collect_sets(const mts_class_map *map, task_set *sets)
{
    size_t count = 0;
    for (size_t i = 0; i < map->count; i++) {
        const uint64_t tasks = map->entries[i].tasks;
        size_t s = 0;
        if (mts_bits_count(tasks) < 2) {
            continue;
        }
        while (s < count && sets[s].tasks != tasks) {
            s++;
        }
        sets[s].tasks = tasks;
        sets[s].things++;
        count += s == count;
    }
    return count;
}

/* Keeps the sets that gain most. */
static size_t choose_sets(task_set *sets, size_t count)
{
    if (count == 0) {
        return 0;
    }
    qsort(sets, count, sizeof(*sets), compare_gain);
    size_t kept = 1;
    while (kept < count && kept < SETS_MAX && set_gain(&sets[kept]) * SET_SHARE >= set_gain(&sets[0])) {
        kept++;
    }
    qsort(sets, kept, sizeof(*sets), compare_sets);
    return kept;
}

static bool number_set(mts_class_map *map, mts_classes *classes, const task_set *set)
{
    void *tasks = classes->tasks;
    size_t needed = 0;
    if (!mts_size_add(classes->count, set->things, &needed) || needed >= MTS_CLASS_NONE ||
        !mts_alloc_grow(classes->allocator, &tasks, &classes->capacity, needed, sizeof(*classes->tasks))) {
        return false;
    }
    classes->tasks = tasks;
    for (size_t i = 0; i < map->count; i++) {
        if (map->entries[i].tasks == set->tasks) {
            map->entries[i].number = (uint32_t)classes->count;
            classes->tasks[classes->count++] = set->tasks;
        }
    }
    return true;
}

void mts_classes_init(mts_classes *classes, const mts_allocator *allocator)
{
    *classes = (mts_classes){.allocator = allocator};
}

void mts_classes_release(mts_classes *classes)
{
    mts_alloc_free(classes->allocator, classes->tasks);
    mts_classes_init(classes, classes->allocator);
}

uint64_t mts_classes_tasks(const mts_classes *classes, uint32_t number)
{
    return number < classes->count ? classes->tasks[number] : 0;
}

void mts_class_map_init(mts_class_map *map, const mts_allocator *allocator)
{
    *map = (mts_class_map){.allocator = allocator, .map = {.allocator = allocator}};
}

void mts_class_map_release(mts_class_map *map)
{
    mts_alloc_free(map->allocator, map->entries);
    mts_map_release(&map->map);
}

bool mts_class_map_add(mts_class_map *map, uint64_t key, uint32_t task, uint32_t *entry)
{
    const uint64_t bit = (uint64_t)1 << task;
    *entry = mts_map_find(&map->map, key, same_key, map->entries, &key);
    while (*entry != MTS_MAP_NONE && (map->entries[*entry].tasks & bit) != 0) {
        key = mts_hash(&key, sizeof key, 1); /* the task's next thing of this key */
        *entry = mts_map_find(&map->map, key, same_key, map->entries, &key);
    }
    if (*entry != MTS_MAP_NONE) {
        map->entries[*entry].tasks |= bit;
        return true;
    }
    void *entries = map->entries;
    if (map->count + 1 >= MTS_CLASS_NONE ||
        !mts_alloc_grow(map->allocator, &entries, &map->capacity, map->count + 1, sizeof *map->entries)) {
        return false;
    }
    map->entries = entries;
    *entry = (uint32_t)map->count;
    map->entries[map->count] = (mts_class_entry){.key = key, .tasks = bit, .number = MTS_CLASS_NONE};
    if (!mts_map_add(&map->map, key, *entry)) {
        return false;
    }
    map->count++;
    return true;
}

bool mts_class_map_close(mts_class_map *map, mts_classes *classes)
{
    task_set *sets = mts_alloc_zero(map->allocator, map->count, sizeof(*sets));
    if (!sets) {
        return false;
    }
    const size_t count = choose_sets(sets, collect_sets(map, sets));
    bool done = true;
    for (size_t s = 0; s < count && done; s++) {
        done = number_set(map, classes, &sets[s]);
    }
    mts_alloc_free(map->allocator, sets);
    return done;
}

uint32_t mts_bits_count(uint64_t bits)
{
    uint32_t count = 0;
    for (; bits; bits &= bits - 1) {
        count++;
    }
    return count;
}
