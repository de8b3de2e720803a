/*
 * End-to-end tests of what the mts program measures and plans: synth, bench, profile, inspect --plan.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "cli/program.h"
#include "support/onnx_model.h"

static void a_synthetic_bundle_is_written_inspected_and_measured(void **state)
{
    (void)state;
    json_t *root =
        expect_json("synth --arch resnet18 --tasks 3 --prune 0.95,0.9 --share 0.7 --input 32 --batch 1,2 "
                    "--classes 5 --seed 9 -o x.mtsb --json");
    assert_int_equal(json_integer_value(json_object_get(root, "tasks")), 3);
    assert_true(json_integer_value(json_object_get(root, "weights_bytes")) <
                json_integer_value(json_object_get(root, "weights_bytes_unshared")));
    json_decref(root);
    root = expect_json("inspect x.mtsb --json");
    const json_t *task = json_array_get(json_object_get(root, "tasks"), 1);
    const json_t *output = json_array_get(json_object_get(task, "outputs"), 0);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(output, "shape"), 0)), 2);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(output, "shape"), 1)), 5);
    json_decref(root);
    root = expect_json("bench x.mtsb --device reference --strategies sequential,compact+groups --tasks 1,3 "
                       "--warmup 1 --runs 3 --no-replay "
                       "--samples --plot x.svg -o x.json --json");
    assert_true(json_is_string(json_object_get(root, "device")));
    assert_true(
        json_is_null(json_object_get(root, "peak_gflops"))); /* plain C has no kernel that measures it */
    assert_int_equal(json_array_size(json_object_get(root, "peers")), 0);
    const json_t *results = json_object_get(root, "results");
    assert_int_equal(json_array_size(results), 4);
    const json_t *last = json_array_get(results, 3);
    assert_int_equal(json_integer_value(json_object_get(last, "tasks")), 3);
    assert_string_equal(json_string_value(json_object_get(last, "strategy")), "compact+groups");
    assert_int_equal(json_array_size(json_object_get(last, "samples_ms")), 3);
    assert_true(json_real_value(json_object_get(last, "gflops")) > 0.0);
    assert_true(json_number_value(json_object_get(last, "submit_ms")) > 0.0);
    assert_true(json_number_value(json_object_get(last, "device_ms")) > 0.0);
    assert_string_equal(json_string_value(json_object_get(root, "replay")), "off");
    assert_true(json_number_value(json_object_get(last, "difference")) <= 1e-4);
    const json_t *groups = json_object_get(last, "groups");
    size_t grouped = 0;
    for (size_t i = 0; i < json_array_size(groups); i++) {
        grouped += json_array_size(json_array_get(groups, i));
    }
    assert_int_equal(grouped, 3);
    assert_true(
        json_integer_value(json_object_get(json_object_get(last, "bytes"), "weights")) <
        json_integer_value(json_object_get(json_object_get(json_array_get(results, 2), "bytes"), "weights")));
    json_decref(root);
    char *text = slurp("x.svg");
    assert_memory_equal(text, "<svg ", 5);
    assert_non_null(strstr(text, "</svg>"));
    assert_null(strstr(text, "nan"));
    free(text);
    json_error_t error;
    root = json_load_file("x.json", 0, &error);
    assert_int_equal(json_array_size(json_object_get(root, "results")), 4);
    json_decref(root);
}

static void write_synthetic(void)
{
    result r = expect(0, "synth --arch resnet18 --tasks 2 --prune 0.95 --share 0.5 --input 32 -o x.mtsb");
    result_release(&r);
}

/* The only result of this strategy and precision. */
static const json_t *result_of(const json_t *root, const char *strategy, const char *precision)
{
    const json_t *results = json_object_get(root, "results");
    const json_t *found = NULL;
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *one = json_array_get(results, i);
        if (strcmp(json_string_value(json_object_get(one, "strategy")), strategy) == 0 &&
            strcmp(json_string_value(json_object_get(one, "precision")), precision) == 0) {
            assert_null(found);
            found = one;
        }
    }
    assert_non_null(found);
    return found;
}

static double bytes_of(const json_t *of, const char *kind)
{
    return json_number_value(json_object_get(json_object_get(of, "bytes"), kind));
}

