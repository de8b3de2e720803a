/*
 * labels.c: the walk along the rows of a family that finds channels in common (family.h).
 *
 * All input channels are common. A convolution's output channel is common to the tasks
 * whose filters over the common inputs are equal (labels_conv.c). Everything else hands
 * labels on; where two values are joined, a channel is common if both are.
 */
#include "compiler/passes/family.h"

#include <string.h>

#include "base/hash.h"

typedef struct combine {
    mts_family *family;
    mts_class_map map;
    const uint32_t *first[MTS_CLASS_TASKS_MAX], *second[MTS_CLASS_TASKS_MAX];
    uint32_t count[MTS_CLASS_TASKS_MAX];
    uint32_t *out[MTS_CLASS_TASKS_MAX];
} combine;

static uint32_t **label_of(mts_family *family, uint32_t task, uint32_t value)
{
    return &family->value_labels[task][value];
}

static uint32_t *labels_make(mts_family *family, uint32_t count)
{
    uint32_t *labels = mts_arena_zero(family->arena, count, sizeof(*labels));
    for (uint32_t i = 0; labels && i < count; i++) {
        labels[i] = MTS_CLASS_NONE;
    }
    return labels;
}

static uint32_t channels_of(const mts_family *family, uint32_t task, uint32_t value)
{
    const mts_shape *shape = &family->graphs[task]->values[value].shape;
    return shape->rank < 2 ? 0 : (uint32_t)shape->dims[1];
}

/* Adds the pairs of a task; NONE with anything is NONE. */
static bool combine_task(combine *c, uint32_t task)
{
    if (!c->first[task] || !c->second[task]) {
        return true;
    }
    c->out[task] = labels_make(c->family, c->count[task]);
    for (uint32_t i = 0; c->out[task] && i < c->count[task]; i++) {
        const uint32_t pair[2] = {c->first[task][i], c->second[task][i]};
        if (pair[0] != MTS_CLASS_NONE && pair[1] != MTS_CLASS_NONE &&
            !mts_class_map_add(&c->map, mts_hash(pair, sizeof(pair), 2), task, &c->out[task][i])) {
            return false;
        }
    }
    return c->out[task];
}

static void number_labels(const mts_class_map *map, uint32_t *labels, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        labels[i] = labels[i] == MTS_CLASS_NONE ? MTS_CLASS_NONE : map->entries[labels[i]].number;
    }
}

/* Channels whose pair of classes several tasks have become classes. */
static bool combine_run(combine *c)
{
    mts_class_map_init(&c->map, c->family->classes.allocator);
    bool done = true;
    for (uint32_t t = 0; t < c->family->count && done; t++) {
        done = combine_task(c, t);
    }
    done = done && mts_class_map_close(&c->map, &c->family->classes);
    for (uint32_t t = 0; t < c->family->count && done; t++) {
        if (c->out[t]) {
            number_labels(&c->map, c->out[t], c->count[t]);
        }
    }
    mts_class_map_release(&c->map);
    return done;
}

static bool label_inputs(mts_family *family)
{
    combine c = {.family = family};
    uint32_t ports = 0;
    for (uint32_t t = 0; t < family->count; t++) {
        ports = family->graphs[t]->input_count > ports ? family->graphs[t]->input_count : ports;
    }
    for (uint32_t p = 0; p < ports; p++) {
        for (uint32_t t = 0; t < family->count; t++) {
            const mts_graph *graph = family->graphs[t];
            c.first[t] = c.second[t] = NULL;
            c.count[t] = p < graph->input_count ? channels_of(family, t, graph->inputs[p].value) : 0;
            uint32_t *positions = labels_make(family, c.count[t]);
            if (!positions) {
                return false;
            }
            for (uint32_t i = 0; i < c.count[t]; i++) {
                positions[i] = i;
            }
            c.first[t] = c.second[t] = c.count[t] ? positions : NULL;
            c.out[t] = NULL;
        }
        if (!combine_run(&c)) {
            return false;
        }
        for (uint32_t t = 0; t < family->count; t++) {
            if (c.out[t]) {
                *label_of(family, t, family->graphs[t]->inputs[p].value) = c.out[t];
            }
        }
    }
    return true;
}

