/*
 * report_text.c: the report for people: tasks, then each family's layers with what they
 * share.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bundle/report_kinds.h"

#define CELL 48
#define NAME_MOST 40u

const char *mts_report_color(uint32_t color)
{
    static const char *const names[] = {"none", "rgb", "bgr", "grey"};
    return color < sizeof names / sizeof names[0] ? names[color] : "?";
}

const char *mts_report_fit(uint32_t fit)
{
    static const char *const names[] = {"", "stretch", "letterbox", "letterbox-corner", "crop"};
    return fit < sizeof names / sizeof names[0] ? names[fit] : "?";
}

const char *mts_report_filter(uint32_t filter)
{
    static const char *const names[] = {"", "bilinear", "area"};
    return filter < sizeof names / sizeof names[0] ? names[filter] : "?";
}

static const char *bytes_text(uint64_t bytes, char *cell)
{
    if (bytes < 10000) {
        (void)snprintf(cell, CELL, "%" PRIu64 " B", bytes);
    } else if (bytes < 10000000) {
        (void)snprintf(cell, CELL, "%.1f kB", (double)bytes / 1e3);
    } else {
        (void)snprintf(cell, CELL, "%.1f MB", (double)bytes / 1e6);
    }
    return cell;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

/* The tail of a long name: models differ in their names' ends. */
static const char *name_text(const char *name, char *cell)
{
    const size_t length = strlen(name);
    if (length <= NAME_MOST) {
        return name;
    }
    (void)snprintf(cell, CELL, "..%s", name + (length - (NAME_MOST - 2)));
    return cell;
}

/* "64" where all tasks agree, "51..64" where they do not. */
static const char *range_text(const mts_sharing_row *row, bool shared, char *cell)
{
    uint32_t least = UINT32_MAX;
    uint32_t most = 0;
    for (uint32_t p = 0; p < row->part_count; p++) {
        const uint32_t value = shared ? row->parts[p].shared : row->parts[p].exclusive;
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    if (row->part_count == 0) {
        least = 0;
    }
    if (least == most) {
        (void)snprintf(cell, CELL, "%" PRIu32, least);
    } else {
        (void)snprintf(cell, CELL, "%" PRIu32 "..%" PRIu32, least, most);
    }
    return cell;
}

static void tasks_add(const mts_sharing *sharing, mts_text *text)
{
    mts_text_add(text, "%-20s %6s %-24s %7s %6s %6s %12s %8s\n", "task", "family", "input", "outputs",
                 "labels", "nodes", "weights", "shared");
    for (uint32_t t = 0; t < sharing->archive->task_count; t++) {
        const mts_task *task = &sharing->archive->tasks[t];
        char shape[64] = "none";
        char input[CELL * 2];
        char bytes[CELL];
        if (task->graph->input_count > 0) {
            (void)mts_shape_text(&task->graph->inputs[0].shape, shape, sizeof shape);
        }
        (void)snprintf(input, sizeof input, "%s %s", shape,
                       task->preprocess.color == MTS_COLOR_NONE ? "tensor"
                                                                : mts_report_color(task->preprocess.color));
        mts_text_add(text, "%-20s %6" PRIu32 " %-24s %7" PRIu32 " %6" PRIu32 " %6" PRIu32 " %12s %6.1f %%\n",
                     task->name, sharing->family[t], input, task->graph->output_count, task->label_count,
                     task->graph->node_count, bytes_text(sharing->task_bytes[t], bytes),
                     percent(sharing->task_shared[t], sharing->task_bytes[t]));
    }
}

/* What tasks say of frames beyond their colour. */
static void frames_add(const mts_sharing *sharing, mts_text *text)
{
    for (uint32_t t = 0; t < sharing->archive->task_count; t++) {
        const mts_task *task = &sharing->archive->tasks[t];
        const mts_preprocess *p = &task->preprocess;
        const char *fit = mts_report_fit(p->fit);
        const char *filter = mts_report_filter(p->filter);
        if (!*fit && !*filter && p->crop[2] <= 0.0f) {
            continue;
        }
        mts_text_add(text, "frames of %s:%s%s", task->name, *fit ? " fit " : "", fit);
        mts_text_add(text, "%s%s", *filter ? " filter " : "", filter);
        if (p->crop[2] > 0.0f) {
            mts_text_add(text, " crop %g,%g,%g,%g", (double)p->crop[0], (double)p->crop[1],
                         (double)p->crop[2], (double)p->crop[3]);
        }
        mts_text_add(text, "\n");
    }
}

static void family_add(const mts_sharing *sharing, uint32_t number, mts_text *text)
{
    const mts_sharing_family *family = &sharing->families[number];
    mts_text_add(text, "\nfamily %" PRIu32 ": %" PRIu32 " tasks, %" PRIu32 " rows\n", number,
                 family->task_count, family->row_count);
    mts_text_add(text, "%-40s %-9s %5s %11s %11s %11s %11s\n", "layer", "op", "tasks", "shared", "exclusive",
                 "stored", "unshared");
    for (uint32_t r = 0; r < family->row_count; r++) {
        const mts_sharing_row *row = &family->rows[r];
        if (row->part_count == 0 || row->bytes_unshared == 0) {
            continue; /* no weights, nothing to share */
        }
        const mts_graph *graph = sharing->archive->tasks[row->parts[0].task].graph;
        const mts_node *node = &graph->nodes[row->parts[0].node];
        char name[CELL];
        char shared[CELL];
        char exclusive[CELL];
        char stored[CELL];
        char unshared[CELL];
        mts_text_add(text, "%-40s %-9s %5" PRIu32 " %11s %11s %11s %11s\n",
                     name_text(mts_node_title(graph, node), name), mts_op_name(node->op), row->part_count,
                     range_text(row, true, shared), range_text(row, false, exclusive),
                     bytes_text(row->bytes_stored, stored), bytes_text(row->bytes_unshared, unshared));
    }
}

void mts_report_text(const mts_sharing *sharing, mts_text *text)
{
    char stored[CELL];
    char unshared[CELL];
    mts_text_add(text, "%" PRIu32 " tasks in %" PRIu32 " %s; weights: %s stored, %s unshared (%.1f %%)\n\n",
                 sharing->archive->task_count, sharing->family_count,
                 sharing->family_count == 1 ? "family" : "families",
                 bytes_text(sharing->bytes_stored, stored), bytes_text(sharing->bytes_unshared, unshared),
                 percent(sharing->bytes_stored, sharing->bytes_unshared));
    tasks_add(sharing, text);
    frames_add(sharing, text);
    for (uint32_t f = 0; f < sharing->family_count; f++) {
        family_add(sharing, f, text);
    }
}
