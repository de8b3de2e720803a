/*
 * What a stranger gives mts run and mts compile in the first hour: several --raw files, a file beside a
 * picture, normalisation of another range, too few labels, a model in place of a bundle, a budget with a unit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "cli/program.h"

enum { PIXELS = 3 * 32 * 32, HEADER = 128, PET_BYTES = 3 * sizeof(float) };

/* The header of an array of the shape that the demo's networks take. */
static void header_write(unsigned char file[HEADER], const char *type)
{
    char text[HEADER];
    const int length = snprintf(text, sizeof text,
                                "{'descr': '%s', 'fortran_order': False, 'shape': (1, 3, 32, 32), }", type);
    memset(file, ' ', HEADER);
    memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(file + 10, text, (size_t)length);
    file[HEADER - 1] = '\n';
}

/* An input of the demo's networks that differs with the seed. */
static void write_input(const char *path, uint32_t seed)
{
    unsigned char file[HEADER + PIXELS * sizeof(float)];
    float values[PIXELS];
    for (uint32_t i = 0; i < PIXELS; i++) {
        values[i] = (float)((i * seed + seed * seed) % 97) / 50.0f - 1.0f;
    }
    header_write(file, "<f4");
    memcpy(file + HEADER, values, sizeof values);
    write_file(path, file, sizeof file);
}

/* Runs the tasks, and gives the output of `pet`. */
static void pet_of(const char *arguments, float out[3])
{
    char command[512];
    (void)snprintf(command, sizeof command, "run small.mtsb --device reference --save out %s", arguments);
    result r = expect(0, command);
    result_release(&r);
    FILE *file = fopen("out/pet.0.npy", "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, -(long)PET_BYTES, SEEK_END), 0);
    assert_int_equal(fread(out, sizeof *out, 3, file), 3);
    assert_int_equal(fclose(file), 0);
}

static void refused(int status, const char *arguments, const char *said)
{
    result r = expect(status, arguments);
    if (!strstr(r.err, said)) {
        fail_msg("mts %s: '%s' is not in: %s", arguments, said, r.err);
    }
    result_release(&r);
}

static void each_task_reads_its_own_file(void **state)
{
    float alone[3];
    float beside[3];
    (void)state;
    compile_demo();
    write_input("a.npy", 3);
    write_input("b.npy", 7);
    pet_of("--tasks pet --raw pet=a.npy", alone);
    pet_of("--tasks pet,size --raw pet=a.npy --raw size=b.npy", beside);
    assert_memory_equal(alone, beside, sizeof alone);
    pet_of("--tasks size,pet --raw size=b.npy --raw pet=a.npy --strategy sequential", beside);
    for (int i = 0; i < 3; i++) {
        assert_true(alone[i] - beside[i] < 1e-5f && beside[i] - alone[i] < 1e-5f);
    }
}

static void a_file_goes_before_the_picture(void **state)
{
    float alone[3];
    float beside[3];
    (void)state;
    compile_demo();
    write_input("a.npy", 3);
    write_picture("p.ppm", 40, 30);
    pet_of("--tasks pet --raw pet=a.npy", alone);
    pet_of("--tasks pet,size --raw pet=a.npy --image p.ppm", beside);
    assert_memory_equal(alone, beside, sizeof alone);
    pet_of("--tasks pet --image p.ppm", alone);
    pet_of("--tasks pet,size --raw size=a.npy --image p.ppm", beside);
    assert_memory_equal(alone, beside, sizeof alone);
}

static void an_input_without_a_value_and_one_with_two_are_mistakes(void **state)
{
    (void)state;
    compile_demo();
    write_input("a.npy", 3);
    refused(1, "run small.mtsb --device reference --tasks pet,size --raw pet=a.npy",
            "task 'size': input 'image'");
    refused(2, "run small.mtsb --device reference --tasks pet --raw pet=a.npy --raw pet:0=a.npy",
            "same input");
    refused(1, "run small.mtsb --device reference --tasks pet --raw pet:7=a.npy", "no such task or input");
}

static void a_tensor_of_another_type_is_named(void **state)
{
    unsigned char file[HEADER + PIXELS * 8] = {0};
    (void)state;
    compile_demo();
    header_write(file, "<f8");
    write_file("d.npy", file, sizeof file);
    refused(1, "run small.mtsb --device reference --tasks pet --raw pet=d.npy", "given: float64 1x3x32x32");
}

static void normalisation_of_another_range_is_warned_of(void **state)
{
#define MODEL DEMO "/models/small_pet.onnx -o x.mtsb "
    (void)state;
    result r = expect(0, "compile --task a=" MODEL
                         "--color a=rgb --mean a=0.485,0.456,0.406 --std a=0.229,0.224,0.225");
    assert_non_null(strstr(r.err, "warning: task 'a': mean 0.485 and std 0.229"));
    assert_non_null(strstr(r.err, "mean 123.675"));
    result_release(&r);
    r = expect(0, "compile --task a=" MODEL "--color a=rgb --mean a=123.7 --std a=58.4");
    assert_string_equal(r.err, "");
    result_release(&r);
    r = expect(0, "compile --task a=" MODEL "--color a=rgb --std a=255");
    assert_string_equal(r.err, "");
    result_release(&r);
    refused(1, "compile --task a=" MODEL "--mean a=123.7", "the task has no color");
}

static void labels_are_counted(void **state)
{
    (void)state;
    write_file("two.txt", "cat\ndog\n", 8);
    refused(1, "compile --task a=" MODEL "--color a=rgb --labels a=two.txt", "2 labels, but output");
}

static void a_model_is_no_bundle(void **state)
{
    (void)state;
    write_picture("p.ppm", 8, 8);
    refused(1, "run " DEMO "/models/small_pet.onnx --image p.ppm --device reference",
            "compile it first: mts compile --task NAME=");
}

static void a_budget_may_have_a_unit(void **state)
{
    static const char *const wrong[] = {"20Q", "M", "20MiBs", "-5M", "nanM"};
    (void)state;
    compile_demo();
    result r = expect(0, "inspect small.mtsb --plan --budget 20MB --device reference");
    result_release(&r);
    refused(1, "inspect small.mtsb --plan --tasks pet --budget 4Ki --device reference",
            "smallest that can be met");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char command[128];
        (void)snprintf(command, sizeof command, "inspect small.mtsb --plan --budget=%s", wrong[i]);
        refused(2, command, "--budget");
    }
}

