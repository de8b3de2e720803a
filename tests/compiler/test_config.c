/*
 * The compiler's public interface: tasks, task lists and bundles; what is wrong is said with file, task and
 * key, and a failed call adds nothing.
 */
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

#include "bundle/archive.h"
#include "compiler/compiler.h"
#include "platform/os/os.h"
#include "support/fault_allocator.h"

#define MODELS MTS_SOURCE_DIR "/apps/mts/demo/models/"

typedef struct fixture {
    char folder[64], text[512], path[128];
    mtsc_options options;
    mtsc_compiler *compiler;
} fixture;

static int begin(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/mts_config_XXXXXX");
    if (!mkdtemp(f->folder)) {
        return -1;
    }
    mtsc_options_default(&f->options);
    f->options.error_text = f->text;
    f->options.error_size = sizeof(f->text);
    *state = f;
    return mtsc_compiler_create(&f->options, &f->compiler) == MTS_STATUS_OK ? 0 : -1;
}

static int end(void **state)
{
    fixture *f = *state;
    char path[160];
    mtsc_compiler_destroy(&f->compiler);
    (void)snprintf(path, sizeof(path), "%s/tasks.json", f->folder);
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/out.mtsb", f->folder);
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/again.mtsb", f->folder);
    (void)unlink(path);
    (void)rmdir(f->folder);
    free(f);
    return 0;
}

static mts_status add_config(fixture *f, const char *json, size_t size)
{
    char path[160];
    mts_error error = {0};
    (void)snprintf(path, sizeof(path), "%s/tasks.json", f->folder);
    assert_int_equal(mts_os_file_write(path, json, size, &error), MTS_STATUS_OK);
    f->text[0] = '\0';
    return mtsc_compiler_add_config(f->compiler, path);
}

static mts_archive *write_and_read(fixture *f, const char *name, mtsc_summary *summary, mts_os_map *map)
{
    char path[160];
    mts_archive *archive = NULL;
    mts_error error = {0};
    (void)snprintf(path, sizeof(path), "%s/%s", f->folder, name);
    summary->size = sizeof(*summary);
    assert_int_equal(mtsc_compiler_write(f->compiler, path, summary), MTS_STATUS_OK);
    assert_int_equal(mts_os_map_file(path, map, &error), MTS_STATUS_OK);
    assert_int_equal(
        mts_archive_read(map->data, map->size, path, NULL, mts_allocator_default(), &archive, &error),
        MTS_STATUS_OK);
    return archive;
}

static void a_task_list_becomes_a_bundle_with_everything_it_says(void **state)
{
    fixture *f = *state;
    const char *json =
        "{\"tasks\": [{\"name\": \"pet\", \"model\": \"" MODELS "small_pet.onnx\", \"input\": {"
        "\"color\": \"rgb\", \"mean\": [125.3, 123.0, 113.9], \"std\": 63, \"shape\": [1,3,32,32], "
        "\"layout\": \"nchw\", \"fit\": \"letterbox-corner\", \"filter\": \"area\", \"fill\": [114, 0, "
        "255], \"crop\": [0.25, 0, 0.4, 0.6]}, "
        "\"labels\": [\"cat\", \"dog\", \"no pet\"], \"class_map\": [2, 0, 1]},"
        "{\"name\": \"raw\", \"model\": \"" MODELS "small_pet.onnx\"}]}";
    assert_int_equal(add_config(f, json, strlen(json)), MTS_STATUS_OK);
    mtsc_summary summary;
    mts_os_map map;
    mts_archive *archive = write_and_read(f, "out.mtsb", &summary, &map);
    assert_int_equal(archive->task_count, 2);
    const mts_task *task = &archive->tasks[0];
    assert_string_equal(task->name, "pet");
    assert_int_equal(task->preprocess.color, MTS_COLOR_RGB);
    assert_int_equal(task->preprocess.interleaved, 0);
    assert_true(task->preprocess.mean[1] == 123.0f && task->preprocess.std[2] == 63.0f);
    assert_int_equal(task->preprocess.fit, MTS_FIT_LETTERBOX_CORNER);
    assert_int_equal(task->preprocess.filter, MTS_FILTER_AREA);
    assert_int_equal(task->preprocess.fill[2], 255);
    assert_int_equal(archive->tasks[1].preprocess.fit, MTS_FIT_TASK);
    assert_true(task->preprocess.crop[0] == 0.25f && task->preprocess.crop[3] == 0.6f);
    assert_true(archive->tasks[1].preprocess.crop[2] == 0.0f);
    assert_int_equal(task->label_count, 3);
    assert_string_equal(task->labels[2], "no pet");
    assert_int_equal(task->class_count, 3);
    assert_int_equal(task->class_map[0], 2);
    assert_int_equal(archive->tasks[1].preprocess.color, MTS_COLOR_NONE);
    assert_true(archive->tasks[1].preprocess.std[0] == 1.0f);
    assert_int_equal(summary.tasks, 2);
    assert_int_equal(summary.families, 1);
    assert_true(summary.weights_bytes * 2 == summary.weights_bytes_unshared);
    assert_int_equal(summary.blocks, archive->block_count);
    mts_archive_destroy(&archive);
    mts_os_unmap(&map);
}

