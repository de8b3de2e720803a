/*
 * combine.c: see combine.h.
 */
#include "combine.h"

#include <stdlib.h>
#include <string.h>

#define SUBNETS_MOST 4096u

/* A number without sign or leading zeros; NULL: there is none. */
static const char *number_read(const char *text, uint32_t *number)
{
    *number = 0;
    if (*text < '1' || *text > '9') {
        return NULL;
    }
    for (; *text >= '0' && *text <= '9'; text++) {
        *number = *number * 10 + (uint32_t)(*text - '0');
        if (*number > SUBNETS_MOST) {
            return NULL;
        }
    }
    return text;
}

/* Splits "NAME.IofK"; returns the length of NAME, 0 if it is no such name. */
static size_t name_parse(const char *name, uint32_t *index, uint32_t *count)
{
    const char *dot = strrchr(name, '.');
    const char *text = dot ? number_read(dot + 1, index) : NULL;
    if (!text || strncmp(text, "of", 2) != 0) {
        return 0;
    }
    text = number_read(text + 2, count);
    const bool whole = text && *text == '\0' && *count >= 2 && *index <= *count;
    return whole && dot - name < CLI_SET_NAME ? (size_t)(dot - name) : 0;
}

/* Whether a task is subnet `index` of `count` of a name. */
static bool is_member(const mts_task_desc *task, const char *name, size_t length, uint32_t index,
                      uint32_t count)
{
    uint32_t its_index = 0;
    uint32_t its_count = 0;
    return name_parse(task->name, &its_index, &its_count) == length && its_index == index &&
           its_count == count && strncmp(task->name, name, length) == 0 && task->label_count >= 2 &&
           task->output_count > 0;
}

/* Fills the members; true if all are there. */
static bool members_find(const mts_task_desc *tasks, uint32_t count, const char *name, size_t length,
                         cli_set *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t at = 0;
        while (at < count && !is_member(&tasks[at], name, length, i + 1, set->count)) {
            at++;
        }
        if (at == count) {
            return false;
        }
        set->members[i] = at;
    }
    return true;
}

bool cli_sets_find(const mts_task_desc *tasks, uint32_t count, cli_sets *out)
{
    *out = (cli_sets){.items = calloc(count ? count : 1, sizeof *out->items)};
    for (uint32_t t = 0; out->items && t < count; t++) {
        cli_set *set = &out->items[out->count];
        uint32_t index = 0;
        const size_t length = name_parse(tasks[t].name, &index, &set->count);
        if (length == 0 || index != 1) {
            continue;
        }
        set->members = calloc(set->count, sizeof *set->members);
        if (!set->members) {
            return false;
        }
        if (members_find(tasks, count, tasks[t].name, length, set)) {
            memcpy(set->name, tasks[t].name, length);
            set->name[length] = '\0';
            out->count++;
        } else {
            free(set->members);
            set->members = NULL;
        }
    }
    return out->items;
}

void cli_sets_release(cli_sets *sets)
{
    for (uint32_t i = 0; i < sets->count; i++) {
        free(sets->items[i].members);
    }
    free(sets->items);
    *sets = (cli_sets){0};
}

/* Puts a vote into the sorted list; equal scores keep their order. Returns the new
   length. */
static size_t vote_insert(cli_vote *votes, size_t count, size_t most, const cli_vote *vote)
{
    size_t place = count;
    while (place > 0 && votes[place - 1].score < vote->score) {
        place--;
    }
    if (place >= most) {
        return count;
    }
    const size_t kept = count < most ? count : most - 1;
    memmove(&votes[place + 1], &votes[place], (kept - place) * sizeof votes[0]);
    votes[place] = *vote;
    return kept + 1;
}

size_t cli_set_votes(const cli_set *set, const mts_task_desc *tasks, const mts_tensor *outputs, size_t most,
                     cli_vote *votes)
{
    size_t count = 0;
    for (uint32_t m = 0; m < set->count; m++) {
        const mts_task_desc *task = &tasks[set->members[m]];
        cli_answer answer;
        cli_answer_find(task, &outputs[m], most + 1, &answer); /* one of them may be "none" */
        for (size_t i = 0; answer.classifies && i < answer.top_count; i++) {
            const cli_vote vote = {m, answer.top[i].index, answer.top[i].score};
            if (vote.label + 1 < task->label_count) {
                count = vote_insert(votes, count, most, &vote);
            }
        }
    }
    return count;
}

bool cli_set_right(const cli_set *set, const mts_task_desc *tasks, const cli_vote *vote, uint32_t number)
{
    const mts_task_desc *task = &tasks[set->members[vote->member]];
    return number < task->class_count && task->class_map[number] == vote->label;
}
