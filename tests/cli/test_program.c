/*
 * End-to-end tests of the mts program: what it prints, its exit status, and that a failure leaves nothing
 * behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "cli/program.h"

static void help_and_version_are_printed_for_every_command(void **state)
{
    static const char *const commands[] = {"",     "devices", "compile", "inspect", "run",
                                           "eval", "export",  "synth",   "bench",   "profile"};
    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        result help = run("%s --help", commands[i]);
        assert_int_equal(help.status, 0);
        assert_memory_equal(help.out, "usage: mts ", 11);
        assert_non_null(strstr(help.out, commands[i]));
        assert_string_equal(help.err, "");
        result_release(&help);
        result version = run("%s --version", commands[i]);
        assert_int_equal(version.status, 0);
        assert_string_equal(version.out, "mts 0.1.0\n");
        result_release(&version);
    }
}

/* What is wrong, and what the message says of it. */
typedef struct mistake {
    const char *arguments, *said;
} mistake;

static const mistake mistakes[] = {
    {"", "usage"},
    {"frobnicate", "frobnicate"},
    {"devices extra", "extra"},
    {"devices --nonsense", "--nonsense"},
    {"compile", "-o"},
    {"compile -o x.mtsb", "--task"},
    {"compile -o", "value"},
    {"compile --task a=b --tolerance banana -o x.mtsb", "banana"},
    {"compile --task a=b --tolerance 7 -o x.mtsb", "range"},
    {"compile --task a=b --tolerance nan -o x.mtsb", "nan"},
    {"compile --task nofile -o x.mtsb", "nofile"},
    {"compile --task a=b --shape c=1x3x8x8 -o x.mtsb", "c=1x3x8x8"},
    {"compile --task a=b --shape a=1xx8 -o x.mtsb", "1xx8"},
    {"compile --task a=b --shape a=1xN -o x.mtsb", "--lengths a="},
    {"compile --task a=b --lengths a=8,,16 --shape a=1xN -o x.mtsb", "whole numbers"},
    {"compile --task a=b --lengths a=8,16 --shape a=1x8 -o x.mtsb", "has an N"},
    {"compile --task a=b --color a=mauve -o x.mtsb", "mauve"},
    {"compile --task a=b --std a=0 -o x.mtsb", "greater"},
    {"inspect", "BUNDLE"},
    {"inspect x --json --dot", "not both"},
    {"inspect x --dot=yes", "no value"},
    {"inspect x --plan --dot", "not both"},
    {"inspect x --budget 5M", "--plan"},
    {"inspect x --plan --grouping some", "family or measured"},
    {"inspect x --plan --frames one", "separate or common"},
    {"inspect x --plan --strategy none", "no strategy"},
    {"inspect x --plan --precision none", "no precision"},
    {"inspect x --precision float16", "--plan"},
    {"inspect x --plan --tune 0", "--tune"},
    {"run x.mtsb", "--image"},
    {"run x.mtsb --image p.png --strategy fastest", "fastest"},
    {"run x.mtsb --image p.png --precision half", "half"},
    {"run x.mtsb --image p.png --fit squeeze", "squeeze"},
    {"run x.mtsb --image p.png --crop 1,2,3", "X,Y,WIDTH,HEIGHT"},
    {"run x.mtsb --image p.png --top 0", "range"},
    {"run x.mtsb --image p.png --top 1.5", "whole"},
    {"run x.mtsb --image p.png --image q.png", "twice"},
    {"run x.mtsb --image p.png --tasks a,,b", "a,,b"},
    {"run x.mtsb --raw a=b.npy --annotate o.png", "--image"},
    {"eval x.mtsb", "--data"},
    {"eval x.mtsb --data d.bin --precision half", "half"},
    {"export x.mtsb --task a", "-o"},
    {"synth -o x.mtsb", "--arch"},
    {"synth --arch lenet -o x.mtsb", "lenet"},
    {"synth --arch vgg16", "-o"},
    {"synth --arch vgg16 --prune 1 -o x.mtsb", "0.999"},
    {"synth --arch vgg16 --prune 0.9,,0.8 -o x.mtsb", "0.9,,0.8"},
    {"synth --arch vgg16 --batch 1.5 -o x.mtsb", "1.5"},
    {"synth --arch vgg16 --share 1.1 -o x.mtsb", "1.1"},
    {"bench", "BUNDLE"},
    {"bench x.mtsb --strategies compact,quick", "quick"},
    {"bench x.mtsb --strategies +groups", "+groups"},
    {"bench x.mtsb --strategies compact+budget", "--budget"},
    {"bench x.mtsb --budget 9", "+budget"},
    {"bench x.mtsb --tasks 4,none", "none"},
    {"bench x.mtsb --precisions float32,half", "half"},
    {"bench x.mtsb --precisions float32,,float16", "float32,,float16"},
    {"bench x.mtsb --strategies sequential,compact,netfuse,dense,compact --precisions "
     "float32,float16-storage,float16",
     "12 at most"},
    {"bench x.mtsb --frames both", "both"},
    {"bench x.mtsb --runs 0", "range"},
    {"bench x.mtsb --replay --no-replay", "not both"},
    {"bench x.mtsb --queue quick", "no queue mode 'quick'"},
    {"profile", "BUNDLE"},
    {"profile x.mtsb --strategy quick", "quick"},
    {"profile x.mtsb --precision double", "no precision 'double'"},
    {"profile x.mtsb --grouping best", "best"},
    {"profile x.mtsb --frames both", "both"},
    {"profile x.mtsb --runs 10001", "range"},
};