/* Joins the labels of two values of each task of the row into those of the outputs. */
static bool label_pair(mts_family *family, uint32_t row, combine *c)
{
    c->family = family;
    for (uint32_t t = 0; t < family->count; t++) {
        const mts_node *node = mts_family_node(family, row, t);
        c->count[t] = node ? channels_of(family, t, node->output) : 0;
    }
    if (!combine_run(c)) {
        return false;
    }
    for (uint32_t t = 0; t < family->count; t++) {
        if (c->out[t]) {
            *label_of(family, t, mts_family_node(family, row, t)->output) = c->out[t];
        }
    }
    return true;
}

static bool label_conv(mts_family *family, uint32_t row)
{
    combine c = {0};
    bool residuals = false;
    if (!mts_family_label_conv(family, row)) {
        return false;
    }
    for (uint32_t t = 0; t < family->count; t++) {
        const mts_node *node = mts_family_node(family, row, t);
        if (!node) {
            continue;
        }
        c.first[t] = family->row_labels[t][node - family->graphs[t]->nodes];
        if (node->input_count > 4 && node->inputs[4] != MTS_NONE) {
            c.second[t] = *label_of(family, t, node->inputs[4]);
            residuals = true;
        } else {
            *label_of(family, t, node->output) = family->row_labels[t][node - family->graphs[t]->nodes];
        }
    }
    return !residuals || label_pair(family, row, &c);
}

/* Class of each filter of a depthwise convolution by its bytes; joined with the class of
 * its input channel.
 */
static bool label_depthwise(mts_family *family, uint32_t row)
{
    combine c = {0};
    for (uint32_t t = 0; t < family->count; t++) {
        const mts_node *node = mts_family_node(family, row, t);
        if (!node) {
            continue;
        }
        const mts_value *weight = &family->graphs[t]->values[node->inputs[1]];
        const uint32_t count = (uint32_t)weight->shape.dims[0];
        const size_t bytes = mts_shape_count(&weight->shape) / count * mts_type_size(weight->dtype);
        uint32_t *filters = labels_make(family, count);
        if (!filters) {
            return false;
        }
        for (uint32_t i = 0; weight->block_count == 1 && i < count; i++) {
            const unsigned char *data = weight->blocks[0].data;
            filters[i] = (uint32_t)mts_hash(data + i * bytes, bytes, 3) & 0x7fffffffu;
        }
        c.first[t] = *label_of(family, t, node->inputs[0]);
        c.second[t] = filters;
    }
    return label_pair(family, row, &c);
}

/* Class of each filter by its bytes, joined with the classes of all input channels of its group. */
static bool label_grouped(mts_family *family, uint32_t row)
{
    combine c = {0};
    for (uint32_t t = 0; t < family->count; t++) {
        const mts_node *node = mts_family_node(family, row, t);
        const mts_value *weight = mts_family_grouped_weight(family, row, t);
        const uint32_t *labels = weight ? *label_of(family, t, node->inputs[0]) : NULL;
        if (!labels) {
            continue;
        }
        const uint32_t count = (uint32_t)weight->shape.dims[0], depth = (uint32_t)weight->shape.dims[1];
        const uint32_t rows = count / node->attrs.conv.group;
        const size_t bytes = mts_shape_count(&weight->shape) / count * mts_type_size(weight->dtype);
        uint32_t *filters = labels_make(family, count), *inputs = labels_make(family, count);
        if (!filters || !inputs) {
            return false;
        }
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t *own = labels + (size_t)(i / rows) * depth;
            bool common = true;
            for (uint32_t k = 0; k < depth; k++) {
                common = common && own[k] != MTS_CLASS_NONE;
            }
            const unsigned char *data = (const unsigned char *)weight->blocks[0].data + i * bytes;
            filters[i] = (uint32_t)mts_hash(data, bytes, 3) & 0x7fffffffu;
            inputs[i] =
                common ? (uint32_t)mts_hash(own, depth * sizeof *own, 5) & 0x7fffffffu : MTS_CLASS_NONE;
        }
        c.first[t] = inputs;
        c.second[t] = filters;
    }
    return label_pair(family, row, &c);
}

