/*
 * command_eval.c: mts eval: accuracy per task on labelled pictures, and how it differs in
 * a second bundle.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/finite.h"
#include "kit/answers.h"
#include "combine.h"
#include "command.h"
#include "dataset.h"
#include "kit/json.h"
#include "kit/open.h"

#define SIDE CLI_DATASET_SIDE

typedef struct score {
    char *name;    /* on the heap: outlives the bundle */
    double before; /* percent; negative: the bundle has no such task */
    double after;
} score;

typedef struct scores {
    score *items;
    uint32_t count;
    size_t images;
    mts_precision precision; /* that the sessions use */
} scores;

/* What is measured of a bundle: tasks, and the common answers of subnets. */
typedef struct subjects {
    uint32_t count;
    mts_task_desc *tasks; /* [count], as are the others */
    mts_tensor *outputs;  /* of the image in hand */
    uint32_t *right;
    uint32_t *broken; /* images with outputs that are infinite or NaN */
    char **layers;    /* the layer that first was so, of the first such image; NULL: not known */
    cli_sets sets;
    mts_tensor *set_outputs; /* [count], of the set in hand */
    uint32_t *set_right;     /* [sets.count] */
} subjects;

static void scores_release(scores *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        free(all->items[i].name);
    }
    free(all->items);
    *all = (scores){0};
}

/* The score of a task, made if there is none; NULL: no memory. */
static score *score_of(scores *all, const char *name)
{
    for (uint32_t i = 0; i < all->count; i++) {
        if (strcmp(all->items[i].name, name) == 0) {
            return &all->items[i];
        }
    }
    score *grown = realloc(all->items, (all->count + (size_t)1) * sizeof *grown);
    all->items = grown ? grown : all->items;
    char *copy = grown ? malloc(strlen(name) + 1) : NULL;
    if (!copy) {
        return NULL;
    }
    memcpy(copy, name, strlen(name) + 1);
    all->items[all->count] = (score){.name = copy, .before = -1, .after = -1};
    return &all->items[all->count++];
}

static bool subjects_make(subjects *all, uint32_t most)
{
    const size_t room = (size_t)most + 1;
    *all = (subjects){0};
    all->tasks = calloc(room, sizeof *all->tasks);
    all->outputs = calloc(room, sizeof *all->outputs);
    all->right = calloc(room, sizeof *all->right);
    all->broken = calloc(room, sizeof *all->broken);
    all->layers = calloc(room, sizeof *all->layers);
    all->set_outputs = calloc(room, sizeof *all->set_outputs);
    all->set_right = calloc(room, sizeof *all->set_right);
    return all->tasks && all->outputs && all->right && all->broken && all->layers && all->set_outputs &&
           all->set_right;
}

static void subjects_release(subjects *all)
{
    free(all->tasks);
    free(all->outputs);
    free(all->right);
    free(all->broken);
    for (uint32_t i = 0; all->layers && i < all->count; i++) {
        free(all->layers[i]);
    }
    free(all->layers);
    free(all->set_outputs);
    free(all->set_right);
    cli_sets_release(&all->sets);
}

static int subjects_begin(cli_open *app, subjects *all)
{
    for (uint32_t i = 0; i < cli_task_count(app); i++) {
        const mts_task_desc task = cli_task(app, i);
        if (task.class_count == 0 || !task.takes_frames) {
            if (app->tasks.count > 0) {
                return cli_failure("eval",
                                   "task '%s' has no %s in the bundle: compile it from a task list with one",
                                   task.name, task.takes_frames ? "class_map" : "color");
            }
            continue;
        }
        all->tasks[all->count++] = task;
    }
    if (all->count == 0) {
        return cli_failure("eval",
                           "no task of the bundle has a class_map: compile it from a task list with one");
    }
    return cli_sets_find(all->tasks, all->count, &all->sets) ? -1 : cli_failure("eval", "no memory");
}