static void bench_measures_precisions_and_their_errors(void **state)
{
    static const char *const strategies[2] = {"sequential", "compact"};
    (void)state;
    write_synthetic();
    json_t *root = expect_json("bench x.mtsb --device reference --precisions float32,float16-storage,float16 "
                               "--warmup 0 --runs 1 --plot x.svg --json");
    assert_int_equal(json_array_size(json_object_get(root, "results")), 6);
    for (int s = 0; s < 2; s++) {
        const json_t *full = result_of(root, strategies[s], "float32");
        const json_t *storage = result_of(root, strategies[s], "float16-storage");
        const json_t *half = result_of(root, strategies[s], "float16");
        assert_null(json_object_get(full, "error"));
        assert_string_equal(json_string_value(json_object_get(half, "precision_used")), "float16");
        assert_true(bytes_of(storage, "weights") * 2 == bytes_of(full, "weights"));
        assert_true(bytes_of(storage, "peak") < 0.7 * bytes_of(full, "peak"));
        const json_t *error = json_object_get(storage, "error");
        const double most = json_number_value(json_object_get(error, "max_relative"));
        const double mean = json_number_value(json_object_get(error, "mean_relative"));
        assert_true(mean > 0.0 && mean < most && most < 2e-2);
    }
    json_decref(root);
    char *text = slurp("x.svg");
    assert_non_null(strstr(text, "compact float16-storage"));
    free(text);
}

/* Where no float32 is asked for there is still one to compare with; it is not a result. */
static void bench_of_float16_alone_compares_with_float32(void **state)
{
    (void)state;
    write_synthetic();
    json_t *root = expect_json("bench x.mtsb --device reference --strategies compact+groups --precisions "
                               "float16-storage --warmup 0 --runs 1 --json");
    assert_int_equal(json_array_size(json_object_get(root, "results")), 1);
    const json_t *only = result_of(root, "compact+groups", "float16-storage");
    const double most = json_number_value(json_object_get(json_object_get(only, "error"), "max_relative"));
    assert_true(most > 0.0 && most < 2e-2);
    json_decref(root);
    result r =
        expect(0, "bench x.mtsb --device reference --strategies compact --precisions float16 --warmup 0 "
                  "--runs 1 --inputs copied");
    assert_non_null(strstr(r.out, "compact float16"));
    assert_non_null(strstr(r.out, "max error"));
    result_release(&r);
    r = expect(0, "bench x.mtsb --device reference --strategies compact --warmup 0 --runs 1");
    assert_null(strstr(r.out, "max error"));
    result_release(&r);
}

static void a_session_of_a_precision_says_so(void **state)
{
    (void)state;
    write_synthetic();
    json_t *root = expect_json("inspect x.mtsb --plan --device reference --precision float16-storage --json");
    assert_string_equal(json_string_value(json_object_get(root, "precision")), "float16-storage");
    json_decref(root);
    root = expect_json("profile x.mtsb --device reference --precision float16 --runs 1 --json");
    assert_string_equal(json_string_value(json_object_get(root, "precision")), "float16");
    json_decref(root);
    result r = expect(0, "inspect x.mtsb --plan --device reference");
    assert_non_null(strstr(r.out, "in float32"));
    result_release(&r);
    compile_demo();
    write_picture("p.ppm", 50, 40);
    root = expect_json("run small.mtsb --image p.ppm --device reference --precision float16-storage --json");
    const json_t *run = json_array_get(json_object_get(root, "strategies"), 0);
    assert_string_equal(json_string_value(json_object_get(run, "precision")), "float16-storage");
    json_decref(root);
    r = expect(0, "run small.mtsb --image p.ppm --device reference --precision float16-storage");
    assert_non_null(strstr(r.out, "in float16-storage"));
    result_release(&r);
}

static void bench_prints_a_table_and_takes_a_common_frame(void **state)
{
    (void)state;
    compile_demo();
    result r = expect(0, "bench small.mtsb --device reference --tasks 2 --frames common --inputs uploaded "
                         "--warmup 0 --runs 1");
    assert_non_null(strstr(r.out, "sequential"));
    assert_non_null(strstr(r.out, "one common frame"));
    assert_non_null(strstr(r.out, "uploaded"));
    result_release(&r);
}

