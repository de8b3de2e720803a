/*
 * explain_plan.c: what was measured and considered before a session was created, and why it was not selected.
 */
#include "tune/explain_plan.h"

static const char *verdict_name(uint32_t verdict)
{
    static const char *const names[MTS_VERDICT_COUNT] = {[MTS_VERDICT_CHOSEN] = "chosen",
                                                         [MTS_VERDICT_SLOWER] = "slower",
                                                         [MTS_VERDICT_OVER_BUDGET] = "over budget",
                                                         [MTS_VERDICT_PREDICTED] = "predicted to be slower",
                                                         [MTS_VERDICT_FAILED] = "failed"};
    return verdict < MTS_VERDICT_COUNT ? names[verdict] : "unknown";
}

/* ---- JSON ---- */

static void plan_json(const mts_considered_plan *f, mts_text *text)
{
    mts_text_add(text, "{\"what\": ");
    mts_text_add_json(text, f->what);
    if (f->of_class != MTS_CONSIDERED_SESSION) {
        mts_text_add(text, ", \"class\": %u", f->of_class);
    }
    mts_text_add(text, ", \"groups\": %u, \"slice_bytes\": %llu, \"peak\": %llu, \"verdict\": \"%s\"",
                 f->groups, (unsigned long long)f->slice_bytes, (unsigned long long)f->peak,
                 verdict_name(f->verdict));
    if (f->predicted_ms > 0.0) {
        mts_text_add(text, ", \"predicted_ms\": %.4f", f->predicted_ms);
    }
    if (f->measured_ms > 0.0) {
        mts_text_add(text, ", \"measured_ms\": %.4f, \"relative\": %.4f", f->measured_ms, f->relative);
    }
    mts_text_add(text, "}");
}

static void tuning_json(const mts_planning_report *f, mts_text *text)
{
    mts_text_add(
        text,
        "\"tuning\": {\"layers\": %u, \"changed\": %u, \"candidates\": %u, \"skipped\": %u, \"complete\": %s",
        f->layers_tuned, f->layers_changed, f->candidates, f->skipped, f->complete != 0 ? "true" : "false");
    if (f->tuned_ms > 0.0) {
        mts_text_add(text, ", \"default_ms\": %.4f, \"tuned_ms\": %.4f", f->default_ms, f->tuned_ms);
    }
    mts_text_add(text, "}");
}

void mts_explain_plan_json(const mts_planning_report *f, mts_text *text)
{
    mts_text_add(text, "\"planning_ms\": %.3f, \"cached\": %s, \"slice_bytes\": %llu, \"fallback\": %u, ",
                 f->planning_ms, f->cached ? "true" : "false", (unsigned long long)f->slice_bytes,
                 f->fallback);
    mts_text_add(text, "\"predicted_ms\": %.4f, \"model_error\": %.4f, ", f->predicted_ms, f->model_error);
    tuning_json(f, text);
    mts_text_add(text, ", \"samples\": [");
    for (uint32_t i = 0; i < f->sample_count; i++) {
        const mts_planning_sample *t = &f->samples[i];
        mts_text_add(text, "%s{\"class\": %u, \"tasks\": %u, \"latency_ms\": %.4f, \"arena\": %llu}",
                     i == 0 ? "" : ", ", t->of_class, t->tasks, t->latency, (unsigned long long)t->arena);
    }
    mts_text_add(text, "], \"considered\": [");
    for (uint32_t i = 0; i < f->plan_count; i++) {
        mts_text_add(text, "%s", i == 0 ? "" : ", ");
        plan_json(&f->plans[i], text);
    }
    mts_text_add(text, "]");
}

/* ---- text ---- */

static void plan_text(const mts_considered_plan *f, uint64_t budget, mts_text *text)
{
    mts_text_add(text, "  %-24s", f->what);
    if (f->predicted_ms > 0.0) {
        mts_text_add(text, " predicted %8.3f ms", f->predicted_ms);
    } else {
        mts_text_add(text, " %21s", "");
    }
    if (f->measured_ms > 0.0) {
        mts_text_add(text, "  measured %8.3f ms", f->measured_ms);
    } else {
        mts_text_add(text, " %21s", "");
    }
    mts_text_add(text, "  peak %11llu  ", (unsigned long long)f->peak);
    if (f->verdict == MTS_VERDICT_OVER_BUDGET) {
        mts_text_add(text, "over budget by %llu bytes\n", (unsigned long long)(f->peak - budget));
    } else if (f->verdict == MTS_VERDICT_SLOWER) {
        mts_text_add(text, "%s by %.1f %%\n", f->relative >= 1.0 ? "slower" : "faster, within the noise,",
                     f->relative >= 1.0 ? (f->relative - 1.0) * 100.0 : (1.0 - f->relative) * 100.0);
    } else {
        mts_text_add(text, "%s\n", verdict_name(f->verdict));
    }
}

/* Plans lie class by class, those of the whole session last. */
static void considered_text(const mts_planning_report *f, uint64_t budget, mts_text *text)
{
    for (uint32_t i = 0; i < f->plan_count; i++) {
        const uint32_t number = f->plans[i].of_class;
        const bool first = i == 0 || f->plans[i - 1].of_class != number;
        if (first && number == MTS_CONSIDERED_SESSION) {
            mts_text_add(text, "considered for all groups:\n");
        } else if (first) {
            mts_text_add(text, "considered for the tasks of class %u:\n", number);
        }
        plan_text(&f->plans[i], budget, text);
    }
}

static void tuning_text(const mts_planning_report *f, mts_text *text)
{
    if (f->layers_tuned == 0 && f->candidates == 0 && f->skipped == 0) {
        return;
    }
    mts_text_add(text, "tuning: %u candidate(s) run, %u skipped%s; %u of %u kinds of layers changed",
                 f->candidates, f->skipped, f->complete != 0 ? "" : ", stopped by the time limit",
                 f->layers_changed, f->layers_tuned);
    if (f->tuned_ms > 0.0) {
        mts_text_add(text, "; together %.3f ms, default %.3f ms", f->tuned_ms, f->default_ms);
    }
    mts_text_add(text, "\n");
}

void mts_explain_plan_text(const mts_planning_report *f, uint64_t memory_budget, mts_text *text)
{
    mts_text_add(text, "planned in %.1f ms%s\n", f->planning_ms, f->cached ? ", from the cache" : "");
    if (f->fallback != 0) {
        mts_text_add(text, "kernels as planned cannot be used on this device: %s instead\n",
                     f->fallback == 1 ? "the defaults" : "the smallest tiles");
    }
    tuning_text(f, text);
    for (uint32_t i = 0; i < f->sample_count; i++) {
        const mts_planning_sample *t = &f->samples[i];
        mts_text_add(text, "measured: class %u, %3u task(s) in one group %.3f ms\n", t->of_class, t->tasks,
                     t->latency);
    }
    considered_text(f, memory_budget, text);
    if (f->predicted_ms > 0.0) {
        mts_text_add(text, "predicted: %.3f ms", f->predicted_ms);
        if (f->model_error > 0.0) {
            mts_text_add(text, "; the model is within %.1f %% of what was measured", f->model_error * 100.0);
        }
        mts_text_add(text, "\n");
    }
}