/* The common answers, from the outputs of all tasks. */
static void sets_count(subjects *all, uint32_t label)
{
    for (uint32_t s = 0; s < all->sets.count; s++) {
        const cli_set *set = &all->sets.items[s];
        cli_vote vote;
        for (uint32_t m = 0; m < set->count; m++) {
            all->set_outputs[m] = all->outputs[set->members[m]];
        }
        if (cli_set_votes(set, all->tasks, all->set_outputs, 1, &vote) > 0) {
            all->set_right[s] += cli_set_right(set, all->tasks, &vote, label) ? 1 : 0;
        }
    }
}

/* One picture: frame in, right answers counted. Returns -1 to go on. */
static int image_run(cli_open *app, const cli_dataset *data, uint32_t index, subjects *all)
{
    unsigned char pixels[3 * SIDE * SIDE];
    mts_ticket ticket = 0;
    cli_dataset_pixels(data, index, pixels);
    const uint32_t label = cli_dataset_label(data, index);
    const mts_frame frame = {
        .size = sizeof frame, .data = pixels, .width = SIDE, .height = SIDE, .format = MTS_PIXEL_FORMAT_RGB};
    if (mts_session_submit(app->session, &frame, &ticket) != MTS_STATUS_OK ||
        mts_session_wait(app->session, ticket, MTS_TIMEOUT_INFINITE) != MTS_STATUS_OK) {
        return cli_failure("eval", "%s", app->error);
    }
    for (uint32_t t = 0; t < all->count; t++) {
        const mts_task_desc *task = &all->tasks[t];
        if (label >= task->class_count) {
            return cli_failure("eval", "record %u: class %u, but the class_map of task '%s' has %u entries",
                               index, label, task->name, task->class_count);
        }
        if (mts_session_output(app->session, task->name, 0, &all->outputs[t]) != MTS_STATUS_OK) {
            return cli_failure("eval", "%s", app->error);
        }
        size_t values = 0;
        if (cli_not_finite(app, task, &values) > 0 && all->broken[t]++ == 0) {
            const char *layer = cli_overflow_layer(app);
            all->layers[t] = layer ? strdup(layer) : NULL;
        }
        all->right[t] += cli_value_largest(&all->outputs[t]) == task->class_map[label] ? 1 : 0;
    }
    sets_count(all, label);
    return -1;
}

static bool score_add(scores *all, const char *name, uint32_t right, bool second)
{
    score *one = score_of(all, name);
    if (one) {
        *(second ? &one->after : &one->before) = 100.0 * right / (double)all->images;
    }
    return one;
}

/* A set has the name of the task that was split, unless that is there too. */
static void set_name(const subjects *measured, const cli_set *set, char *text, size_t size)
{
    (void)snprintf(text, size, "%s", set->name);
    for (uint32_t t = 0; t < measured->count; t++) {
        if (strcmp(measured->tasks[t].name, set->name) == 0) {
            (void)snprintf(text, size, "%s (of %u)", set->name, set->count);
        }
    }
}

static int subjects_score(const subjects *measured, bool second, scores *all)
{
    bool added = true;
    for (uint32_t t = 0; t < measured->count; t++) {
        added = added && score_add(all, measured->tasks[t].name, measured->right[t], second);
    }
    for (uint32_t s = 0; s < measured->sets.count; s++) {
        char name[CLI_SET_NAME + 32];
        set_name(measured, &measured->sets.items[s], name, sizeof name);
        added = added && score_add(all, name, measured->set_right[s], second);
    }
    return added ? -1 : cli_failure("eval", "no memory");
}