static void a_compiler_can_be_written_twice_with_equal_bytes(void **state)
{
    fixture *f = *state;
    mtsc_task task;
    mtsc_task_default(&task);
    task.name = "one";
    task.model = MODELS "small_legs.onnx";
    assert_int_equal(mtsc_compiler_add(f->compiler, &task), MTS_STATUS_OK);
    task.name = "two";
    task.model = MODELS "small_size.onnx";
    assert_int_equal(mtsc_compiler_add(f->compiler, &task), MTS_STATUS_OK);
    mtsc_summary summary;
    mts_os_map first, second;
    mts_archive *a = write_and_read(f, "out.mtsb", &summary, &first);
    mts_archive *b = write_and_read(f, "again.mtsb", &summary, &second);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    mts_archive_destroy(&a);
    mts_archive_destroy(&b);
    mts_os_unmap(&first);
    mts_os_unmap(&second);
}

static const struct {
    const char *json, *says;
} wrong_lists[] = {
    {"", "line"},
    {"{", "line 1"},
    {"[]", "\"tasks\""},
    {"{\"tasks\": []}", "at least one task"},
    {"{\"tasks\": {}}", "\"tasks\""},
    {"{\"tasks\": [1]}", "task 0: must be an object"},
    {"{\"tasks\": [{}], \"more\": 1}", "one key"},
    {"{\"tasks\": [{}]}", "\"name\" is missing"},
    {"{\"tasks\": [{\"name\": \"a\"}]}", "task 0 (\"a\"): \"model\" is missing"},
    {"{\"tasks\": [{\"name\": \"a\", \"name\": \"b\"}]}", "duplicate"},
    {"{\"tasks\": [{\"name\": 5}]}", "\"name\": must be a string"},
    {"{\"tasks\": [{\"name\": \"a\", \"modle\": \"x\"}]}", "\"modle\": this key does not exist"},
    {"{\"tasks\": [{\"name\": \"a b\", \"model\": \"" MODELS "small_pet.onnx\"}]}", "only 1 to 255"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"no_such.onnx\"}]}", "no_such.onnx"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": []}]}", "\"input\": must be an object"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"color\": \"blue\"}}]}",
     "\"input\": \"color\": must be"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"mean\": [1,2,3,4,5]}}]}", "1 to 4"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"mean\": [\"1\"]}}]}", "finite numbers"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"mean\": 1e300}}]}", "finite numbers"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"std\": 0}}]}", "above 0"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"shape\": [1,-3]}}]}", "from 1 up"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"values\": {\"r\": \"1\"}}}]}",
     "must be an object of input names and numbers"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"shape\": [1,2,3,4,5,6,7]}}]}",
     "at most 6"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"layout\": \"chwn\"}}]}", "nhwc"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"labels\": [\"x\", 1]}]}", "strings only"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"class_map\": [0.5]}]}", "whole numbers"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"class_map\": [-1]}]}", "whole numbers"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"fit\": \"squeeze\"}}]}",
     "\"letterbox-corner\""},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"filter\": 1}}]}", "\"area\""},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"fill\": [0, 0, 256]}}]}", "0 to 255"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"crop\": [0, 0, 1]}}]}",
     "[left, top, width, height]"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"crop\": [0, 0, \"1\", 1]}}]}",
     "[left, top, width, height]"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"crop\": [0, 0, 0, 0]}}]}",
     "inside of it"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"crop\": [0.5, 0, 0.6, 1]}}]}",
     "inside of it"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"crop\": [-0.1, 0, 0.6, 1]}}]}",
     "inside of it"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"m\", \"input\": {\"crop\": [0, 0, 1e300, 1]}}]}",
     "inside of it"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"" MODELS
     "small_pet.onnx\", \"input\": {\"crop\": [0, 0, 0.5, 1]}}]}",
     "the task has no color"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"" MODELS
     "small_pet.onnx\", \"input\": {\"fit\": \"crop\"}}]}",
     "the task has no color"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"" MODELS
     "small_pet.onnx\", \"labels\": [\"x\", \"y\", \"z\"], \"class_map\": [0, 3]}]}",
     "class 1 maps to label 3 of 3"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"" MODELS
     "small_pet.onnx\", \"input\": {\"color\": \"grey\"}}]}",
     "1 channels does not fit"},
    {"{\"tasks\": [{\"name\": \"a\", \"model\": \"" MODELS
     "small_pet.onnx\"}, {\"name\": \"a\", \"model\": \"" MODELS "small_pet.onnx\"}]}",
     "task 1 (\"a\"): task 'a': the name is taken"},
};

