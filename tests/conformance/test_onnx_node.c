/*
 * test_onnx_node.c: the ONNX project's own single-operator cases, on the reference and on OpenCL.
 *
 * Cases come from ../shared/data/onnx/node (opset 9, opset 17, PyTorch-exported), from Debian's
 * libonnx-testdata, and from the onnx package of Python, which knows the newest opset (onnx_cases.py); equal cases of several sets run once. A case in scope passes on every device, or stands
 * in onnx_skip.txt with its reason; a listed case that passes is an error too, so that the list stays true.
 * See README.md here.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "platform/os/os.h"
#include "support/data.h"
#include "support/net.h"
#include "support/onnx_case.h"

#define RTOL 1e-3
#define ATOL 1e-5
#define LEAST_PASSED 250   /* distinct cases; Debian's alone are 287 */
#define LEAST_CURRENT 1100 /* with those of the onnx package */
#define SEEN_MOST 8192
#define WORK MTS_BINARY_DIR "/onnx-node"
#define DEBIAN "/usr/share/libonnx-testdata/data"

typedef struct skip_line {
    char name[128], reason[256];
    bool seen;
} skip_line;

typedef struct tally {
    uint32_t passed, listed, failed, stale, operators, types, repeated;
} tally;

static mts_device *devices[2]; /* NULL: not here */
static const char *const device_names[2] = {"reference", "opencl"};
static skip_line skips[512];
static uint32_t skip_count;
static uint64_t seen[SEEN_MOST];
static uint32_t seen_count;
static tally total;
static bool shared_data;

/* ---- the list ---- */

static bool read_skips(void)
{
    char line[512];
    FILE *file = fopen(MTS_SOURCE_DIR "/tests/conformance/onnx_skip.txt", "r");
    if (!file) {
        return false;
    }
    while (fgets(line, sizeof line, file)) {
        char *bar = strstr(line, " | ");
        if (line[0] == '#' || !bar || skip_count == sizeof skips / sizeof *skips) {
            continue;
        }
        *bar = 0;
        bar[strcspn(bar + 1, "\n") + 1] = 0;
        (void)snprintf(skips[skip_count].name, sizeof skips->name, "%.120s", line);
        (void)snprintf(skips[skip_count].reason, sizeof skips->reason, "%.250s", bar + 3);
        skip_count++;
    }
    (void)fclose(file);
    return true;
}

static skip_line *skip_of(const char *name)
{
    for (uint32_t i = 0; i < skip_count; i++) {
        if (strcmp(skips[i].name, name) == 0) {
            return &skips[i];
        }
    }
    return NULL;
}

static bool first_time(uint64_t hash)
{
    for (uint32_t i = 0; i < seen_count; i++) {
        if (seen[i] == hash) {
            return false;
        }
    }
    if (seen_count < SEEN_MOST) {
        seen[seen_count++] = hash;
    }
    return true;
}

/* ---- one case ---- */

static mts_status import_case(const onnx_case *one, mts_arena *arena, mts_graph **graph, mts_error *error)
{
    mts_import_options options = mts_import_options_default();
    mts_import_shape shapes[ONNX_CASE_PORTS];
    mts_host_tensor bindings[ONNX_CASE_PORTS];
    for (uint32_t i = 0; i < one->input_count; i++) {
        if (one->constant[i]) {
            bindings[options.binding_count++] = one->inputs[i];
        } else {
            shapes[options.shape_count].input = one->inputs[i].name;
            shapes[options.shape_count++].shape = one->inputs[i].shape;
        }
    }
    options.shapes = shapes;
    options.bindings = bindings;
    return mts_import_memory(one->model, one->model_size, "model.onnx", &options, arena, graph, error);
}

static mts_status compare_output(const mts_port *port, const void *data, size_t size,
                                 const mts_host_tensor *want, mts_arena *arena, mts_error *error)
{
    char have_text[96], want_text[96];
    size_t bytes = 0;
    const mts_host_tensor got = {.dtype = port->dtype, .shape = port->shape, .data = data};
    if (port->dtype != want->dtype || !mts_shape_equal(&port->shape, &want->shape) ||
        !mts_shape_bytes(&port->shape, port->dtype, &bytes) || bytes != size) {
        return mts_fail(error, MTS_STATUS_INTERNAL, "output %s is %s %s (%zu bytes), not %s %s", port->name,
                        mts_type_name(port->dtype), mts_shape_text(&port->shape, have_text, sizeof have_text),
                        size, mts_type_name(want->dtype),
                        mts_shape_text(&want->shape, want_text, sizeof want_text));
    }
    const float *a = onnx_tensor_floats(&got, arena), *b = onnx_tensor_floats(want, arena);
    if (!a || !b) {
        return mts_fail(error, MTS_STATUS_INTERNAL, "output %s cannot be compared", port->name);
    }
    const data_difference found = data_compare(a, b, mts_shape_count(&port->shape), RTOL, ATOL);
    if (found.count) {
        return mts_fail(error, MTS_STATUS_INTERNAL,
                        "output %s: %zu elements differ, worst [%zu]: %g instead of %g", port->name,
                        found.count, found.worst, (double)a[found.worst], (double)b[found.worst]);
    }
    return MTS_STATUS_OK;
}

