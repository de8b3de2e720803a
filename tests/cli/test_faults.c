/*
 * The commands of the program where memory runs out or a call on a file fails: no crash, a sentence, and the file that
 * they write is the old one or a whole new one. fault_shim.c runs the program again and again in one process each.
 *
 * MTS_TEST_FAULTS=all: every call in turn (toolchains/host faults); else about 20 of each kind and command.
 */
#include <stdio.h>

#ifndef MTS_FAULT_SHIM
int main(void)
{
    printf("calls cannot be made to fail here\n");
    return 77;
}
#else

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/program.h"
#include "support/onnx_model.h"

#define RECORD 3073 /* bytes of a labelled picture of CIFAR-10 */

typedef struct command {
    const char *arguments, *out;
    int heavy; /* takes part in the long run only */
} command;

static const command commands[] = {
    {"devices", "", 0},
    {"compile --config t.json -o out", "out", 0},
    {"inspect t.mtsb --json", "", 0},
    {"run t.mtsb --image p.ppm --device reference --no-cache --annotate out.png", "out.png", 0},
    {"export t.mtsb --task a -o out", "out", 0},
    {"eval t.mtsb --data d.bin --device reference --no-cache", "", 0},
    {"profile t.mtsb --device reference --no-cache --no-probe -n 1", "", 0},
    {"bench t.mtsb --device reference --no-cache --no-probe --warmup 0 -n 1", "", 1},
    {"prune t.mtsb --ratio 0.5 --no-refit -o out", "out", 0},
    {"zip t.mtsb --share 0.5 --round 1 --calib d.bin -o out", "out", 1},
    {"split t.mtsb --task a --groups 2 --calib d.bin -o out", "out", 1},
    {"synth --arch resnet18 --tasks 1 --prune 0.95 --input 32 -o out", "out", 1},
};

static const struct {
    const char *kind;
    int number;
} faults[] = {{"alloc", ENOMEM}, {"open", EIO},     {"open", EMFILE},  {"read", EIO},
              {"read", EINTR},   {"read", 0},       {"write", ENOSPC}, {"write", EIO},
              {"write", EINTR},  {"write", 0},      {"sync", EIO},     {"sync", ENOSPC},
              {"rename", EIO},   {"rename", EROFS}, {"map", ENOMEM},   {"map", EACCES}};

static unsigned long runs, broken;

static void put_model(void)
{
    static float weights[4 * 3 * 3 * 3], dense[4 * 10];
    onnx_model model;
    for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++) {
        weights[i] = (float)((int)(i * 7 % 11) - 5) / 8.0f;
    }
    for (size_t i = 0; i < sizeof dense / sizeof dense[0]; i++) {
        dense[i] = (float)((int)(i * 5 % 13) - 6) / 4.0f;
    }
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, 4, (const int64_t[]){1, 3, 32, 32});
    onnx_model_floats(&model, "w", 4, (const int64_t[]){4, 3, 3, 3}, weights);
    onnx_model_floats(&model, "d", 2, (const int64_t[]){4, 10}, dense);
    onnx_model_node(&model, "Conv", "x,w", "c");
    onnx_model_node(&model, "Relu", "c", "r");
    onnx_model_node(&model, "GlobalAveragePool", "r", "p");
    onnx_model_node(&model, "Flatten", "p", "f");
    onnx_model_node(&model, "Gemm", "f,d", "y");
    onnx_model_output(&model, "y");
    const onnx_bytes *file = onnx_model_file(&model);
    write_file("m.onnx", file->data, file->size);
    onnx_model_end(&model);
}

static void put_files(void)
{
    static const char config[] =
        "{\"tasks\": [{\"name\": \"a\", \"model\": \"m.onnx\", \"input\": {\"color\": \"rgb\"},"
        " \"labels\": [\"0\",\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"],"
        " \"class_map\": [0,1,2,3,4,5,6,7,8,9]},"
        " {\"name\": \"b\", \"model\": \"m.onnx\", \"input\": {\"color\": \"bgr\"}}]}";
    static unsigned char records[4 * RECORD];
    for (size_t i = 0; i < sizeof records; i++) {
        records[i] = i % RECORD == 0 ? (unsigned char)(i / RECORD) : (unsigned char)(i * 31 % 251);
    }
    put_model();
    write_file("t.json", config, sizeof config - 1);
    write_file("d.bin", records, sizeof records);
    write_picture("p.ppm", 32, 32);
    result r = expect(0, "compile --config t.json -o t.mtsb");
    result_release(&r);
}

static void set(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

static void try_command(const command *one, size_t which, int ever)
{
    char number[16], *report = NULL;
    long done = 0, calls = 0, defects = 0;
    (void)snprintf(number, sizeof number, "%d", faults[which].number);
    (void)unlink("report");
    set("FAULT_KIND", faults[which].kind);
    set("FAULT_ERRNO", number);
    set("FAULT_EVER", ever ? "1" : "0");
    set("FAULT_OUT", one->out);
    set("FAULT_PROGRAM", "mts");
    set("FAULT_REPORT", "report");
    set("LD_PRELOAD", MTS_FAULT_SHIM);
    result r = run("%s", one->arguments);
    assert_int_equal(unsetenv("LD_PRELOAD"), 0);
    report = slurp("report");
    const char *last = strstr(report, "runs ");
    if (r.status == 3) {
        fail_msg("mts %s does not work without a fault either: %s", one->arguments, r.err);
    }
    if (!last || sscanf(last, "runs %ld calls %ld defects %ld", &done, &calls, &defects) != 3) {
        defects = 1;
    }
    if (defects > 0) {
        printf("mts %s, %s fails with errno %s %s:\n%s", one->arguments, faults[which].kind, number,
               ever ? "for ever" : "once", report);
        (void)fflush(stdout);
    }
    broken += (unsigned long)defects;
    runs += (unsigned long)done;
    if (getenv("MTS_TEST_VERBOSE")) {
        printf("%s: %s, errno %s, %s: %ld of %ld calls\n", one->arguments, faults[which].kind, number,
               ever ? "for ever" : "once", done, calls);
    }
    free(report);
    result_release(&r);
}

static void whichever_call_fails_a_command_says_so_and_leaves_no_half_file(void **state)
{
    const char *wish = getenv("MTS_TEST_FAULTS");
    const int all = wish && strcmp(wish, "all") == 0;
    (void)state;
    put_files();
    set("FAULT_ALL", all ? "1" : "0");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        for (size_t j = 0; j < sizeof faults / sizeof faults[0] && (all || !commands[i].heavy); j++) {
            try_command(&commands[i], j, 0);
            if (all || j == 0) {
                try_command(&commands[i], j, 1);
            }
        }
    }
    printf("%lu runs, each with a call that failed\n", runs);
    assert_true(runs >= 100);
    assert_int_equal(broken, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(whichever_call_fails_a_command_says_so_and_leaves_no_half_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