static void a_mistake_on_the_command_line_is_status_2_and_names_the_mistake(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        result r = expect(2, mistakes[i].arguments);
        assert_string_equal(r.out, "");
        if (!strstr(r.err, mistakes[i].said)) {
            fail_msg("mts %s: '%s' is not in: %s", mistakes[i].arguments, mistakes[i].said, r.err);
        }
        result_release(&r);
    }
    assert_int_equal(files_in_folder(), 0);
}

static void devices_lists_the_reference_as_text_and_json(void **state)
{
    (void)state;
    result r = expect(0, "devices");
    assert_non_null(strstr(r.out, "reference"));
    assert_null(strstr(r.out, "null"));
    result_release(&r);
    json_t *root = expect_json("devices --json");
    const json_t *devices = json_object_get(root, "devices");
    const size_t count = json_array_size(devices);
    assert_true(count >= 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(devices, count - 1), "id")),
                        "reference");
    json_decref(root);
}

static void compile_inspect_and_run_work_end_to_end(void **state)
{
    (void)state;
    compile_demo();
    write_picture("p.ppm", 50, 40);
    json_t *root = expect_json("inspect small.mtsb --json");
    assert_int_equal(json_array_size(json_object_get(root, "tasks")), 8);
    json_decref(root);
    result r = expect(0, "inspect small.mtsb");
    assert_non_null(strstr(r.out, "habitat"));
    result_release(&r);
    r = expect(0, "inspect small.mtsb --dot");
    assert_memory_equal(r.out, "digraph", 7);
    result_release(&r);
    r = expect(0, "run small.mtsb --image p.ppm --device reference --top 1");
    assert_non_null(strstr(r.out, "wheels"));
    result_release(&r);
    root = expect_json("run small.mtsb --image p.ppm --tasks diet,pet --device reference --json --repeat 2");
    const json_t *tasks = json_object_get(root, "tasks");
    assert_int_equal(json_array_size(tasks), 2);
    const json_t *diet = json_array_get(tasks, 0);
    assert_string_equal(json_string_value(json_object_get(diet, "name")), "diet");
    assert_int_equal(json_array_size(json_object_get(diet, "top")), 3);
    double sum = 0;
    for (size_t i = 0; i < 3; i++) {
        sum += json_number_value(json_object_get(json_array_get(json_object_get(diet, "top"), i), "score"));
    }
    assert_true(sum > 0.5 && sum < 1.0001);
    const json_t *strategy = json_array_get(json_object_get(root, "strategies"), 0);
    assert_string_equal(json_string_value(json_object_get(strategy, "strategy")), "compact");
    const json_t *latency = json_object_get(strategy, "latency_ms");
    assert_int_equal(json_integer_value(json_object_get(latency, "runs")), 2);
    assert_true(json_number_value(json_object_get(latency, "median")) > 0.0);
    assert_true(json_integer_value(json_object_get(json_object_get(strategy, "bytes"), "weights")) > 1400000);
    json_decref(root);
}