/* Every launch is one complete event, in order and without overlap, that names what the profile names. */
static void assert_trace(const json_t *trace, const json_t *launches)
{
    const json_t *events = json_object_get(trace, "traceEvents");
    size_t complete = 0, counted = 0;
    double clock = 0.0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        const char *phase = json_string_value(json_object_get(event, "ph"));
        assert_int_equal(json_integer_value(json_object_get(event, "pid")), 1);
        assert_true(json_is_integer(json_object_get(event, "tid")));
        assert_true(json_is_object(json_object_get(event, "args")));
        if (strcmp(phase, "M") == 0) {
            assert_true(json_is_string(json_object_get(json_object_get(event, "args"), "name")));
            continue;
        }
        if (strcmp(phase, "C") == 0) { /* up where a launch begins, down where it ends */
            const double percent =
                json_number_value(json_object_get(json_object_get(event, "args"), "percent"));
            assert_true(percent >= 0.0 && percent <= 100.0);
            counted++;
            continue;
        }
        const json_t *launch = json_array_get(launches, complete++);
        const double start = json_number_value(json_object_get(event, "ts"));
        assert_string_equal(phase, "X");
        assert_string_equal(json_string_value(json_object_get(event, "name")),
                            json_string_value(json_object_get(launch, "label")));
        assert_true(start >= clock - 0.001);
        clock = start + json_number_value(json_object_get(event, "dur"));
        assert_true(json_integer_value(json_object_get(json_object_get(event, "args"), "mul_adds")) ==
                    json_integer_value(json_object_get(launch, "mul_adds")));
    }
    assert_int_equal(complete, json_array_size(launches));
    assert_int_equal(counted, 2 * complete);
}

/* A process of its own, whose threads compute every launch. */
static void a_trace_of_device_cpu_has_a_row_for_each_thread(void **state)
{
    json_error_t error;
    (void)state;
    compile_demo();
    json_t *r =
        expect_json("profile small.mtsb --device cpu --threads 2 --runs 1 --no-probe --trace c.json --json");
    const size_t launches = json_array_size(json_object_get(r, "profile"));
    json_t *trace = json_load_file("c.json", JSON_REJECT_DUPLICATES, &error);
    if (!trace) {
        fail_msg("c.json: %s", error.text);
    }
    const json_t *events = json_object_get(trace, "traceEvents");
    size_t parts = 0, rows = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        const char *category = json_string_value(json_object_get(event, "cat"));
        if (json_integer_value(json_object_get(event, "pid")) == 2) {
            const json_int_t thread = json_integer_value(json_object_get(event, "tid"));
            assert_in_range(thread, 0, 2);
            rows += strcmp(json_string_value(json_object_get(event, "name")), "thread_name") == 0;
            parts += category && strcmp(category, "wait") != 0;
        }
    }
    assert_in_range(rows, 1, 2); /* a thread that was late computed nothing */
    assert_true(parts >= launches);
    json_decref(trace);
    json_decref(r);
}

static void a_profile_names_every_launch_and_its_trace_can_be_opened(void **state)
{
    (void)state;
    compile_demo();
    json_t *root =
        expect_json("profile small.mtsb --device reference --tasks pet,diet --runs 2 --trace t.json --json");
    const json_t *launches = json_object_get(root, "profile");
    json_int_t mul_adds = 0;
    double shares = 0.0;
    assert_int_equal(json_array_size(launches), json_integer_value(json_object_get(root, "launches")));
    for (size_t i = 0; i < json_array_size(launches); i++) {
        const json_t *launch = json_array_get(launches, i);
        mul_adds += json_integer_value(json_object_get(launch, "mul_adds"));
        shares += json_number_value(json_object_get(launch, "share"));
        assert_true(json_number_value(json_object_get(launch, "ms")) >= 0.0);
    }
    assert_true(mul_adds == json_integer_value(json_object_get(root, "mul_adds")));
    assert_true(shares > 0.999 && shares < 1.001);
    assert_true(json_array_size(json_object_get(root, "kinds")) > 2);
    assert_true(json_number_value(json_object_get(root, "busy_ms")) <=
                json_number_value(json_object_get(root, "span_ms")));
    json_error_t error;
    json_t *trace = json_load_file("t.json", JSON_REJECT_DUPLICATES, &error);
    if (!trace) {
        fail_msg("t.json: %s at %d", error.text, error.position);
    }
    assert_trace(trace, launches);
    json_decref(trace);
    json_decref(root);
    result r =
        expect(0, "profile small.mtsb --device reference --strategy sequential --frames common --runs 1");
    assert_non_null(strstr(r.out, "strategy sequential"));
    assert_non_null(strstr(r.out, "one common frame"));
    assert_non_null(strstr(r.out, "conv 3x3"));
    result_release(&r);
}

