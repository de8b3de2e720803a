/*
 * rows.c: the convolutions that all tasks have, in order, and which of them may share
 * filters.
 */
#include <math.h>
#include <string.h>

#include "compress/zip/zip.h"

static const mts_node *node_of(const mts_zip *zip, const mts_alignment *rows, uint32_t row, uint32_t task)
{
    const uint32_t node = rows->nodes[(size_t)row * rows->graph_count + task];
    return node == MTS_NONE ? NULL : &zip->tasks[task].graph->nodes[node];
}

static bool weighted(mts_op op)
{
    return op == MTS_OP_CONV || op == MTS_OP_DECONV || op == MTS_OP_MATMUL;
}

/* Marks what a weighted node computes something for: values that do not lead to one are
   behind a head. */
static bool *mark_inner(const mts_graph *graph, mts_arena *arena)
{
    bool *inner = mts_arena_zero(arena, graph->value_count, sizeof(*inner));
    for (uint32_t n = graph->node_count; inner && n-- > 0;) {
        const mts_node *node = &graph->nodes[n];
        const bool leads = weighted(node->op) || inner[node->output];
        for (uint32_t i = 0; i < node->input_count && leads; i++) {
            if (node->inputs[i] != MTS_NONE) {
                inner[node->inputs[i]] = true;
            }
        }
    }
    return inner;
}

static const mts_value *weight_of(const mts_graph *graph, const mts_node *node)
{
    return &graph->values[node->inputs[1]];
}

static bool equal_filters(const mts_zip *zip, const mts_alignment *rows, uint32_t row)
{
    const mts_node *first = node_of(zip, rows, row, 0);
    const mts_shape *shape = &weight_of(zip->tasks[0].graph, first)->shape;
    for (uint32_t t = 1; t < zip->count; t++) {
        const mts_node *node = node_of(zip, rows, row, t);
        if (!mts_shape_equal(&weight_of(zip->tasks[t].graph, node)->shape, shape)) {
            return false;
        }
    }
    return true;
}

static bool in_all(const mts_zip *zip, const mts_alignment *rows, uint32_t row)
{
    for (uint32_t t = 0; t < zip->count; t++) {
        if (!node_of(zip, rows, row, t)) {
            return false;
        }
    }
    return true;
}

static bool layer_wanted(const mtsz_zip_options *options, const char *name)
{
    for (uint32_t i = 0; i < options->layer_count; i++) {
        if (strncmp(name, options->layers[i], strlen(options->layers[i])) == 0) {
            return true;
        }
    }
    return options->layer_count == 0;
}

static bool per_image_epilogue(const mts_graph *graph, const mts_node *node)
{
    for (uint32_t i = 2; i < 4 && i < node->input_count; i++) {
        if (node->inputs[i] != MTS_NONE && graph->values[node->inputs[i]].shape.rank > 1) {
            return true;
        }
    }
    return false;
}

/* Whether every task's filters are short enough to be fitted, and what follows them can
   be. */
static bool can_fit(const mts_zip *zip, const mts_alignment *rows, uint32_t row)
{
    for (uint32_t t = 0; t < zip->count; t++) {
        const mts_graph *graph = zip->tasks[t].graph;
        const mts_node *node = node_of(zip, rows, row, t);
        const mts_shape *shape = &weight_of(graph, node)->shape;
        const uint64_t unknowns =
            (uint64_t)shape->dims[1] * (uint64_t)shape->dims[2] * (uint64_t)shape->dims[3];
        if (node->attrs.conv.group != node_of(zip, rows, row, 0)->attrs.conv.group ||
            unknowns > MTS_ZIP_UNKNOWNS_MAX || per_image_epilogue(graph, node)) {
            return false;
        }
    }
    return true;
}

/* Weights are stored in float16 where they were (net/store.c), all others in float32. A
   filter is common to tasks only if all of them store it alike. */
static uint32_t weight_bytes(const mts_zip *zip, const mts_alignment *rows, uint32_t row)
{
    bool halves = true;
    for (uint32_t t = 0; t < zip->count; t++) {
        const mts_node *node = node_of(zip, rows, row, t);
        halves = halves && weight_of(zip->tasks[t].graph, node)->dtype == MTS_TYPE_FLOAT16;
    }
    return halves ? 2 : sizeof(float);
}

