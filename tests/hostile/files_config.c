/*
 * files_config.c: lists of tasks (JSON) that are hostile.
 */
#include <stdlib.h>
#include <string.h>

#include "hostile/files.h"

typedef struct config_row {
    const char *class, *name, *text;
} config_row;

static const config_row rows[] = {
    {CLASS_FORMAT, "config_is_a_number", "12"},
    {CLASS_FORMAT, "config_is_cut_off", "{\"tasks\": [{\"name\": \"a\", \"model\": "},
    {CLASS_FORMAT, "config_with_a_zero_byte", "{\"tasks\": [{\"name\": \"a\\u0000b\", \"model\": \"m\"}]}"},
    {CLASS_TYPE, "config_of_other_types", "{\"tasks\": {\"name\": [1e999], \"model\": null}}"},
    {CLASS_COUNT, "config_shape_below_0",
     "{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"shapes\": {\"x\": [-1, 9223372036854775807]}}]}"},
    {CLASS_NAME, "config_task_is_a_path", "{\"tasks\": [{\"name\": \"../a\", \"model\": \"m\"}]}"},
    {CLASS_NAME, "config_task_with_escapes", "{\"tasks\": [{\"name\": \"a\\u001b[2J\", \"model\": \"m\"}]}"},
    {CLASS_MISSING, "config_task_without_a_model", "{\"tasks\": [{\"name\": \"a\"}]}"},
    {CLASS_CYCLE, "config_two_tasks_of_a_name",
     "{\"tasks\": [{\"name\": \"a\", \"model\": \"input\"}, {\"name\": \"a\", \"model\": \"input\"}]}"},
    {CLASS_CYCLE, "config_names_itself_as_a_model", "{\"tasks\": [{\"name\": \"a\", \"model\": \"input\"}]}"},
};

static void put_text(onnx_bytes *out, const void *data)
{
    const config_row *row = data;
    hostile_add(out, row->text, strlen(row->text));
}

static void put_repeated(onnx_bytes *out, const char *part, size_t size)
{
    while (out->size + strlen(part) < size) {
        onnx_bytes chunk = {0};
        for (int i = 0; i < 500; i++) {
            hostile_add(&chunk, part, strlen(part));
        }
        const size_t room = size - out->size;
        hostile_add(out, chunk.data, chunk.size < room ? chunk.size : room);
        free(chunk.data);
    }
}

static void put_brackets(onnx_bytes *out, const void *row)
{
    (void)row;
    put_repeated(out, "[", 1000000);
}

static void put_tasks(onnx_bytes *out, const void *row)
{
    (void)row;
    hostile_add(out, "{\"tasks\":[", 10);
    put_repeated(out, "{},", 990000);
    hostile_add(out, "{}]}", 4);
}

static void put_labels(onnx_bytes *out, const void *row)
{
    static const char head[] = "{\"tasks\":[{\"name\":\"a\",\"model\":\"m\",\"labels\":[";
    (void)row;
    hostile_add(out, head, sizeof head - 1);
    put_repeated(out, "\"\",", 900000);
    hostile_add(out, "\"\"]}]}", 6);
}

static const hostile_file others[] = {
    {CLASS_DEPTH, "config_a_million_brackets", NULL, HOSTILE_CONFIG, HOSTILE_REFUSED, NULL, put_brackets,
     NULL},
    {CLASS_BOMB, "config_of_330000_tasks", NULL, HOSTILE_CONFIG, HOSTILE_REFUSED, NULL, put_tasks, NULL},
    {CLASS_BOMB, "config_of_300000_labels", NULL, HOSTILE_CONFIG, HOSTILE_REFUSED, NULL, put_labels, NULL},
};

void hostile_configs(hostile_visit *visit, void *context)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const hostile_file file = {rows[i].class,   rows[i].name, NULL,     HOSTILE_CONFIG,
                                   HOSTILE_REFUSED, NULL,         put_text, &rows[i]};
        visit(&file, context);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        visit(&others[i], context);
    }
}