static int subjects_run(cli_open *app, const cli_dataset *data, subjects *measured, bool second, scores *all)
{
    const uint32_t images = cli_dataset_count(data);
    cli_progress progress;
    int status = subjects_begin(app, measured);
    if (status >= 0) {
        return status;
    }
    cli_progress_begin(&progress);
    for (uint32_t i = 0; i < images && status < 0; i++) {
        status = image_run(app, data, i, measured);
        (void)cli_progress_step(&progress, (float)i / (float)images, second ? "second bundle" : "images");
    }
    cli_progress_end(&progress);
    for (uint32_t t = 0; t < measured->count; t++) {
        if (measured->broken[t] > 0) {
            cli_not_finite_print("eval", measured->tasks[t].name, measured->broken[t], images,
                                 "images' outputs", measured->layers[t], all->precision);
        }
    }
    return status < 0 ? subjects_score(measured, second, all) : status;
}

/* Adds the accuracies of a bundle's tasks. */
static int bundle_run(const char *path, const cli_open_options *open, mts_strategy strategy,
                      const cli_dataset *data, bool second, scores *all)
{
    cli_open app = {0};
    int status = cli_open_bundle(&app, "eval", open, path);
    mts_session_stats stats = {.size = sizeof stats};
    status = status < 0 ? cli_open_session(&app, "eval", open, strategy) : status;
    if (status < 0 && mts_session_stats_get(app.session, &stats) != MTS_STATUS_OK) {
        status = cli_failure("eval", "%s", app.error);
    }
    if (status < 0) {
        all->precision = stats.precision;
        subjects measured;
        status = subjects_make(&measured, cli_task_count(&app))
                     ? subjects_run(&app, data, &measured, second, all)
                     : cli_failure("eval", "no memory");
        subjects_release(&measured);
    }
    cli_close(&app);
    return status;
}

/* ---- what is printed ---- */

/* Of the tasks that both bundles have; loss: points that the second is worse. */
typedef struct comparison {
    uint32_t count;
    double before, after, mean_loss, worst_loss;
    const char *worst;
} comparison;

static bool in_both(const score *one)
{
    return one->before >= 0 && one->after >= 0;
}

static comparison compare(const scores *all)
{
    comparison c = {0};
    for (uint32_t i = 0; i < all->count; i++) {
        const score *one = &all->items[i];
        const double loss = one->before - one->after;
        if (in_both(one)) {
            c.count++;
            c.before += one->before;
            c.after += one->after;
            if (!c.worst || loss > c.worst_loss) {
                c.worst_loss = loss;
                c.worst = one->name;
            }
        }
    }
    if (c.count > 0) {
        c.before /= c.count;
        c.after /= c.count;
        c.mean_loss = c.before - c.after;
    }
    return c;
}

static void cell_print(double percent)
{
    if (percent < 0) {
        printf(" %9s", "-");
    } else {
        printf(" %7.2f %%", percent);
    }
}

/* No minus before a zero. */
static double difference(double before, double after)
{
    const double d = after - before;
    return d > -0.005 && d < 0.005 ? 0 : d;
}

/* What is not usual of the sessions. */
static const char *how(const scores *all)
{
    return all->precision == MTS_PRECISION_FLOAT32           ? ""
           : all->precision == MTS_PRECISION_FLOAT16_STORAGE ? ", float16-storage"
                                                             : ", float16";
}

static void one_print(const scores *all)
{
    printf("%-20s %9s   (%zu images%s)\n", "task", "accuracy", all->images, how(all));
    for (uint32_t i = 0; i < all->count; i++) {
        printf("%-20s %7.2f %%\n", all->items[i].name, all->items[i].before);
    }
}

static void two_print(const scores *all)
{
    const comparison c = compare(all);
    printf("%-20s %9s %9s %11s   (%zu images%s)\n", "task", "before", "after", "difference", all->images,
           how(all));
    for (uint32_t i = 0; i < all->count; i++) {
        const score *one = &all->items[i];
        printf("%-20s", one->name);
        cell_print(one->before);
        cell_print(one->after);
        if (in_both(one)) {
            printf(" %+11.2f", difference(one->before, one->after));
        }
        printf("\n");
    }
    if (c.count > 0) {
        printf("%-20s %7.2f %% %7.2f %% %+11.2f\n", "mean", c.before, c.after, difference(c.before, c.after));
        printf("%-20s %9s %9s %+11.2f   %s\n", "worst", "", "", difference(c.worst_loss, 0), c.worst);
    }
}

