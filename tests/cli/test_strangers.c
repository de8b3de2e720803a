/*
 * Files of strangers at the command line: what names hold does not reach the terminal, pipes do not hang.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/program.h"
#include "support/onnx_model.h"

static void assert_harmless(const char *text)
{
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        assert_true(c >= 0x20 || c == '\n' || c == '\t');
        assert_true(c != 0x7f && !(c == 0xc2 && (unsigned char)text[1] < 0xa0));
    }
}

static void put_model(const char *op, const char *path)
{
    onnx_model model = {0};
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x\x1b[31m", ONNX_FLOAT, 2, (const int64_t[]){1, 4});
    onnx_model_node(&model, op, "x\x1b[31m", "y\x1b]0;owned\x07\xc2\x9b");
    onnx_model_output(&model, "y\x1b]0;owned\x07\xc2\x9b");
    const onnx_bytes *file = onnx_model_file(&model);
    write_file(path, file->data, file->size);
    onnx_model_end(&model);
}

static void escape_codes_of_names_never_reach_the_terminal(void **state)
{
    static const char *const commands[] = {"inspect good.mtsb", "inspect good.mtsb --json",
                                           "inspect good.mtsb --dot",
                                           "run good.mtsb --device reference --input x=x.npy",
                                           "run good.mtsb --device reference --image missing\x1b[2J.png"};
    (void)state;
    put_model("Evil\x1b[2J", "bad.onnx");
    put_model("Sigmoid", "good.onnx");
    result bad = expect(1, "compile --task a=bad.onnx -o bad.mtsb");
    assert_non_null(strstr(bad.err, "Evil?[2J"));
    assert_harmless(bad.err);
    assert_harmless(bad.out);
    result_release(&bad);
    result good = expect(0, "compile --task a=good.onnx -o good.mtsb");
    assert_harmless(good.err);
    assert_harmless(good.out);
    result_release(&good);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        result r = run("%s", commands[i]);
        assert_true(r.status >= 0);
        assert_harmless(r.err);
        assert_harmless(r.out);
        result_release(&r);
    }
}

static void a_pipe_in_place_of_a_file_does_not_hang(void **state)
{
    static const char *const commands[] = {"run small.mtsb --device reference --image pipe", "inspect pipe",
                                           "compile --config pipe -o x.mtsb",
                                           "compile --task a=pipe -o x.mtsb"};
    (void)state;
    compile_demo();
    assert_int_equal(mkfifo("pipe", 0600), 0);
    (void)alarm(60); /* a hanging program would hang this one */
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        result r = expect(1, commands[i]);
        assert_non_null(strstr(r.err, "not a"));
        result_release(&r);
    }
    (void)alarm(0);
}

/* What a program that was killed left beside a file is removed by the next that writes it. */
static void files_that_a_killed_program_left_are_removed(void **state)
{
    (void)state;
    compile_demo();
    write_file("again.mtsb.0.tmp", "half", 4);
    result r = expect(0, "compile --config " DEMO "/small.json -o again.mtsb");
    result_release(&r);
    assert_int_equal(access("again.mtsb.0.tmp", F_OK), -1);
}

/* Whatever the umask is: a folder that others may write to is no cache. */
static void the_cache_is_made_for_its_owner_alone(void **state)
{
    struct stat facts;
    const mode_t mask = umask(0);
    (void)state;
    compile_demo();
    write_picture("picture.ppm", 32, 32);
    assert_int_equal(setenv("MTS_CACHE_DIR", "caches/mts", 1), 0);
    result r = expect(0, "run small.mtsb --device reference --image picture.ppm --repeat 1");
    assert_null(strstr(r.err, "cache"));
    result_release(&r);
    assert_int_equal(stat("caches/mts", &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
    assert_int_equal(stat("caches", &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
    assert_int_equal(unsetenv("MTS_CACHE_DIR"), 0);
    (void)umask(mask);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(escape_codes_of_names_never_reach_the_terminal),
        IN_FOLDER(a_pipe_in_place_of_a_file_does_not_hang),
        IN_FOLDER(files_that_a_killed_program_left_are_removed),
        IN_FOLDER(the_cache_is_made_for_its_owner_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
