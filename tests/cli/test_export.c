/*
 * End-to-end tests of mts export --stitched: all tasks as one ONNX file, which compiles again and answers as they do.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"

/* Output `index` of a task of what mts run printed: its first number. */
static double answer(const json_t *root, size_t task, size_t index)
{
    const json_t *of_task = json_array_get(json_object_get(root, "tasks"), task);
    const json_t *output = json_array_get(json_object_get(of_task, "outputs"), index);
    const json_t *values = json_object_get(output, "values");
    assert_true(json_array_size(values) > 0);
    return json_number_value(json_array_get(values, 0));
}

static void all_tasks_become_one_model_that_gives_their_answers(void **state)
{
    (void)state;
    compile_demo();
    write_picture("p.ppm", 32, 32);
    result r = expect(0, "export small.mtsb --stitched all.onnx --frames common");
    assert_non_null(strstr(r.out, "all tasks"));
    result_release(&r);
    /* the demo's tasks share colour, mean and deviation, so they share the input of the first one */
    r = expect(0, "compile --task all=all.onnx --color all=rgb --mean all=125.3,123,113.9 --std "
                  "all=63,62.1,66.7 -o all.mtsb");
    result_release(&r);
    json_t *apart = expect_json("run small.mtsb --image p.ppm --device reference --json");
    json_t *whole = expect_json("run all.mtsb --image p.ppm --device reference --json");
    const size_t tasks = json_array_size(json_object_get(apart, "tasks"));
    assert_true(tasks == 8);
    for (size_t t = 0; t < tasks; t++) {
        const double difference = answer(apart, t, 0) - answer(whole, 0, t);
        assert_true(difference < 1e-3 && difference > -1e-3);
    }
    json_decref(apart);
    json_decref(whole);
}

static void shared_weights_are_in_the_file_once(void **state)
{
    (void)state;
    struct stat bundle, one, all;
    result r =
        expect(0, "synth --arch resnet18 --tasks 4 --prune 0.9 --share 0.9 --input 32 -o s.mtsb --json");
    result_release(&r);
    r = expect(0, "export s.mtsb --task t0 -o one.onnx");
    result_release(&r);
    json_t *root = expect_json("export s.mtsb --stitched all.onnx --json");
    assert_true(json_is_null(json_object_get(root, "task")));
    assert_string_equal(json_string_value(json_object_get(root, "output")), "all.onnx");
    json_decref(root);
    root = expect_json("inspect s.mtsb --json");
    const long long weights = json_integer_value(json_object_get(root, "weights_bytes"));
    json_decref(root);
    assert_int_equal(stat("s.mtsb", &bundle) | stat("one.onnx", &one) | stat("all.onnx", &all), 0);
    assert_true(weights > 0 && all.st_size > weights);
    assert_true(all.st_size < weights + 25000LL * 4); /* a graph of a ResNet18 is some 20 kB */
    assert_true(all.st_size * 2 < one.st_size * 4);
}

static void mistakes_are_usage_errors_and_failures_leave_no_file(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *words, *said;
    } cases[] = {{2, "export x.mtsb --stitched a.onnx --task t", "--stitched"},
                 {2, "export x.mtsb --stitched a.onnx -o b.onnx", "--stitched"},
                 {2, "export x.mtsb --task t -o a.onnx --frames common", "--frames"},
                 {2, "export x.mtsb --stitched a.onnx --frames shared", "shared"},
                 {1, "export x.mtsb --stitched a.onnx", "x.mtsb"},
                 {1, "export text.mtsb --stitched a.onnx", "text.mtsb"},
                 {1, "export small.mtsb --stitched nowhere/a.onnx", "nowhere"}};
    write_file("text.mtsb", "no bundle", 9);
    compile_demo();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        result r = expect(cases[i].status, cases[i].words);
        assert_non_null(strstr(r.err, cases[i].said));
        result_release(&r);
        assert_int_not_equal(access("a.onnx", F_OK), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(all_tasks_become_one_model_that_gives_their_answers),
        IN_FOLDER(shared_weights_are_in_the_file_once),
        IN_FOLDER(mistakes_are_usage_errors_and_failures_leave_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
