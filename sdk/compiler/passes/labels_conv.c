/*
 * labels_conv.c: which filters of a convolution several tasks have in common (family.h).
 *
 * For a set of tasks, filters are compared over the input channels that all of them have
 * in common, in one order. Sets are tried from the largest down: all tasks of the row
 * first, then the sets that inputs are common to, then those that turn up as the owners
 * of equal filters.
 */
#include "compiler/passes/family.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/size.h"

#define CANDIDATES_MAX 12u

typedef struct input {
    uint32_t label, channel;
} input;

typedef struct conv_row {
    mts_family *family;
    uint32_t row;
    const mts_value *weights[MTS_CLASS_TASKS_MAX]; /* NULL: not of this row, or nothing in common */
    const uint32_t *labels[MTS_CLASS_TASKS_MAX];   /* of the input */
    uint32_t *rows[MTS_CLASS_TASKS_MAX];           /* classes of the filters */
    uint64_t candidates[CANDIDATES_MAX];
    uint32_t candidate_count;
    input *inputs[MTS_CLASS_TASKS_MAX]; /* channels in common, in order of their labels */
    uint32_t input_count;
    uint32_t *entries; /* of one task's filters in the map, [task] * most */
    uint32_t most;
    unsigned char *gathered; /* one filter */
} conv_row;

static uint32_t channels_in(const mts_value *weight)
{
    return (uint32_t)weight->shape.dims[1];
}

static uint32_t filters(const mts_value *weight)
{
    return (uint32_t)weight->shape.dims[0];
}

static size_t cell_bytes(const mts_value *weight)
{
    uint32_t out = 0, in = 0, inner = 0;
    mts_value_matrix(weight, &out, &in, &inner);
    return inner * mts_type_size(weight->dtype);
}

static void add_candidate(conv_row *c, uint64_t tasks)
{
    if (mts_bits_count(tasks) < 2 || c->candidate_count == CANDIDATES_MAX) {
        return;
    }
    for (uint32_t i = 0; i < c->candidate_count; i++) {
        if (c->candidates[i] == tasks) {
            return;
        }
    }
    c->candidates[c->candidate_count++] = tasks;
}

static int compare_inputs(const void *a, const void *b)
{
    const input *x = a, *y = b;
    return mts_order(MTS_COMPARE(x->label, y->label), MTS_COMPARE(x->channel, y->channel));
}

/* Channels of a task's input that all of `tasks` have. */
static uint32_t common_inputs(const conv_row *c, uint32_t task, uint64_t tasks, input *out)
{
    const uint32_t channels = channels_in(c->weights[task]);
    uint32_t count = 0;
    for (uint32_t i = 0; i < channels; i++) {
        const uint32_t label = c->labels[task][i];
        if ((mts_classes_tasks(&c->family->classes, label) & tasks) == tasks) {
            out[count++] = (input){.label = label, .channel = i};
        }
    }
    qsort(out, count, sizeof(*out), compare_inputs);
    return count;
}

/* Lists the inputs in common; false if there are none or the tasks' lists differ. */
static bool gather_inputs(conv_row *c, uint64_t tasks)
{
    const input *first = NULL;
    for (uint32_t t = 0; t < c->family->count; t++) {
        if ((tasks >> t & 1u) == 0) {
            continue;
        }
        const uint32_t count = common_inputs(c, t, tasks, c->inputs[t]);
        if (!first) {
            first = c->inputs[t];
            c->input_count = count;
        }
        if (count != c->input_count || count == 0) {
            return false;
        }
        for (uint32_t i = 0; i < count; i++) {
            if (first[i].label != c->inputs[t][i].label) {
                return false;
            }
        }
    }
    return first;
}

static uint64_t filter_key(conv_row *c, uint32_t task, uint32_t filter)
{
    const mts_value *weight = c->weights[task];
    const size_t cell = cell_bytes(weight);
    const unsigned char *data = weight->blocks[0].data;
    data += (size_t)filter * channels_in(weight) * cell;
    for (uint32_t i = 0; i < c->input_count; i++) {
        memcpy(c->gathered + i * cell, data + c->inputs[task][i].channel * cell, cell);
    }
    return mts_hash(c->gathered, c->input_count * cell, (uint64_t)weight->dtype + 16);
}

static bool add_filters(conv_row *c, mts_class_map *map, uint64_t tasks)
{
    for (uint32_t t = 0; t < c->family->count; t++) {
        const bool member = (tasks >> t & 1u) != 0;
        for (uint32_t f = 0; member && f < filters(c->weights[t]); f++) {
            uint32_t *entry = &c->entries[(size_t)t * c->most + f];
            *entry = MTS_CLASS_NONE;
            if (c->rows[t][f] == MTS_CLASS_NONE && !mts_class_map_add(map, filter_key(c, t, f), t, entry)) {
                return false;
            }
        }
    }
    return true;
}

