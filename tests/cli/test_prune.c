/*
 * End-to-end tests of mts prune: what it writes and prints, and that a failure leaves nothing behind.
 */
#include <setjmp.h>
#include <stdarg.h>
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

#ifndef MTS_PROGRAM
#define MTS_PROGRAM MTS_BINARY_DIR "/bin/mts"
#endif
#define RECORDS 40u
#define RECORD 3073u
#define TEXT_MOST 16384

static char folder[] = "/tmp/mts-prune-XXXXXX";
static char said[TEXT_MOST]; /* on both outputs */

/* Runs "mts <arguments>" and returns its exit status. */
static int run(const char *arguments)
{
    char command[2048];
    (void)snprintf(command, sizeof command, "'%s' %s >said.txt 2>&1 </dev/null", MTS_PROGRAM, arguments);
    const int status = system(command); /* NOLINT: the test's own fixed strings */
    FILE *file = fopen("said.txt", "rb");
    assert_non_null(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    (void)fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(int status, const char *arguments, const char *words)
{
    const int got = run(arguments);
    if (got != status || !strstr(said, words)) {
        fail_msg("mts %s: status %d instead of %d, or no '%s' in:\n%s", arguments, got, status, words, said);
    }
}

static json_t *expect_json(const char *arguments)
{
    json_error_t error;
    expect(0, arguments, "{");
    json_t *root = json_loads(said, JSON_REJECT_DUPLICATES, &error);
    assert_non_null(root);
    return root;
}

static double number(const json_t *root, const char *key)
{
    assert_true(json_is_number(json_object_get(root, key)));
    return json_number_value(json_object_get(root, key));
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) {
        return -1;
    }
    FILE *file = fopen("images.bin", "wb");
    for (uint32_t i = 0; file && i < RECORDS * RECORD; i++) {
        const uint32_t image = i / RECORD, p = i % RECORD;
        (void)fputc(p == 0 ? 255 : (int)((p * (image + 3) / 7 + image * 50) & 255u), file); /* no label */
    }
    return file && fclose(file) == 0 &&
                   run("compile --config " MTS_SOURCE_DIR "/apps/mts/demo/small.json -o small.mtsb") == 0
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    (void)state;
    static const char *const files[] = {"images.bin", "small.mtsb", "out.mtsb",
                                        "said.txt",   "task.onnx",  "again.mtsb"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        (void)unlink(files[i]);
    }
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void half_of_the_channels_go_and_the_rest_can_be_run_and_exported(void **state)
{
    (void)state;
    json_t *root = expect_json("prune small.mtsb --tasks object --ratio 0.5 --criterion hybrid --calib "
                               "images.bin -o out.mtsb --json");
    assert_true(number(root, "channels_kept") * 2 == number(root, "channels"));
    assert_true(number(root, "mul_adds_kept") < 0.4 * number(root, "mul_adds"));
    assert_true(number(root, "pruned_bytes_kept") < 0.4 * number(root, "pruned_bytes"));
    assert_true(number(root, "tasks") == 8);
    json_decref(root);
    expect(0, "export out.mtsb --task object -o task.onnx", "wrote");
    expect(0, "compile --task object=task.onnx -o again.mtsb", "1 tasks");
    expect(0, "inspect again.mtsb", "object");
}

static void the_table_says_what_went(void **state)
{
    (void)state;
    expect(0, "prune small.mtsb --tasks object,pet --target flops --ratio 0.4 --no-refit -o out.mtsb",
           "multiply-adds");
    assert_non_null(strstr(said, "before"));
    assert_non_null(strstr(said, "channels"));
    assert_non_null(strstr(said, "40."));
}

static void mistakes_are_usage_errors(void **state)
{
    (void)state;
    (void)unlink("out.mtsb");
    expect(2, "prune small.mtsb --ratio 0.5 -o out.mtsb", "--calib");
    expect(2, "prune small.mtsb --ratio 0.5 --calib images.bin", "-o FILE");
    expect(2, "prune small.mtsb --ratio 1.5 --no-refit -o out.mtsb", "ratio");
    expect(2, "prune small.mtsb --criterion best --calib images.bin -o out.mtsb", "best");
    expect(2, "prune small.mtsb --target all --no-refit -o out.mtsb", "all");
    expect(2, "prune small.mtsb --criterion avg --no-refit -o out.mtsb", "--calib");
    assert_int_not_equal(access("out.mtsb", F_OK), 0);
}

static void failures_name_what_is_wrong_and_leave_nothing_behind(void **state)
{
    (void)state;
    (void)unlink("out.mtsb");
    expect(1, "prune nowhere.mtsb --no-refit -o out.mtsb", "nowhere.mtsb");
    expect(1, "prune small.mtsb --no-refit -o small.mtsb", "small.mtsb");
    expect(1, "prune small.mtsb --no-refit --ratio 0.99 --target global -o out.mtsb", "cannot be removed");
    expect(1, "prune small.mtsb --calib missing.bin -o out.mtsb", "missing.bin");
    assert_int_not_equal(access("out.mtsb", F_OK), 0);
    expect(0, "inspect small.mtsb", "object");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_of_the_channels_go_and_the_rest_can_be_run_and_exported),
        cmocka_unit_test(the_table_says_what_went),
        cmocka_unit_test(mistakes_are_usage_errors),
        cmocka_unit_test(failures_name_what_is_wrong_and_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