static void a_plan_is_explained_with_what_was_considered(void **state)
{
    (void)state;
    compile_demo();
    json_t *root = expect_json("inspect small.mtsb --plan --json --tasks pet,wheels --grouping measured "
                               "--priority wheels=2,pet=1 --tune 20000 --device reference --no-cache");
    assert_int_equal(json_array_size(json_object_get(root, "groups")), 2);
    const json_t *group = json_array_get(json_object_get(root, "groups"), 0);
    assert_string_equal(json_string_value(json_array_get(group, 0)), "wheels");
    assert_true(json_is_array(json_object_get(root, "considered")));
    assert_true(json_number_value(json_object_get(root, "planning_ms")) > 0.0);
    assert_true(json_is_false(json_object_get(root, "cached")));
    assert_true(json_integer_value(json_object_get(json_object_get(root, "tuning"), "candidates")) > 0);
    json_decref(root);
    result r = expect(
        0, "inspect small.mtsb --plan --tasks pet,wheels,animal --grouping measured --device reference "
           "--no-cache");
    assert_non_null(strstr(r.out, "considered for the tasks of class 0"));
    assert_non_null(strstr(r.out, "each task alone"));
    assert_non_null(strstr(r.out, "chosen"));
    result_release(&r);
    r = expect(2, "inspect small.mtsb --plan --priority pet=high --device reference");
    assert_non_null(strstr(r.err, "whole numbers"));
    result_release(&r);
}

/* ---- what a plan names ---- */

enum { MAP = 24, CHANNELS = 17, SMALL = 4 };

static void add_weights(onnx_model *model, const char *name, int64_t out, int64_t in, int64_t taps)
{
    float numbers[CHANNELS * CHANNELS * 9];
    const int64_t dims[4] = {out, in, taps, taps};
    const size_t count = (size_t)(out * in * taps * taps);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = (float)((int)(i * 7 % 11) - 5) * 0.1f;
    }
    onnx_model_floats(model, name, 4, dims, numbers);
}

static void add_conv(onnx_model *model, const char *inputs, const char *output, bool depthwise)
{
    static const int64_t pads[4] = {1, 1, 1, 1};
    onnx_model_node(model, "Conv", inputs, output);
    if (depthwise) {
        onnx_model_attr_int(model, "group", CHANNELS);
        onnx_model_attr_ints(model, "pads", 4, pads);
    }
}

static void compile_model(onnx_model *model, const char *output)
{
    onnx_model_output(model, output);
    const onnx_bytes *file = onnx_model_file(model);
    write_file("m.onnx", file->data, file->size);
    onnx_model_end(model);
    result r = expect(0, "compile --task m=m.onnx -o m.mtsb");
    result_release(&r);
}

/* A 1x1 convolution, a depthwise and a 1x1 one on a large map, a pool, and such a pair on a small map. */
static void compile_blocks(void)
{
    static const int64_t window[2] = {MAP / SMALL, MAP / SMALL}, x[4] = {1, CHANNELS, MAP, MAP};
    onnx_model model;
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, 4, x);
    add_weights(&model, "d", CHANNELS, 1, 3);
    add_weights(&model, "p", CHANNELS, CHANNELS, 1);
    add_weights(&model, "e", CHANNELS, 1, 3);
    add_weights(&model, "q", CHANNELS, CHANNELS, 1);
    add_conv(&model, "x,p", "first", false);
    add_conv(&model, "first,d", "large", true);
    add_conv(&model, "large,p", "mixed", false);
    onnx_model_node(&model, "AveragePool", "mixed", "pooled");
    onnx_model_attr_ints(&model, "kernel_shape", 2, window);
    onnx_model_attr_ints(&model, "strides", 2, window);
    add_conv(&model, "pooled,e", "small", true);
    add_conv(&model, "small,q", "y", false);
    compile_model(&model, "y");
}

/* The launch of a plan whose label begins so; a plan has one. */
static const json_t *launch_named(const json_t *plan, const char *label)
{
    const json_t *launches = json_object_get(plan, "launches"), *found = NULL;
    for (size_t i = 0; i < json_array_size(launches); i++) {
        const json_t *launch = json_array_get(launches, i);
        if (strncmp(json_string_value(json_object_get(launch, "label")), label, strlen(label)) == 0) {
            assert_null(found);
            found = launch;
        }
    }
    if (!found) {
        fail_msg("no launch is called '%s ...'", label);
    }
    return found;
}

