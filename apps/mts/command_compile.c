/*
 * command_compile.c: mts compile.
 *
 * Tasks come from task lists (--config) or one by one (--task NAME=FILE, with further
 * options that name the task).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/args.h"
#include "command.h"
#include "compiler_options.h"
#include "kit/files.h"
#include "kit/json.h"
#include "kit/measure.h"
#include "mts/mtsc.h"
#include "kit/progress.h"
#include "operators.h"
#include "summary.h"

#define NAME_MOST 128
#define LABELS_MOST ((size_t)16 << 20)
#define LENGTHS_MOST 64
#define SHAPE_MOST 160

typedef struct arguments {
    const char *output;
    double tolerance;
    double more_memory;
    bool operators;
    cli_list configs, tasks, shapes, values, colors, means, stds, labels, lengths;
} arguments;

/* Everything of one --task; freed by task_release. */
typedef struct task_input {
    char name[NAME_MOST];
    char title[NAME_MOST + 16]; /* with the length, where there are several */
    unsigned length;            /* what N is in shapes; 0: no N */
    mtsc_task task;
    mtsc_input_shape *shapes;
    mtsc_input_value *values;
    /* of shapes and values */
    char **names;
    size_t name_count;
    unsigned char *label_text;
    cli_list labels;
} task_input;

static void task_release(task_input *input)
{
    for (size_t i = 0; i < input->name_count; i++) {
        free(input->names[i]);
    }
    free(input->names);
    free(input->shapes);
    free(input->values);
    free(input->label_text);
    cli_list_release(&input->labels);
}

/* Whether "KEY=VALUE" is for the task: KEY is its name, or "NAME:INPUT" (then *input is
   INPUT). NULL: not. */
static const char *value_for(const char *text, const char *name, char *key, const char **input)
{
    const char *value = cli_split_pair(text, key, NAME_MOST);
    if (!value) {
        return NULL;
    }
    char *colon = strchr(key, ':');
    if (colon) {
        *colon = '\0';
        if (input) {
            *input = colon + 1;
        }
    }
    return strcmp(key, name) == 0 && (!colon || input) ? value : NULL;
}

/* A copy of an input's name that lives as long as the task; NULL without memory. */
static const char *name_keep(task_input *input, const char *name)
{
    const size_t size = strlen(name) + 1;
    char *copy = malloc(size);
    if (copy) {
        memcpy(copy, name, size);
        input->names[input->name_count++] = copy;
    }
    return copy;
}

/* The shape with the task's length for each N, "" where it is too long to be one; false: it has an N,
   and the task no length. */
static bool shape_fill(const task_input *input, const char *text, char out[SHAPE_MOST])
{
    size_t used = 0;
    for (; *text && used + 16 < SHAPE_MOST; text++) {
        if (*text == 'N' && input->length == 0) {
            return false;
        }
        used += (size_t)(*text == 'N' ? snprintf(out + used, 16, "%u", input->length)
                                      : snprintf(out + used, 2, "%c", *text));
    }
    out[*text ? 0 : used] = '\0';
    return true;
}

static int shapes_take(const arguments *args, task_input *input)
{
    input->shapes = calloc(args->shapes.count + 1, sizeof *input->shapes);
    if (!input->shapes) {
        return cli_failure("compile", "no memory");
    }
    for (size_t i = 0; i < args->shapes.count; i++) {
        char key[NAME_MOST];
        double dims[MTS_TENSOR_RANK_MAX];
        const char *of = NULL;
        const char *value = value_for(args->shapes.items[i], input->name, key, &of);
        if (!value) {
            continue;
        }
        mtsc_input_shape *shape = &input->shapes[input->task.shape_count];
        char filled[SHAPE_MOST] = "";
        if (!shape_fill(input, value, filled)) {
            return cli_usage_error("compile", "--shape %s: say what N is: --lengths %s=32,64,128",
                                   args->shapes.items[i], input->name);
        }
        const size_t rank = cli_numbers(filled, 'x', dims, MTS_TENSOR_RANK_MAX);
        for (size_t d = 0; d < rank; d++) {
            if (dims[d] < 1 || dims[d] > 1 << 24 || dims[d] != (double)(int64_t)dims[d]) {
                return cli_usage_error("compile", "--shape %s: dimensions are whole numbers from 1", value);
            }
            shape->dims[d] = (int64_t)dims[d];
        }
        if (rank == 0) {
            return cli_usage_error("compile", "--shape takes NAME=1x3x224x224, not '%s'",
                                   args->shapes.items[i]);
        }
        shape->size = sizeof *shape;
        shape->rank = (uint32_t)rank;
        shape->input = of ? name_keep(input, of) : NULL;
        if (of && !shape->input) {
            return cli_failure("compile", "no memory");
        }
        input->task.shape_count++;
    }
    input->task.shapes = input->shapes;
    return -1;
}

