/*
 * results.c: see results.h.
 */
#include "results.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SCORE_LEAST 0.7f
#define OVERLAP_MOST 0.3f

static void add_line(results *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_line(results *out, const char *format, ...)
{
    const size_t used = strlen(out->text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(out->text + used, sizeof out->text - used, format, arguments);
    va_end(arguments);
}

static float least(float a, float b)
{
    return a < b ? a : b;
}

static float most(float a, float b)
{
    return a > b ? a : b;
}

/* What two boxes have in common, as a part of what they cover together. */
static float overlap(const results_box *a, const results_box *b)
{
    const float width = least(a->right, b->right) - most(a->left, b->left);
    const float height = least(a->bottom, b->bottom) - most(a->top, b->top);
    const float common = width > 0.0f && height > 0.0f ? width * height : 0.0f;
    const float both =
        (a->right - a->left) * (a->bottom - a->top) + (b->right - b->left) * (b->bottom - b->top);
    return both - common > 0.0f ? common / (both - common) : 0.0f;
}

/* Keeps `box` unless a better one covers it; the ones that it covers go, and the worst
 * one where all slots are taken. */
static void add_box(results *out, const results_box *box)
{
    uint32_t kept = 0, worst = 0;
    for (uint32_t i = 0; i < out->box_count; i++) {
        if (overlap(&out->boxes[i], box) > OVERLAP_MOST && out->boxes[i].score >= box->score) {
            return;
        }
    }
    for (uint32_t i = 0; i < out->box_count; i++) {
        if (overlap(&out->boxes[i], box) <= OVERLAP_MOST) {
            out->boxes[kept++] = out->boxes[i];
        }
    }
    out->box_count = kept;
    if (kept < RESULTS_BOXES) {
        out->boxes[out->box_count++] = *box;
        return;
    }
    for (uint32_t i = 1; i < kept; i++) {
        worst = out->boxes[i].score < out->boxes[worst].score ? i : worst;
    }
    if (out->boxes[worst].score < box->score) {
        out->boxes[worst] = *box;
    }
}

static bool is_detector(const mts_tensor *scores, const mts_tensor *boxes)
{
    return scores->rank == 3 && boxes->rank == 3 && scores->dims[0] == 1 && boxes->dims[0] == 1 &&
           scores->dims[1] == boxes->dims[1] && scores->dims[2] >= 2 && boxes->dims[2] == 4;
}

static void read_boxes(const mts_task_desc *task, const mts_tensor *scores, const mts_tensor *boxes,
                       results *out)
{
    const float *score = scores->data, *corner = boxes->data;
    const uint32_t before = out->box_count;
    for (int64_t i = 0; i < scores->dims[1]; i++, score += scores->dims[2], corner += 4) {
        const results_box box = {corner[0], corner[1], corner[2], corner[3], score[1]};
        if (box.score >= SCORE_LEAST && box.right > box.left && box.bottom > box.top) {
            add_box(out, &box);
        }
    }
    add_line(out, "%s: %u\n", task->name, out->box_count > before ? out->box_count - before : 0);
}

/* The share of the largest value, if the values are scores: they may be probabilities
   already. */
static double share_of(const float *values, size_t count, size_t best)
{
    double sum = 0.0, powers = 0.0;
    bool shares = true;
    for (size_t i = 0; i < count; i++) {
        sum += (double)values[i];
        powers += exp((double)values[i] - (double)values[best]);
        shares = shares && values[i] >= 0.0f && values[i] <= 1.0f;
    }
    return shares && fabs(sum - 1.0) < 1e-3 ? (double)values[best] : 1.0 / powers;
}

static void read_class(const mts_task_desc *task, const mts_tensor *output, results *out)
{
    const float *values = output->data;
    const size_t images = output->rank > 1 && output->dims[0] > 0 ? (size_t)output->dims[0] : 1;
    const size_t count = output->bytes / sizeof *values / images; /* of a batch, the first one */
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        best = values[i] > values[best] ? i : best;
    }
    if (count == 0) {
        add_line(out, "%s\n", task->name);
    } else if (best < task->label_count) {
        add_line(out, "%s: %s %.0f %%\n", task->name, task->labels[best],
                 100.0 * share_of(values, count, best));
    } else {
        add_line(out, "%s: %zu (%.3f)\n", task->name, best, (double)values[best]);
    }
}

void results_add(results *out, const mts_task_desc *task, const mts_tensor *outputs, uint32_t count)
{
    if (count == 0 || outputs[0].type != MTS_TYPE_FLOAT32) {
        add_line(out, "%s: -\n", task->name);
    } else if (count == 2 && outputs[1].type == MTS_TYPE_FLOAT32 && is_detector(&outputs[0], &outputs[1])) {
        read_boxes(task, &outputs[0], &outputs[1], out);
    } else {
        read_class(task, &outputs[0], out);
    }
}

void results_read(mts_session *session, const mts_bundle *bundle, results *out)
{
    *out = (results){.text = ""};
    for (uint32_t i = 0; i < mts_bundle_task_count(bundle); i++) {
        mts_task_desc task = {.size = sizeof task};
        mts_tensor outputs[2];
        uint32_t count = 0;
        if (mts_bundle_task(bundle, i, &task) != MTS_STATUS_OK) {
            continue;
        }
        while (count < 2 && count < task.output_count &&
               mts_session_output(session, task.name, count, &outputs[count]) == MTS_STATUS_OK) {
            count++;
        }
        results_add(out, &task, outputs, count);
    }
}