static bool fill_row(mts_zip *zip, const mts_alignment *rows, uint32_t row, const bool *inner,
                     mts_zip_row *out)
{
    const mts_graph *graph = zip->tasks[0].graph;
    const mts_node *node = node_of(zip, rows, row, 0);
    const mts_shape *shape = &weight_of(graph, node)->shape;
    out->name = mts_node_title(graph, node);
    out->outputs = (uint32_t)shape->dims[0];
    out->inputs = (uint32_t)shape->dims[1];
    out->taps = (uint32_t)(shape->dims[2] * shape->dims[3]);
    out->groups = node->attrs.conv.group;
    out->weight_bytes = weight_bytes(zip, rows, row);
    out->fit = can_fit(zip, rows, row);
    out->share = out->fit && (out->groups == 1 || zip->options->form == MTSZ_FORM_FILTERS) &&
                 inner[node->output] && equal_filters(zip, rows, row) &&
                 layer_wanted(zip->options, out->name);
    uint32_t *nodes = mts_arena_zero(&zip->arena, zip->count, sizeof(*nodes));
    out->channels = mts_arena_zero(&zip->arena, out->outputs, sizeof(*out->channels));
    out->readable = out->inputs; /* until it is known better */
    if (zip->options->form == MTSZ_FORM_UXYZ) {
        out->reads = mts_arena_zero(&zip->arena, out->inputs, sizeof(*out->reads));
    }
    for (uint32_t t = 0; t < zip->count && nodes; t++) {
        nodes[t] = rows->nodes[(size_t)row * rows->graph_count + t];
    }
    out->nodes = nodes;
    return nodes && out->channels && (out->reads || zip->options->form == MTSZ_FORM_FILTERS);
}

/* Whether every task's weight is float32, read by this node alone, of a plain convolution. */
static bool reducible(const mts_zip *zip, const uint32_t *nodes, uint32_t *uses[MTS_ZIP_TASKS_MAX])
{
    for (uint32_t t = 0; t < zip->count; t++) {
        const mts_graph *graph = zip->tasks[t].graph;
        const mts_node *node = &graph->nodes[nodes[t]];
        if (weight_of(graph, node)->dtype != MTS_TYPE_FLOAT32 || uses[t][node->inputs[1]] != 1 ||
            node->scatter) {
            return false;
        }
    }
    return true;
}

static bool find_reducible(mts_zip *zip)
{
    uint32_t *uses[MTS_ZIP_TASKS_MAX] = {NULL};
    for (uint32_t t = 0; t < zip->count; t++) {
        uses[t] = mts_arena_zero(&zip->arena, zip->tasks[t].graph->value_count, sizeof(uint32_t));
        if (!uses[t]) {
            return false;
        }
        mts_graph_count_uses(zip->tasks[t].graph, uses[t]);
    }
    for (uint32_t r = 0; r < zip->row_count; r++) {
        zip->rows[r].reducible =
            zip->rows[r].share && zip->rows[r].groups == 1 && reducible(zip, zip->rows[r].nodes, uses);
    }
    return true;
}

static void sum_costs(mts_zip *zip)
{
    const mts_graph *graph = zip->tasks[0].graph;
    uint64_t cost = 0;
    uint32_t row = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        cost += mts_node_mul_adds(graph, &graph->nodes[n]);
        if (row < zip->row_count && zip->rows[row].nodes[0] == n) {
            zip->rows[row++].cost = cost;
        }
    }
}

static uint32_t first_without(const mts_zip *zip, const mts_alignment *rows, uint32_t row)
{
    uint32_t t = 0;
    while (t < zip->count && node_of(zip, rows, row, t)) {
        t++;
    }
    return t;
}

/* The first convolution of a task that another lacks, for the message that tasks do not
   align. */
