/*
 * End-to-end tests of mts kernels. The compiler is the NVRTC of build/venv, else one that the system has;
 * where there is none, only what needs none is tested.
 */
#include <glob.h>
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

#ifndef MTS_PROGRAM
#define MTS_PROGRAM MTS_BINARY_DIR "/bin/mts"
#endif
#define TEXT_MOST 8192
#define PACKAGES MTS_SOURCE_DIR "/build/venv/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib"

/* The names under which the library looks for the compiler. */
static const char *const names[] = {"libnvrtc.so",      "libnvrtc.so.13",   "libnvrtc.so.12",
                                    "libnvrtc.so.11.2", "libnvrtc.so.11.1", "libnvrtc.so.11.0",
                                    "libnvrtc.so.10.2"};

static char folder[] = "/tmp/mts-kernels-XXXXXX";
static char path_with[1024]; /* library path with the compiler of the packages first, or "" */
static char said[TEXT_MOST]; /* on standard output, then on the other */

static size_t read_text(const char *path, char *text, size_t most)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t length = fread(text, 1, most, file);
    (void)fclose(file);
    return length;
}

/* Runs "mts <arguments>" with a library path, and returns its exit status. */
static int run(const char *libraries, const char *arguments)
{
    char command[4096];
    (void)snprintf(command, sizeof command, "LD_LIBRARY_PATH='%s' '%s' %s >said.txt 2>errors.txt </dev/null",
                   libraries, MTS_PROGRAM, arguments);
    const int status = system(command); /* NOLINT: the test's own fixed strings */
    size_t length = read_text("said.txt", said, sizeof said - 1);
    length += read_text("errors.txt", said + length, sizeof said - 1 - length);
    said[length] = '\0';
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(const char *libraries, int status, const char *arguments, const char *words)
{
    const int got = run(libraries, arguments);
    if (got != status || !strstr(said, words)) {
        fail_msg("mts %s: status %d instead of %d, or no '%s' in:\n%s", arguments, got, status, words, said);
    }
}

/* A folder in which every name of the compiler is a file that is no library, so that none of the system is
 * found. */
static int hide_compiler(void)
{
    int bad = mkdir("none", 0777);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "none/%s", names[i]);
        FILE *file = fopen(path, "w");
        bad |= !file || fclose(file) != 0;
    }
    return bad;
}

/* The packages' compiler under the name that is tried first. */
static int offer_compiler(void)
{
    glob_t found;
    if (glob(PACKAGES, 0, NULL, &found) != 0) {
        return mkdir("with", 0777);
    }
    char target[512];
    (void)snprintf(target, sizeof target, "%s/libnvrtc.so.12", found.gl_pathv[0]);
    (void)snprintf(path_with, sizeof path_with, "with:%s", found.gl_pathv[0]);
    globfree(&found);
    return mkdir("with", 0777) != 0 ? -1 : symlink(target, "with/libnvrtc.so");
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0 || hide_compiler() != 0 || offer_compiler() != 0) {
        return -1;
    }
    return run("", "synth --arch resnet18 --tasks 2 --prune 0.9 --input 32 -o net.mtsb");
}

static int tear_down(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("/") == 0 ? system(command) : -1; /* NOLINT: the folder of mkdtemp */
}

/* Skips where no compiler knows a capability of today's boards. Leaves the kernels for it in `probe`. */
static void need_compiler(void)
{
    if (run(path_with, "kernels net.mtsb --arch 8.7 -o probe") != 0) {
        print_message("no NVRTC that knows sm_87: %s", said);
        skip();
    }
}

static void a_wrong_capability_is_a_mistake_on_the_command_line(void **state)
{
    static const char *const wrong[] = {"62",      "6",    "6.",   ".2",   "6.2,",
                                        "6.2;8.7", "-6.2", "6.2x", " 6.2", "sm_62"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char arguments[128];
        (void)snprintf(arguments, sizeof arguments, "kernels net.mtsb -o out --arch \"%s\"", wrong[i]);
        expect("none", 2, arguments, "compute capabilities such as 6.2,8.7");
    }
    expect("none", 2, "kernels net.mtsb -o out", "give --arch");
    expect("none", 2, "kernels net.mtsb --arch 6.2", "give -o DIR");
    expect("none", 2, "kernels net.mtsb --arch 6.2 -o out --precision float8", "float16-storage");
    expect("none", 2, "kernels net.mtsb --arch 6.2 -o out --strategy best", "sequential");
}

static void without_the_compiler_the_sentence_says_what_is_missing(void **state)
{
    (void)state;
    expect("none", 1, "kernels net.mtsb --arch 6.2 -o out", "libnvrtc");
    expect("none", 1, "kernels net.mtsb --arch 6.2 -o out", "sm_62");
}

static void every_kernel_is_made_once(void **state)
{
    (void)state;
    need_compiler();
    expect(path_with, 0, "kernels net.mtsb --arch 8.7 -o made", "compute capability 8.7: ");
    assert_null(strstr(said, " 0 of them new"));
    expect(path_with, 0, "kernels net.mtsb --arch 8.7 -o made", ", 0 of them new");
    /* and then the compiler is not needed */
    expect("none", 0, "kernels net.mtsb --arch 8.7 -o made", ", 0 of them new");
    expect("none", 1, "kernels net.mtsb --arch 8.7 -o made --precision float16", "libnvrtc");
    expect("none", 1, "kernels net.mtsb --arch 9.0 -o made", "libnvrtc");
}

static void the_kernel_that_takes_pictures_is_made_too(void **state)
{
    (void)state;
    need_compiler();
    assert_int_equal(system("grep -l -a frame_any__f32_planar probe/*.ptx >said.txt"), 0); /* NOLINT */
}

static void several_capabilities_are_reported_one_by_one(void **state)
{
    (void)state;
    need_compiler();
    expect(path_with, 0, "kernels net.mtsb --arch 8.7,9.0 -o probe --json", "\"arch\": 87, ");
    const char *first = strstr(said, "\"written\": 0}");
    const char *second = strstr(said, "\"arch\": 90, ");
    assert_true(first && second && first < second);
    assert_null(strstr(second, "\"written\": 0}"));
    assert_null(strstr(said, "\"bytes\": 0"));
}

static void a_capability_that_the_compiler_does_not_know_fails(void **state)
{
    (void)state;
    need_compiler();
    expect(path_with, 1, "kernels net.mtsb --arch 9.9 -o out", "sm_99");
}

static void a_folder_that_takes_no_files_fails(void **state)
{
    (void)state;
    need_compiler();
    expect(path_with, 1, "kernels net.mtsb --arch 8.7 -o net.mtsb", "cannot be written to 'net.mtsb'");
    expect(path_with, 1, "kernels net.mtsb --arch 8.7 -o no/such", "no/such: No such file");
    expect(path_with, 1, "kernels nothing.mtsb --arch 8.7 -o out", "nothing.mtsb");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_capability_is_a_mistake_on_the_command_line),
        cmocka_unit_test(without_the_compiler_the_sentence_says_what_is_missing),
        cmocka_unit_test(every_kernel_is_made_once),
        cmocka_unit_test(the_kernel_that_takes_pictures_is_made_too),
        cmocka_unit_test(several_capabilities_are_reported_one_by_one),
        cmocka_unit_test(a_capability_that_the_compiler_does_not_know_fails),
        cmocka_unit_test(a_folder_that_takes_no_files_fails),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