static int values_take(const arguments *args, task_input *input)
{
    input->values = calloc(args->values.count + 1, sizeof *input->values);
    if (!input->values) {
        return cli_failure("compile", "no memory");
    }
    for (size_t i = 0; i < args->values.count; i++) {
        char key[NAME_MOST];
        const char *of = NULL;
        const char *text = value_for(args->values.items[i], input->name, key, &of);
        if (!text) {
            continue;
        }
        mtsc_input_value *value = &input->values[input->task.value_count];
        if (!of || cli_numbers(text, ',', &value->number, 1) != 1) {
            return cli_usage_error("compile", "--value takes NAME:INPUT=NUMBER, not '%s'",
                                   args->values.items[i]);
        }
        value->size = sizeof *value;
        value->input = name_keep(input, of);
        if (!value->input) {
            return cli_failure("compile", "no memory");
        }
        input->task.value_count++;
    }
    input->task.values = input->values;
    return -1;
}

static int color_take(const arguments *args, task_input *input)
{
    static const char *const names[] = {"none", "rgb", "bgr", "grey"};
    for (size_t i = 0; i < args->colors.count; i++) {
        char key[NAME_MOST];
        const char *value = value_for(args->colors.items[i], input->name, key, NULL);
        if (!value) {
            continue;
        }
        size_t color = 0;
        while (color < sizeof names / sizeof names[0] && strcmp(names[color], value) != 0) {
            color++;
        }
        if (color == sizeof names / sizeof names[0]) {
            return cli_usage_error("compile", "--color takes NAME=rgb, bgr, grey or none, not '%s'", value);
        }
        input->task.color = (mtsc_color)color;
    }
    return -1;
}

/* One number for all channels, or one for each. */
static int numbers_take(const cli_list *list, const char *option, task_input *input, float out[4],
                        bool positive)
{
    for (size_t i = 0; i < list->count; i++) {
        char key[NAME_MOST];
        double numbers[4];
        const char *value = value_for(list->items[i], input->name, key, NULL);
        if (!value) {
            continue;
        }
        const size_t count = cli_numbers(value, ',', numbers, 4);
        if (count == 0) {
            return cli_usage_error("compile", "--%s takes NAME=1,2,3, not '%s'", option, list->items[i]);
        }
        for (size_t c = 0; c < 4; c++) {
            const double number = numbers[count == 1 ? 0 : c < count ? c : count - 1];
            if (positive && number <= 0.0) {
                return cli_usage_error("compile", "--%s: numbers are greater than 0", option);
            }
            out[c] = (float)number;
        }
    }
    return -1;
}

static int labels_take(const arguments *args, task_input *input)
{
    for (size_t i = 0; i < args->labels.count; i++) {
        char key[NAME_MOST];
        char error[CLI_ERROR];
        size_t size = 0;
        const char *path = value_for(args->labels.items[i], input->name, key, NULL);
        if (!path || input->label_text) {
            continue;
        }
        input->label_text = cli_file_read(path, LABELS_MOST, &size, error);
        if (!input->label_text) {
            return cli_failure("compile", "%s", error);
        }
        char *line = (char *)input->label_text;
        while (*line) {
            char *end = line + strcspn(line, "\r\n");
            char *next = end + strspn(end, "\r\n");
            *end = '\0';
            if (!cli_list_add(&input->labels, line)) {
                return cli_failure("compile", "no memory");
            }
            line = next;
        }
    }
    input->task.labels = input->labels.items;
    input->task.label_count = (uint32_t)input->labels.count;
    return -1;
}