static void both_strategies_are_compared_and_agree(void **state)
{
    (void)state;
    compile_demo();
    write_picture("p.ppm", 33, 70);
    json_t *root = expect_json("run small.mtsb --image p.ppm --tasks legs,size --device reference --compare "
                               "--repeat 1 --fit crop --json");
    assert_int_equal(json_array_size(json_object_get(root, "strategies")), 2);
    assert_true(json_number_value(json_object_get(root, "difference")) <= 1e-4);
    const json_t *crop = json_object_get(json_object_get(root, "image"), "crop");
    assert_int_equal(json_integer_value(json_array_get(crop, 1)), 0);
    assert_int_equal(json_integer_value(json_array_get(crop, 3)), 70); /* each input crops it to its shape */
    json_decref(root);
}

static void the_annotated_picture_is_a_png_that_can_be_run_again(void **state)
{
    (void)state;
    compile_demo();
    write_picture("p.ppm", 20, 30);
    result r = expect(0, "run small.mtsb --image p.ppm --tasks pet --device reference --annotate a.png");
    result_release(&r);
    char *png = slurp("a.png");
    assert_memory_equal(png, "\x89PNG\r\n\x1a\n", 8);
    free(png);
    json_t *root = expect_json("run small.mtsb --image a.png --tasks pet --device reference --json");
    const json_t *image = json_object_get(root, "image");
    const json_int_t width = json_integer_value(json_object_get(image, "width"));
    assert_true(width > 100 && width % 20 == 0); /* enlarged until the panel fits onto it */
    assert_int_equal(json_integer_value(json_object_get(image, "height")), width / 20 * 30);
    json_decref(root);
}

static void saved_outputs_are_arrays_and_can_be_given_back_as_raw_inputs(void **state)
{
    float values[3 * 32 * 32];
    char header[128];
    (void)state;
    compile_demo();
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        values[i] = (float)(i % 97) / 50.0f - 1.0f;
    }
    (void)memset(header, ' ', sizeof header);
    memcpy(header,
           "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 32, 32), }",
           10 + 66);
    header[sizeof header - 1] = '\n';
    FILE *file = fopen("in.npy", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(header, 1, sizeof header, file), sizeof header);
    assert_int_equal(fwrite(values, sizeof values[0], 3072, file), 3072);
    assert_int_equal(fclose(file), 0);
    result r = expect(0, "run small.mtsb --raw pet:image=in.npy --tasks pet --device reference --save out");
    result_release(&r);
    char *saved = slurp("out/pet.0.npy");
    assert_memory_equal(saved, "\x93NUMPY", 6);
    assert_non_null(strstr(saved + 10, "(1,3,)"));
    free(saved);
    r = expect(1, "run small.mtsb --raw pet=out/pet.0.npy --tasks pet --device reference");
    assert_non_null(strstr(r.err, "1x3x32x32"));
    result_release(&r);
    r = expect(1, "run small.mtsb --raw pet=in.npy --device reference");
    assert_non_null(strstr(r.err, "object"));
    result_release(&r);
}