static mts_status compare_outputs(mts_engine *engine, const mts_graph *graph, onnx_case *one,
                                  mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    if (graph->output_count != one->output_count) {
        return mts_fail(error, MTS_STATUS_INTERNAL, "%u outputs instead of %u", graph->output_count,
                        one->output_count);
    }
    for (uint32_t i = 0; i < graph->output_count && status == MTS_STATUS_OK; i++) {
        const void *data = NULL;
        size_t size = 0;
        status = mts_engine_output(engine, 0, i, &data, &size, error);
        if (status == MTS_STATUS_OK) {
            status = compare_output(&graph->outputs[i], data, size, &one->outputs[i], &one->arena, error);
        }
    }
    return status;
}

static mts_status run_on(mts_device *device, const test_net *net, onnx_case *one, mts_error *error)
{
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT};
    const mts_graph *graph = net->archive->tasks[0].graph;
    const void *data[ONNX_CASE_PORTS] = {NULL};
    const void *const *inputs = data;
    mts_engine *engine = NULL;
    for (uint32_t i = 0; i < graph->input_count; i++) {
        for (uint32_t j = 0; j < one->input_count; j++) {
            if (strcmp(graph->inputs[i].name, one->inputs[j].name) == 0) {
                data[i] = one->inputs[j].data;
            }
        }
        if (!data[i]) {
            return mts_fail(error, MTS_STATUS_INTERNAL, "the graph's input %s is none of the model's",
                            graph->inputs[i].name);
        }
    }
    mts_status status = mts_planned_engine_create(device, net->archive, &options, NULL, &engine, NULL, error);
    if (status == MTS_STATUS_OK) {
        status = net_engine_run(engine, net, &inputs, error);
    }
    if (status == MTS_STATUS_OK) {
        status = compare_outputs(engine, graph, one, error);
    }
    mts_engine_destroy(&engine);
    return status;
}

static mts_status run_case(onnx_case *one, mts_error *error)
{
    mts_arena arena;
    mts_graph *graph = NULL;
    test_net net = {0};
    mts_arena_init(&arena, mts_allocator_default());
    mts_status status = import_case(one, &arena, &graph, error);
    if (status == MTS_STATUS_OK) {
        status = net_make((const mts_graph *const *)&graph, 1, 0.0f, &net, error);
    }
    for (int d = 0; d < 2 && status == MTS_STATUS_OK; d++) {
        if (devices[d]) {
            status = run_on(devices[d], &net, one, error);
            if (status != MTS_STATUS_OK) {
                status = mts_fail_prefix(error, status, "%s", device_names[d]);
            }
        }
    }
    net_release(&net);
    mts_arena_release(&arena);
    return status;
}

static void judge(const char *name, onnx_case *one)
{
    mts_error error = {0};
    skip_line *skip = skip_of(name);
    if (skip) {
        skip->seen = true;
    }
    if (!first_time(one->hash)) {
        total.repeated++;
        return;
    }
    const mts_status status = run_case(one, &error);
    if (status == MTS_STATUS_OK && skip && devices[1]) {
        total.stale++;
        print_error("%s passes but is listed: %s\n", name, skip->reason);
    } else if (status == MTS_STATUS_OK) {
        total.passed++;
    } else if (skip) {
        total.listed++;
    } else {
        total.failed++;
        print_error("%s | %s: %s\n", name, mts_status_text(status), error.text);
    }
}

static void run_folder(const char *set, const char *folder, const char *entry)
{
    char path[DATA_PATH], name[128], reason[ONNX_CASE_REASON];
    onnx_case one;
    (void)snprintf(path, sizeof path, "%s/%s", folder, entry);
    (void)snprintf(name, sizeof name, "%s/%.100s", set, entry);
    switch (onnx_case_read(path, &one, reason)) {
    case ONNX_CASE_IN:
        judge(name, &one);
        break;
    case ONNX_CASE_OPERATOR:
        total.operators++;
        break;
    case ONNX_CASE_TYPE:
        total.types++;
        break;
    case ONNX_CASE_BROKEN:
        total.failed++;
        print_error("%s | unreadable: %s\n", name, reason);
        break;
    }
    onnx_case_release(&one);
}