static mts_status fail_alignment(mts_zip *zip, const mts_alignment *rows)
{
    for (uint32_t r = 0; r < rows->row_count; r++) {
        const uint32_t without = first_without(zip, rows, r);
        for (uint32_t t = 0; t < zip->count; t++) {
            const mts_node *node = node_of(zip, rows, r, t);
            if (!node || node->op != MTS_OP_CONV) {
                continue;
            }
            const char *layer = mts_node_title(zip->tasks[t].graph, node);
            if (without < zip->count) {
                return mts_fail(
                    zip->error, MTS_STATUS_INVALID_ARGUMENT,
                    "the tasks do not align: layer '%s' of task '%s' has no counterpart in task '%s'", layer,
                    zip->tasks[t].name, zip->tasks[without].name);
            }
            if (t > 0 && !equal_filters(zip, rows, r)) {
                return mts_fail(
                    zip->error, MTS_STATUS_INVALID_ARGUMENT,
                    "the tasks do not align: filters of layer '%s' of task '%s' have not the size of "
                    "all others'",
                    layer, zip->tasks[t].name);
            }
        }
    }
    return mts_fail(zip->error, MTS_STATUS_INVALID_ARGUMENT,
                    "the tasks have no layer whose filters can be shared (the last layers stay private)");
}

static bool any_wanted(const mts_zip *zip)
{
    for (uint32_t r = 0; r < zip->row_count; r++) {
        if (layer_wanted(zip->options, zip->rows[r].name)) {
            return true;
        }
    }
    return false;
}

static mts_status collect(mts_zip *zip, const mts_alignment *rows)
{
    const bool *inner = mark_inner(zip->tasks[0].graph, &zip->arena);
    zip->rows = mts_arena_zero(&zip->arena, rows->row_count, sizeof(*zip->rows));
    if (!zip->rows || !inner) {
        return mts_fail_memory(zip->error);
    }
    uint32_t sharing = 0;
    for (uint32_t r = 0; r < rows->row_count; r++) {
        const mts_node *node = node_of(zip, rows, r, 0);
        if (!node || node->op != MTS_OP_CONV || !in_all(zip, rows, r)) {
            continue;
        }
        mts_zip_row *row = &zip->rows[zip->row_count++];
        if (!fill_row(zip, rows, r, inner, row)) {
            return mts_fail_memory(zip->error);
        }
        sharing += row->share ? 1 : 0;
    }
    sum_costs(zip);
    if (!find_reducible(zip)) {
        return mts_fail_memory(zip->error);
    }
    if (sharing == 0 && zip->row_count > 0 && !any_wanted(zip)) {
        return mts_fail(zip->error, MTS_STATUS_INVALID_ARGUMENT,
                        "layers: no layer's name begins with '%.255s'", zip->options->layers[0]);
    }
    return sharing ? MTS_STATUS_OK : fail_alignment(zip, rows);
}