/* One task of a model, at one length of its inputs (0: at the only one). */
static int length_add(mtsc_compiler *compiler, const arguments *args, const char *text, unsigned length,
                      const char *error)
{
    task_input input = {.length = length};
    mtsc_task_default(&input.task);
    const char *model = cli_split_pair(text, input.name, sizeof input.name);
    (void)snprintf(input.title, sizeof input.title, length ? "%s%u" : "%s", input.name, length);
    input.task.name = input.title;
    input.task.model = model;
    input.names = calloc(args->shapes.count + args->values.count + 1, sizeof *input.names);
    int status = input.names ? shapes_take(args, &input) : cli_failure("compile", "no memory");
    status = status < 0 ? values_take(args, &input) : status;
    status = status < 0 ? color_take(args, &input) : status;
    status = status < 0 ? numbers_take(&args->means, "mean", &input, input.task.mean, false) : status;
    status = status < 0 ? numbers_take(&args->stds, "std", &input, input.task.std, true) : status;
    status = status < 0 ? labels_take(args, &input) : status;
    if (status < 0 && mtsc_compiler_add(compiler, &input.task) != MTS_STATUS_OK) {
        const bool open = strstr(error, "give the input's shape");
        status = cli_failure("compile", "%s%s%s%s", error, open ? " (--shape " : "", open ? input.name : "",
                             open ? "=1x3x224x224, or what the model was trained for)" : "");
    }
    task_release(&input);
    return status;
}

/* Whether a shape of the task has an N: else its lengths would make equal tasks. */
static bool has_open_shape(const arguments *args, const char *name)
{
    bool open = false;
    for (size_t i = 0; i < args->shapes.count; i++) {
        char key[NAME_MOST];
        const char *input = NULL;
        const char *value = value_for(args->shapes.items[i], name, key, &input);
        open = open || (value && strchr(value, 'N'));
    }
    return open;
}

/* The task's lengths; *count 0: none are given. */
static int lengths_read(const arguments *args, const char *name, double lengths[LENGTHS_MOST], size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < args->lengths.count; i++) {
        char key[NAME_MOST];
        const char *value = value_for(args->lengths.items[i], name, key, NULL);
        if (!value) {
            continue;
        }
        *count = cli_numbers(value, ',', lengths, LENGTHS_MOST);
        bool whole = *count > 0;
        for (size_t n = 0; n < *count; n++) {
            whole = whole && lengths[n] >= 1 && lengths[n] <= 1 << 24 &&
                    lengths[n] == (double)(unsigned)lengths[n];
        }
        if (!whole) {
            return cli_usage_error("compile",
                                   "--lengths takes NAME=32,64,128, whole numbers from 1, not '%s'",
                                   args->lengths.items[i]);
        }
        if (!has_open_shape(args, name)) {
            return cli_usage_error("compile", "--lengths %s: no --shape of %s has an N, as in --shape %s=1xN",
                                   args->lengths.items[i], name, name);
        }
    }
    return -1;
}

static int task_add(mtsc_compiler *compiler, const arguments *args, const char *text, const char *error)
{
    char name[NAME_MOST];
    double lengths[LENGTHS_MOST];
    size_t count = 0;
    if (!cli_split_pair(text, name, sizeof name)) {
        return cli_usage_error("compile", "--task takes NAME=FILE, not '%s'", text);
    }
    int status = lengths_read(args, name, lengths, &count);
    if (status < 0 && count == 0) {
        return length_add(compiler, args, text, 0, error);
    }
    for (size_t n = 0; status < 0 && n < count; n++) {
        status = length_add(compiler, args, text, (unsigned)lengths[n], error);
    }
    return status;
}