static void eval_counts_right_answers_of_cifar_records(void **state)
{
    uint8_t records[2 * 3073];
    (void)state;
    compile_demo();
    for (size_t i = 0; i < sizeof records; i++) {
        records[i] = (uint8_t)(i * 7 + i / 100);
    }
    /* the same picture under every class: the accuracies of all classes add up to one right answer for
     * `object` */
    uint8_t all[10 * 3073];
    for (size_t c = 0; c < 10; c++) {
        memcpy(all + c * 3073, records, 3073);
        all[c * 3073] = (uint8_t)c;
    }
    write_file("all.bin", all, sizeof all);
    json_t *root =
        expect_json("eval small.mtsb --data all.bin --tasks object,animal --device reference --json");
    const json_t *tasks = json_object_get(root, "tasks");
    assert_int_equal(json_array_size(tasks), 2);
    const json_t *object = json_array_get(tasks, 0);
    assert_string_equal(json_string_value(json_object_get(object, "name")), "object");
    assert_true(json_number_value(json_object_get(object, "accuracy")) == 10.0);
    assert_int_equal(json_integer_value(json_object_get(object, "images")), 10);
    const double animal = json_number_value(json_object_get(json_array_get(tasks, 1), "accuracy"));
    assert_true(animal == 40.0 || animal == 60.0); /* 4 or 6 of 10 classes */
    json_decref(root);
    write_file("short.bin", all, 3000);
    result r = expect(1, "eval small.mtsb --data short.bin --device reference");
    assert_non_null(strstr(r.err, "short.bin"));
    result_release(&r);
    all[0] = 10;
    write_file("bad.bin", all, sizeof all);
    r = expect(1, "eval small.mtsb --data bad.bin --tasks pet --device reference");
    assert_non_null(strstr(r.err, "class 10"));
    result_release(&r);
}

/* Records whose labels are what `object` answers, so that it is right in all of them. */
static void write_right_records(const char *path, uint32_t count)
{
    uint8_t *records = calloc(count, 3073);
    assert_non_null(records);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *record = records + (size_t)i * 3073;
        for (uint32_t p = 1; p < 3073; p++) {
            record[p] = (uint8_t)(p * (i + 3) / 7 + i * 50);
        }
        for (uint8_t label = 0; label < 10; label++) {
            record[0] = label;
            write_file("one.bin", record, 3073);
            json_t *root =
                expect_json("eval small.mtsb --data one.bin --tasks object --device reference --json");
            const json_t *task = json_array_get(json_object_get(root, "tasks"), 0);
            const bool right = json_number_value(json_object_get(task, "accuracy")) == 100.0;
            json_decref(root);
            if (right) {
                break;
            }
        }
    }
    write_file(path, records, (size_t)count * 3073);
    free(records);
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *number = json_object_get(object, key);
    assert_true(json_is_number(number));
    return json_number_value(number);
}

/* turned.mtsb: of the demo `object`, whose classes are turned by one, and `pet` as it is. */
static void make_turned_bundle(void)
{
    json_t *config = json_load_file(DEMO "/small.json", 0, NULL);
    json_t *tasks = json_object_get(config, "tasks");
    json_t *chosen = json_array();
    for (size_t i = 0; i < json_array_size(tasks); i++) {
        json_t *task = json_array_get(tasks, i);
        const char *name = json_string_value(json_object_get(task, "name"));
        char path[1024];
        (void)snprintf(path, sizeof path, DEMO "/%s", json_string_value(json_object_get(task, "model")));
        if (strcmp(name, "object") == 0 || strcmp(name, "pet") == 0) {
            assert_int_equal(symlink(path, strrchr(path, '/') + 1), 0);
            json_object_set_new(task, "model", json_string(strrchr(path, '/') + 1));
            json_array_append(chosen, task);
        }
    }
    assert_int_equal(json_array_size(chosen), 2);
    /* the classes of `object` are turned by one, so that it is wrong wherever it was right */
    json_t *map = json_object_get(json_array_get(chosen, 0), "class_map");
    for (size_t i = 0; i < 10; i++) {
        json_array_set_new(map, i, json_integer((json_int_t)(i + 1) % 10));
    }
    json_object_set_new(config, "tasks", chosen);
    assert_int_equal(json_dump_file(config, "turned.json", 0), 0);
    json_decref(config);
    result r = expect(0, "compile --config turned.json -o turned.mtsb");
    result_release(&r);
}

