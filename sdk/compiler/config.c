/*
 * config.c: the JSON task list (docs/CONFIG.md).
 *
 * Unknown keys are refused, so that a misspelt one does not silently do nothing. Every
 * message names the file, the task and the key.
 */
#include "compiler/compiler.h"
#include "platform/os/os.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define CONFIG_BYTES_MAX ((size_t)64 << 20)
#define CONTAINERS_MOST 100000u /* each costs jansson 250 bytes and a file two */

typedef struct config {
    mtsc_compiler *compiler;
    const char *path;
    mts_arena arena; /* of what a task points to while it is added */
    mts_error *error;
} config;

typedef struct config_task {
    mtsc_task task;
    mts_compiler_layout layout;
} config_task;

typedef mts_status (*config_read)(config *c, const json_t *value, config_task *out);

typedef struct config_key {
    const char *name;
    config_read read;
} config_key;

static mts_status refuse(const config *c, const char *what)
{
    return mts_fail(c->error, MTS_STATUS_MALFORMED, "%s", what);
}

static mts_status no_memory(const config *c)
{
    return mts_fail_memory(c->error);
}

static mts_status read_text(const config *c, const json_t *value, const char **out)
{
    *out = json_string_value(value);
    return *out ? MTS_STATUS_OK : refuse(c, "must be a string");
}

/* Calls the reader of each key of an object. */
static mts_status read_keys(config *c, const json_t *object, const config_key *keys, size_t count,
                            config_task *out)
{
    if (!json_is_object(object)) {
        return refuse(c, "must be an object");
    }
    /* iteration does not change the object, but jansson's iterators are not const */
    for (void *it = json_object_iter((json_t *)(uintptr_t)object); it;
         it = json_object_iter_next((json_t *)(uintptr_t)object, it)) {
        const char *name = json_object_iter_key(it);
        size_t i = 0;
        while (i < count && strcmp(keys[i].name, name) != 0) {
            i++;
        }
        const mts_status status = i < count ? keys[i].read(c, json_object_iter_value(it), out)
                                            : refuse(c, "this key does not exist");
        if (status != MTS_STATUS_OK) {
            return mts_fail_prefix(c->error, status, "\"%s\"", name);
        }
    }
    return MTS_STATUS_OK;
}

static mts_status read_name(config *c, const json_t *value, config_task *out)
{
    return read_text(c, value, &out->task.name);
}

/* A relative path starts at the folder of the task list. */
static mts_status read_model(config *c, const json_t *value, config_task *out)
{
    const char *model = NULL;
    const mts_status status = read_text(c, value, &model);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const char *slash = strrchr(c->path, '/');
    const size_t folder = slash && model[0] != '/' ? (size_t)(slash - c->path) + 1 : 0;
    const size_t length = strlen(model);
    char *path = mts_arena_zero(&c->arena, folder + length + 1, 1);
    if (!path) {
        return no_memory(c);
    }
    memcpy(path, c->path, folder);
    memcpy(path + folder, model, length + 1);
    out->task.model = path;
    return MTS_STATUS_OK;
}

/* Index of a text in a list of words; `count` if it is none of them. */
static uint32_t find_word(const json_t *value, const char *const *words, uint32_t count)
{
    const char *text = json_string_value(value);
    uint32_t i = 0;
    while (i < count && (!text || strcmp(words[i], text) != 0)) {
        i++;
    }
    return i;
}

static mts_status read_color(config *c, const json_t *value, config_task *out)
{
    static const char *const names[] = {"none", "rgb", "bgr", "grey"};
    const uint32_t found = find_word(value, names, 4);
    out->task.color = (mtsc_color)found;
    return found < 4 ? MTS_STATUS_OK : refuse(c, "must be \"rgb\", \"bgr\", \"grey\" or \"none\"");
}