/* An option for a task that no --task names is a mistake that would go unseen. */
static int names_check(const arguments *args, const cli_list *list, const char *option)
{
    for (size_t i = 0; i < list->count; i++) {
        char key[NAME_MOST];
        const char *unused = NULL;
        bool found = false;
        if (!cli_split_pair(list->items[i], key, sizeof key)) {
            return cli_usage_error("compile", "--%s takes NAME=VALUE, not '%s'", option, list->items[i]);
        }
        for (size_t t = 0; t < args->tasks.count && !found; t++) {
            char name[NAME_MOST];
            found = cli_split_pair(args->tasks.items[t], name, sizeof name) &&
                    value_for(list->items[i], name, key, &unused);
        }
        if (!found) {
            return cli_usage_error("compile",
                                   "--%s %s names no --task (a task list has its own input settings)", option,
                                   list->items[i]);
        }
    }
    return -1;
}

static int arguments_check(const arguments *args)
{
    if (!args->output) {
        return cli_usage_error("compile", "give the bundle to write: -o FILE");
    }
    if (args->configs.count == 0 && args->tasks.count == 0) {
        return cli_usage_error("compile", "give at least one --task NAME=FILE or --config FILE");
    }
    int status = names_check(args, &args->shapes, "shape");
    status = status < 0 ? names_check(args, &args->lengths, "lengths") : status;
    status = status < 0 ? names_check(args, &args->values, "value") : status;
    status = status < 0 ? names_check(args, &args->colors, "color") : status;
    status = status < 0 ? names_check(args, &args->means, "mean") : status;
    status = status < 0 ? names_check(args, &args->stds, "std") : status;
    return status < 0 ? names_check(args, &args->labels, "labels") : status;
}

static int summary_print(const arguments *args, const mtsc_summary *summary, bool as_json)
{
    cli_json json;
    if (!as_json) {
        char stored[32];
        char unshared[32];
        printf("wrote %s: %u tasks in %u %s, weights %s (%s unshared)\n", args->output, summary->tasks,
               summary->families, summary->families == 1 ? "family" : "families",
               cli_bytes_text(summary->weights_bytes, stored, sizeof stored),
               cli_bytes_text(summary->weights_bytes_unshared, unshared, sizeof unshared));
        if (args->tolerance > 0.0) {
            printf("largest deviation of a merged weight: %.3g\n", summary->deviation);
        }
        return CLI_EXIT_OK;
    }
    if (!cli_json_begin(&json)) {
        return cli_failure("compile", "no memory");
    }
    cli_json_object(&json, NULL);
    cli_json_string(&json, "output", args->output);
    cli_json_summary(&json, summary);
    cli_json_number(&json, "tolerance", args->tolerance);
    cli_json_number(&json, "deviation", summary->deviation);
    cli_json_end(&json, '}');
    return cli_json_finish(&json) ? CLI_EXIT_OK : cli_failure("compile", "no memory");
}

/* Failures come back as a status, and are printed there. */
static void warning_print(void *context, mts_log_severity severity, const char *text)
{
    (void)context;
    if (severity == MTS_LOG_WARNING) {
        (void)fprintf(stderr, "%s compile: warning: %s\n", cli_program, text);
    }
}

