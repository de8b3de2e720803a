/*
 * explain.c: what an engine runs (groups, launches with their members, memory), what was
 * measured and considered before it was created, and why the other plans were not
 * selected.
 */
#include "tune/explain.h"

#include "engine/persistent.h"
#include "lower/layouts.h"

/* ---- how the plan was found ---- */

static const char *verdict_name(uint32_t verdict)
{
#define VERDICT_TEXT(NAME, text) text,
    static const char *const names[MTS_VERDICT_COUNT] = {MTS_VERDICTS(VERDICT_TEXT)};
#undef VERDICT_TEXT
    return verdict < MTS_VERDICT_COUNT ? names[verdict] : "unknown";
}

static void plan_json(const mts_considered_plan *plan, mts_text *text)
{
    mts_text_add(text, "{\"what\": ");
    mts_text_add_json(text, plan->what);
    if (plan->of_class != MTS_CONSIDERED_SESSION) {
        mts_text_add(text, ", \"class\": %u", plan->of_class);
    }
    mts_text_add(text, ", \"groups\": %u, \"slice_bytes\": %llu, \"peak\": %llu, \"verdict\": \"%s\"",
                 plan->groups, (unsigned long long)plan->slice_bytes, (unsigned long long)plan->peak,
                 verdict_name(plan->verdict));
    if (plan->predicted_ms > 0.0) {
        mts_text_add(text, ", \"predicted_ms\": %.4f", plan->predicted_ms);
    }
    if (plan->measured_ms > 0.0) {
        mts_text_add(text, ", \"measured_ms\": %.4f, \"relative\": %.4f", plan->measured_ms, plan->relative);
    }
    mts_text_add(text, "}");
}

static void tuning_json(const mts_planning_report *report, mts_text *text)
{
    mts_text_add(
        text,
        "\"tuning\": {\"layers\": %u, \"changed\": %u, \"candidates\": %u, \"skipped\": %u, \"complete\": %s",
        report->layers_tuned, report->layers_changed, report->candidates, report->skipped,
        report->complete != 0 ? "true" : "false");
    if (report->tuned_ms > 0.0) {
        mts_text_add(text, ", \"default_ms\": %.4f, \"tuned_ms\": %.4f", report->default_ms,
                     report->tuned_ms);
    }
    mts_text_add(text, "}");
}

/* Key and value pairs, without a comma at either end. */
static void planning_json(const mts_planning_report *report, mts_text *text)
{
    mts_text_add(text, "\"planning_ms\": %.3f, \"cached\": %s, \"slice_bytes\": %llu, \"fallback\": %u, ",
                 report->planning_ms, report->cached ? "true" : "false",
                 (unsigned long long)report->slice_bytes, report->fallback);
    mts_text_add(text, "\"predicted_ms\": %.4f, \"model_error\": %.4f, ", report->predicted_ms,
                 report->model_error);
    tuning_json(report, text);
    mts_text_add(text, ", \"samples\": [");
    for (uint32_t i = 0; i < report->sample_count; i++) {
        const mts_planning_sample *sample = &report->samples[i];
        mts_text_add(text, "%s{\"class\": %u, \"tasks\": %u, \"latency_ms\": %.4f, \"arena\": %llu}",
                     i == 0 ? "" : ", ", sample->of_class, sample->tasks, sample->latency,
                     (unsigned long long)sample->arena);
    }
    mts_text_add(text, "], \"considered\": [");
    for (uint32_t i = 0; i < report->plan_count; i++) {
        mts_text_add(text, "%s", i == 0 ? "" : ", ");
        plan_json(&report->plans[i], text);
    }
    mts_text_add(text, "]");
}

static void plan_text(const mts_considered_plan *plan, uint64_t budget, mts_text *text)
{
    mts_text_add(text, "  %-24s", plan->what);
    if (plan->predicted_ms > 0.0) {
        mts_text_add(text, " predicted %8.3f ms", plan->predicted_ms);
    } else {
        mts_text_add(text, " %21s", "");
    }
    if (plan->measured_ms > 0.0) {
        mts_text_add(text, "  measured %8.3f ms", plan->measured_ms);
    } else {
        mts_text_add(text, " %21s", "");
    }
    mts_text_add(text, "  peak %11llu  ", (unsigned long long)plan->peak);
    if (plan->verdict == MTS_VERDICT_OVER_BUDGET) {
        mts_text_add(text, "over budget by %llu bytes\n", (unsigned long long)(plan->peak - budget));
    } else if (plan->verdict == MTS_VERDICT_SLOWER) {
        mts_text_add(text, "%s by %.1f %%\n", plan->relative >= 1.0 ? "slower" : "faster, within the noise,",
                     plan->relative >= 1.0 ? (plan->relative - 1.0) * 100.0 : (1.0 - plan->relative) * 100.0);
    } else {
        mts_text_add(text, "%s\n", verdict_name(plan->verdict));
    }
}

