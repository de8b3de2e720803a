/*
 * name.c: what the subnets of a task are called, and what their answers are called.
 */
#include "compress/split/split.h"

#include <stdio.h>
#include <string.h>

#define NONE_LABEL "(none)"
#define NAME_MOST 256u

const mts_task *mts_split_task(const mts_split *split)
{
    return &split->models.tasks[split->task];
}

const char *mts_split_class(const mts_split *split, uint32_t number, char *text, size_t size)
{
    const mts_task *task = mts_split_task(split);
    if (number < task->label_count) {
        (void)snprintf(text, size, "%s", task->labels[number]);
    } else {
        (void)snprintf(text, size, "%u", number);
    }
    return text;
}

/* NAME.IofK; false if it is too long. */
static bool make_name(const mts_split *split, uint32_t group, char name[NAME_MOST])
{
    const int length =
        snprintf(name, NAME_MOST, "%s.%uof%u", mts_split_task(split)->name, group + 1, split->wanted->groups);
    return length > 0 && (uint32_t)length < NAME_MOST;
}

mts_status mts_split_names_check(const mts_split *split, mts_error *error)
{
    for (uint32_t g = 0; g < split->wanted->groups; g++) {
        char name[NAME_MOST];
        if (!make_name(split, g, name)) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "task '%.200s': its name is too long to name subnets after it",
                            mts_split_task(split)->name);
        }
        for (uint32_t t = 0; t < split->models.count; t++) {
            if (strcmp(split->models.tasks[t].name, name) == 0) {
                return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                                "the bundle has a task '%s' already: '%s' was split before", name,
                                mts_split_task(split)->name);
            }
        }
    }
    return MTS_STATUS_OK;
}

/* Number of a class among those of its group; that of "none" where it is of another. */
static uint32_t local_label(const mts_split *split, uint32_t group, uint32_t number)
{
    uint32_t local = 0;
    const bool inside = number < split->head.classes && split->group_of[number] == group;
    for (uint32_t c = 0; c < split->head.classes; c++) {
        if (inside && c == number) {
            return local;
        }
        local += split->group_of[c] == group ? 1 : 0;
    }
    return local;
}

bool mts_split_name(mts_split *split, uint32_t group)
{
    const mts_task *from = mts_split_task(split);
    mts_task *task = &split->subnets[group];
    const uint32_t none = local_label(split, group, MTS_NONE);
    char name[NAME_MOST];
    (void)make_name(split, group, name);
    task->preprocess = from->preprocess;
    task->name = mts_arena_string(&split->arena, name);
    task->labels = mts_arena_zero(&split->arena, none + 1, sizeof *task->labels);
    task->class_map = mts_arena_zero(&split->arena, from->class_count, sizeof *task->class_map);
    if (!task->name || !task->labels || !task->class_map) {
        return false;
    }
    for (uint32_t c = 0; c < split->head.classes; c++) {
        if (split->group_of[c] == group) {
            char text[256];
            task->labels[task->label_count++] =
                mts_arena_string(&split->arena, mts_split_class(split, c, text, sizeof text));
        }
    }
    task->labels[task->label_count++] = mts_arena_string(&split->arena, NONE_LABEL);
    for (uint32_t i = 0; i < task->label_count; i++) {
        if (!task->labels[i]) {
            return false;
        }
    }
    task->class_count = from->class_count;
    for (uint32_t i = 0; i < from->class_count; i++) {
        task->class_map[i] = local_label(split, group, from->class_map[i]);
    }
    return true;
}