/* float16 ends at 65504; the same input is fine in float32. */
static void numbers_that_do_not_fit_float16_are_warned_of(void **state)
{
    unsigned char file[HEADER + PIXELS * sizeof(float)];
    float values[PIXELS];
    (void)state;
    compile_demo();
    for (uint32_t i = 0; i < PIXELS; i++) {
        values[i] = i % 2 ? 90000.0f : 80000.0f;
    }
    header_write(file, "<f4");
    memcpy(file + HEADER, values, sizeof values);
    write_file("large.npy", file, sizeof file);
    result r = expect(0, "run small.mtsb --tasks pet --raw pet=large.npy --device reference");
    assert_string_equal(r.err, "");
    result_release(&r);
    r = expect(
        0, "run small.mtsb --tasks pet --raw pet=large.npy --device reference --precision float16-storage");
    assert_non_null(strstr(r.err, "warning: task 'pet': 3 of 3 output values are infinite or NaN"));
    assert_non_null(strstr(r.err, "--precision float32"));
    assert_null(strstr(r.err, "the first to be so is layer"));
    result_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(each_task_reads_its_own_file),
        IN_FOLDER(a_file_goes_before_the_picture),
        IN_FOLDER(an_input_without_a_value_and_one_with_two_are_mistakes),
        IN_FOLDER(a_tensor_of_another_type_is_named),
        IN_FOLDER(normalisation_of_another_range_is_warned_of),
        IN_FOLDER(labels_are_counted),
        IN_FOLDER(a_model_is_no_bundle),
        IN_FOLDER(a_budget_may_have_a_unit),
        IN_FOLDER(numbers_that_do_not_fit_float16_are_warned_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