/* Plans lie class by class, those of the whole session last. */
static void considered_text(const mts_planning_report *report, uint64_t budget, mts_text *text)
{
    for (uint32_t i = 0; i < report->plan_count; i++) {
        const uint32_t number = report->plans[i].of_class;
        const bool first = i == 0 || report->plans[i - 1].of_class != number;
        if (first && number == MTS_CONSIDERED_SESSION) {
            mts_text_add(text, "considered for all groups:\n");
        } else if (first) {
            mts_text_add(text, "considered for the tasks of class %u:\n", number);
        }
        plan_text(&report->plans[i], budget, text);
    }
}

static void tuning_text(const mts_planning_report *report, mts_text *text)
{
    if (report->layers_tuned == 0 && report->candidates == 0 && report->skipped == 0) {
        return;
    }
    mts_text_add(text, "tuning: %u candidate(s) run, %u skipped%s; %u of %u kinds of layers changed",
                 report->candidates, report->skipped,
                 report->complete != 0 ? "" : ", stopped by the time limit", report->layers_changed,
                 report->layers_tuned);
    if (report->tuned_ms > 0.0) {
        mts_text_add(text, "; together %.3f ms, default %.3f ms", report->tuned_ms, report->default_ms);
    }
    mts_text_add(text, "\n");
}

/* Lines of text; few where nothing was measured. */
static void planning_text(const mts_planning_report *report, uint64_t memory_budget, mts_text *text)
{
    mts_text_add(text, "planned in %.1f ms%s\n", report->planning_ms,
                 report->cached ? ", from the cache" : "");
    if (report->fallback != 0) {
        mts_text_add(text, "kernels as planned cannot be used on this device: %s instead\n",
                     report->fallback == 1 ? "the defaults" : "the smallest tiles");
    }
    tuning_text(report, text);
    for (uint32_t i = 0; i < report->sample_count; i++) {
        const mts_planning_sample *sample = &report->samples[i];
        mts_text_add(text, "measured: class %u, %3u task(s) in one group %.3f ms\n", sample->of_class,
                     sample->tasks, sample->latency);
    }
    considered_text(report, memory_budget, text);
    if (report->predicted_ms > 0.0) {
        mts_text_add(text, "predicted: %.3f ms", report->predicted_ms);
        if (report->model_error > 0.0) {
            mts_text_add(text, "; the model is within %.1f %% of what was measured",
                         report->model_error * 100.0);
        }
        mts_text_add(text, "\n");
    }
}

/* ---- what runs ---- */

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
    mts_session_stats stats;
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

static uint32_t fused_layers(const mts_encoded_launch *launch)
{
    return launch->fused.project == MTS_NONE ? 1 : launch->fused.expand == MTS_NONE ? 2 : 3;
}

/* Whether a launch is part of a persistent one. *run: its number, or that of the next one;
   launches are asked for in order. */
static bool is_in_run(const explained *e, uint32_t launch, uint32_t *run)
{
    while (MTS_HAS_PERSISTENT && *run < e->view.run_count &&
           launch >= e->view.runs[*run].first + e->view.runs[*run].count) {
        ++*run;
    }
    return MTS_HAS_PERSISTENT && *run < e->view.run_count && launch >= e->view.runs[*run].first;
}

#if MTS_EXPLAINS_PLANS
/* Of one launch: the layouts of a set, or what joins and surrounds them in JSON. */
static void add_layouts(uint32_t set, const char *quote, const char *between, mts_text *text)
{
    const char *before = "";
    for (uint32_t i = 0; i < MTS_LAYOUT_COUNT; i++) {
        if (set >> i & 1u) {
            mts_text_add(text, "%s%s%s%s", before, quote, mts_layout_name((mts_layout)i), quote);
            before = between;
        }
    }
}

static void layouts_json(const mts_encoded_launch *l, mts_text *text)
{
    mts_text_add(text, ", \"reads\": [");
    add_layouts(l->reads, "\"", ", ", text);
    mts_text_add(text, "], \"writes\": [");
    add_layouts(l->writes, "\"", ", ", text);
    mts_text_add(text, "]");
}

/* A launch that reads or writes the caller's memory alone has no layout of its own there. */
static void layouts_text(const mts_encoded_launch *l, mts_text *text)
{
    mts_text_add(text, "  ");
    add_layouts(l->reads, "", "+", text);
    mts_text_add(text, "%s -> ", l->reads ? "" : "caller");
    add_layouts(l->writes, "", "+", text);
    mts_text_add(text, "%s", l->writes ? "" : "caller");
}
#endif