/* Class of each column of a table by its bytes: a channel of what is taken from it. */
static bool label_take(mts_family *family, uint32_t row)
{
    combine c = {.family = family};
    for (uint32_t t = 0; t < family->count; t++) {
        const mts_node *node = mts_family_node(family, row, t);
        const mts_value *table = node ? &family->graphs[t]->values[node->inputs[0]] : NULL;
        if (!table || table->kind != MTS_VALUE_CONST || table->block_count != 1 ||
            table->shape.dims[0] != 1) {
            continue;
        }
        const size_t rows = (size_t)table->shape.dims[1], size = mts_type_size(table->dtype);
        const unsigned char *data = table->blocks[0].data;
        c.count[t] = (uint32_t)table->shape.dims[2];
        uint32_t *columns = labels_make(family, c.count[t]);
        unsigned char *column = mts_arena_zero(family->arena, rows, size);
        if (!columns || !column) {
            return false;
        }
        for (uint32_t i = 0; i < c.count[t]; i++) {
            for (size_t r = 0; r < rows; r++) {
                memcpy(column + r * size, data + (r * c.count[t] + i) * size, size);
            }
            columns[i] = (uint32_t)mts_hash(column, rows * size, 6) & 0x7fffffffu;
        }
        c.first[t] = c.second[t] = columns;
    }
    const bool done = combine_run(&c);
    for (uint32_t t = 0; done && t < family->count; t++) {
        if (c.out[t]) {
            family->moved[t][mts_family_node(family, row, t)->output] = (mts_moved_labels){c.out[t], 2};
        }
    }
    return done;
}

static bool label_binary(mts_family *family, uint32_t row)
{
    combine c = {0};
    bool pairs = false;
    for (uint32_t t = 0; t < family->count; t++) {
        const mts_node *node = mts_family_node(family, row, t);
        const uint32_t *labels[2] = {0};
        uint32_t found = 0;
        for (uint32_t i = 0; node && i < 2; i++) {
            const mts_value *operand = &family->graphs[t]->values[node->inputs[i]];
            if (operand->kind != MTS_VALUE_CONST && mts_channels_axis(family->graphs[t], node, i) == 1) {
                labels[found++] = *label_of(family, t, node->inputs[i]);
            }
        }
        if (found == 2) {
            c.first[t] = labels[0];
            c.second[t] = labels[1];
            pairs = true;
        } else if (found == 1) {
            *label_of(family, t, node->output) = (uint32_t *)(uintptr_t)labels[0];
        }
    }
    const bool done = !pairs || label_pair(family, row, &c);
    for (uint32_t t = 0; done && t < family->count; t++) {
        const mts_node *node = mts_family_node(family, row, t);
        if (node) {
            mts_family_move_labels(family, t, node);
        }
    }
    return done;
}

/* Other tokens beside x: the labels of the only value that is no constant. */
static void label_joined(mts_family *family, uint32_t task, const mts_node *node)
{
    const mts_graph *graph = family->graphs[task];
    uint32_t values = 0, last = MTS_NONE;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (graph->values[node->inputs[i]].kind != MTS_VALUE_CONST) {
            last = node->inputs[i];
            values++;
        }
    }
    if (values == 1 && graph->values[node->output].shape.rank > 2) {
        *label_of(family, task, node->output) = *label_of(family, task, last);
    }
}

static bool label_concat(mts_family *family, uint32_t task, const mts_node *node)
{
    uint32_t *out = NULL;
    if (node->attrs.concat.axis != 1) {
        label_joined(family, task, node);
        return true;
    }
    out = labels_make(family, channels_of(family, task, node->output));
    if (!out) {
        return false;
    }
    *label_of(family, task, node->output) = out;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const uint32_t count = channels_of(family, task, node->inputs[i]);
        const uint32_t *labels = *label_of(family, task, node->inputs[i]);
        for (uint32_t k = 0; k < count; k++) {
            *out++ = labels ? labels[k] : MTS_CLASS_NONE;
        }
    }
    return true;
}

