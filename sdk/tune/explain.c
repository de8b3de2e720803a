/*
 * explain.c: what an engine does, for people and for machines.
 */
#include "tune/explain_plan.h"
#include "tune/tune.h"

static const char *strategy_name(const mts_engine *engine)
{
    static const char *const names[MTS_STRATEGY_COUNT] = {[MTS_STRATEGY_SEQUENTIAL] = "sequential",
                                                          [MTS_STRATEGY_COMPACT] = "compact",
                                                          [MTS_STRATEGY_NETFUSE] = "netfuse",
                                                          [MTS_STRATEGY_DENSE] = "mts"};
    return names[engine->options.strategy];
}

static void add_group_names(const mts_engine *engine, uint32_t group, bool json, mts_text *text)
{
    bool first = true;
    for (uint32_t i = 0; i < engine->task_count; i++) {
        if (engine->tasks[i].group != group) {
            continue;
        }
        mts_text_add(text, "%s", first ? "" : json ? ", " : " ");
        if (json) {
            mts_text_add_json(text, engine->archive->tasks[engine->tasks[i].task].name);
        } else {
            mts_text_add(text, "%s", engine->archive->tasks[engine->tasks[i].task].name);
        }
        first = false;
    }
}

static void explain_json(const mts_engine *engine, mts_text *text)
{
    const mts_engine_stats *s = &engine->stats;
    mts_text_add(text, "{\"device\": ");
    mts_text_add_json(text, engine->device->info.name);
    mts_text_add(text, ", \"strategy\": \"%s\", \"precision\": \"%s\", \"groups\": [", strategy_name(engine),
                 mts_precision_name(s->precision));
    for (uint32_t g = 0; g < engine->group_count; g++) {
        mts_text_add(text, "%s[", g == 0 ? "" : ", ");
        add_group_names(engine, g, true, text);
        mts_text_add(text, "]");
    }
    mts_text_add(text, "], \"note\": ");
    mts_text_add_json(text, engine->note);
    mts_text_add(text, ", ");
    mts_explain_plan_json(engine, text);
    mts_text_add(
        text,
        ", \"bytes\": {\"weights\": %llu, \"activations\": %llu, \"workspace\": %llu, \"peak\": %llu}, "
        "\"mul_adds\": %llu, \"kernels\": %u, \"launches\": [",
        (unsigned long long)s->weight_bytes, (unsigned long long)s->activation_bytes,
        (unsigned long long)s->workspace_bytes, (unsigned long long)s->peak_bytes,
        (unsigned long long)s->mul_adds, s->kernels);
    for (uint32_t i = 0; i < engine->launch_count; i++) {
        const mts_encoded_launch *l = &engine->launches[i];
        mts_text_add(text, "%s{\"label\": ", i == 0 ? "" : ", ");
        mts_text_add_json(text, l->label);
        mts_text_add(text, ", \"kernel\": ");
        mts_text_add_json(text, l->kernel);
        mts_text_add(text, ", \"computations\": %u, \"tasks\": %u}", l->members, l->tasks);
    }
    mts_text_add(text, "]}");
}

static void explain_text(const mts_engine *engine, mts_text *text)
{
    const mts_engine_stats *s = &engine->stats;
    mts_text_add(text, "strategy %s in %s on %s, %u task(s) in %u group(s)\n", strategy_name(engine),
                 mts_precision_name(s->precision), engine->device->info.name, engine->task_count,
                 engine->group_count);
    for (uint32_t g = 0; g < engine->group_count; g++) {
        mts_text_add(text, "group %u: ", g);
        add_group_names(engine, g, false, text);
        mts_text_add(text, "\n");
    }
    if (engine->note[0] != '\0') {
        mts_text_add(text, "not stitched into one group: %s\n", engine->note);
    }
    mts_text_add(text, "bytes: weights %llu, activations %llu, workspace %llu, peak %llu\n",
                 (unsigned long long)s->weight_bytes, (unsigned long long)s->activation_bytes,
                 (unsigned long long)s->workspace_bytes, (unsigned long long)s->peak_bytes);
    mts_explain_plan_text(engine, text);
    mts_text_add(text, "%llu multiply-adds in %u launches of %u kernels\n", (unsigned long long)s->mul_adds,
                 s->launches, s->kernels);
    for (uint32_t i = 0; i < engine->launch_count; i++) {
        const mts_encoded_launch *l = &engine->launches[i];
        mts_text_add(text, "%4u  %-48s %3u computation(s) for %3u task(s)\n", i, l->label, l->members,
                     l->tasks);
    }
}

void mts_engine_explain(const mts_engine *engine, bool json, mts_text *text)
{
    if (json) {
        explain_json(engine, text);
    } else {
        explain_text(engine, text);
    }
}
