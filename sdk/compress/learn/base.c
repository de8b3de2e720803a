/*
 * base.c: the task whose network a new one grows from: the named one, or the one whose
 * features a quick training finds the most telling.
 */
#include <stdio.h>

#include "compiler/models/options.h"
#include "compress/learn/heads.h"
#include "compress/learn/learn.h"

#define TRAINED_MOST 480u /* rows of a quick training */
#define HELD_MOST 240u
#define EPOCHS 20u
#define DATA_MEMORY ((uint64_t)1 << 28)

const mts_task *mts_learn_base(const mts_learn *learn)
{
    return &learn->models.tasks[learn->base];
}

/* `most` of rows[count], evenly. */
static uint32_t thin(const mts_rows *from, uint32_t first, uint32_t count, uint32_t most, mts_rows *to,
                     uint32_t at)
{
    const uint32_t kept = count < most ? count : most;
    for (uint32_t i = 0; i < kept; i++) {
        const uint32_t row = first + (uint32_t)((uint64_t)i * count / kept);
        to->images[at + i] = from->images[row];
        to->labels[at + i] = from->labels[row];
        to->changes[at + i] = (mts_data_change){0};
    }
    return at + kept;
}

static mts_status thin_rows(mts_learn *probe, mts_error *error)
{
    mts_rows all = {0};
    const mts_status status = mts_rows_make(probe->wanted, false, &probe->arena, &all, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const size_t most = TRAINED_MOST + HELD_MOST;
    mts_rows *rows = &probe->rows;
    *rows = (mts_rows){.images = mts_arena_zero(&probe->arena, most, sizeof *rows->images),
                       .changes = mts_arena_zero(&probe->arena, most, sizeof *rows->changes),
                       .labels = mts_arena_zero(&probe->arena, most, sizeof *rows->labels)};
    if (!rows->images || !rows->changes || !rows->labels) {
        return mts_fail_memory(error);
    }
    rows->trained = thin(&all, 0, all.trained, TRAINED_MOST, rows, 0);
    rows->count = thin(&all, all.trained, all.count - all.trained, HELD_MOST, rows, rows->trained);
    return MTS_STATUS_OK;
}

static mts_status probe_features(mts_learn *probe, mts_error *error)
{
    const mts_task *task = mts_learn_base(probe);
    mts_net *net = NULL;
    probe->features =
        mts_alloc_zero(probe->allocator, probe->rows.count, probe->head.features * sizeof(float));
    mts_status status =
        probe->features ? mts_net_create(task->graph, probe->allocator, &net, error) : mts_fail_memory(error);
    MTS_TRY(status,
            mts_features_run(probe, net, probe->head.node, &probe->head.input, 1, probe->features, error));
    mts_net_destroy(&net);
    return status;
}

static mts_status probe_train(mts_learn *probe, mts_standing *out, mts_error *error)
{
    const mts_rows *rows = &probe->rows;
    const mtsz_train_candidate candidate = {.rate = 0.05, .seed = probe->wanted->seed};
    const mts_heads_data data = {.features = probe->features,
                                 .labels = rows->labels,
                                 .trained = rows->trained,
                                 .rows = rows->count,
                                 .count = probe->head.features,
                                 .classes = probe->wanted->class_count};
    mts_course course = {0};
    mts_courses courses = {.allocator = probe->allocator,
                           .options = probe->options,
                           .what = "looking for a base",
                           .candidates = 1,
                           .rows = rows->trained,
                           .held_out = rows->count - rows->trained,
                           .batch = 32,
                           .epochs = EPOCHS,
                           .seed = probe->wanted->seed,
                           .courses = &course};
    mts_heads *heads = mts_heads_create(&data, &candidate, 1, probe->allocator);
    uint32_t best = 0;
    if (!heads) {
        return mts_fail_memory(error);
    }
    const mts_learner learner = mts_heads_learner(heads);
    mts_status status = mts_courses_run(&courses, &learner, error);
    MTS_TRY(status, mts_courses_best(&courses, &best, error));
    mts_heads_destroy(&heads);
    *out = course.best;
    return status;
}

/* How well a task's features serve. */
static mts_status probe_task(const mts_learn *learn, const mtsz_data *data, uint32_t task, mts_standing *out,
                             mts_error *error)
{
    mts_learn probe = *learn;
    probe.base = task;
    probe.features = NULL;
    probe.data = NULL;
    mts_arena_init(&probe.arena, learn->allocator);
    mts_status status = mts_head_find(mts_learn_base(&probe), &probe.head, error);
    MTS_TRY(status, mts_data_create(data, mts_learn_base(&probe), 1, DATA_MEMORY, probe.allocator,
                                    &probe.data, error));
    MTS_TRY(status, thin_rows(&probe, error));
    MTS_TRY(status, probe_features(&probe, error));
    MTS_TRY(status, probe_train(&probe, out, error));
    mts_alloc_free(probe.allocator, probe.features);
    mts_data_destroy(&probe.data);
    mts_arena_release(&probe.arena);
    return status;
}

/* Failures of the machine or the caller end the search; tasks that cannot be a base are
   passed by. */
static bool passes_by(mts_status status)
{
    return status == MTS_STATUS_UNSUPPORTED || status == MTS_STATUS_INVALID_ARGUMENT ||
           status == MTS_STATUS_LIMIT;
}

static mts_status choose(mts_learn *learn, const mtsz_data *data, mts_error *error)
{
    mts_standing best = {0};
    bool found = false;
    for (uint32_t t = 0; t < learn->models.count; t++) {
        mts_standing now = {0};
        mts_error reason = {0};
        const mts_status status = probe_task(learn, data, t, &now, &reason);
        if (status != MTS_STATUS_OK && !passes_by(status)) {
            *error = reason;
            return status;
        }
        if (status == MTS_STATUS_OK &&
            (!found || now.right > best.right || (now.right == best.right && now.loss < best.loss))) {
            learn->base = t;
            best = now;
            found = true;
        } else if (status != MTS_STATUS_OK && !found) {
            *error = reason;
        }
    }
    return found ? MTS_STATUS_OK
                 : mts_fail_prefix(error, MTS_STATUS_UNSUPPORTED, "no task of the bundle can be the base");
}

static void tell_base(const mts_learn *learn)
{
    char text[640];
    if (learn->options->log) {
        (void)snprintf(text, sizeof text, "train: '%.255s' grows from '%.255s'", learn->wanted->task,
                       mts_learn_base(learn)->name);
        learn->options->log(learn->options->context, MTS_LOG_INFO, text);
    }
}

mts_status mts_learn_base_find(mts_learn *learn, const mtsz_data *data, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    if (learn->wanted->base) {
        status = mts_models_find(&learn->models, learn->wanted->base, &learn->base, error);
    } else if (learn->models.count > 1) {
        status = choose(learn, data, error);
    }
    MTS_TRY(status, mts_head_find(mts_learn_base(learn), &learn->head, error));
    if (status == MTS_STATUS_OK && !learn->wanted->base) {
        tell_base(learn);
    }
    return status;
}