static void a_wrong_list_is_refused_with_place_and_reason_and_adds_nothing(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < sizeof(wrong_lists) / sizeof(wrong_lists[0]); i++) {
        const mts_status status = add_config(f, wrong_lists[i].json, strlen(wrong_lists[i].json));
        assert_int_not_equal(status, MTS_STATUS_OK);
        if (!strstr(f->text, wrong_lists[i].says) || !strstr(f->text, "tasks.json")) {
            fail_msg("case %zu says '%s', wanted '%s'", i, f->text, wrong_lists[i].says);
        }
    }
    mtsc_summary summary = {.size = sizeof(summary)};
    assert_int_equal(mtsc_compiler_write(f->compiler, "/tmp/never.mtsb", &summary),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(f->text, "no task"));
}

static void deeply_nested_and_damaged_lists_fail_cleanly(void **state)
{
    fixture *f = *state;
    const size_t deep = 200000; /* beyond the limit of lists; below it the reader has a limit of depth */
    char *json = malloc(deep);
    assert_non_null(json);
    memset(json, '[', deep);
    assert_int_equal(add_config(f, json, deep), MTS_STATUS_LIMIT);
    assert_int_equal(add_config(f, json, deep / 4), MTS_STATUS_MALFORMED);
    free(json);
    const char *good =
        "{\"tasks\": [{\"name\": \"a\", \"model\": \"none.onnx\", \"input\": {\"mean\": [1, 2]}}]}";
    char copy[128];
    for (size_t i = 0; i < strlen(good); i++) {
        (void)snprintf(copy, sizeof(copy), "%s", good);
        assert_int_not_equal(add_config(f, copy, i), MTS_STATUS_OK);
        for (int bit = 0; bit < 8; bit++) {
            copy[i] = (char)(good[i] ^ (1 << bit));
            assert_int_not_equal(add_config(f, copy, strlen(good)), MTS_STATUS_OK);
            assert_true(f->text[0] != '\0');
        }
    }
}

static void paths_are_relative_to_the_list(void **state)
{
    fixture *f = *state;
    assert_int_equal(mtsc_compiler_add_config(f->compiler, MTS_SOURCE_DIR "/apps/mts/demo/small.json"),
                     MTS_STATUS_OK);
    mtsc_summary summary;
    mts_os_map map;
    mts_archive *archive = write_and_read(f, "out.mtsb", &summary, &map);
    assert_int_equal(archive->task_count, 8);
    assert_int_equal(summary.families, 1);
    mts_archive_destroy(&archive);
    mts_os_unmap(&map);
}