static mts_status read_fit(config *c, const json_t *value, config_task *out)
{
    static const char *const names[] = {"stretch", "letterbox", "letterbox-corner", "crop"};
    const uint32_t found = find_word(value, names, 4);
    out->task.fit = (mts_fit)(MTS_FIT_STRETCH + found);
    return found < 4 ? MTS_STATUS_OK
                     : refuse(c, "must be \"stretch\", \"letterbox\", \"letterbox-corner\" or \"crop\"");
}

static mts_status read_filter(config *c, const json_t *value, config_task *out)
{
    static const char *const names[] = {"bilinear", "area"};
    const uint32_t found = find_word(value, names, 2);
    out->task.filter = (mts_filter)(MTS_FILTER_BILINEAR + found);
    return found < 2 ? MTS_STATUS_OK : refuse(c, "must be \"bilinear\" or \"area\"");
}

static mts_status read_fill(config *c, const json_t *value, config_task *out)
{
    bool right = json_is_array(value) && json_array_size(value) == 3;
    for (size_t i = 0; right && i < 3; i++) {
        const json_t *byte = json_array_get(value, i);
        right = json_is_integer(byte) && json_integer_value(byte) >= 0 && json_integer_value(byte) <= 255;
        out->task.fill[i] = right ? (uint8_t)json_integer_value(byte) : 0;
    }
    return right ? MTS_STATUS_OK : refuse(c, "must be [red, green, blue], each from 0 to 255");
}

/* Parts of the frame; where they lie is checked with the task. */
static mts_status read_crop(config *c, const json_t *value, config_task *out)
{
    const char *wanted = "must be [left, top, width, height], parts of the frame from 0 to 1, inside of it";
    if (!json_is_array(value) || json_array_size(value) != 4) {
        return refuse(c, wanted);
    }
    for (size_t i = 0; i < 4; i++) {
        if (!json_is_number(json_array_get(value, i))) {
            return refuse(c, wanted);
        }
        out->task.crop[i] = (float)json_number_value(json_array_get(value, i));
    }
    return out->task.crop[2] > 0.0f && mts_preprocess_crop_valid(out->task.crop) ? MTS_STATUS_OK
                                                                                 : refuse(c, wanted);
}

static mts_status read_layout(config *c, const json_t *value, config_task *out)
{
    const char *name = json_string_value(value);
    if (name && strcmp(name, "nchw") == 0) {
        out->layout = MTS_COMPILER_LAYOUT_NCHW;
    } else if (name && strcmp(name, "nhwc") == 0) {
        out->layout = MTS_COMPILER_LAYOUT_NHWC;
    } else {
        return refuse(c, "must be \"nchw\" or \"nhwc\"");
    }
    return MTS_STATUS_OK;
}

/* One number for all channels, or an array of 1 to 4. */
static mts_status read_channels(const config *c, const json_t *value, float out[4])
{
    const size_t count = json_is_array(value) ? json_array_size(value) : 0;
    if (!json_is_number(value) && (count < 1 || count > 4)) {
        return refuse(c, "must be a number or an array of 1 to 4 numbers");
    }
    for (size_t i = 0; i < 4; i++) {
        const json_t *item = count == 0 ? value : json_array_get(value, i < count ? i : count - 1);
        const float number = (float)json_number_value(item);
        if (!json_is_number(item) || !isfinite(number)) {
            return refuse(c, "must hold finite numbers");
        }
        out[i] = number;
    }
    return MTS_STATUS_OK;
}

static mts_status read_mean(config *c, const json_t *value, config_task *out)
{
    return read_channels(c, value, out->task.mean);
}

static mts_status read_std(config *c, const json_t *value, config_task *out)
{
    const mts_status status = read_channels(c, value, out->task.std);
    for (int i = 0; i < 4 && status == MTS_STATUS_OK; i++) {
        if (!(out->task.std[i] > 0.0f)) {
            return refuse(c, "must be above 0");
        }
    }
    return status;
}

