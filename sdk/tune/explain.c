/*
 * explain.c: what an engine runs: groups, launches with their members, memory. How its plan was found is in
 * explain_plan.c.
 */
#include "tune/explain.h"

#include "tune/explain_plan.h"
#include "tune/tune.h"

static const char *strategy_name(mts_strategy strategy)
{
    static const char *const names[MTS_STRATEGY_COUNT] = {[MTS_STRATEGY_SEQUENTIAL] = "sequential",
                                                          [MTS_STRATEGY_COMPACT] = "compact",
                                                          [MTS_STRATEGY_NETFUSE] = "netfuse",
                                                          [MTS_STRATEGY_DENSE] = "dense"};
    return names[strategy];
}

/* What is explained. */
typedef struct explained {
    const mts_engine *engine;
    const mts_planning_report *report;
    mts_engine_view view;
    mts_engine_stats stats;
} explained;

static void add_group_names(const explained *e, uint32_t group, bool json, mts_text *text)
{
    bool first = true;
    for (uint32_t i = 0; i < e->view.task_count; i++) {
        uint32_t of_task = 0;
        const char *name = e->view.archive->tasks[mts_engine_task_at(e->engine, i, &of_task)].name;
        if (of_task != group) {
            continue;
        }
        mts_text_add(text, "%s", first ? "" : json ? ", " : " ");
        if (json) {
            mts_text_add_json(text, name);
        } else {
            mts_text_add(text, "%s", name);
        }
        first = false;
    }
}

static void explain_json(const explained *e, mts_text *text)
{
    const mts_engine_stats *s = &e->stats;
    mts_text_add(text, "{\"device\": ");
    mts_text_add_json(text, e->view.device->info.name);
    mts_text_add(text, ", \"strategy\": \"%s\", \"precision\": \"%s\", \"groups\": [",
                 strategy_name(e->view.options->strategy), mts_precision_name(s->precision));
    for (uint32_t g = 0; g < e->view.group_count; g++) {
        mts_text_add(text, "%s[", g == 0 ? "" : ", ");
        add_group_names(e, g, true, text);
        mts_text_add(text, "]");
    }
    mts_text_add(text, "], \"note\": ");
    mts_text_add_json(text, e->view.note);
    mts_text_add(text, ", ");
    mts_explain_plan_json(e->report, text);
    mts_text_add(
        text,
        ", \"bytes\": {\"weights\": %llu, \"activations\": %llu, \"workspace\": %llu, \"peak\": %llu}, "
        "\"mul_adds\": %llu, \"kernels\": %u, \"launches\": [",
        (unsigned long long)s->weight_bytes, (unsigned long long)s->activation_bytes,
        (unsigned long long)s->workspace_bytes, (unsigned long long)s->peak_bytes,
        (unsigned long long)s->mul_adds, s->kernels);
    for (uint32_t i = 0; i < e->view.launch_count; i++) {
        const mts_encoded_launch *l = &e->view.launches[i];
        mts_text_add(text, "%s{\"label\": ", i == 0 ? "" : ", ");
        mts_text_add_json(text, l->label);
        mts_text_add(text, ", \"kernel\": ");
        mts_text_add_json(text, l->kernel);
        mts_text_add(text, ", \"computations\": %u, \"tasks\": %u}", l->members, l->tasks);
    }
    mts_text_add(text, "]}");
}

static void explain_text(const explained *e, mts_text *text)
{
    const mts_engine_stats *s = &e->stats;
    mts_text_add(text, "strategy %s in %s on %s, %u task(s) in %u group(s)\n",
                 strategy_name(e->view.options->strategy), mts_precision_name(s->precision),
                 e->view.device->info.name, e->view.task_count, e->view.group_count);
    for (uint32_t g = 0; g < e->view.group_count; g++) {
        mts_text_add(text, "group %u: ", g);
        add_group_names(e, g, false, text);
        mts_text_add(text, "\n");
    }
    if (e->view.note[0] != '\0') {
        mts_text_add(text, "not stitched into one group: %s\n", e->view.note);
    }
    mts_text_add(text, "bytes: weights %llu, activations %llu, workspace %llu, peak %llu\n",
                 (unsigned long long)s->weight_bytes, (unsigned long long)s->activation_bytes,
                 (unsigned long long)s->workspace_bytes, (unsigned long long)s->peak_bytes);
    mts_explain_plan_text(e->report, e->view.options->memory_budget.bytes, text);
    mts_text_add(text, "%llu multiply-adds in %u launches of %u kernels\n", (unsigned long long)s->mul_adds,
                 s->launches, s->kernels);
    for (uint32_t i = 0; i < e->view.launch_count; i++) {
        const mts_encoded_launch *l = &e->view.launches[i];
        mts_text_add(text, "%4u  %-48s %3u computation(s) for %3u task(s)\n", i, l->label, l->members,
                     l->tasks);
    }
}

void mts_explain(const mts_engine *engine, const mts_planning_report *report, bool json, mts_text *text)
{
    explained e = {.engine = engine, .report = report};
    mts_engine_view_get(engine, &e.view);
    mts_engine_stats_get(engine, &e.stats);
    if (json) {
        explain_json(&e, text);
    } else {
        explain_text(&e, text);
    }
}
