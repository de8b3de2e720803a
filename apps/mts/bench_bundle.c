/*
 * bench_bundle.c: compiles the networks of a scenario for mts bench.
 */
#include "bench_bundle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "compiler_options.h"
#include "kit/files.h"
#include "kit/progress.h"
#include "mts/mtsc.h"

/* An empty file of its own name. */
static int file_make(char *path, size_t size)
{
    const char *folder = getenv("TMPDIR");
    const int length = snprintf(path, size, "%s/mts-bench-XXXXXX", folder && *folder ? folder : "/tmp");
    const int file = length > 0 && (size_t)length < size ? mkstemp(path) : -1;
    if (file < 0) {
        const int status =
            cli_failure("bench", "cannot make a file '%s' for the bundle: %s", path,
                        length > 0 && (size_t)length < size ? strerror(errno) : "the path is too long");
        path[0] = '\0';
        return status;
    }
    (void)close(file);
    return -1;
}

static int network_add(mtsc_compiler *compiler, const cli_scenario_network *network,
                       const char *scenario_path, const char *error)
{
    mtsc_input_shape shape = {.size = sizeof shape, .rank = network->rank};
    if (!network->model) {
        return cli_failure("bench", "%s: network %s: needs a model, or give a bundle that holds task %s",
                           scenario_path, network->name, network->name);
    }
    memcpy(shape.dims, network->shape, sizeof network->shape);
    for (uint32_t i = 0; i < network->times; i++) {
        char name[CLI_SCENARIO_TASK];
        mtsc_task task;
        mtsc_task_default(&task);
        cli_scenario_task(network, i, name);
        task.name = name;
        task.model = network->model;
        task.shapes = network->rank > 0 ? &shape : NULL;
        task.shape_count = network->rank > 0 ? 1 : 0;
        if (mtsc_compiler_add(compiler, &task) != MTS_STATUS_OK) {
            return cli_failure("bench", "%s: network %s: %s", scenario_path, network->name, error);
        }
    }
    return -1;
}

int cli_bench_bundle_make(const cli_scenario *scenario, const char *scenario_path, char *path, size_t size)
{
    char error[CLI_ERROR] = "";
    cli_progress progress;
    mtsc_options options;
    mtsc_compiler *compiler = NULL;
    path[0] = '\0';
    cli_compiler_options(&options, &progress, error);
    int status =
        mtsc_compiler_create(&options, &compiler) == MTS_STATUS_OK ? -1 : cli_failure("bench", "%s", error);
    for (size_t n = 0; n < scenario->count && status < 0; n++) {
        status = network_add(compiler, &scenario->networks[n], scenario_path, error);
    }
    status = status < 0 ? file_make(path, size) : status;
    if (status < 0 && mtsc_compiler_write(compiler, path, NULL) != MTS_STATUS_OK) {
        status = cli_failure("bench", "%s", error);
    }
    cli_progress_end(&progress);
    mtsc_compiler_destroy(&compiler);
    return status;
}