static void score_json(cli_json *json, const score *one, size_t images, bool two)
{
    cli_json_object(json, NULL);
    cli_json_string(json, "name", one->name);
    if (one->before >= 0) {
        cli_json_number(json, "accuracy", one->before);
    }
    if (two && one->after >= 0) {
        cli_json_number(json, "accuracy_after", one->after);
    }
    cli_json_integer(json, "images", images);
    cli_json_end(json, '}');
}

static int scores_print(const scores *all, bool two, bool as_json)
{
    cli_json json;
    if (!as_json) {
        (two ? two_print : one_print)(all);
        return CLI_EXIT_OK;
    }
    if (!cli_json_begin(&json)) {
        return cli_failure("eval", "no memory");
    }
    cli_json_object(&json, NULL);
    cli_json_string(&json, "precision", cli_precision_name(all->precision));
    cli_json_array(&json, "tasks");
    for (uint32_t i = 0; i < all->count; i++) {
        score_json(&json, &all->items[i], all->images, two);
    }
    cli_json_end(&json, ']');
    const comparison c = compare(all);
    if (c.count > 0) {
        cli_json_number(&json, "mean_loss", c.mean_loss);
        cli_json_number(&json, "worst_loss", c.worst_loss);
        cli_json_string(&json, "worst_task", c.worst);
    }
    cli_json_end(&json, '}');
    return cli_json_finish(&json) ? CLI_EXIT_OK : cli_failure("eval", "no memory");
}

/* ---- the command ---- */

static int data_run(const char *path, uint32_t limit, const cli_open_options *open, mts_strategy strategy,
                    const char *const bundles[2])
{
    char error[CLI_ERROR];
    scores all = {0};
    cli_dataset *data = cli_dataset_open(path, limit, error);
    if (!data) {
        return cli_failure("eval", "%s", error);
    }
    if (!cli_dataset_labelled(data)) {
        cli_dataset_close(data);
        return cli_failure("eval", "'%s' has no labels: accuracy is measured on CIFAR-10 binary records",
                           path);
    }
    int status = -1;
    all.images = cli_dataset_count(data);
    for (int i = 0; i < 2 && bundles[i] && status < 0; i++) {
        status = bundle_run(bundles[i], open, strategy, data, i > 0, &all);
    }
    status = status < 0 ? scores_print(&all, bundles[1], open->json) : status;
    scores_release(&all);
    cli_dataset_close(data);
    return status;
}

int cli_command_eval(int argc, char **argv)
{
    cli_open_options open = {0};
    const char *data = NULL;
    uint32_t limit = 0;
    const cli_option options[] = {
        {"data", 'd', CLI_KIND_TEXT, &data, "FILE", "CIFAR-10 binary records", 0, 0},
        {"limit", 0, CLI_KIND_COUNT, &limit, "N", "only the first N images", 1, 1e9},
        CLI_OPEN_OPTIONS(open),
    };
    const cli_usage usage = {
        .name = "eval",
        .positionals = "BUNDLE [BUNDLE2]",
        .summary = "Measures the accuracy of each task that has a class_map, all tasks stitched.",
        .details = "With a second bundle, what mts zip, prune or split made of the first, it prints both and "
                   "what differs.",
        .positional_count = 1,
        .positional_more = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    cli_common common = {0};
    mts_strategy strategy;
    const int status = cli_parse(&usage, argc, argv, &common);
    if (status >= 0) {
        return status;
    }
    if (!data) {
        return cli_usage_error("eval", "give the labelled pictures: --data FILE");
    }
    const int named = cli_open_check("eval", &open, &strategy);
    if (named >= 0) {
        return named;
    }
    open.json = common.json;
    return data_run(data, limit, &open, strategy, common.positionals);
}