static void eval_compares_two_bundles_by_the_names_of_their_tasks(void **state)
{
    (void)state;
    compile_demo();
    write_right_records("right.bin", 3);
    result r = expect(0, "compile --config " DEMO "/small.json -o all.mtsb");
    result_release(&r);
    make_turned_bundle();
    json_t *root = expect_json("eval all.mtsb turned.mtsb --data right.bin --device reference --json");
    const json_t *found = json_object_get(root, "tasks");
    assert_int_equal(json_array_size(found), 8);
    for (size_t i = 0; i < 8; i++) {
        const json_t *task = json_array_get(found, i);
        const char *name = json_string_value(json_object_get(task, "name"));
        const double before = number_of(task, "accuracy");
        if (strcmp(name, "object") == 0) {
            assert_true(before == 100.0 && number_of(task, "accuracy_after") == 0.0);
        } else if (strcmp(name, "pet") == 0) {
            assert_true(number_of(task, "accuracy_after") == before);
        } else {
            assert_null(json_object_get(task, "accuracy_after"));
        }
    }
    assert_true(number_of(root, "mean_loss") == 50.0);
    assert_true(number_of(root, "worst_loss") == 100.0);
    assert_string_equal(json_string_value(json_object_get(root, "worst_task")), "object");
    json_decref(root);

    r = expect(0, "eval turned.mtsb all.mtsb --data right.bin --limit 2 --device reference");
    assert_non_null(strstr(r.out, "(2 images)"));
    assert_non_null(strstr(r.out, "+100.00"));
    assert_non_null(strstr(r.out, "mean"));
    result_release(&r);
    r = expect(1, "eval all.mtsb missing.mtsb --data right.bin --device reference");
    assert_non_null(strstr(r.err, "missing.mtsb"));
    assert_string_equal(r.out, "");
    result_release(&r);
}

static void eval_needs_labels(void **state)
{
    (void)state;
    compile_demo();
    assert_int_equal(mkdir("pictures", 0777), 0);
    write_picture("pictures/a.ppm", 8, 8);
    result r = expect(1, "eval small.mtsb --data pictures --device reference");
    assert_non_null(strstr(r.err, "no labels"));
    result_release(&r);
}

static void an_exported_task_compiles_again_and_gives_the_same_answers(void **state)
{
    (void)state;
    compile_demo();
    write_picture("p.ppm", 32, 32);
    result r = expect(0, "export small.mtsb --task pet -o pet.onnx");
    result_release(&r);
    r = expect(
        0, "compile --task pet=pet.onnx --color pet=rgb --mean pet=125.3,123,113.9 --std pet=63,62.1,66.7 "
           "-o pet.mtsb");
    result_release(&r);
    json_t *before = expect_json("run small.mtsb --tasks pet --image p.ppm --device reference --json");
    json_t *after = expect_json("run pet.mtsb --image p.ppm --device reference --json");
    for (size_t i = 0; i < 3; i++) {
        double value[2];
        json_t *const roots[2] = {before, after};
        for (size_t k = 0; k < 2; k++) {
            const json_t *task = json_array_get(json_object_get(roots[k], "tasks"), 0);
            const json_t *output = json_array_get(json_object_get(task, "outputs"), 0);
            value[k] = json_number_value(json_array_get(json_object_get(output, "values"), i));
        }
        assert_true(value[0] - value[1] < 1e-3 && value[1] - value[0] < 1e-3);
    }
    json_decref(before);
    json_decref(after);
    r = expect(1, "export small.mtsb --task weather -o w.onnx");
    assert_non_null(strstr(r.err, "weather"));
    result_release(&r);
    assert_int_not_equal(access("w.onnx", F_OK), 0);
}

