/*
 * explain.c: where the tasks of a pipeline run: its parts, what is copied between them, and
 * what was measured.
 */
#include "pipeline/pipeline.h"

#ifndef MTS_SMALL

#include <math.h>

#include "pipeline/state.h"
#include "tune/explain.h"

/* The last node of a stage: where the cut is. */
static const char *cut_title(const mts_units *u, uint32_t unit)
{
    for (uint32_t t = 0; t < u->task_count; t++) {
        const mts_graph *graph = mts_units_graph(u, t);
        for (uint32_t n = 0; n < graph->node_count; n++) {
            if (u->unit_of[t][n] == unit) {
                return mts_node_title(graph, &graph->nodes[n]);
            }
        }
    }
    return "";
}

static void stage_text(const mts_pipeline *p, uint32_t part, mts_text *text)
{
    const mts_chain_stage *s = &p->now->plan.chain.stages[part];
    mts_text_add(text,
                 "  part %u on %s: layers %u to %u of %u, the last is %s; %u task(s)\n"
                 "    %.3f ms computing, %.3f ms for %llu bytes in, %.3f ms for %llu bytes out%s\n",
                 part + 1, p->ids[s->device], s->first, s->end, p->now->plan.units.count,
                 cut_title(&p->now->plan.units, s->end - 1),
                 p->now->plan.partition.parts[part].archive->task_count, s->compute_ms, s->in_ms,
                 (unsigned long long)s->bytes_in, s->out_ms, (unsigned long long)s->bytes_out,
                 mts_engine_moves(p->now->engines[part]) ? ", which are read where they lie" : "");
}

static void group_text(const mts_pipeline *p, uint32_t part, mts_text *text)
{
    const mts_part *what = &p->now->plan.partition.parts[part];
    mts_text_add(text, "  part %u on %s: %u task(s):", part + 1, p->ids[what->device],
                 what->archive->task_count);
    for (uint32_t k = 0; k < what->archive->task_count; k++) {
        mts_text_add(text, " %s", what->archive->tasks[k].name);
    }
    mts_text_add(text, "\n");
}

static void explain_text(const mts_pipeline *p, mts_text *text)
{
    const mts_placement_plan *plan = &p->now->plan;
    const uint32_t count = plan->partition.part_count;
    mts_text_add(text, "placed on %u of %u device(s) as %s\n", count, p->device_count,
                 plan->partition.chain ? "stages" : "groups of whole tasks");
    if (plan->chain_ms > 0.0) {
        mts_text_add(text, "  stages: slowest %.3f ms, together %.3f ms (predicted from measured layers)\n",
                     plan->chain.slowest_ms, plan->chain.total_ms);
    }
    if (plan->groups_ms > 0.0) {
        mts_text_add(text, "  whole tasks: the busiest device takes %.3f ms (predicted)\n", plan->groups_ms);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (plan->partition.chain && plan->chain.stage_count == count) {
            stage_text(p, i, text);
        } else {
            group_text(p, i, text);
        }
    }
    if (p->replans > 0) {
        mts_text_add(text, "  placed again %u time(s), after the loss of a device\n", p->replans);
    }
    for (uint32_t i = 0; i < count; i++) {
        mts_text_add(text, "\npart %u of %u on %s\n", i + 1, count, p->ids[plan->partition.parts[i].device]);
        mts_explain(p->now->engines[i], &p->now->reports[i], false, text);
    }
}

static void stage_json(const mts_pipeline *p, uint32_t part, mts_text *text)
{
    const mts_chain_stage *s = &p->now->plan.chain.stages[part];
    mts_text_add(text, ", \"first\": %u, \"end\": %u, \"last_layer\": ", s->first, s->end);
    mts_text_add_json(text, cut_title(&p->now->plan.units, s->end - 1));
    mts_text_add(text,
                 ", \"compute_ms\": %.4f, \"in_ms\": %.4f, \"out_ms\": %.4f, \"bytes_in\": %llu, "
                 "\"bytes_out\": %llu",
                 s->compute_ms, s->in_ms, s->out_ms, (unsigned long long)s->bytes_in,
                 (unsigned long long)s->bytes_out);
    mts_text_add(text, ", \"out_in_place\": %s", mts_engine_moves(p->now->engines[part]) ? "true" : "false");
}

static void explain_json(const mts_pipeline *p, mts_text *text)
{
    const mts_placement_plan *plan = &p->now->plan;
    const uint32_t count = plan->partition.part_count;
    const bool stages = plan->partition.chain && plan->chain.stage_count == count;
    mts_text_add(text, "{\"placement\": \"%s\", \"devices\": %u, \"layers\": %u, \"stages_ms\": %.4f, ",
                 plan->partition.chain ? "stages" : "groups", p->device_count, plan->units.count,
                 plan->chain_ms);
    mts_text_add(text, "\"groups_ms\": %.4f, \"replans\": %u, \"parts\": [", plan->groups_ms, p->replans);
    for (uint32_t i = 0; i < count; i++) {
        const mts_part *part = &plan->partition.parts[i];
        mts_text_add(text, "%s{\"device\": ", i > 0 ? ", " : "");
        mts_text_add_json(text, p->ids[part->device]);
        if (stages) {
            stage_json(p, i, text);
        }
        mts_text_add(text, ", \"tasks\": [");
        for (uint32_t k = 0; k < part->archive->task_count; k++) {
            mts_text_add(text, "%s", k > 0 ? ", " : "");
            mts_text_add_json(text, part->archive->tasks[k].name);
        }
        mts_text_add(text, "], \"session\": ");
        mts_explain(p->now->engines[i], &p->now->reports[i], true, text);
        mts_text_add(text, "}");
    }
    mts_text_add(text, "]}");
}

void mts_pipeline_explain(const mts_pipeline *p, bool json, mts_text *text)
{
    if (json) {
        explain_json(p, text);
    } else {
        explain_text(p, text);
    }
}

#endif