static mts_status read_dims(const config *c, const json_t *value, mtsc_input_shape *out)
{
    const size_t rank = json_array_size(value);
    if (!json_is_array(value) || rank > MTS_TENSOR_RANK_MAX) {
        return refuse(c, "must be an array of at most 6 dimensions");
    }
    for (size_t i = 0; i < rank; i++) {
        const json_t *dim = json_array_get(value, i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 1 || json_integer_value(dim) > INT32_MAX) {
            return refuse(c, "must hold whole numbers from 1 up");
        }
        out->dims[i] = (int64_t)json_integer_value(dim);
    }
    out->rank = (uint32_t)rank;
    return MTS_STATUS_OK;
}

/* "shape" of the first input and "shapes" by name both append here. */
static mts_status append_shape(config *c, const char *input, const json_t *dims, config_task *out)
{
    mtsc_input_shape *shapes = mts_arena_zero(&c->arena, (size_t)out->task.shape_count + 1, sizeof(*shapes));
    if (!shapes) {
        return no_memory(c);
    }
    if (out->task.shape_count) {
        memcpy(shapes, out->task.shapes, out->task.shape_count * sizeof(*shapes));
    }
    shapes[out->task.shape_count].size = sizeof *shapes;
    shapes[out->task.shape_count].input = input;
    const mts_status status = read_dims(c, dims, &shapes[out->task.shape_count]);
    out->task.shapes = shapes;
    out->task.shape_count++;
    return status;
}

static mts_status read_shape(config *c, const json_t *value, config_task *out)
{
    return append_shape(c, NULL, value, out);
}

static mts_status read_shapes(config *c, const json_t *value, config_task *out)
{
    if (!json_is_object(value) || json_object_size(value) > 64) {
        return refuse(c, "must be an object of input names and shapes");
    }
    for (void *it = json_object_iter((json_t *)(uintptr_t)value); it;
         it = json_object_iter_next((json_t *)(uintptr_t)value, it)) {
        const mts_status status = append_shape(c, json_object_iter_key(it), json_object_iter_value(it), out);
        if (status != MTS_STATUS_OK) {
            return mts_fail_prefix(c->error, status, "\"%s\"", json_object_iter_key(it));
        }
    }
    return MTS_STATUS_OK;
}

/* Inputs that become constants. */
static mts_status read_values(config *c, const json_t *value, config_task *out)
{
    const size_t count = json_object_size(value);
    mtsc_input_value *values = mts_arena_zero(&c->arena, count, sizeof *values);
    if (!json_is_object(value) || count > 64) {
        return refuse(c, "must be an object of input names and numbers");
    }
    if (!values) {
        return no_memory(c);
    }
    for (void *it = json_object_iter((json_t *)(uintptr_t)value); it;
         it = json_object_iter_next((json_t *)(uintptr_t)value, it)) {
        if (!json_is_number(json_object_iter_value(it))) {
            return refuse(c, "must be an object of input names and numbers");
        }
        values[out->task.value_count++] =
            (mtsc_input_value){.size = sizeof *values,
                               .input = json_object_iter_key(it),
                               .number = json_number_value(json_object_iter_value(it))};
    }
    out->task.values = values;
    return MTS_STATUS_OK;
}

static mts_status read_input(config *c, const json_t *value, config_task *out)
{
    static const config_key keys[] = {
        {"color", read_color},   {"mean", read_mean},     {"std", read_std},       {"shape", read_shape},
        {"shapes", read_shapes}, {"values", read_values}, {"layout", read_layout}, {"fit", read_fit},
        {"filter", read_filter}, {"fill", read_fill},     {"crop", read_crop}};
    return read_keys(c, value, keys, sizeof(keys) / sizeof(keys[0]), out);
}

static mts_status read_labels(config *c, const json_t *value, config_task *out)
{
    const size_t count = json_array_size(value);
    const char **labels = mts_arena_zero(&c->arena, count, sizeof(*labels));
    if (!json_is_array(value) || count > UINT32_MAX) {
        return refuse(c, "must be an array of strings");
    }
    if (!labels) {
        return no_memory(c);
    }
    for (size_t i = 0; i < count; i++) {
        labels[i] = json_string_value(json_array_get(value, i));
        if (!labels[i]) {
            return refuse(c, "must hold strings only");
        }
    }
    out->task.labels = labels;
    out->task.label_count = (uint32_t)count;
    return MTS_STATUS_OK;
}

