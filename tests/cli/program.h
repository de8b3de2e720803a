/*
 * program.h: runs the mts program in a folder of the test's own, which is removed afterwards. For tests in
 * which a mistake ends the test.
 */
#ifndef MTS_TESTS_CLI_PROGRAM_H
#define MTS_TESTS_CLI_PROGRAM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#ifndef MTS_PROGRAM
#define MTS_PROGRAM MTS_BINARY_DIR "/bin/mts"
#endif
#define DEMO MTS_SOURCE_DIR "/apps/mts/demo"
#define COMPILE "compile --config " DEMO "/small.json -o small.mtsb"

typedef struct result {
    int status; /* exit status; -1: killed */
    char *out, *err;
} result;

/* The text of a file, on the heap. */
char *slurp(const char *path);
void result_release(result *r);
/* Runs "mts <arguments>"; output files lie outside of the test's folder. */
result run(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Runs and expects a status; prints what was said if it is another. */
result expect(int status, const char *arguments);
/* Expects success, nothing said, and one JSON object. */
json_t *expect_json(const char *arguments);
void write_file(const char *path, const void *data, size_t size);
/* A binary PPM with a gradient. */
void write_picture(const char *path, uint32_t width, uint32_t height);
uint32_t files_in_folder(void);
/* The eight networks of the demo, as small.mtsb. */
void compile_demo(void);

int folder_make(void **state);
int folder_remove(void **state);
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)

#endif