static int compile(const arguments *args, bool json)
{
    char error[CLI_ERROR] = "";
    cli_progress progress;
    mtsc_options options;
    mtsc_compiler *compiler = NULL;
    mtsc_summary summary = {.size = sizeof summary};
    int status = -1;
    cli_compiler_options(&options, &progress, error);
    options.tolerance = (float)args->tolerance;
    options.more_memory = (uint64_t)args->more_memory;
    options.log = warning_print;
    if (mtsc_compiler_create(&options, &compiler) != MTS_STATUS_OK) {
        return cli_failure("compile", "%s", error);
    }
    for (size_t i = 0; i < args->configs.count && status < 0; i++) {
        if (mtsc_compiler_add_config(compiler, args->configs.items[i]) != MTS_STATUS_OK) {
            cli_progress_end(&progress);
            status = cli_failure("compile", "%s", error);
        }
    }
    for (size_t i = 0; i < args->tasks.count && status < 0; i++) {
        cli_progress_end(&progress);
        status = task_add(compiler, args, args->tasks.items[i], error);
    }
    if (status < 0 && mtsc_compiler_write(compiler, args->output, &summary) != MTS_STATUS_OK) {
        cli_progress_end(&progress);
        status = cli_failure("compile", "%s", error);
    }
    cli_progress_end(&progress);
    mtsc_compiler_destroy(&compiler);
    return status < 0 ? summary_print(args, &summary, json) : status;
}

int cli_command_compile(int argc, char **argv)
{
    arguments args = {0};
    const cli_option options[] = {
        {"task", 't', CLI_KIND_LIST, &args.tasks, "NAME=FILE",
         "a task and its model (ONNX, TFLite); may be repeated", 0, 0},
        {"config", 'c', CLI_KIND_LIST, &args.configs, "FILE",
         "a JSON task list; paths in it are relative to it", 0, 0},
        {"shape", 0, CLI_KIND_LIST, &args.shapes, "NAME[:INPUT]=1x3x224x224",
         "size of an input whose model leaves it open; N: each of --lengths", 0, 0},
        {"lengths", 0, CLI_KIND_LIST, &args.lengths, "NAME=32,64,128",
         "the model as tasks NAME32 and so on, whose weights are stored once", 0, 0},
        {"value", 0, CLI_KIND_LIST, &args.values, "NAME:INPUT=NUMBER",
         "an input that becomes a constant, such as a sampling rate", 0, 0},
        {"color", 0, CLI_KIND_LIST, &args.colors, "NAME=rgb|bgr|grey", "the first input is a picture", 0, 0},
        {"mean", 0, CLI_KIND_LIST, &args.means, "NAME=A,B,C",
         "subtracted from pixel values 0..255; needs --color", 0, 0},
        {"std", 0, CLI_KIND_LIST, &args.stds, "NAME=A,B,C", "then divided by", 0, 0},
        {"labels", 0, CLI_KIND_LIST, &args.labels, "NAME=FILE", "names of the classes, one a line", 0, 0},
        {"tolerance", 0, CLI_KIND_NUMBER, &args.tolerance, "X",
         "share blocks that differ by at most X times their largest weight (default 0: bit-equal)", 0.0, 1.0},
        {"more-memory", 0, CLI_KIND_BYTES, &args.more_memory, "BYTES",
         "memory for a trusted model beyond what its file's size allows, such as 1G (default 0)", 0.0, 4e9},
        {"operators", 0, CLI_KIND_FLAG, &args.operators, "",
         "print the operators that models may have, and stop", 0, 0},
        {"output", 'o', CLI_KIND_TEXT, &args.output, "FILE", "the bundle to write", 0, 0},
    };
    const cli_usage usage = {
        .name = "compile",
        .positionals = "",
        .summary = "Compiles ONNX and TFLite models into one bundle; weights that tasks have in common are "
                   "stored once.",
        .details = "Example: mts compile --task age=age.onnx --task gender=gender.onnx --color age=bgr\n"
                   "         --color gender=bgr -o app.mtsb",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    cli_common common = {0};
    int status = cli_parse(&usage, argc, argv, &common);
    if (status < 0 && args.operators) {
        status = cli_operators_print(common.json);
    }
    status = status < 0 ? arguments_check(&args) : status;
    status = status < 0 ? compile(&args, common.json) : status;
    cli_list *const lists[] = {&args.configs, &args.tasks, &args.shapes, &args.values, &args.colors,
                               &args.means,   &args.stds,  &args.labels, &args.lengths};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        cli_list_release(lists[i]);
    }
    return status;
}
