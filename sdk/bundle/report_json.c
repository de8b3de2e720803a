/*
 * report_json.c: the report for machines: one JSON object.
 */
#include <inttypes.h>

#include "bundle/report_kinds.h"

static const char *comma(uint32_t index)
{
    return index ? ", " : "";
}

static void ports_add(const char *key, const mts_port *ports, uint32_t count, mts_text *text)
{
    mts_text_add(text, "\"%s\": [", key);
    for (uint32_t i = 0; i < count; i++) {
        mts_text_add(text, "%s{\"name\": ", comma(i));
        mts_text_add_json(text, ports[i].name);
        mts_text_add(text, ", \"type\": \"%s\", \"shape\": [", mts_type_name(ports[i].dtype));
        for (uint32_t d = 0; d < ports[i].shape.rank; d++) {
            mts_text_add(text, "%s%" PRId64, comma(d), ports[i].shape.dims[d]);
        }
        mts_text_add(text, "]}");
    }
    mts_text_add(text, "]");
}

static void numbers_add(const char *key, const float *numbers, mts_text *text)
{
    mts_text_add(text, ", \"%s\": [", key);
    for (uint32_t i = 0; i < 4; i++) {
        mts_text_add(text, "%s%.9g", comma(i), (double)numbers[i]);
    }
    mts_text_add(text, "]");
}

/* What becomes of frames. Keys that the task list left out are left out here too. */
static void frames_add(const mts_preprocess *p, mts_text *text)
{
    const char *fit = mts_report_fit(p->fit);
    const char *filter = mts_report_filter(p->filter);
    if (p->color == MTS_COLOR_NONE) {
        return;
    }
    numbers_add("mean", p->mean, text);
    numbers_add("std", p->std, text);
    if (*fit) {
        mts_text_add(text, ", \"fit\": \"%s\", \"fill\": [%u, %u, %u]", fit, p->fill[0], p->fill[1],
                     p->fill[2]);
    }
    if (*filter) {
        mts_text_add(text, ", \"filter\": \"%s\"", filter);
    }
    if (p->crop[2] > 0.0f) {
        numbers_add("crop", p->crop, text);
    }
}

static void task_add(const mts_sharing *sharing, uint32_t index, mts_text *text)
{
    const mts_task *task = &sharing->archive->tasks[index];
    uint64_t mul_adds = 0;
    for (uint32_t n = 0; n < task->graph->node_count; n++) {
        mul_adds += mts_node_mul_adds(task->graph, &task->graph->nodes[n]);
    }
    mts_text_add(text, "    {\"name\": ");
    mts_text_add_json(text, task->name);
    mts_text_add(text, ", \"family\": %" PRIu32 ", \"color\": \"%s\"", sharing->family[index],
                 mts_report_color(task->preprocess.color));
    frames_add(&task->preprocess, text);
    mts_text_add(text, ", ");
    ports_add("inputs", task->graph->inputs, task->graph->input_count, text);
    mts_text_add(text, ", ");
    ports_add("outputs", task->graph->outputs, task->graph->output_count, text);
    mts_text_add(text,
                 ", \"nodes\": %" PRIu32 ", \"mul_adds\": %" PRIu64 ", \"weights_bytes\": %" PRIu64
                 ", \"shared_bytes\": %" PRIu64 ", \"labels\": [",
                 task->graph->node_count, mul_adds, sharing->task_bytes[index], sharing->task_shared[index]);
    for (uint32_t i = 0; i < task->label_count; i++) {
        mts_text_add(text, "%s", comma(i));
        mts_text_add_json(text, task->labels[i]);
    }
    mts_text_add(text, "], \"class_map\": [");
    for (uint32_t i = 0; i < task->class_count; i++) {
        mts_text_add(text, "%s%" PRIu32, comma(i), task->class_map[i]);
    }
    mts_text_add(text, "]}");
}

static void row_add(const mts_sharing *sharing, uint32_t family, const mts_sharing_row *row, mts_text *text)
{
    const mts_archive *archive = sharing->archive;
    const mts_graph *graph = archive->tasks[row->parts[0].task].graph;
    const mts_node *node = &graph->nodes[row->parts[0].node];
    mts_text_add(text, "    {\"family\": %" PRIu32 ", \"layer\": ", family);
    mts_text_add_json(text, mts_node_title(graph, node));
    mts_text_add(text, ", \"op\": \"%s\", \"tasks\": [", mts_op_name(node->op));
    for (uint32_t p = 0; p < row->part_count; p++) {
        mts_text_add(text, "%s", comma(p));
        mts_text_add_json(text, archive->tasks[row->parts[p].task].name);
    }
    mts_text_add(text, "], \"shared_channels\": [");
    for (uint32_t p = 0; p < row->part_count; p++) {
        mts_text_add(text, "%s%" PRIu32, comma(p), row->parts[p].shared);
    }
    mts_text_add(text, "], \"exclusive_channels\": [");
    for (uint32_t p = 0; p < row->part_count; p++) {
        mts_text_add(text, "%s%" PRIu32, comma(p), row->parts[p].exclusive);
    }
    mts_text_add(text, "], \"bytes_stored\": %" PRIu64 ", \"bytes_unshared\": %" PRIu64 "}",
                 row->bytes_stored, row->bytes_unshared);
}

static void families_add(const mts_sharing *sharing, mts_text *text)
{
    for (uint32_t f = 0; f < sharing->family_count; f++) {
        const mts_sharing_family *family = &sharing->families[f];
        mts_text_add(text, "%s    {\"tasks\": [", f ? ",\n" : "");
        for (uint32_t t = 0; t < family->task_count; t++) {
            mts_text_add(text, "%s", comma(t));
            mts_text_add_json(text, sharing->archive->tasks[family->tasks[t]].name);
        }
        mts_text_add(text, "], \"rows\": %" PRIu32 "}", family->row_count);
    }
}

void mts_report_json(const mts_sharing *sharing, mts_text *text)
{
    mts_text_add(text, "{\n  \"tasks\": [\n");
    for (uint32_t t = 0; t < sharing->archive->task_count; t++) {
        mts_text_add(text, "%s", t ? ",\n" : "");
        task_add(sharing, t, text);
    }
    mts_text_add(text, "\n  ],\n  \"families\": [\n");
    families_add(sharing, text);
    mts_text_add(text,
                 "\n  ],\n  \"weights_bytes\": %" PRIu64 ",\n  \"weights_bytes_unshared\": %" PRIu64
                 ",\n  \"blocks\": %" PRIu32 ",\n  \"hash\": \"%016" PRIx64 "\",\n  \"sharing\": [\n",
                 sharing->bytes_stored, sharing->bytes_unshared, sharing->archive->block_count,
                 sharing->archive->hash);
    uint32_t written = 0;
    for (uint32_t f = 0; f < sharing->family_count; f++) {
        for (uint32_t r = 0; r < sharing->families[f].row_count; r++) {
            const mts_sharing_row *row = &sharing->families[f].rows[r];
            if (row->part_count > 0 && row->bytes_unshared > 0) {
                mts_text_add(text, "%s", written++ ? ",\n" : "");
                row_add(sharing, f, row, text);
            }
        }
    }
    mts_text_add(text, "\n  ]\n}\n");
}