static void labels_and_shapes_come_from_the_command_line(void **state)
{
    (void)state;
    write_file("names.txt", "cat\ndog\r\nneither\n", 17);
    result r = expect(0, "compile --task pet=" DEMO "/models/small_pet.onnx --shape pet:image=1x3x32x32 "
                         "--labels pet=names.txt --color pet=bgr --std pet=64 -o pet.mtsb --json");
    result_release(&r);
    json_t *root = expect_json("inspect pet.mtsb --json");
    const json_t *task = json_array_get(json_object_get(root, "tasks"), 0);
    assert_string_equal(json_string_value(json_object_get(task, "color")), "bgr");
    assert_string_equal(json_string_value(json_array_get(json_object_get(task, "labels"), 2)), "neither");
    json_decref(root);
}

/* The command line is right, and a file or a device is not. */
static const mistake failures[] = {
    {"compile --task a=missing.onnx -o x.mtsb", "missing.onnx"},
    {"compile --task a=text.txt -o x.mtsb", "text.txt"},
    {"compile --config text.txt -o x.mtsb", "text.txt"},
    {"compile --config " DEMO "/small.json -o no/such/folder/x.mtsb", "no/such/folder"},
    {"compile --task a=" DEMO "/models/small_pet.onnx --labels a=none.txt -o x.mtsb", "none.txt"},
    {"compile --task a=" DEMO "/models/small_pet.onnx --task a=" DEMO "/models/small_pet.onnx -o x.mtsb",
     "a"},
    {"inspect missing.mtsb", "missing.mtsb"},
    {"inspect text.txt", "text.txt"},
    {"run text.txt --image p.ppm --device reference", "text.txt"},
    {"run small.mtsb --image missing.png --device reference", "missing.png"},
    {"run small.mtsb --image text.txt --device reference", "text.txt"},
    {"run small.mtsb --image . --device reference", "'.'"},
    {"run small.mtsb --image huge.ppm --device reference", "huge.ppm"},
    {"run small.mtsb --image empty.ppm --device reference", "empty.ppm"},
    {"run small.mtsb --image huge.png --device reference", "too large, 20000x20000 pixels; at most 16384"},
    {"run small.mtsb --image wide.ppm --device reference", "too large, 99999x2 pixels; at most 16384"},
    {"run small.mtsb --image p.ppm --device 4000", "no device 4000"},
    {"compile --config " DEMO "/small.json -o fifo", "only a file can be replaced"},
    {"run small.mtsb --image p.ppm --tasks pet --device reference --annotate fifo",
     "only a file can be replaced"},
    {"run small.mtsb --image p.ppm --device nonsense", "mts devices"},
    {"run small.mtsb --image p.ppm --tasks weather --device reference", "weather"},
    {"run small.mtsb --image p.ppm --crop 0,0,900,2 --device reference", "900"},
    {"run small.mtsb --raw pet=text.txt --tasks pet --device reference", "text.txt"},
    {"run small.mtsb --image p.ppm --tasks pet --device reference --annotate no/folder/a.png", "no/folder"},
    {"eval small.mtsb --data missing.bin --device reference", "missing.bin"},
    {"export text.txt --task a -o a.onnx", "text.txt"},
    {"synth --arch resnet18 --prune 0.95 --tasks 1 -o no/folder/x.mtsb", "no/folder"},
    {"bench text.txt --device reference", "text.txt"},
    {"bench small.mtsb --tasks 9 --device reference", "8 tasks"},
    {"profile text.txt --device reference", "text.txt"},
    {"profile small.mtsb --tasks weather --device reference", "weather"},
    {"profile small.mtsb --tasks pet --runs 1 --device reference --trace no/folder/t.json", "no/folder"},
    {"inspect small.mtsb --plan --tasks pet --budget 4096 --device reference", "smallest that can be met"},
    {"inspect small.mtsb --plan --tasks weather --device reference", "weather"},
    {"profile small.mtsb --tasks pet --budget 4096 --device reference", "smallest that can be met"},
};

