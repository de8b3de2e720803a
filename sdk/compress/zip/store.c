/*
 * store.c: zipped networks as graphs for a bundle, differences of low rank included, and what
 * a search has found as a report.
 */
#include "compiler/passes/clone.h"
#include "compress/zip/low_rank.h"
#include "compress/zip/plan.h"

/* Which nodes of a task have new parameters; NULL: all of them may. */
static bool *changed_nodes(mts_zip *zip, uint32_t t)
{
    bool *nodes = mts_arena_zero(&zip->arena, zip->tasks[t].graph->node_count, sizeof(*nodes));
    for (uint32_t r = 0; nodes && r < zip->row_count; r++) {
        nodes[zip->rows[r].nodes[t]] = zip->rows[r].done;
    }
    return nodes;
}

/* A row's weights become the common one and the task's difference. */
static mts_zip_factors *factors_of(const mts_zip *zip, const mts_zip_found *found, uint32_t r, uint32_t t)
{
    return found->factors && found->factors[(size_t)r * zip->count + t].base
               ? &found->factors[(size_t)r * zip->count + t]
               : NULL;
}

/* [rows][taps][inputs] of networks as [rows][inputs][taps] of graphs. */
static float *graph_order(mts_zip *zip, const mts_zip_row *row, const float *from, uint32_t rows)
{
    const size_t length = (size_t)row->inputs * row->taps;
    float *to = mts_arena_zero(&zip->arena, rows * length + 1, sizeof *to);
    for (size_t r = 0; to && r < rows; r++) {
        for (uint32_t k = 0; k < row->taps; k++) {
            for (uint32_t i = 0; i < row->inputs; i++) {
                to[r * length + (size_t)i * row->taps + k] = from[r * length + (size_t)k * row->inputs + i];
            }
        }
    }
    return to;
}

static mts_status store_factors(mts_zip *zip, const mts_zip_found *found, uint32_t t, mts_graph **graph)
{
    mts_low_rank_layer *layers = mts_arena_zero(&zip->arena, zip->row_count, sizeof *layers);
    uint32_t count = 0;
    bool done = layers;
    for (uint32_t r = 0; r < zip->row_count && done; r++) {
        const mts_zip_row *row = &zip->rows[r];
        const mts_zip_factors *f = factors_of(zip, found, r, t);
        if (f) {
            mts_low_rank_layer *layer = &layers[count++];
            *layer = (mts_low_rank_layer){.node = row->nodes[t],
                                          .weight = graph_order(zip, row, f->base, row->outputs),
                                          .rank = f->rank,
                                          .left = f->left,
                                          .right = graph_order(zip, row, f->right, f->rank)};
            done = layer->weight && layer->right;
        }
    }
    if (!done) {
        return mts_fail_memory(zip->error);
    }
    return count ? mts_low_rank_graph(*graph, layers, count, &zip->arena, graph, zip->error) : MTS_STATUS_OK;
}

mts_status mts_zip_store(mts_zip *zip, const mts_zip_found *found, bool trained, const uint32_t *of_bundle,
                         mts_task *written)
{
    for (uint32_t t = 0; t < zip->count; t++) {
        mts_task *task = &written[of_bundle[t]];
        if (zip->frozen[t]) {
            continue;
        }
        bool *nodes = trained ? NULL : changed_nodes(zip, t);
        task->graph = mts_graph_clone(zip->tasks[t].graph, &zip->arena);
        if ((!trained && !nodes) || !task->graph || !mts_net_store(zip->nets[t], nodes, task->graph)) {
            return mts_fail_memory(zip->error);
        }
        const mts_status status = store_factors(zip, found, t, &task->graph);
        if (status != MTS_STATUS_OK) {
            return mts_fail_prefix(zip->error, status, "task '%s'", task->name);
        }
    }
    return MTS_STATUS_OK;
}

/* What the search has found, in the words of the report. */
void mts_zip_found_report(mts_zip *zip, const mts_zip_found *found, mtsz_zip_report *report)
{
    for (uint32_t r = 0; r < zip->row_count; r++) {
        const mts_zip_row *row = &zip->rows[r];
        const mts_zip_row_plan *plan = &found->plans[r];
        double shared = 0.0;
        for (uint32_t p = 0; p < plan->part_count; p++) {
            uint32_t tasks = 0;
            for (uint32_t t = 0; t < zip->count; t++) {
                tasks += (uint32_t)(plan->parts[p].tasks >> t & 1);
                report->rank = plan->ranks[t] > report->rank ? plan->ranks[t] : report->rank;
            }
            shared += (double)plan->parts[p].shared * row->inputs * row->taps * tasks / zip->count;
        }
        zip->zipped += shared > 0.0 ? 1 : 0;
        for (uint32_t t = 0; t < zip->count; t++) {
            report->shared_weights += shared / mts_zip_weights(zip->tasks[t].graph) / zip->count;
        }
    }
    report->loss = found->loss;
    report->loss_worst = found->loss_worst;
    report->change = found->change;
    report->change_worst = found->change_worst;
    report->trials = found->trials;
    report->tasks = zip->count;
    report->bytes_before = (uint64_t)(found->bytes_before + 0.5);
}
