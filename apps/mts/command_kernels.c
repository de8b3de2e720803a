/*
 * command_kernels.c: mts kernels: makes the kernels of an app for NVIDIA devices that
 * have no compiler.
 *
 * For each compute capability it opens a device that is not here, makes a session there,
 * and hands it a frame: the runtime then has compiled everything, into the folder. Not
 * responsible for what a session needs.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kit/args.h"
#include "command.h"
#include "kit/files.h"
#include "kit/json.h"
#include "kit/measure.h"
#include "mts/mts.h"
#include "kit/precision.h"
#include "kit/progress.h"
#include "kit/strategy.h"

#define ARCHS_MOST 16
#define ENDING ".ptx" /* of a program that was made ahead of time */

typedef struct kernels {
    const char *bundle, *folder;
    const char *arch_names, *precision_name, *strategy_name; /* as given */
    unsigned archs[ARCHS_MOST];                              /* 62: compute capability 6.2 */
    size_t arch_count;
    mts_precision precision;
    mts_strategy strategy;
    bool json;
    char error[CLI_ERROR];
} kernels;

/* Of one compute capability. */
typedef struct made {
    uint32_t kernels, written; /* written: that were not in the folder */
} made;

/* "6.2,8.7" */
static bool read_archs(kernels *self)
{
    const char *at = self->arch_names;
    for (self->arch_count = 0; self->arch_count < ARCHS_MOST; at++) {
        unsigned major = 0, minor = 0;
        int length = 0;
        if (*at < '0' || *at > '9' || sscanf(at, "%2u.%1u%n", &major, &minor, &length) != 2 || length == 0) {
            return false;
        }
        self->archs[self->arch_count++] = major * 10 + minor;
        at += length;
        if (*at != ',') {
            return *at == '\0';
        }
    }
    return false;
}

static int check_arguments(kernels *self)
{
    if (!self->arch_names || !self->folder) {
        return cli_usage_error("kernels", "give %s",
                               self->arch_names ? "-o DIR" : "--arch, for instance 6.2");
    }
    if (!read_archs(self)) {
        return cli_usage_error("kernels",
                               "option --arch takes up to %d compute capabilities such as 6.2,8.7, not '%s'",
                               ARCHS_MOST, self->arch_names);
    }
    if (!cli_precision_find(self->precision_name, &self->precision)) {
        return cli_usage_error("kernels", "'%s' is no precision: %s", self->precision_name,
                               cli_precision_list());
    }
    if (!cli_strategy_find(self->strategy_name, &self->strategy)) {
        char list[128];
        return cli_usage_error("kernels", "'%s' is no strategy: %s", self->strategy_name,
                               cli_strategy_list(list, sizeof list));
    }
    if (mkdir(self->folder, 0777) != 0 && errno != EEXIST) {
        return cli_failure("kernels", "%s: %s", self->folder, strerror(errno));
    }
    return -1;
}

static bool takes_frames(const mts_bundle *bundle)
{
    mts_task_desc task = {.size = sizeof task};
    for (uint32_t i = 0; i < mts_bundle_task_count(bundle); i++) {
        if (mts_bundle_task(bundle, i, &task) == MTS_STATUS_OK && task.takes_frames) {
            return true;
        }
    }
    return false;
}

/* The kernel that puts a picture into the inputs is built with the first picture. */
static mts_status give_frame(mts_session *session)
{
    static const unsigned char pixel[3] = {0};
    const mts_frame frame = {.size = sizeof frame, .data = pixel, .width = 1, .height = 1};
    mts_ticket ticket = 0;
    const mts_status status = mts_session_submit(session, &frame, &ticket);
    return status == MTS_STATUS_OK ? mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE) : status;
}

static mts_status make_session(const kernels *self, mts_runtime *runtime, mts_bundle *bundle)
{
    mts_session *session = NULL;
    mts_session_options options;
    cli_progress progress;
    mts_session_options_default(&options);
    options.strategy = self->strategy;
    options.precision = self->precision;
    options.context = &progress;
    options.progress = cli_progress_step;
    cli_progress_begin(&progress);
    mts_status status = mts_session_create(runtime, bundle, &options, &session);
    cli_progress_end(&progress);
    if (status == MTS_STATUS_OK && takes_frames(bundle)) {
        status = give_frame(session);
    }
    mts_session_destroy(&session);
    return status;
}