static mts_status read_class_map(config *c, const json_t *value, config_task *out)
{
    const size_t count = json_array_size(value);
    uint32_t *map = mts_arena_zero(&c->arena, count, sizeof(*map));
    if (!json_is_array(value) || count > UINT32_MAX) {
        return refuse(c, "must be an array of labels' numbers");
    }
    if (!map) {
        return no_memory(c);
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(value, i);
        if (!json_is_integer(item) || json_integer_value(item) < 0 ||
            json_integer_value(item) >= UINT32_MAX) {
            return refuse(c, "must hold whole numbers from 0 up");
        }
        map[i] = (uint32_t)json_integer_value(item);
    }
    out->task.class_map = map;
    out->task.class_count = (uint32_t)count;
    return MTS_STATUS_OK;
}

static mts_status read_task(config *c, const json_t *object)
{
    static const config_key keys[] = {{"name", read_name},
                                      {"model", read_model},
                                      {"input", read_input},
                                      {"labels", read_labels},
                                      {"class_map", read_class_map}};
    config_task task = {.layout = MTS_COMPILER_LAYOUT_AUTO};
    mtsc_task_default(&task.task);
    mts_status status = read_keys(c, object, keys, sizeof(keys) / sizeof(keys[0]), &task);
    if (status == MTS_STATUS_OK && (!task.task.name || !task.task.model)) {
        status = refuse(c, task.task.name ? "\"model\" is missing" : "\"name\" is missing");
    }
    return status == MTS_STATUS_OK ? mts_compiler_add_task(c->compiler, &task.task, task.layout, c->error)
                                   : status;
}

static mts_status read_tasks(config *c, const json_t *root)
{
    const json_t *tasks = json_object_get(root, "tasks");
    const size_t count = json_array_size(tasks);
    if (!json_is_array(tasks) || count == 0 || json_object_size(root) != 1) {
        return refuse(c, "must be an object with one key \"tasks\", an array of at least one task");
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *task = json_array_get(tasks, i);
        const char *name = json_string_value(json_object_get(task, "name"));
        const mts_status status = read_task(c, task);
        if (status != MTS_STATUS_OK) {
            return mts_fail_prefix(c->error, status, "task %zu%s%.64s%s", i, name ? " (\"" : "",
                                   name ? name : "", name ? "\")" : "");
        }
    }
    return MTS_STATUS_OK;
}

/* Brackets and braces that open something; those of strings count too. */
static size_t count_containers(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++) {
        count += text[i] == '{' || text[i] == '[';
    }
    return count;
}

mts_status mts_compiler_read_config(mtsc_compiler *compiler, const char *path, mts_error *error)
{
    void *text = NULL;
    size_t size = 0;
    mts_status status = mts_os_file_read(compiler->allocator, path, CONFIG_BYTES_MAX, &text, &size, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (count_containers(text, size) > CONTAINERS_MOST) {
        mts_alloc_free(compiler->allocator, text);
        return mts_fail(error, MTS_STATUS_LIMIT, "%s: more than %u lists and objects", path, CONTAINERS_MOST);
    }
    json_error_t where;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    mts_alloc_free(compiler->allocator, text);
    /* jansson says nothing at all where it cannot even begin */
    if (!root && (!where.text[0] || json_error_code(&where) == json_error_out_of_memory)) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "%s: not enough memory to read it", path);
    }
    if (!root) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "%s: line %d, column %d: %s", path, where.line,
                        where.column, where.text);
    }
    config c = {.compiler = compiler, .path = path, .error = error};
    mts_arena_init(&c.arena, compiler->allocator);
    status = read_tasks(&c, root);
    if (status != MTS_STATUS_OK) {
        (void)mts_fail_prefix(error, status, "%s", path);
    }
    mts_arena_release(&c.arena);
    json_decref(root);
    return status;
}