static void wrong_arguments_are_refused(void **state)
{
    fixture *f = *state;
    mtsc_task task;
    mtsc_task_default(&task);
    assert_int_equal(mtsc_compiler_add(f->compiler, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mtsc_compiler_add(f->compiler, &task), MTS_STATUS_INVALID_ARGUMENT);
    task.name = "a";
    assert_int_equal(mtsc_compiler_add(f->compiler, &task), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(f->text, "no model"));
    task.model = "/nowhere/x.onnx";
    assert_int_equal(mtsc_compiler_add(f->compiler, &task), MTS_STATUS_NOT_FOUND);
    task.size--;
    assert_int_equal(mtsc_compiler_add(f->compiler, &task), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mtsc_compiler_add(NULL, &task), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mtsc_compiler_add_config(f->compiler, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mtsc_compiler_add_config(f->compiler, "/nowhere/x.json"), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mtsc_compiler_write(f->compiler, NULL, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mtsc_compiler_write(NULL, "x", NULL), MTS_STATUS_INVALID_ARGUMENT);
    mtsc_compiler *none = NULL;
    mtsc_options options;
    mtsc_options_default(&options);
    options.tolerance = -1.0f;
    assert_int_equal(mtsc_compiler_create(&options, &none), MTS_STATUS_INVALID_ARGUMENT);
    assert_null(none);
    mtsc_compiler_destroy(&none);
    mtsc_compiler_destroy(NULL);
}

static int cancel(void *context, float fraction, const char *what)
{
    int *calls = context;
    assert_true(fraction >= 0.0f && fraction <= 1.0f && what);
    return ++*calls > 1 && strstr(what, "writing") != NULL;
}

static void a_cancelled_write_leaves_no_file(void **state)
{
    fixture *f = *state;
    int calls = 0;
    char path[160];
    mtsc_compiler_destroy(&f->compiler);
    f->options.context = &calls;
    f->options.progress = cancel;
    assert_int_equal(mtsc_compiler_create(&f->options, &f->compiler), MTS_STATUS_OK);
    mtsc_task task;
    mtsc_task_default(&task);
    task.name = "one";
    task.model = MODELS "small_legs.onnx";
    assert_int_equal(mtsc_compiler_add(f->compiler, &task), MTS_STATUS_OK);
    (void)snprintf(path, sizeof(path), "%s/out.mtsb", f->folder);
    assert_int_equal(mtsc_compiler_write(f->compiler, path, NULL), MTS_STATUS_CANCELLED);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void *no_memory(size_t size)
{
    (void)size;
    return NULL;
}

static void lack_of_memory_in_the_json_reader_is_told_as_that(void **state)
{
    fixture *f = *state;
    json_malloc_t alloc;
    json_free_t release;
    json_get_alloc_funcs(&alloc, &release);
    json_set_alloc_funcs(no_memory, release);
    const mts_status status =
        mtsc_compiler_add_config(f->compiler, MTS_SOURCE_DIR "/apps/mts/demo/small.json");
    json_set_alloc_funcs(alloc, release);
    assert_int_equal(status, MTS_STATUS_OUT_OF_MEMORY);
}

/* A compiler on an allocator of the test's own. */
static mtsc_compiler *make_on(const mts_allocator *allocator, const mtsc_options *options)
{
    mtsc_compiler *compiler = mts_alloc_zero(allocator, 1, sizeof(*compiler));
    if (compiler) {
        compiler->allocator = allocator;
        compiler->options = *options;
        compiler->options.tolerance = 0.001f;
    }
    return compiler;
}

static void every_failing_allocation_of_a_compilation_is_reported_and_leaks_nothing(void **state)
{
    fixture *f = *state;
    char path[160];
    (void)snprintf(path, sizeof(path), "%s/out.mtsb", f->folder);
    for (size_t fail_at = 1;; fail_at += 1 + fail_at / 64) {
        mts_fault_allocator fault;
        mtsc_task task;
        mts_fault_allocator_init(&fault, fail_at);
        mtsc_compiler *compiler = make_on(&fault.allocator, &f->options);
        mts_status status = compiler ? MTS_STATUS_OK : MTS_STATUS_OUT_OF_MEMORY;
        for (int i = 0; i < 2 && status == MTS_STATUS_OK; i++) {
            mtsc_task_default(&task);
            task.name = i ? "one" : "two";
            task.model = MODELS "small_legs.onnx";
            status = mtsc_compiler_add(compiler, &task);
        }
        if (status == MTS_STATUS_OK) {
            status = mtsc_compiler_write(compiler, path, NULL);
        }
        mtsc_compiler_destroy(&compiler);
        assert_int_equal(fault.alive, 0);
        if (fault.calls < fail_at) {
            assert_int_equal(status, MTS_STATUS_OK);
            break;
        }
        if (status != MTS_STATUS_OUT_OF_MEMORY) {
            fail_msg("call %zu: %s: %s", fail_at, mts_status_name(status), f->text);
        }
        assert_int_not_equal(access(path, F_OK), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_task_list_becomes_a_bundle_with_everything_it_says, begin, end),
        cmocka_unit_test_setup_teardown(a_compiler_can_be_written_twice_with_equal_bytes, begin, end),
        cmocka_unit_test_setup_teardown(a_wrong_list_is_refused_with_place_and_reason_and_adds_nothing, begin,
                                        end),
        cmocka_unit_test_setup_teardown(deeply_nested_and_damaged_lists_fail_cleanly, begin, end),
        cmocka_unit_test_setup_teardown(paths_are_relative_to_the_list, begin, end),
        cmocka_unit_test_setup_teardown(wrong_arguments_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(lack_of_memory_in_the_json_reader_is_told_as_that, begin, end),
        cmocka_unit_test_setup_teardown(a_cancelled_write_leaves_no_file, begin, end),
        cmocka_unit_test_setup_teardown(
            every_failing_allocation_of_a_compilation_is_reported_and_leaks_nothing, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