static mts_status make_for(kernels *self, unsigned arch, made *out)
{
    char device[32];
    mts_runtime *runtime = NULL;
    mts_bundle *bundle = NULL;
    mts_cache_stats stats = {.size = sizeof stats};
    mts_runtime_options options;
    mts_runtime_options_default(&options);
    (void)snprintf(device, sizeof device, "cuda:sm_%u", arch);
    options.device = device;
    options.cache_dir = self->folder;
    options.error_text = self->error;
    options.error_size = sizeof self->error;
    mts_status status = mts_runtime_create(&options, &runtime);
    if (status == MTS_STATUS_OK) {
        status = mts_bundle_open(runtime, self->bundle, &bundle);
    }
    if (status == MTS_STATUS_OK) {
        status = make_session(self, runtime, bundle);
    }
    if (status == MTS_STATUS_OK) {
        status = mts_runtime_cache(runtime, &stats);
    }
    *out = (made){.kernels = stats.programs.written + stats.programs.hits, .written = stats.programs.written};
    if (status == MTS_STATUS_OK && out->kernels == 0) { /* the library does without a cache then */
        status = MTS_STATUS_IO;
        (void)snprintf(
            self->error, sizeof self->error,
            "kernels cannot be written to '%.256s': it has to be a folder of this user that no other "
            "user may write to",
            self->folder);
    }
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    return status;
}

/* Of the programs in the folder. */
static uint64_t folder_bytes(const char *folder)
{
    uint64_t bytes = 0;
    DIR *directory = opendir(folder);
    for (struct dirent *entry = NULL; directory && (entry = readdir(directory));) {
        const size_t length = strlen(entry->d_name);
        char path[PATH_MAX];
        struct stat file;
        if (length > strlen(ENDING) && strcmp(entry->d_name + length - strlen(ENDING), ENDING) == 0 &&
            (size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < sizeof path &&
            stat(path, &file) == 0 && file.st_size > 0) {
            bytes += (uint64_t)file.st_size;
        }
    }
    if (directory) {
        (void)closedir(directory);
    }
    return bytes;
}

static int print_json(const kernels *self, const made *of)
{
    cli_json json;
    if (!cli_json_begin(&json)) {
        return cli_failure("kernels", "no memory");
    }
    cli_json_object(&json, NULL);
    cli_json_string(&json, "output", self->folder);
    cli_json_integer(&json, "bytes", folder_bytes(self->folder));
    cli_json_string(&json, "strategy", cli_strategy_name(self->strategy));
    cli_json_string(&json, "precision", cli_precision_name(self->precision));
    cli_json_array(&json, "archs");
    for (size_t i = 0; i < self->arch_count; i++) {
        cli_json_object(&json, NULL);
        cli_json_integer(&json, "arch", self->archs[i]);
        cli_json_integer(&json, "kernels", of[i].kernels);
        cli_json_integer(&json, "written", of[i].written);
        cli_json_end(&json, '}');
    }
    cli_json_end(&json, ']');
    cli_json_end(&json, '}');
    return cli_json_finish(&json) ? CLI_EXIT_OK : cli_failure("kernels", "no memory");
}

static int make_all(kernels *self)
{
    made of[ARCHS_MOST] = {{0}};
    char bytes[32];
    for (size_t i = 0; i < self->arch_count; i++) {
        if (make_for(self, self->archs[i], &of[i]) != MTS_STATUS_OK) {
            return cli_failure("kernels", "%s", self->error);
        }
        if (!self->json) {
            printf("compute capability %u.%u: %u kernels, %u of them new\n", self->archs[i] / 10,
                   self->archs[i] % 10, of[i].kernels, of[i].written);
        }
    }
    if (self->json) {
        return print_json(self, of);
    }
    printf("%s: %s of kernels; give it to the runtime as cache_dir\n", self->folder,
           cli_bytes_text(folder_bytes(self->folder), bytes, sizeof bytes));
    return CLI_EXIT_OK;
}

int cli_command_kernels(int argc, char **argv)
{
    kernels self = {.error = ""};
    const cli_option options[] = {
        {"arch", 0, CLI_KIND_TEXT, &self.arch_names, "6.2,8.7", "compute capabilities of the devices", 0, 0},
        {"output", 'o', CLI_KIND_TEXT, &self.folder, "DIR", "the folder, made if need be", 0, 0},
        {"strategy", 0, CLI_KIND_TEXT, &self.strategy_name, "S",
         "compact (default), sequential, netfuse or dense", 0, 0},
        {"precision", 0, CLI_KIND_TEXT, &self.precision_name, "P",
         "float32 (default), float16-storage or float16", 0, 0},
    };
    const cli_usage usage = {
        .name = "kernels",
        .positionals = "BUNDLE",
        .summary = "Compiles the kernels of a bundle for NVIDIA devices that are not here, so that a board "
                   "needs no\n"
                   "compiler: copy DIR there and give it to the runtime as cache_dir (mts: MTS_CACHE_DIR).",
        .details =
            "Needs libnvrtc, of a version that knows the devices: up to CUDA 12 for 5.3, 6.2 and 7.2, from "
            "CUDA 13\non for 11.0. Strategy, precision and tasks of a session decide which kernels it needs: "
            "run this\nonce for each that the app uses. What DIR already has is not made again.",
        .positional_count = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    cli_common common = {0};
    int status = cli_parse(&usage, argc, argv, &common);
    if (status >= 0) {
        return status;
    }
    self.bundle = common.positionals[0];
    self.json = common.json;
    status = check_arguments(&self);
    return status >= 0 ? status : make_all(&self);
}