static void a_failure_is_status_1_names_the_file_and_leaves_nothing_behind(void **state)
{
    static const unsigned char png[] = {0x89, 'P',  'N', 'G', '\r', '\n', 0x1a, '\n', 0,    0, 0,
                                        13,   'I',  'H', 'D', 'R',  0,    0,    0x4e, 0x20, 0, 0,
                                        0x4e, 0x20, 8,   2,   0,    0,    0,    0,    0,    0, 0};
    struct stat facts;
    (void)state;
    compile_demo();
    write_picture("p.ppm", 8, 8);
    write_file("text.txt", "this is no model\n", 17);
    write_file("empty.ppm", "", 0);
    write_file("huge.ppm", "P6\n16384 16384\n255\nabc", 22);
    write_file("wide.ppm", "P6\n99999 2\n255\nabc", 18);
    write_file("huge.png", png, sizeof png);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    const uint32_t files = files_in_folder();
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        result r = expect(1, failures[i].arguments);
        assert_string_equal(r.out, "");
        assert_memory_equal(r.err, "mts ", 4);
        if (!strstr(r.err, failures[i].said)) {
            fail_msg("mts %s: '%s' is not in: %s", failures[i].arguments, failures[i].said, r.err);
        }
        result_release(&r);
        if (files_in_folder() != files) {
            fail_msg("mts %s left a file behind", failures[i].arguments);
        }
    }
    assert_int_equal(lstat("fifo", &facts), 0);
    assert_true(S_ISFIFO(facts.st_mode));
}

static void a_device_is_named_by_its_number_too(void **state)
{
    char arguments[128];
    (void)state;
    compile_demo();
    write_picture("p.ppm", 32, 32);
    json_t *root = expect_json("devices --json");
    const size_t count = json_array_size(json_object_get(root, "devices"));
    json_decref(root);
    /* the reference is the last one */
    (void)snprintf(arguments, sizeof arguments,
                   "run small.mtsb --image p.ppm --tasks pet --device %zu --json", count - 1);
    json_t *numbered = expect_json(arguments);
    json_t *named = expect_json("run small.mtsb --image p.ppm --tasks pet --device reference --json");
    const json_t *device = json_object_get(numbered, "device");
    assert_non_null(device);
    assert_true(json_equal(device, json_object_get(named, "device")));
    json_decref(numbered);
    json_decref(named);
}

static void a_bundle_that_exists_survives_a_failing_compile(void **state)
{
    (void)state;
    compile_demo();
    char *before = slurp("small.mtsb");
    result r = expect(1, "compile --task a=missing.onnx -o small.mtsb");
    result_release(&r);
    r = expect(0, "inspect small.mtsb");
    result_release(&r);
    free(before);
}

static void output_that_cannot_be_written_is_a_failure(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0) {
        skip();
    }
    char command[512];
    (void)snprintf(command, sizeof command, "'%s' devices >/dev/full 2>/dev/null", MTS_PROGRAM);
    const int status = system(command); /* NOLINT: the test's own fixed strings */
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(help_and_version_are_printed_for_every_command),
        IN_FOLDER(a_mistake_on_the_command_line_is_status_2_and_names_the_mistake),
        IN_FOLDER(devices_lists_the_reference_as_text_and_json),
        IN_FOLDER(a_device_is_named_by_its_number_too),
        IN_FOLDER(compile_inspect_and_run_work_end_to_end),
        IN_FOLDER(both_strategies_are_compared_and_agree),
        IN_FOLDER(the_annotated_picture_is_a_png_that_can_be_run_again),
        IN_FOLDER(saved_outputs_are_arrays_and_can_be_given_back_as_raw_inputs),
        IN_FOLDER(eval_counts_right_answers_of_cifar_records),
        IN_FOLDER(eval_compares_two_bundles_by_the_names_of_their_tasks),
        IN_FOLDER(eval_needs_labels),
        IN_FOLDER(an_exported_task_compiles_again_and_gives_the_same_answers),
        IN_FOLDER(labels_and_shapes_come_from_the_command_line),
        IN_FOLDER(a_failure_is_status_1_names_the_file_and_leaves_nothing_behind),
        IN_FOLDER(a_bundle_that_exists_survives_a_failing_compile),
        IN_FOLDER(output_that_cannot_be_written_is_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