static void explain_json(const explained *e, mts_text *text)
{
    const mts_session_stats *s = &e->stats;
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
    planning_json(e->report, text);
    mts_text_add(
        text,
        ", \"bytes\": {\"weights\": %llu, \"activations\": %llu, \"workspace\": %llu, \"peak\": %llu}, "
        "\"mul_adds\": %llu, \"kernels\": %u, \"launches\": [",
        (unsigned long long)s->weight_bytes, (unsigned long long)s->activation_bytes,
        (unsigned long long)s->workspace_bytes, (unsigned long long)s->peak_bytes,
        (unsigned long long)s->mul_adds, s->kernels);
    for (uint32_t i = 0, run = 0; i < e->view.launch_count; i++) {
        const mts_encoded_launch *l = &e->view.launches[i];
        const bool persistent = is_in_run(e, i, &run);
        mts_text_add(text, "%s{\"label\": ", i == 0 ? "" : ", ");
        mts_text_add_json(text, l->label);
        mts_text_add(text, ", \"kernel\": ");
        mts_text_add_json(text, l->kernel);
        mts_text_add(text, ", \"computations\": %u, \"tasks\": %u, \"bytes\": %llu", l->members, l->tasks,
                     (unsigned long long)l->bytes);
#if MTS_EXPLAINS_PLANS
        layouts_json(l, text);
        mts_text_add(text, ", \"moved_bytes\": %llu", (unsigned long long)l->moved_bytes);
#endif
        if (persistent) {
            mts_text_add(text, ", \"persistent\": %u", run);
        }
        if (l->moves) {
            mts_text_add(text, ", \"moves\": ");
            mts_text_add_json(text, l->moves);
        }
        if (MTS_FUSES && l->fused.project != MTS_NONE) {
            mts_text_add(text, ", \"fused\": %u", fused_layers(l));
        }
        if (MTS_FUSES && l->apart) {
            mts_text_add(text, ", \"apart\": ");
            mts_text_add_json(text, l->apart);
        }
        mts_text_add(text, "}");
    }
    mts_text_add(text, "]}");
}

/* What the planner could not do in place. Parts of launches that compute have no line. */
static void moves_text(const explained *e, mts_text *text)
{
    uint32_t count = 0;
    uint64_t moved = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < e->view.launch_count; i++) {
        count += e->view.launches[i].moves ? 1 : 0;
        moved += e->view.launches[i].moved_bytes;
        bytes += e->view.launches[i].bytes;
    }
    mts_text_add(text,
                 "%u launches only move data, resize or pool: %llu bytes, %.1f %% of those of all launches\n",
                 count, (unsigned long long)moved, bytes > 0 ? 100.0 * (double)moved / (double)bytes : 0.0);
    for (uint32_t i = 0; i < e->view.launch_count; i++) {
        const mts_encoded_launch *l = &e->view.launches[i];
        if (l->moves) {
            mts_text_add(text, "%4u  %-48s %11llu bytes: %s\n", i, l->label, (unsigned long long)l->bytes,
                         l->moves);
        }
    }
}

/* Blocks of a depthwise convolution and the 1x1 ones beside it: what is one launch, and
   why others are not. */
static void fused_text(const explained *e, mts_text *text)
{
    uint32_t fused = 0;
    uint32_t layers = 0;
    for (uint32_t i = 0; i < e->view.launch_count; i++) {
        const mts_encoded_launch *l = &e->view.launches[i];
        fused += l->fused.project != MTS_NONE ? 1 : 0;
        layers += l->fused.project != MTS_NONE ? fused_layers(l) : 0;
    }
    mts_text_add(text, "%u launches are fused blocks, of %u layers\n", fused, layers);
    for (uint32_t i = 0; i < e->view.launch_count; i++) {
        const mts_encoded_launch *l = &e->view.launches[i];
        if (l->apart) {
            mts_text_add(text, "%4u  %-48s apart: %s\n", i, l->label, l->apart);
        }
    }
}

/* With the launches that are one persistent launch under its line. */
static void launches_text(const explained *e, mts_text *text)
{
    uint32_t run = 0;
    if (MTS_HAS_PERSISTENT && e->view.run_count > 0) {
        mts_text_add(text, "a run of all tasks is %u launches, of which %u are persistent\n",
                     e->stats.persistent_launches, e->view.run_count);
    }
    for (uint32_t i = 0; i < e->view.launch_count; i++) {
        const mts_encoded_launch *l = &e->view.launches[i];
        const bool persistent = is_in_run(e, i, &run);
        if (MTS_HAS_PERSISTENT && persistent && e->view.runs[run].first == i) {
            mts_text_add(text, "      persistent launch %u, of %u launches:\n", run, e->view.runs[run].count);
        }
        mts_text_add(text, "%4u%s  %-48s %3u computation(s) for %3u task(s)", i, persistent ? " |" : "",
                     l->label, l->members, l->tasks);
#if MTS_EXPLAINS_PLANS
        layouts_text(l, text);
#endif
        mts_text_add(text, "\n");
    }
}

static void explain_text(const explained *e, mts_text *text)
{
    const mts_session_stats *s = &e->stats;
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
    planning_text(e->report, e->view.options->memory_budget.bytes, text);
    mts_text_add(text, "%llu multiply-adds in %u launches of %u kernels\n", (unsigned long long)s->mul_adds,
                 s->launches, s->kernels);
    launches_text(e, text);
    moves_text(e, text);
    if (MTS_FUSES) {
        fused_text(e, text);
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