static bool run_set(const char *set, const char *folder)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (strncmp(entries[i]->d_name, "test_", 5) == 0) {
            run_folder(set, folder, entries[i]->d_name);
        }
        free(entries[i]);
    }
    free(entries);
    return count > 2;
}

/* ---- the sets ---- */

/* Unpacks an archive of the shared data once; false if it is not there. */
static bool unpack(const char *archive, const char *folder)
{
    char from[DATA_PATH], to[DATA_PATH], command[3 * DATA_PATH];
    (void)data_path(MTS_SOURCE_DIR, archive, from);
    (void)snprintf(to, sizeof to, WORK "/%s", folder);
    (void)snprintf(command, sizeof command, "tar -xzf '%s' -C '" WORK "'", from);
    return data_exists(from) && (data_exists(to) || system(command) == 0);
}

static void every_case_in_scope_passes_or_is_listed_with_its_reason(void **state)
{
    (void)state;
    if (shared_data) {
        assert_true(run_set("opset9", WORK "/v1.4.1"));
        assert_true(run_set("opset17", WORK "/v1.12.0"));
        assert_true(run_set("pytorch-converted", WORK "/pytorch-converted"));
        (void)run_set("pytorch-operator", WORK "/pytorch-operator");
        (void)run_set("simple", WORK "/simple");
    }
    (void)run_set("opset17", DEBIAN "/node");
    (void)run_set("pytorch-converted", DEBIAN "/pytorch-converted");
    (void)run_set("pytorch-operator", DEBIAN "/pytorch-operator");
    (void)run_set("simple", DEBIAN "/simple");
    /* The last one: cases that older sets hold are listed under those. */
    (void)run_set("current", WORK "/current");
    assert_int_equal(total.failed, 0);
}

static void no_listed_case_passes_or_is_unknown(void **state)
{
    (void)state;
    for (uint32_t i = 0; shared_data && data_exists(DEBIAN) && i < skip_count; i++) {
        const bool is_here = strncmp(skips[i].name, "current/", 8) != 0 || data_exists(WORK "/current");
        if (is_here && !skips[i].seen) {
            total.stale++;
            print_error("%s is listed but is no case in scope\n", skips[i].name);
        }
    }
    assert_int_equal(total.stale, 0);
}

static void enough_distinct_cases_pass(void **state)
{
    (void)state;
    assert_true(total.passed >= (data_exists(WORK "/current") ? LEAST_CURRENT : LEAST_PASSED));
}

static bool prepare(void)
{
    mts_error error = {0};
    if (mts_os_directory_make(WORK, &error) != MTS_STATUS_OK || !read_skips()) {
        printf("cannot prepare: %s\n", error.text);
        return false;
    }
    shared_data = unpack("onnx/node/onnx_node_v1.4.1.tar.gz", "v1.4.1") &&
                  unpack("onnx/node/onnx_node_v1.12.0.tar.gz", "v1.12.0") &&
                  unpack("onnx/node/onnx_pytorch-exported_HEAD.tar.gz", "pytorch-converted");
    for (int d = 0; d < 2; d++) {
        if (net_device_open(device_names[d], WORK, &devices[d], &error) != MTS_STATUS_OK) {
            printf("%s: %s\n", device_names[d], error.text);
        }
    }
    return devices[0];
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_in_scope_passes_or_is_listed_with_its_reason),
        cmocka_unit_test(no_listed_case_passes_or_is_unknown),
        cmocka_unit_test(enough_distinct_cases_pass),
    };
    if (!prepare()) {
        return 1;
    }
    if (!shared_data && !data_exists(DEBIAN)) {
        printf("skipped: neither the shared data nor Debian's libonnx-testdata is here\n");
        return DATA_SKIPPED;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("ONNX cases: %u distinct passed on %s, %u listed, %u failed, %u listed wrongly; %u repeated; out "
           "of scope: %u by "
           "operator, %u by type\n",
           total.passed, devices[1] ? "reference and OpenCL" : "reference only", total.listed, total.failed,
           total.stale, total.repeated, total.operators, total.types);
    for (int d = 0; d < 2; d++) {
        mts_device_destroy(&devices[d]);
    }
    return failed;
}