static const char *layout_of(const json_t *launch, const char *direction)
{
    const json_t *layouts = json_object_get(launch, direction);
    assert_int_equal(json_array_size(layouts), 1);
    return json_string_value(json_array_get(layouts, 0));
}

static void a_plan_names_fused_blocks_and_what_only_moves(void **state)
{
    (void)state;
    compile_blocks();
    result r = expect(0, "inspect m.mtsb --plan --device reference --no-cache");
    assert_non_null(strstr(r.out, "1 launches are fused blocks, of 2 layers"));
    assert_non_null(strstr(r.out, "depthwise + conv 1x1"));
    assert_non_null(strstr(r.out, "apart: no gain is predicted"));
    assert_non_null(strstr(r.out, "3 launches only move data, resize or pool"));
    assert_non_null(strstr(r.out, "windows cross the tiles of the producer"));
    result_release(&r);
    json_t *plan = expect_json("inspect m.mtsb --plan --device reference --no-cache --json");
    assert_int_equal(json_integer_value(json_object_get(launch_named(plan, "depthwise + conv 1x1"), "fused")),
                     2);
    assert_string_equal(
        json_string_value(json_object_get(launch_named(plan, "conv 1x1 x1 Conv_mixed"), "apart")),
        "no gain is predicted");
    assert_true(json_integer_value(json_object_get(launch_named(plan, "pool"), "moved_bytes")) > 0);
    assert_int_equal(
        json_integer_value(json_object_get(launch_named(plan, "conv 1x1 x1 Conv_mixed"), "moved_bytes")), 0);
    json_decref(plan);
}

/* Two convolutions, the second one with a stride: what each launch reads and writes, and which of them only move data. */
static void a_plan_names_layouts_and_what_moves(void **state)
{
    static const int64_t x[4] = {1, CHANNELS, MAP, MAP}, pads[4] = {1, 1, 1, 1}, strides[2] = {2, 2};
    static const struct {
        const char *label, *reads, *writes;
        bool moves;
    } wanted[] = {{"space to depth", "dense", "phases", true},
                  {"conv 1x1", "phases", "dense", false},
                  {"space to depth", "dense", "phases", true},
                  {"conv 3x3", "phases", "planes", false},
                  {"copy to dense", "planes", "dense", true}};
    (void)state;
    onnx_model model;
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, 4, x);
    add_weights(&model, "p", CHANNELS, CHANNELS, 1);
    add_weights(&model, "w", CHANNELS, CHANNELS, 3);
    add_conv(&model, "x,p", "first", false);
    onnx_model_node(&model, "Conv", "first,w", "y");
    onnx_model_attr_ints(&model, "pads", 4, pads);
    onnx_model_attr_ints(&model, "strides", 2, strides);
    compile_model(&model, "y");
    json_t *plan = expect_json("inspect m.mtsb --plan --device reference --no-cache --json");
    const json_t *launches = json_object_get(plan, "launches");
    assert_int_equal(json_array_size(launches), sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const json_t *launch = json_array_get(launches, i);
        const char *label = json_string_value(json_object_get(launch, "label"));
        assert_int_equal(strncmp(label, wanted[i].label, strlen(wanted[i].label)), 0);
        assert_string_equal(layout_of(launch, "reads"), wanted[i].reads);
        assert_string_equal(layout_of(launch, "writes"), wanted[i].writes);
        assert_int_equal(json_is_string(json_object_get(launch, "moves")), wanted[i].moves);
        assert_int_equal(json_integer_value(json_object_get(launch, "moved_bytes")),
                         wanted[i].moves ? json_integer_value(json_object_get(launch, "bytes")) : 0);
    }
    json_decref(plan);
}

static void a_plan_names_packs_of_channels(void **state)
{
    (void)state;
    compile_blocks();
    json_t *plan =
        expect_json("inspect m.mtsb --plan --device reference --no-cache --packed-channels --json");
    const json_t *mixed = launch_named(plan, "conv 1x1 x1 Conv_mixed");
    assert_string_equal(layout_of(mixed, "reads"), "packs");
    assert_string_equal(layout_of(mixed, "writes"), "packs");
    json_decref(plan);
    plan = expect_json("inspect m.mtsb --plan --device reference --no-cache --planes --json");
    mixed = launch_named(plan, "conv 1x1 x1 Conv_mixed");
    assert_string_not_equal(layout_of(mixed, "reads"), "packs");
    assert_string_not_equal(layout_of(mixed, "writes"), "packs");
    json_decref(plan);
}