/* A flattened feature map: the class of a channel and the place in it make a class. */
static bool label_flatten(mts_family *family, uint32_t row)
{
    combine c = {0};
    for (uint32_t t = 0; t < family->count; t++) {
        const mts_node *node = mts_family_node(family, row, t);
        const uint32_t factor = node ? mts_channels_flatten(family->graphs[t], node) : 0;
        if (factor == 1) {
            *label_of(family, t, node->output) = *label_of(family, t, node->inputs[0]);
        }
        if (factor <= 1 || !*label_of(family, t, node->inputs[0])) {
            continue;
        }
        const uint32_t count = channels_of(family, t, node->output);
        const uint32_t *labels = *label_of(family, t, node->inputs[0]);
        uint32_t *spread = labels_make(family, count), *place = labels_make(family, count);
        if (!spread || !place) {
            return false;
        }
        for (uint32_t i = 0; i < count; i++) {
            spread[i] = labels[i / factor];
            place[i] = i % factor;
        }
        c.first[t] = spread;
        c.second[t] = place;
    }
    const bool done = label_pair(family, row, &c);
    for (uint32_t t = 0; done && t < family->count; t++) {
        const mts_node *node = mts_family_node(family, row, t);
        if (node) {
            mts_family_move_labels(family, t, node);
        }
    }
    return done;
}

static bool label_each(mts_family *family, uint32_t row)
{
    for (uint32_t t = 0; t < family->count; t++) {
        const mts_node *node = mts_family_node(family, row, t);
        if (!node) {
            continue;
        }
        if (node->op == MTS_OP_CONCAT) {
            if (!label_concat(family, t, node)) {
                return false;
            }
        } else if (node->op == MTS_OP_ATTENTION) { /* sums of v */
            *label_of(family, t, node->output) = *label_of(family, t, node->inputs[2]);
        } else if (node->op == MTS_OP_NORM || mts_channels_pass(family->graphs[t], node)) {
            *label_of(family, t, node->output) = *label_of(family, t, node->inputs[0]);
        }
        mts_family_move_labels(family, t, node);
    }
    return true;
}

static bool label_row(mts_family *family, uint32_t row)
{
    uint32_t t = 0;
    while (t < family->count && !mts_family_node(family, row, t)) {
        t++;
    }
    const mts_node *node = mts_family_node(family, row, t);
    switch (node->op) {
    case MTS_OP_CONV:
        if (node->attrs.conv.group == 1) {
            return label_conv(family, row);
        }
        return mts_channels_depthwise(family->graphs[t], node) ? label_depthwise(family, row)
                                                               : label_grouped(family, row);
    case MTS_OP_BINARY:
        return label_binary(family, row);
    case MTS_OP_RESHAPE:
        return label_flatten(family, row);
    case MTS_OP_TAKE:
        return label_take(family, row);
    default:
        return label_each(family, row);
    }
}

static bool make_tables(mts_family *family)
{
    family->value_labels = mts_arena_zero(family->arena, family->count, sizeof(*family->value_labels));
    family->row_labels = mts_arena_zero(family->arena, family->count, sizeof(*family->row_labels));
    family->moved = mts_arena_zero(family->arena, family->count, sizeof(*family->moved));
    if (!family->value_labels || !family->row_labels || !family->moved) {
        return false;
    }
    for (uint32_t t = 0; t < family->count; t++) {
        const mts_graph *graph = family->graphs[t];
        family->moved[t] = mts_arena_zero(family->arena, graph->value_count, sizeof(**family->moved));
        family->value_labels[t] = mts_arena_zero(family->arena, graph->value_count, sizeof(uint32_t *));
        family->row_labels[t] = mts_arena_zero(family->arena, graph->node_count, sizeof(uint32_t *));
        if (!family->value_labels[t] || !family->row_labels[t] || !family->moved[t]) {
            return false;
        }
    }
    return true;
}

bool mts_family_label(mts_family *family)
{
    bool done = make_tables(family) && label_inputs(family);
    for (uint32_t row = 0; row < family->rows.row_count && done; row++) {
        done = label_row(family, row);
    }
    return done;
}
