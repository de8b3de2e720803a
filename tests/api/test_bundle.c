/*
 * The bundle handle: the three ways to open one, descriptions of tasks and ports, and the reports.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "support/api_fixture.h"

#define TASKS 8u

static uint8_t *file_read(size_t *size)
{
    FILE *file = fopen(api_bundle_path(), "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(*size);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *size, file), *size);
    (void)fclose(file);
    return data;
}

static void tasks_and_ports_are_described(void **state)
{
    api_fixture fixture;
    mts_bundle *bundle = NULL;
    mts_task_desc task = {.size = sizeof task};
    mts_port_desc port = {.size = sizeof port};
    (void)state;
    api_open(&fixture, "reference");
    assert_int_equal(mts_bundle_open(fixture.runtime, api_bundle_path(), &bundle), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_task_count(bundle), TASKS);
    assert_int_equal(mts_bundle_task(bundle, 2, &task), MTS_STATUS_OK);
    assert_string_equal(task.name, "habitat");
    assert_int_equal(task.takes_frames, 1);
    assert_int_equal(task.label_count, 3);
    assert_string_equal(task.labels[1], "land");
    assert_int_equal(task.class_count, 10);
    assert_int_equal(task.class_map[8], 2);
    assert_int_equal(mts_bundle_input(bundle, "habitat", 0, &port), MTS_STATUS_OK);
    assert_string_equal(port.name, "image");
    assert_int_equal(port.rank, 4);
    assert_int_equal(port.dims[1], 3);
    assert_int_equal(port.dims[3], 32);
    assert_int_equal(port.type, MTS_TYPE_FLOAT32);
    assert_int_equal(mts_bundle_output(bundle, "habitat", 0, &port), MTS_STATUS_OK);
    assert_int_equal(port.dims[port.rank - 1], 3);
    mts_bundle_destroy(&bundle);
    assert_null(bundle);
    api_close(&fixture);
}

static void what_the_bundle_does_not_have_is_not_found(void **state)
{
    api_fixture fixture;
    mts_bundle *bundle = NULL;
    mts_task_desc task = {.size = sizeof task};
    mts_port_desc port = {.size = sizeof port};
    (void)state;
    api_open(&fixture, "reference");
    assert_int_equal(mts_bundle_open(fixture.runtime, api_bundle_path(), &bundle), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_task(bundle, TASKS, &task), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_bundle_input(bundle, "weather", 0, &port), MTS_STATUS_NOT_FOUND);
    assert_non_null(strstr(fixture.error, "weather"));
    assert_int_equal(mts_bundle_input(bundle, "pet", 1, &port), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_bundle_output(bundle, "pet", 1, &port), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_bundle_output(bundle, NULL, 0, &port), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_bundle_output(bundle, "pet", 0, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_bundle_task(bundle, 0, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_bundle_task_count(NULL), 0);
    mts_bundle_destroy(&bundle);
    api_close(&fixture);
}

static void a_bundle_opens_from_unaligned_memory_that_may_go_away(void **state)
{
    api_fixture fixture;
    mts_bundle *bundle = NULL;
    size_t size = 0;
    (void)state;
    uint8_t *data = file_read(&size);
    uint8_t *moved = malloc(size + 3);
    assert_non_null(moved);
    memcpy(moved + 3, data, size);
    api_open(&fixture, "reference");
    assert_int_equal(mts_bundle_open_memory(fixture.runtime, moved + 3, size, &bundle), MTS_STATUS_OK);
    memset(moved, 0xee, size + 3);
    free(moved);
    assert_int_equal(mts_bundle_task_count(bundle), TASKS);
    size_t needed = 0;
    assert_int_equal(mts_bundle_inspect(bundle, MTS_REPORT_TEXT, NULL, 0, &needed), MTS_STATUS_LIMIT);
    mts_bundle_destroy(&bundle);
    api_close(&fixture);
    free(data);
}

static void a_bundle_opens_from_the_middle_of_a_descriptor_that_is_closed_then(void **state)
{
    static const char before[100] = "something else";
    char path[64];
    api_fixture fixture;
    mts_bundle *bundle = NULL;
    size_t size = 0;
    (void)state;
    uint8_t *data = file_read(&size);
    (void)snprintf(path, sizeof path, "api-test-fd-%ld.bin", (long)getpid());
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(before, 1, sizeof before, file), sizeof before);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fwrite(before, 1, sizeof before, file), sizeof before);
    assert_int_equal(fclose(file), 0);
    const int descriptor = open(path, O_RDONLY);
    assert_true(descriptor >= 0);
    api_open(&fixture, "reference");
    assert_int_equal(mts_bundle_open_fd(fixture.runtime, descriptor, sizeof before, size, &bundle),
                     MTS_STATUS_OK);
    assert_int_equal(close(descriptor), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mts_bundle_task_count(bundle), TASKS);
    mts_bundle_destroy(&bundle);
    assert_int_not_equal(mts_bundle_open_fd(fixture.runtime, -1, 0, size, &bundle), MTS_STATUS_OK);
    assert_null(bundle);
    api_close(&fixture);
    free(data);
}

static void a_file_that_is_no_bundle_is_refused_with_its_name(void **state)
{
    api_fixture fixture;
    mts_bundle *bundle = NULL;
    (void)state;
    api_open(&fixture, "reference");
    assert_int_equal(mts_bundle_open(fixture.runtime, "no-such-file.mtsb", &bundle), MTS_STATUS_NOT_FOUND);
    assert_non_null(strstr(fixture.error, "no-such-file.mtsb"));
    assert_int_equal(mts_bundle_open(fixture.runtime, MTS_SOURCE_DIR "/LICENSE", &bundle),
                     MTS_STATUS_MALFORMED);
    assert_non_null(strstr(fixture.error, "LICENSE"));
    assert_int_equal(mts_bundle_open(fixture.runtime, MTS_SOURCE_DIR, &bundle), MTS_STATUS_IO);
    assert_int_equal(mts_bundle_open(fixture.runtime, NULL, &bundle), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_bundle_open(NULL, "x", &bundle), MTS_STATUS_INVALID_ARGUMENT);
    assert_null(bundle);
    api_close(&fixture);
}

static char *report_get(const mts_bundle *bundle, mts_report report)
{
    size_t needed = 0;
    assert_int_equal(mts_bundle_inspect(bundle, report, NULL, 0, &needed), MTS_STATUS_LIMIT);
    char *text = malloc(needed);
    assert_non_null(text);
    assert_int_equal(mts_bundle_inspect(bundle, report, text, needed, NULL), MTS_STATUS_OK);
    assert_int_equal(strlen(text) + 1, needed);
    return text;
}

static void the_json_report_holds_tasks_families_bytes_and_sharing(void **state)
{
    api_fixture fixture;
    mts_bundle *bundle = NULL;
    json_error_t error;
    (void)state;
    api_open(&fixture, "reference");
    assert_int_equal(mts_bundle_open(fixture.runtime, api_bundle_path(), &bundle), MTS_STATUS_OK);
    char *text = report_get(bundle, MTS_REPORT_JSON);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    assert_non_null(root);
    assert_int_equal(json_array_size(json_object_get(root, "tasks")), TASKS);
    assert_int_equal(json_array_size(json_object_get(root, "families")), 1);
    const json_int_t stored = json_integer_value(json_object_get(root, "weights_bytes"));
    const json_int_t unshared = json_integer_value(json_object_get(root, "weights_bytes_unshared"));
    assert_true(stored > 0 && stored <= unshared);
    json_int_t rows_stored = 0;
    json_int_t rows_unshared = 0;
    size_t index = 0;
    json_t *row = NULL;
    json_array_foreach(json_object_get(root, "sharing"), index, row)
    {
        rows_stored += json_integer_value(json_object_get(row, "bytes_stored"));
        rows_unshared += json_integer_value(json_object_get(row, "bytes_unshared"));
        assert_true(json_is_string(json_object_get(row, "layer")));
        assert_int_equal(json_array_size(json_object_get(row, "shared_channels")),
                         json_array_size(json_object_get(row, "tasks")));
    }
    assert_true(index > 20);
    assert_int_equal(rows_stored, stored);
    assert_int_equal(rows_unshared, unshared);
    json_decref(root);
    free(text);
    mts_bundle_destroy(&bundle);
    api_close(&fixture);
}

static void the_graphviz_report_is_one_graph_with_every_tasks_output(void **state)
{
    api_fixture fixture;
    mts_bundle *bundle = NULL;
    (void)state;
    api_open(&fixture, "reference");
    assert_int_equal(mts_bundle_open(fixture.runtime, api_bundle_path(), &bundle), MTS_STATUS_OK);
    char *text = report_get(bundle, MTS_REPORT_DOT);
    assert_memory_equal(text, "digraph", 7);
    for (uint32_t i = 0; i < TASKS; i++) {
        mts_task_desc task = {.size = sizeof task};
        assert_int_equal(mts_bundle_task(bundle, i, &task), MTS_STATUS_OK);
        assert_non_null(strstr(text, task.name));
    }
    int32_t depth = 0;
    for (const char *at = text; *at; at++) {
        depth += *at == '{' ? 1 : *at == '}' ? -1 : 0;
        assert_true(depth >= 0);
    }
    assert_int_equal(depth, 0);
    free(text);
    mts_bundle_destroy(&bundle);
    api_close(&fixture);
}

static void a_report_that_does_not_fit_is_cut_and_its_size_told(void **state)
{
    api_fixture fixture;
    mts_bundle *bundle = NULL;
    char small[10];
    size_t needed = 0;
    (void)state;
    api_open(&fixture, "reference");
    assert_int_equal(mts_bundle_open(fixture.runtime, api_bundle_path(), &bundle), MTS_STATUS_OK);
    memset(small, 'x', sizeof small);
    assert_int_equal(mts_bundle_inspect(bundle, MTS_REPORT_TEXT, small, 6, &needed), MTS_STATUS_LIMIT);
    assert_int_equal(strlen(small), 5);
    assert_int_equal(small[6], 'x');
    assert_true(needed > 100);
    assert_int_equal(mts_bundle_inspect(bundle, (mts_report)9, small, 6, &needed),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_bundle_inspect(bundle, MTS_REPORT_TEXT, NULL, 6, NULL), MTS_STATUS_INVALID_ARGUMENT);
    mts_bundle_destroy(&bundle);
    api_close(&fixture);
}

static int remove_bundle(void **state)
{
    (void)state;
    api_bundle_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_and_ports_are_described),
        cmocka_unit_test(what_the_bundle_does_not_have_is_not_found),
        cmocka_unit_test(a_bundle_opens_from_unaligned_memory_that_may_go_away),
        cmocka_unit_test(a_bundle_opens_from_the_middle_of_a_descriptor_that_is_closed_then),
        cmocka_unit_test(a_file_that_is_no_bundle_is_refused_with_its_name),
        cmocka_unit_test(the_json_report_holds_tasks_families_bytes_and_sharing),
        cmocka_unit_test(the_graphviz_report_is_one_graph_with_every_tasks_output),
        cmocka_unit_test(a_report_that_does_not_fit_is_cut_and_its_size_told),
    };
    return cmocka_run_group_tests(tests, NULL, remove_bundle);
}
