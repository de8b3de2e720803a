/*
 * main.c: the mts program: finds the subcommand and makes sure that what it printed has
 * arrived.
 */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "mts/mts.h"

const char *const cli_program = "mts";

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"devices", cli_command_devices, "list the devices that can be opened"},
    {"compile", cli_command_compile, "compile ONNX and TFLite models into one bundle"},
    {"inspect", cli_command_inspect, "print what a bundle holds and shares"},
    {"run", cli_command_run, "run a bundle's tasks on a picture"},
    {"eval", cli_command_eval, "measure each task's accuracy against labels"},
    {"append", cli_command_append, "put the tasks of two bundles, or a bundle and a patch, into one"},
    {"export", cli_command_export, "write a task of a bundle as an ONNX model"},
#ifdef MTS_COMPRESS
    {"zip", cli_command_zip, "make tasks share weights"},
    {"prune", cli_command_prune, "remove channels of tasks"},
    {"split", cli_command_split, "split a classifier into small networks of some classes each"},
    {"train", cli_command_train, "train a new task on the frozen network of another one"},
#endif
    {"synth", cli_command_synth, "write a bundle of random networks, for measuring"},
    {"bench", cli_command_bench, "measure strategies against each other"},
    {"profile", cli_command_profile, "measure every launch of a run"},
    {"kernels", cli_command_kernels, "compile kernels ahead of time for NVIDIA boards"},
};

static void help(FILE *out)
{
    (void)fprintf(out, "usage: mts COMMAND [options]\n\n"
                       "Runs many networks on one picture, stitched into one graph.\n\ncommands:\n");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        (void)fprintf(out, "  %-10s%s\n", commands[i].name, commands[i].summary);
    }
    (void)fprintf(out,
                  "\n'mts COMMAND --help' explains a command. Exit status: 0 success, 1 failure, 2 usage.\n");
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return CLI_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        help(stdout);
        return CLI_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("mts %s\n", mts_version());
        return CLI_EXIT_OK;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    return strcmp(argv[1], "zip") == 0 || strcmp(argv[1], "prune") == 0 || strcmp(argv[1], "split") == 0 ||
                   strcmp(argv[1], "train") == 0
               ? cli_failure(argv[1],
                             "this program was built without compression (CMake option MTS_COMPRESS)")
               : cli_usage_error(NULL, "unknown command '%s'", argv[1]);
}

int main(int argc, char **argv)
{
    int status = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        (void)fprintf(stderr, "mts: cannot write to standard output\n");
        status = status == CLI_EXIT_OK ? CLI_EXIT_FAILURE : status;
    }
    return status;
}