mts_status mts_zip_rows_find(mts_zip *zip)
{
    const mts_graph *graphs[MTS_ZIP_TASKS_MAX];
    uint32_t family[MTS_ZIP_TASKS_MAX];
    uint32_t families = 0;
    mts_alignment rows = {0};
    for (uint32_t t = 0; t < zip->count; t++) {
        graphs[t] = zip->tasks[t].graph;
    }
    mts_status status = mts_graph_families(graphs, zip->count, zip->allocator, family, &families, zip->error);
    MTS_TRY(status, mts_graph_align(graphs, zip->count, &zip->arena, &rows, zip->error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    return families > 1 ? fail_alignment(zip, &rows) : collect(zip, &rows);
}

uint32_t mts_zip_row_target(const mts_zip *zip, const mts_zip_row *row)
{
    const double wanted = zip->options->share * row->outputs;
    const uint32_t multiple =
        zip->options->round > 1 && row->outputs >= zip->options->round ? zip->options->round : 1;
    const uint32_t rounded = (uint32_t)floor(wanted / multiple + 0.5) * multiple;
    return rounded > row->outputs || zip->options->share >= 1.0 ? row->outputs : rounded;
}

uint64_t mts_zip_row_saving(const mts_zip *zip, const mts_zip_row *row, uint32_t shared)
{
    const uint32_t inputs = row->reads ? row->readable : row->inputs;
    return (uint64_t)shared * inputs * row->taps * row->weight_bytes * (zip->count - 1);
}

mts_status mts_zip_rows_sum(mts_zip *zip)
{
    const mts_graph *graph = zip->tasks[0].graph;
    bool any = false;
    for (uint32_t r = 0; r < zip->row_count; r++) {
        mts_zip_row *row = &zip->rows[r];
        if (!row->share || (row->reads && !mts_zip_row_common(zip, row))) {
            continue;
        }
        if (row->reads && graph->values[graph->nodes[row->nodes[0]].inputs[0]].kind != MTS_VALUE_INPUT) {
            /* An estimate: what will be in common before it. Counting all inputs,
             * whatever is saved would never be all, and the limit could not be used up.
             */
            row->readable = (uint32_t)(zip->options->share * row->inputs + 0.5);
        }
        zip->bytes_all += mts_zip_row_saving(zip, row, mts_zip_row_target(zip, row));
        any = true;
    }
    return any ? MTS_STATUS_OK
               : mts_fail(
                     zip->error, MTS_STATUS_INVALID_ARGUMENT,
                     "form uxyz: no layer that may be shared writes channels that are free to be put into "
                     "order");
}

/* Marks the channels of a group that are in common. Parts of a group have fewer channels,
   so this ends. */
static void mark_group(const mts_zip *zip, uint32_t group, bool *marks)
{
    const mts_channel_group *g = &zip->channels.groups[group];
    if (g->kind != MTS_CHANNEL_PARTS) {
        if (zip->common[group]) {
            memcpy(marks, zip->common[group], g->channels * sizeof(*marks));
        }
        return;
    }
    bool *end = marks;
    for (uint32_t i = 0; i < g->part_count; i++) {
        const mts_channel_part *part = &zip->channels.parts[g->part_first + i];
        const uint32_t channels = zip->channels.groups[part->group].channels;
        mark_group(zip, part->group, end);
        for (uint32_t c = channels; c-- > 0 && part->factor > 1;) {
            const bool mark = end[c];
            for (uint32_t k = 0; k < part->factor; k++) {
                end[(size_t)c * part->factor + k] = mark;
            }
        }
        end += (size_t)channels * part->factor;
    }
}

bool mts_zip_row_reads(mts_zip *zip, mts_zip_row *row)
{
    if (!row->reads) {
        return true;
    }
    const mts_graph *graph = zip->tasks[0].graph;
    const uint32_t value = graph->nodes[row->nodes[0]].inputs[0];
    const uint32_t group = zip->channels.group_of[value];
    bool *marks = mts_alloc_zero(zip->allocator, row->inputs, sizeof(*marks));
    row->readable = 0;
    if (!marks) {
        return false;
    }
    if (graph->values[value].kind == MTS_VALUE_INPUT) {
        memset(marks, 1, row->inputs * sizeof(*marks));
    } else if (group != MTS_NONE) {
        mark_group(zip, group, marks);
    }
    for (uint32_t c = 0; c < row->inputs; c++) {
        if (marks[c]) {
            row->reads[row->readable++] = c;
        }
    }
    mts_alloc_free(zip->allocator, marks);
    return true;
}

bool **mts_zip_row_common(mts_zip *zip, const mts_zip_row *row)
{
    const uint32_t group = zip->channels.group_of[zip->tasks[0].graph->nodes[row->nodes[0]].output];
    return group == MTS_NONE || zip->channels.groups[group].kind != MTS_CHANNEL_FREE ? NULL
                                                                                     : &zip->common[group];
}

void mts_zip_row_undo(mts_zip *zip, mts_zip_row *row)
{
    bool **common = row->reads ? mts_zip_row_common(zip, row) : NULL;
    if (common && *common) {
        /* Rows that write or read these channels later then share nothing. */
        memset(*common, 0, row->outputs * sizeof **common);
    }
    row->shared = 0;
}

double mts_zip_weights(const mts_graph *graph)
{
    double count = 1e-9;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const mts_node *node = &graph->nodes[n];
        if (weighted(node->op) && graph->values[node->inputs[1]].kind == MTS_VALUE_CONST) {
            count += (double)mts_shape_count(&graph->values[node->inputs[1]].shape);
        }
    }
    return count;
}

double mts_zip_bytes(const mts_graph *graph)
{
    double bytes = 0.0;
    for (uint32_t v = 0; v < graph->value_count; v++) {
        const mts_value *value = &graph->values[v];
        bytes += value->kind == MTS_VALUE_CONST
                     ? (double)mts_shape_count(&value->shape) * (double)mts_type_size(value->dtype)
                     : 0.0;
    }
    return bytes;
}
