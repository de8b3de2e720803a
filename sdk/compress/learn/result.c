/*
 * result.c: the best candidate as a task of the bundle, behind all others.
 */
#include <string.h>

#include "base/sized.h"
#include "compress/learn/learn.h"

/* Nodes whose numbers were trained; the others keep the bytes that the base has. */
static bool *trained_nodes(const mts_learn *learn, mts_arena *arena)
{
    const mts_learn_plan *plan = &learn->plan;
    bool *nodes = mts_arena_zero(arena, plan->whole->node_count, sizeof *nodes);
    for (uint32_t n = plan->cut; nodes && n <= plan->head; n++) {
        nodes[n] = plan->trains[n - plan->cut] != 0;
    }
    return nodes;
}

static bool task_make(mts_learn *learn, mts_task *task)
{
    const mtsz_train_options *wanted = learn->wanted;
    *task = (mts_task){.name = mts_arena_string(&learn->arena, wanted->task),
                       .graph = learn->plan.whole,
                       .preprocess = mts_learn_base(learn)->preprocess,
                       .label_count = wanted->class_count,
                       .labels = mts_arena_zero(&learn->arena, wanted->class_count, sizeof *task->labels),
                       .class_count = wanted->class_map_count,
                       .class_map =
                           mts_arena_zero(&learn->arena, wanted->class_map_count, sizeof *task->class_map)};
    bool made = task->name && task->labels && task->class_map;
    for (uint32_t c = 0; made && c < wanted->class_count; c++) {
        task->labels[c] = mts_arena_string(&learn->arena, wanted->class_names[c]);
        made = task->labels[c];
    }
    for (uint32_t i = 0; made && i < wanted->class_map_count; i++) {
        task->class_map[i] = wanted->class_map[i];
    }
    return made;
}

/* Bytes of the blocks of a bundle as it was read. */
static uint64_t stored_bytes(const mts_archive *archive)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < archive->block_count; i++) {
        sum += archive->blocks[i].size;
    }
    return sum;
}

static uint64_t base_bytes(const mts_graph *graph)
{
    uint64_t sum = 0;
    for (uint32_t v = 0; v < graph->value_count; v++) {
        const mts_value *value = &graph->values[v];
        sum +=
            value->kind == MTS_VALUE_CONST ? mts_shape_count(&value->shape) * mts_type_size(value->dtype) : 0;
    }
    return sum;
}

static void report_fill(const mts_learn *learn, mtsz_train_report *report)
{
    report->best = learn->best;
    report->images = learn->images - learn->held_out;
    report->held_out = learn->held_out;
    report->nodes_common = learn->plan.cut;
    report->nodes = learn->plan.whole->node_count;
    report->bytes_base = base_bytes(mts_learn_base(learn)->graph);
    report->frozen_seconds = learn->frozen_seconds;
    report->train_seconds = learn->train_seconds;
}

mts_status mts_learn_write(mts_learn *learn, const mts_net *whole, const char *path,
                           mtsz_train_report *report, mts_error *error)
{
    const uint32_t count = learn->models.count + 1;
    const uint64_t before = stored_bytes(learn->models.archive);
    const bool *nodes = trained_nodes(learn, &learn->arena);
    mts_task *tasks = mts_arena_zero(&learn->arena, count, sizeof *tasks);
    report_fill(learn, report); /* writing rewrites the graphs */
    if (!nodes || !tasks || !task_make(learn, &tasks[count - 1]) ||
        !mts_net_store(whole, nodes, learn->plan.whole)) {
        return mts_fail_memory(error);
    }
    memcpy(tasks, learn->models.tasks, (count - 1) * sizeof *tasks);
    const mts_status status =
        mts_models_write(&learn->models, tasks, count, path, learn->options, &report->summary, error);
    if (status == MTS_STATUS_OK && report->summary.weights_bytes > before) {
        report->bytes_added = report->summary.weights_bytes - before;
    }
    return status;
}