/* x and the result of each of two convolutions in 8 bits, as quantising tools write it. */
static void compile_bytes(void)
{
    static const int64_t x[4] = {1, CHANNELS, SMALL, SMALL}, dims[4] = {CHANNELS, CHANNELS, 1, 1};
    static const char *const from[3] = {"x", "a", "b"};
    int8_t codes[CHANNELS * CHANNELS];
    const int8_t zero = 0;
    const float scale = 0.05f;
    onnx_model model;
    for (int i = 0; i < CHANNELS * CHANNELS; i++) {
        codes[i] = (int8_t)(i * 13 % 101 - 50);
    }
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, 4, x);
    onnx_model_floats(&model, "s", 0, NULL, &scale);
    onnx_model_tensor(&model, "z", ONNX_INT8, 0, NULL, &zero, 1);
    onnx_model_tensor(&model, "w", ONNX_INT8, 4, dims, codes, sizeof codes);
    for (int i = 0; i < 3; i++) {
        char in[32], step[16];
        (void)snprintf(in, sizeof in, "%s,s,z", from[i]);
        (void)snprintf(step, sizeof step, "q%d", i);
        onnx_model_node(&model, "QuantizeLinear", in, step);
        (void)snprintf(in, sizeof in, "q%d,s,z", i);
        (void)snprintf(step, sizeof step, "f%d", i);
        onnx_model_node(&model, "DequantizeLinear", in, step);
        if (i < 2) {
            (void)snprintf(step, sizeof step, "w%d", i);
            onnx_model_node(&model, "DequantizeLinear", "w,s,z", step);
            (void)snprintf(in, sizeof in, "f%d,w%d", i, i);
            add_conv(&model, in, from[i + 1], false);
        }
    }
    compile_model(&model, "f2");
}

/* Only some processors multiply bytes; `mts devices` says which this is. */
static void a_plan_names_codes_where_the_device_multiplies_bytes(void **state)
{
    (void)state;
    compile_bytes();
    result r = expect(0, "devices");
    const bool is_there = strstr(r.out, " cpu  ") != NULL;
    const bool bytes = strstr(r.out, "vnni") || strstr(r.out, "dotprod");
    result_release(&r);
    if (!is_there) {
        skip();
    }
    r = expect(0, "inspect m.mtsb --plan --device cpu --no-cache");
    assert_true((strstr(r.out, "codes -> codes") != NULL) == bytes);
    result_release(&r);
    r = expect(0, "inspect m.mtsb --plan --device reference --no-cache");
    assert_null(strstr(r.out, "codes ->"));
    result_release(&r);
}

static void a_priority_of_a_task_that_the_bundle_lacks_is_a_usage_error(void **state)
{
    static const char *const commands[] = {
        "inspect small.mtsb --plan --priority pet=1,weels=2 --device reference --no-cache",
        "profile small.mtsb --priority weels=2 --device reference --no-cache",
        "bench small.mtsb --priority weels=2 --device reference --no-cache --no-probe"};
    (void)state;
    compile_demo();
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        result r = expect(2, commands[i]);
        assert_non_null(strstr(r.err, "'weels'"));
        result_release(&r);
    }
    result r = expect(0, "bench small.mtsb --tasks 1 --runs 1 --warmup 0 --priority wheels=2,animal=1 "
                         "--device reference --no-cache --no-probe");
    result_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_synthetic_bundle_is_written_inspected_and_measured),
        IN_FOLDER(bench_measures_precisions_and_their_errors),
        IN_FOLDER(bench_of_float16_alone_compares_with_float32),
        IN_FOLDER(a_session_of_a_precision_says_so),
        IN_FOLDER(bench_prints_a_table_and_takes_a_common_frame),
        IN_FOLDER(a_profile_names_every_launch_and_its_trace_can_be_opened),
        IN_FOLDER(a_trace_of_device_cpu_has_a_row_for_each_thread),
        IN_FOLDER(a_plan_is_explained_with_what_was_considered),
        IN_FOLDER(a_plan_names_fused_blocks_and_what_only_moves),
        IN_FOLDER(a_plan_names_layouts_and_what_moves),
        IN_FOLDER(a_plan_names_packs_of_channels),
        IN_FOLDER(a_plan_names_codes_where_the_device_multiplies_bytes),
        IN_FOLDER(a_priority_of_a_task_that_the_bundle_lacks_is_a_usage_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