/* Whether a smaller set of tasks has no more inputs in common than the whole, so that its
 * filters were compared fully. */
static bool fully_compared(const conv_row *c, uint64_t tasks)
{
    for (uint32_t t = 0; t < c->family->count; t++) {
        if ((tasks >> t & 1u) != 0) {
            uint32_t count = 0;
            for (uint32_t i = 0; i < channels_in(c->weights[t]); i++) {
                count += (mts_classes_tasks(&c->family->classes, c->labels[t][i]) & tasks) == tasks;
            }
            return count == c->input_count;
        }
    }
    return false;
}

static void take_filters(conv_row *c, const mts_class_map *map, uint64_t tasks)
{
    uint64_t judged = 0;
    bool full = false;
    for (uint32_t t = 0; t < c->family->count; t++) {
        const bool member = (tasks >> t & 1u) != 0;
        for (uint32_t f = 0; member && f < filters(c->weights[t]); f++) {
            const uint32_t entry = c->entries[(size_t)t * c->most + f];
            if (entry == MTS_CLASS_NONE || map->entries[entry].number == MTS_CLASS_NONE) {
                continue;
            }
            const uint64_t owners = map->entries[entry].tasks;
            if (owners != judged) {
                judged = owners;
                full = owners == tasks || fully_compared(c, owners);
            }
            if (full) {
                c->rows[t][f] = map->entries[entry].number;
            } else {
                add_candidate(c, owners);
            }
        }
    }
}

static bool try_candidate(conv_row *c, uint64_t tasks)
{
    mts_class_map map;
    if (!gather_inputs(c, tasks)) {
        return true;
    }
    mts_class_map_init(&map, c->family->classes.allocator);
    const bool done = add_filters(c, &map, tasks) && mts_class_map_close(&map, &c->family->classes);
    if (done) {
        take_filters(c, &map, tasks);
    }
    mts_class_map_release(&map);
    return done;
}

/* The untried candidate of most tasks. */
static uint64_t next_candidate(conv_row *c, uint32_t tried)
{
    uint32_t best = tried;
    for (uint32_t i = tried; i < c->candidate_count; i++) {
        if (mts_bits_count(c->candidates[i]) > mts_bits_count(c->candidates[best])) {
            best = i;
        }
    }
    const uint64_t tasks = c->candidates[best];
    c->candidates[best] = c->candidates[tried];
    c->candidates[tried] = tasks;
    return tasks;
}

static bool prepare_task(conv_row *c, uint32_t task, size_t *bytes)
{
    mts_family *family = c->family;
    const mts_node *node = mts_family_node(family, c->row, task);
    const mts_value *weight = mts_family_weight(family, c->row, task);
    if (!weight || !family->value_labels[task][node->inputs[0]]) {
        return true;
    }
    c->weights[task] = weight;
    c->labels[task] = family->value_labels[task][node->inputs[0]];
    c->inputs[task] = mts_arena_zero(family->arena, channels_in(weight), sizeof(input));
    c->rows[task] = mts_arena_zero(family->arena, filters(weight), sizeof(uint32_t));
    if (!c->inputs[task] || !c->rows[task]) {
        return false;
    }
    memset(c->rows[task], 0xff, filters(weight) * sizeof(uint32_t));
    family->row_labels[task][node - family->graphs[task]->nodes] = c->rows[task];
    const size_t filter = channels_in(weight) * cell_bytes(weight);
    *bytes = filter > *bytes ? filter : *bytes;
    c->most = filters(weight) > c->most ? filters(weight) : c->most;
    return true;
}

static bool prepare(conv_row *c)
{
    size_t bytes = 0;
    uint64_t all = 0;
    for (uint32_t t = 0; t < c->family->count; t++) {
        if (!prepare_task(c, t, &bytes)) {
            return false;
        }
        all |= c->weights[t] ? (uint64_t)1 << t : 0;
    }
    c->gathered = mts_arena_zero(c->family->arena, bytes, 1);
    c->entries = mts_arena_zero(c->family->arena, (size_t)c->most * c->family->count, sizeof(*c->entries));
    add_candidate(c, all);
    for (uint32_t t = 0; t < c->family->count; t++) {
        for (uint32_t i = 0; c->weights[t] && i < channels_in(c->weights[t]); i++) {
            add_candidate(c, mts_classes_tasks(&c->family->classes, c->labels[t][i]) & all);
        }
    }
    return c->gathered && c->entries;
}

bool mts_family_label_conv(mts_family *family, uint32_t row)
{
    conv_row c = {.family = family, .row = row};
    bool done = prepare(&c);
    for (uint32_t tried = 0; done && tried < c.candidate_count; tried++) {
        done = try_candidate(&c, next_candidate(&c, tried));
    }
    return done;
}
